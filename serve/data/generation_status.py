"""What is known of the generations of a server: which it serves, which it refuses."""

from datetime import datetime
from typing import NamedTuple


class GenerationStatus(NamedTuple):
    """A moment of it.

    Attributes:
        generation: the one that is served, or None.
        previous: the one that a walk through pages may still be pinned to, or None.
        since: when the one that is served was published.
        refused: the published one, if it is damaged and so another is served.
        pid: the process that tells.
    """

    generation: str | None
    previous: str | None
    since: datetime | None
    refused: str | None
    pid: int
