"""The status of a server's generations: the one it serves and the one it refuses."""

from datetime import datetime
from typing import NamedTuple


class GenerationStatus(NamedTuple):
    """The generations that one process serves and refuses at a moment.

    Attributes:
        generation: the current one, or None.
        previous: the one before it, which requests may still name, or None.
        since: the time at which the current one was published; of one that an older CURRENT named, that of its
            files.
        refused: the published one, if it is damaged and another one is therefore served.
        missing: the countries of the current one that are damaged, and so are answered with 503.
        pid: the process.
        is_reading: the shards are being read into memory after a start.
    """

    generation: str | None
    previous: str | None
    since: datetime | None
    refused: str | None
    missing: tuple[str, ...]
    pid: int
    is_reading: bool = False
