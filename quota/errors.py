"""Errors of accounts, keys and stores. If the caller can solve the problem, the message says how.

`QuotaError` is the base class of these errors. After a `StoreUnavailable` nothing was written, unless its
`maybe_done` is true.
"""

import logging
import struct
from typing import Final

# The errors that reading a row raises if the ledger did not write its bytes.
UNREADABLE: Final = (LookupError, ValueError, TypeError, AttributeError, struct.error)

_log: Final = logging.getLogger("quota")


class QuotaError(Exception):
    """The base class of the errors that this package raises."""


class UnknownError(QuotaError):
    """The named account, key or plan does not exist."""


class NotAllowedError(QuotaError):
    """The plan of an account, or the state of a key, does not allow the operation."""


class StoreUnavailable(QuotaError):  # noqa: N818 - a temporary state, not a mistake
    """The store cannot be read or written now; nothing was confirmed as stored, and no result may be served.

    The store recovers without a restart once the cause is gone.

    Attributes:
        maybe_done: whether the operation may have been done, although its reply was lost.
    """

    def __init__(self, *args: object, maybe_done: bool = False) -> None:
        super().__init__(*args)
        self.maybe_done = maybe_done


class NumberTakenError(StoreUnavailable):
    """A process of another container has the pid of this process: open the store in a process with another pid.

    LMDB identifies the processes that share a file by their pids, and each container counts pids from 1.
    """


def unreadable_row(where: str, error: Exception) -> StoreUnavailable:
    """The error of an operation that cannot read a row; the log has the traceback."""
    remedy = "`quota audit` names what is wrong; restore a backup"
    _log.error("%s: a row cannot be read: %r; %s", where, error, remedy, exc_info=error)
    return StoreUnavailable(f"{where}: a row cannot be read: {error!r}; {remedy}")


class WrongStoreError(QuotaError):
    """The file is not a quota store, or another version of this code wrote it."""
