"""What is remembered of what clients wrote: values that follow from a text and nothing else.

Short texts only, and so many: a client that sends a thousand different ones costs a few megabytes
and no more. A key is never remembered (A11), nor whose it is: a revocation counts at the next call.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_REMEMBERED: Final = 2_048
_LONGEST: Final = 400  # characters


def remembering(read: Callable[[str], T]) -> Callable[[str], T]:
    """`read`, which is asked once for a short text; what it raises is not remembered."""
    remembered = lru_cache(_REMEMBERED)(read)

    def recall(text: str) -> T:
        return remembered(text) if len(text) <= _LONGEST else read(text)

    return recall
