"""What can go wrong between a source and here. Each message says what to do about it."""

from shards.errors import ShardError


class SyncError(ShardError):
    """The mirror cannot go on; what is published here stays so."""


class AbsentError(SyncError):
    """The source does not have this file (now: it may just be publishing)."""


class FaultError(SyncError):
    """The source failed in a way that may pass.

    `after`: seconds that it asked to be left alone for, or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
