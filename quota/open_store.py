"""The store that a setting names: opened, with what its kind needs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from quota.errors import NotAllowedError
from quota.store.interface import Ledger, Store
from quota.store.lmdb_store import LmdbStore

if TYPE_CHECKING:
    from quota.redis.store import RedisStore


from typing import Final
from urllib.parse import parse_qsl, urlsplit

# MERGED quota/address.py
# Where quotas are kept, as a setting names it: beside STATE, or on a server of several hosts.

LMDB: Final = "lmdb"
# Of redis-py, what TLS needs.
_OPTIONS: Final = {
    "redis": (),
    "rediss": ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"),
}


def checked(setting: str) -> str:
    """`setting`, if it names a store.

    Raises:
        ValueError: it does not.

    >>> checked("lmdb"), checked("rediss://quota:secret@10.0.0.7:6380/0")
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


def masked(setting: str) -> str:
    """`setting` without the password that may be in it.

    >>> masked("redis://quota:secret@10.0.0.7/0"), masked("lmdb")
    ('redis://…@10.0.0.7/0', 'lmdb')
    """
    scheme, colon, rest = setting.partition("://")
    where = rest.rpartition("@")
    return f"{scheme}{colon}…@{where[2]}" if where[1] else setting


def open_ledger(setting: str, state: Path | None, *, strict: bool = False) -> Ledger:
    """The store itself, whose commands and counters all are there; a server needs no `state`.

    Raises:
        WrongStoreError: it is not to be used.
        StoreUnavailable: it cannot be opened, or reached.
    """
    if setting != LMDB:
        return _centre(setting, strict)()
    assert state
    return LmdbStore(state)


def open_store(setting: str, state: Path, *, lease: bool = False, strict: bool = False) -> Store:
    """What a server counts with; with `lease`, it goes on for a while without its centre.

    Raises:
        WrongStoreError: it is not to be used.
        StoreUnavailable: it cannot be opened, or reached.
    """
    if not lease:
        return open_ledger(setting, state, strict=strict)
    centre = _centre(setting, strict)
    from quota.edge.edge_store import EdgeStore

    return EdgeStore(state, centre)


def _centre(url: str, strict: bool) -> "Callable[[], RedisStore]":
    """Opens the server behind `url`; the library is an extra, which a host alone does not need."""
    try:
        from quota.redis.store import RedisStore
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"{masked(url)} needs redis-py ({error}); pip install 'societes[redis]'"
        ) from error
    return lambda: RedisStore(url, strict=strict)
