"""The errors of this package. A message names the value and, where the caller can do something, says what."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# What to do about a damaged shard.
REMEDY: Final = "run `python -m shards verify`, then build or fetch it again"


class ShardError(Exception):
    """The base of the errors of shards, generations and mirrors."""


class OutOfOrderError(ShardError):
    """The input of a writer is not in ascending order, or is inconsistent."""


class AmountError(ShardError):
    """An amount in the input of a writer is too large to be added up."""


class WrongFormatError(ShardError):
    """A file is no shard (or no manifest, no file of changes), or has another format version."""


class CorruptError(ShardError):
    """A file differs from its manifest, or breaks an invariant of FORMAT.md.

    Attributes:
        path: the shard that is damaged, where that is known.
    """

    path: str | None = None


class MissingCountryError(ShardError):
    """The shard of a country is left out, because it is damaged on this host."""

    def __init__(self, iso2: str) -> None:
        super().__init__(f"the companies of {iso2} cannot be read; build or fetch them again")
        self.iso2 = iso2


class GenerationError(ShardError):
    """A generation does not exist, or cannot be published."""


@contextmanager
def translate_errors(shard: str | None = None) -> Iterator[None]:
    """Turn what values of the wrong size, type or text lead to into a CorruptError; around a block or a function.

    NumPy compares every index with its array, and text is decoded strictly: a damaged file fails somewhere in the
    middle. The error names `shard`, if the block reads only that one.
    """
    try:
        yield
    except CorruptError as error:
        error.path = error.path or shard
        raise
    except (ValueError, TypeError, LookupError, OverflowError, struct.error) as error:
        found = CorruptError(f"{shard or 'a shard'}: {error!r}; {REMEDY}")
        found.path = shard
        raise found from error
