"""The errors of a mirror. Each message says what to do about it."""

from shards.errors import ShardError


class SyncError(ShardError):
    """The mirror cannot continue; the published generation is unchanged."""


class AbsentError(SyncError):
    """The source does not have this file, maybe because it is publishing another generation."""


class FaultError(SyncError):
    """The source failed in a way that may be temporary.

    Attributes:
        after: the seconds that the source asks to wait (Retry-After), or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
