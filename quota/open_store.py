"""The address of a store (the setting `--quota`), and the functions that open the store."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from quota.errors import NotAllowedError
from quota.redis import identity

# The stores are imported where they are opened, because the parent process of several workers only reads the setting.
if TYPE_CHECKING:
    from quota.redis.store import RedisStore
    from quota.store.interface import LedgerStore, Store

LMDB: Final = "lmdb"  # the setting for the file of this host (`lmdb_store.py`)
# The allowed options in the query of an address, by scheme: redis-py options for TLS.
_OPTIONS: Final = {
    "redis": (),
    "rediss": ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"),
}


def check_address(setting: str) -> str:
    """The setting, unchanged, if it is the address of a store.

    Raises:
        ValueError: the setting is not such an address; the message says why.

    >>> check_address("lmdb"), check_address("rediss://quota:secret@10.0.0.7:6380/0")
    ('lmdb', 'rediss://quota:secret@10.0.0.7:6380/0')
    """
    if setting != LMDB:
        parts = urlsplit(setting)
        if parts.scheme not in _OPTIONS or not parts.hostname or parts.port == 0:
            raise ValueError("it must be lmdb, redis://HOST:PORT/DB, or rediss://… with TLS")
        if not (parts.path[1:] or "0").isdigit():
            raise ValueError(f"a database number must follow the address, not {parts.path!r}")
        allowed = _OPTIONS[parts.scheme]
        if unknown := [name for name, _ in parse_qsl(parts.query) if name not in allowed]:
            names = ", ".join(allowed) or "none; TLS is rediss://"
            raise ValueError(f"{unknown[0]} is not an option of it; allowed: {names}")
    return setting


def mask_password(setting: str) -> str:
    """The setting without the user name and password that it can contain.

    >>> mask_password("redis://quota:secret@10.0.0.7/0"), mask_password("lmdb")
    ('redis://…@10.0.0.7/0', 'lmdb')
    """
    scheme, colon, after_scheme = setting.partition("://")
    login_and_host = after_scheme.rpartition("@")
    return f"{scheme}{colon}…@{login_and_host[2]}" if login_and_host[1] else setting


def open_ledger(setting: str, state: Path | None, *, create: bool = False) -> "LedgerStore":
    """Open a store with all rows. `state` is the STATE folder, which only LMDB needs.

    An empty Redis server becomes a store only with `create`. The identity in the STATE of a host is not checked: an
    operator may open any store.

    Raises:
        WrongStoreError: the store cannot be used by this code.
        StoreUnavailable: the store cannot be opened or reached, or has no rows.
    """
    if setting != LMDB:
        return _redis_opener(setting, create=create)()
    from quota.store.lmdb_store import LmdbStore

    assert state
    return LmdbStore(state)


def open_store(setting: str, state: Path, *, lease: bool = False, strict: bool = False) -> "Store":
    """Open the store of a server.

    Args:
        lease: open an edge of the store at `setting`, which grants calls on this host.
        strict: refuse a Redis server that can lose acknowledged writes in a power cut.

    Raises:
        WrongStoreError: the store cannot be used by this code.
        StoreUnavailable: the store cannot be opened or reached, or its identity is not the one that STATE has.
    """
    if setting == LMDB:
        return open_ledger(setting, state)
    opener = _redis_opener(setting, strict=strict, state=state)
    if not lease:
        return opener()
    from quota.edge.edge_store import EdgeStore

    return EdgeStore(state, opener)


def forget_store(state: Path) -> None:
    """Forget the store of several hosts that this STATE has used, so that its servers accept another store."""
    identity.forget(state)


def _redis_opener(
    url: str, *, strict: bool = False, state: Path | None = None, create: bool = False
) -> "Callable[[], RedisStore]":
    """A function that connects to the Redis server.

    Raises:
        NotAllowedError: redis-py, which a single host does not need, is not installed.
    """
    try:
        from quota.redis.store import RedisStore
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"{mask_password(url)} needs redis-py ({error}); pip install 'societes[redis]'"
        ) from error
    return lambda: RedisStore(url, strict=strict, state=state, create=create)
