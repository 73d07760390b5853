"""A bounded memo for functions of a text that a client wrote.

It remembers short texts only, and a bounded number of them: a client that sends thousands of
different texts costs a few megabytes and no more. Whom a key belongs to is never
remembered here (A11), so a revocation takes effect at the next call.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_REMEMBERED: Final = 2_048
_LONGEST: Final = 400  # characters


def memoise(read: Callable[[str], T]) -> Callable[[str], T]:
    """A decorator that remembers the results of `read` for short texts, but not its exceptions."""
    remembered = lru_cache(_REMEMBERED)(read)

    def recall(text: str) -> T:
        return remembered(text) if len(text) <= _LONGEST else read(text)

    return recall
