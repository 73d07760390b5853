"""The errors of this package. A message names the value and, if there is one, the remedy."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# The remedy for a damaged shard.
REMEDY: Final = "run `python -m shards verify`, then build or fetch it again"


class ShardError(Exception):
    """The base of the errors of shards, generations and mirrors."""


class OutOfOrderError(ShardError):
    """The input of a writer is not in ascending order, or is inconsistent."""


class AmountError(ShardError):
    """An amount in the input of a writer is too large to be summed."""


class WrongFormatError(ShardError):
    """A file is not a shard (or no manifest, no file of changes), or has another format version."""


class CorruptError(ShardError):
    """A file differs from its manifest, or breaks an invariant of FORMAT.md.

    Attributes:
        path: the damaged shard, if it is known.
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
    """Translate the errors of reading damaged values into a CorruptError; around a block or a function.

    NumPy checks every index against its array, and text is decoded strictly, so a damaged file raises an error
    somewhere in the block. The CorruptError names `shard`, if the block reads only that shard.
    """
    try:
        yield
    except CorruptError as error:
        error.path = error.path or shard
        raise
    except (ValueError, TypeError, LookupError, OverflowError, struct.error) as error:
        corrupt = CorruptError(f"{shard or 'a shard'}: {error!r}; {REMEDY}")
        corrupt.path = shard
        raise corrupt from error
