"""Some neighbours among the changes of a country: what filters compare, before and after, and every changed value.

A block answers a search without decoding the companies that do not match: each of `shards.search.columns` is a
column of codes into the list of its distinct values, so a filter runs once per distinct value and not per company.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgpack
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from shards.codec import record
from shards.errors import CorruptError
from shards.search.columns import COLUMNS
from shards.search.filters import Filter, Values

# Changes of a block; a list of its columns takes a few megabytes of memory.
BLOCK: Final = 4_096
# Details that are compressed, and read, together.
TOGETHER: Final = 32

_DETAILS: Final = "details"
_END: Final = b"\n"  # not in JSON as it is stored here, which escapes it
_LEVEL: Final = 3
# The most bytes of a frame, unpacked: TOGETHER companies, before and after, of which each may have a MiB.
_MOST: Final = 1 << 27
# What reading damaged bytes, or comparing a value of a wrong type, raises.
_FAULTS: Final = (AttributeError, LookupError, TypeError, ValueError, zstandard.ZstdError)

Mask = NDArray[np.bool_]


class StoredChange(NamedTuple):
    """A change to be stored.

    Attributes:
        before, after: what filters compare; None where the company was not there.
        details: the fields with their values before and after; of a company that came or went, all of them.
    """

    before: Values | None
    after: Values | None
    details: Mapping[str, tuple[Any, Any]]


def pack(changes: Sequence[StoredChange]) -> bytes:
    """The bytes of a block."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    sides = [change.before for change in changes] + [change.after for change in changes]
    packed: dict[str, Any] = {name: compress(_column(name, sides)) for name in COLUMNS}
    details = [orjson.dumps(change.details) for change in changes]
    packed[_DETAILS] = [
        compress(b"[%b]" % b",".join(details[first : first + TOGETHER]))
        for first in range(0, len(details), TOGETHER)
    ]
    return bytes(msgpack.packb(packed))


def _column(name: str, sides: Sequence[Values | None]) -> bytes:
    """The distinct values as JSON, and a code for each of `sides`: 0 where there is no company, else 1, 2, …"""
    found: dict[Any, int] = {}
    codes = [0 if side is None else found.setdefault(side[name], len(found) + 1) for side in sides]
    return orjson.dumps(list(found)) + _END + np.array(codes, _type(len(found))).tobytes()


def _type(distinct: int) -> np.dtype[Any]:
    """The type of the codes of so many distinct values."""
    return np.min_scalar_type(distinct).newbyteorder("<")


class ChangeBlock:
    """A stored block of `count` changes.

    Every method raises CorruptError if the bytes are damaged.
    """

    def __init__(self, packed: bytes, count: int) -> None:
        self.count = count
        self._details: dict[int, list[dict[str, tuple[Any, Any]]]] = {}
        try:
            self._packed = msgpack.unpackb(packed)
        except (ValueError, msgpack.UnpackException) as error:
            raise _corrupt_error(error) from error

    def matches(self, filters: Sequence[Filter]) -> tuple[Mask, Mask]:
        """The companies that passed every filter before, and those that pass after."""
        mask = np.ones(2 * self.count, dtype=bool)
        try:
            mask = self._column("iso2")[1] > 0
            for one in filters:
                distinct, codes = self._column(one.value)
                passes = np.zeros(len(distinct) + 1, dtype=bool)
                # Only values of companies that are left: the last filters, by name, are the slowest.
                for code in np.flatnonzero(np.bincount(codes[mask])).tolist():
                    passes[code] = one.passes(distinct[code - 1])
                mask &= passes[codes]
        except _FAULTS as error:
            raise _corrupt_error(error) from error
        return mask[: self.count], mask[self.count :]

    def details(self, number: int) -> dict[str, tuple[Any, Any]]:
        """The fields of a change with their values before and after."""
        try:
            frame, place = divmod(number, TOGETHER)
            if frame not in self._details:
                self._details[frame] = orjson.loads(_decompress(self._packed[_DETAILS][frame]))
            return self._details[frame][place]
        except _FAULTS as error:
            raise _corrupt_error(error) from error

    def values(self) -> list[tuple[Values | None, Values | None]]:
        """What filters compare of each change, before and after."""
        try:
            columns = {name: self._column(name) for name in COLUMNS}
            sides = [
                {name: distinct[codes[place] - 1] for name, (distinct, codes) in columns.items()}
                if columns["iso2"][1][place]
                else None
                for place in range(2 * self.count)
            ]
        except _FAULTS as error:
            raise _corrupt_error(error) from error
        return list(zip(sides[: self.count], sides[self.count :], strict=True))

    def _column(self, name: str) -> tuple[list[Any], NDArray[Any]]:
        stored = _decompress(self._packed[name])
        end = stored.index(_END)
        distinct: list[Any] = orjson.loads(stored[:end])
        codes = np.frombuffer(stored, _type(len(distinct)), offset=end + 1)
        if len(codes) != 2 * self.count or (self.count and codes.max() > len(distinct)):
            raise ValueError(f"{len(codes)} codes of {name} for {self.count} changes")
        return distinct, codes


def _decompress(frame: bytes) -> bytes:
    return record.decompress(frame, _MOST, zstandard.ZstdDecompressor())


def _corrupt_error(error: Exception) -> CorruptError:
    return CorruptError(f"a block of changes is damaged ({error!r}); build or fetch it again")
