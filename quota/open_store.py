"""The address of a store, as the setting `--quota` has it, and opening the store behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from quota.errors import NotAllowedError
from quota.redis import identity

# A store is imported where it is opened: the parent of several workers only reads the setting.
if TYPE_CHECKING:
    from quota.redis.store import RedisStore
    from quota.store.interface import LedgerStore, Store

LMDB: Final = "lmdb"
# Options in the query of an address, by scheme: those of redis-py that TLS needs.
_OPTIONS: Final = {
    "redis": (),
    "rediss": ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"),
}


def check_address(setting: str) -> str:
    """The setting, unchanged, if it is the address of a store.

    Raises:
        ValueError: it is not; the message says why.

    >>> check_address("lmdb"), check_address("rediss://quota:secret@10.0.0.7:6380/0")
    ('lmdb', 'rediss://quota:secret@10.0.0.7:6380/0')
    """
    if setting != LMDB:
        parts = urlsplit(setting)
        if parts.scheme not in _OPTIONS or not parts.hostname or parts.port == 0:
            raise ValueError("it must be lmdb, redis://HOST:PORT/DB, or rediss://… with TLS")
        if not (parts.path[1:] or "0").isdigit():
            raise ValueError(f"the number of a database follows the address, not {parts.path!r}")
        known = _OPTIONS[parts.scheme]
        if unknown := [name for name, _ in parse_qsl(parts.query) if name not in known]:
            allowed = ", ".join(known) or "none; TLS is rediss://"
            raise ValueError(f"{unknown[0]} is no option of it; known: {allowed}")
    return setting


def mask_password(setting: str) -> str:
    """The setting without the password that it may contain.

    >>> mask_password("redis://quota:secret@10.0.0.7/0"), mask_password("lmdb")
    ('redis://…@10.0.0.7/0', 'lmdb')
    """
    scheme, colon, rest = setting.partition("://")
    where = rest.rpartition("@")
    return f"{scheme}{colon}…@{where[2]}" if where[1] else setting


def open_ledger(setting: str, state: Path | None, *, create: bool = False) -> "LedgerStore":
    """Open a store that has accounts; `state` is the STATE folder, which a server does not need.

    Only with `create` an empty server becomes a store. What a host remembers is not asked here: an
    operator may look at any store.

    Raises:
        WrongStoreError: the store cannot be used by this code.
        StoreUnavailable: it cannot be opened or reached, or has no rows.
    """
    if setting != LMDB:
        return _redis_opener(setting, create=create)()
    from quota.store.lmdb_store import LmdbStore

    assert state
    return LmdbStore(state)


def open_store(setting: str, state: Path, *, lease: bool = False, strict: bool = False) -> "Store":
    """Open the store that a server counts with; with `lease`, as an edge of the store `setting`.

    Raises:
        WrongStoreError: the store cannot be used by this code.
        StoreUnavailable: it cannot be opened or reached, or is not the one that STATE remembers.
    """
    if setting == LMDB:
        return open_ledger(setting, state)
    opener = _redis_opener(setting, strict=strict, state=state)
    if not lease:
        return opener()
    from quota.edge.edge_store import EdgeStore

    return EdgeStore(state, opener)


def forget_store(state: Path) -> None:
    """Let the servers of this STATE use another store of several hosts than before."""
    identity.forget(state)


def _redis_opener(
    url: str, *, strict: bool = False, state: Path | None = None, create: bool = False
) -> "Callable[[], RedisStore]":
    """A function that connects to the server; redis-py is an extra, not needed on a single host."""
    try:
        from quota.redis.store import RedisStore
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"{mask_password(url)} needs redis-py ({error}); pip install 'societes[redis]'"
        ) from error
    return lambda: RedisStore(url, strict=strict, state=state, create=create)
