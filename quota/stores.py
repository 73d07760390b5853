"""The store that a setting names: opened, with what its kind needs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from quota.address import LMDB, masked
from quota.errors import NotAllowedError
from quota.lmdb_store import LmdbStore
from quota.store import Ledger, Store

if TYPE_CHECKING:
    from quota.redis_store import RedisStore


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
    from quota.lease_store import LeaseStore

    return LeaseStore(state, centre)


def _centre(url: str, strict: bool) -> "Callable[[], RedisStore]":
    """Opens the server behind `url`; the library is an extra, which a host alone does not need."""
    try:
        from quota.redis_store import RedisStore
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"{masked(url)} needs redis-py ({error}); pip install 'societes[redis]'"
        ) from error
    return lambda: RedisStore(url, strict=strict)
