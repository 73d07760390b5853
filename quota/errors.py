"""The errors of accounts, keys and stores. A message says what to do, where the caller can do something."""

import logging
import struct
from typing import Final

# What the codecs of rows raise for bytes that the ledger has not written.
UNREADABLE: Final = (LookupError, ValueError, TypeError, AttributeError, struct.error)

_log: Final = logging.getLogger("quota")


class QuotaError(Exception):
    """Base of the errors that this package raises."""


class UnknownError(QuotaError):
    """The named account, key or plan does not exist."""


class NotAllowedError(QuotaError):
    """The plan of an account, or the state of a key, does not allow the operation."""


class StoreUnavailable(QuotaError):  # noqa: N818 - a temporary state, not a mistake
    """The store cannot be read or written now; nothing was acknowledged, and nothing may be served.

    The store recovers by itself once the cause is gone.

    Attributes:
        maybe_done: the operation may have been done, only its reply was lost.
    """

    def __init__(self, *args: object, maybe_done: bool = False) -> None:
        super().__init__(*args)
        self.maybe_done = maybe_done


class NumberTakenError(StoreUnavailable):
    """Another process of the store has the number (pid) of this one, in another container: another process may open it.

    LMDB tells the processes of a file apart by their numbers, and each container counts from 1.
    """


def unreadable_row(where: str, error: Exception) -> StoreUnavailable:
    """The refusal of one operation that met a row it cannot read; the log has the place."""
    remedy = "`quota audit` names what is wrong; restore a backup"
    _log.error("%s: a row cannot be read: %r; %s", where, error, remedy, exc_info=error)
    return StoreUnavailable(f"{where}: a row cannot be read: {error!r}; {remedy}")


class WrongStoreError(QuotaError):
    """The file is no quota store, or another version of this code wrote it."""
