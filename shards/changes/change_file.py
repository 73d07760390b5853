"""The changes of one country between two generations, as a file with random access (FORMAT.md §12).

    offset  0                  16   18   20       24                   48
            +------------------+----+----+--------+--------------------+---------+------+
            | "societes-diff\\0" | V  | C  | 0      | 3 counts, u64      | starts  | data |
            +------------------+----+----+--------+--------------------+---------+------+

The file has three sections, in the order of NATURES: companies deleted, created, changed. Piece i of the whole file is
`data[starts[i] : starts[i + 1]]`. The first pieces are the entries, one per change, JSON that is ready to send; then
come the blocks of each section, one per BLOCK changes. Within a section, changes are sorted by
folded identifier, then by identifier. Integers are little-endian.

A block has some neighbours among the changes: what filters compare, before and after, and every changed value. It
answers a search without decoding the companies that do not match: each of `shards.search.columns` is a column of codes
into the list of its distinct values, so a filter runs once per distinct value and not per company.
"""

import mmap
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple

import msgpack
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from shards.codec import record
from shards.codec.folding import fold_id
from shards.errors import CorruptError, WrongFormatError
from shards.generations import atomic_files
from shards.generations.change_steps import SUFFIX, ChangeCounts, ChangeStep
from shards.search.columns import COLUMNS, Filter, Values

# -- blocks ------------------------------------------------------------------------------------


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


# -- the file ----------------------------------------------------------------------------------


CHANGES_VERSION: Final = 2

DELETED: Final = "supprimee"
CREATED: Final = "creee"
CHANGED: Final = "modifiee"
NATURES: Final = (DELETED, CREATED, CHANGED)
# Read backwards, a deletion is a creation and vice versa.
_BACKWARDS: Final = {DELETED: CREATED, CREATED: DELETED, CHANGED: CHANGED}
STATEMENTS: Final = "comptes"  # the name of the statement lines among the changed fields

_MAGIC: Final = b"societes-diff\0\0\0"
_HEADER: Final = struct.Struct("<16sH2sI3Q")
_START: Final = np.dtype("<u8")
_ENDS: Final = struct.Struct("<2Q")  # two starts: where a piece begins and ends
_PIECE: Final = 1 << 20


class ChangeWriter:
    """The writer of a file of changes.

    Sections may be filled in any order. Memory is 8 bytes per change and a block per section; what is complete is in
    unnamed temporary files until `close`.
    """

    def __init__(self, path: Path, iso2: str) -> None:
        self._path = path
        self._iso2 = iso2
        self._sections = {nature: _Section(path.parent) for nature in NATURES}

    def add(self, nature: str, identifier: str, change: StoredChange) -> None:
        """Add the change of a company."""
        entry: dict[str, object] = {"iso2": self._iso2, "id": identifier}
        if nature == CHANGED:
            entry["champs"] = list(change.details)
        self._sections[nature].add(orjson.dumps(entry), change)

    def close(self) -> ChangeCounts:
        """Write the file, unless there are no changes; return the number of changes."""
        sections = list(self._sections.values())
        for section in sections:
            section.end_block()
        counts = ChangeCounts(*(len(section.entries.lengths) for section in sections))
        if any(counts):
            pieces = [
                *(section.entries for section in sections),
                *(section.blocks for section in sections),
            ]
            partial = self._path.with_name(self._path.name + atomic_files.PARTIAL)
            with partial.open("wb") as file:
                iso2 = self._iso2.encode()
                file.write(_HEADER.pack(_MAGIC, CHANGES_VERSION, iso2, 0, *counts))
                lengths = np.concatenate([[0], *(piece.lengths for piece in pieces)])
                file.write(lengths.cumsum(dtype=_START).tobytes())
                for piece in pieces:
                    piece.copy(file)
            atomic_files.replace(partial, self._path)
        for section in sections:
            section.entries.data.close()
            section.blocks.data.close()
        return counts


class _Section:
    def __init__(self, folder: Path) -> None:
        self.entries, self.blocks = _Spool(folder), _Spool(folder)
        self._changes: list[StoredChange] = []

    def add(self, entry: bytes, change: StoredChange) -> None:
        self.entries.add(entry)
        self._changes.append(change)
        if len(self._changes) == BLOCK:
            self.end_block()

    def end_block(self) -> None:
        if self._changes:
            self.blocks.add(pack(self._changes))
            self._changes.clear()


class _Spool:
    def __init__(self, folder: Path) -> None:
        self.lengths = array("Q")
        self.data: IO[bytes] = TemporaryFile(dir=folder)  # noqa: SIM115 - the writer closes it

    def add(self, piece: bytes) -> None:
        self.lengths.append(len(piece))
        self.data.write(piece)

    def copy(self, file: IO[bytes]) -> None:
        self.data.seek(0)
        while part := self.data.read(_PIECE):
            file.write(part)


class ChangeFile:
    """An open file of changes; any thread may read it until `close`."""

    def __init__(self, path: Path, *, backwards: bool = False) -> None:
        """Open the file.

        Args:
            backwards: read the changes from the later generation to the earlier one.

        Raises:
            FileNotFoundError: there is no such file.
            WrongFormatError: the file is no file of changes, or has another version.
            CorruptError: the file is truncated.
        """
        with path.open("rb") as file:
            self.iso2, self._stored = _read_header(file, path)
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._backwards = backwards
        self._path = path
        self._starts = self._read_starts(path)
        self._data = _HEADER.size + self._starts.nbytes

    @property
    def counts(self) -> ChangeCounts:
        """The number of entries of each section."""
        return self._stored.reverse() if self._backwards else self._stored

    def entries(self, nature: str, start: int, stop: int) -> list[bytes]:
        """The entries [start, stop) of a section, each a JSON object `{"iso2", "id", …}`."""
        place = NATURES.index(_BACKWARDS[nature] if self._backwards else nature)
        first = sum(self._stored[:place])
        last = first + self._stored[place]
        starts = self._starts[first + start : min(first + stop, last) + 1].tolist()
        data = self._data
        return [self._map[data + begin : data + end] for begin, end in pairwise(starts)]

    def matches(self, filters: Sequence[Filter]) -> tuple[Mask, Mask]:
        """For every change, by number: did the company pass every filter before, does it pass after?"""
        found = [block.matches(filters) for block in self._blocks()]
        before, after = (np.concatenate(sides) for sides in zip(*found, strict=True))
        return (after, before) if self._backwards else (before, after)

    def details(self, numbers: Sequence[int]) -> list[dict[str, tuple[Any, Any]]]:
        """The changed fields of changes, with their values before and after; of a company that came or went, all."""
        blocks: dict[int, ChangeBlock] = {}
        ends = list(accumulate(self._stored, initial=0))
        firsts = list(accumulate(map(_blocks, self._stored), initial=0))
        found = []
        for number in numbers:
            place = bisect_right(ends, number) - 1
            block, within = divmod(number - ends[place], BLOCK)
            block += firsts[place]
            if block not in blocks:
                blocks[block] = self._block(block)
            details = blocks[block].details(within)
            if self._backwards:
                details = {field: (after, before) for field, (before, after) in details.items()}
            found.append(details)
        return found

    def changes(self) -> Iterator[tuple[str, str, StoredChange]]:
        """Every change as it was written: its nature, its identifier and what is stored of it."""
        number = 0
        for block in self._blocks():
            for place, (before, after) in enumerate(block.values()):
                (identifier,) = self.identifiers([number])
                nature = NATURES[self._section(number)[0]]
                yield nature, identifier, StoredChange(before, after, block.details(place))
                number += 1

    def identifiers(self, numbers: Sequence[int]) -> list[str]:
        """The identifiers of the companies of these changes."""
        return self._identifiers([self._piece(number) for number in numbers])

    def all_identifiers(self) -> list[str]:
        """The identifiers of the companies of all changes."""
        starts = (self._starts[: sum(self._stored) + 1] + _START.type(self._data)).tolist()
        return self._identifiers([self._map[begin:end] for begin, end in pairwise(starts)])

    def _identifiers(self, entries: Sequence[bytes]) -> list[str]:
        try:
            found = [one["id"] for one in orjson.loads(b"[%b]" % b",".join(entries))]
            if len(found) != len(entries):
                raise ValueError(f"{len(found)} companies in {len(entries)} entries")
            return found
        except (LookupError, TypeError, ValueError) as error:
            raise CorruptError(
                f"an entry of {self._path} is damaged ({error!r}); build or fetch it again"
            ) from error

    def nature(self, number: int) -> str:
        """The kind of a change."""
        stored = NATURES[self._section(number)[0]]
        return _BACKWARDS[stored] if self._backwards else stored

    def close(self) -> None:
        """Close the file."""
        self._map.close()

    def _section(self, number: int) -> tuple[int, int]:
        """The section of a change, and the number of its first one."""
        ends = list(accumulate(self._stored, initial=0))
        place = bisect_right(ends, number) - 1
        return place, ends[place]

    def _blocks(self) -> Iterator[ChangeBlock]:
        return map(self._block, range(sum(map(_blocks, self._stored))))

    def _block(self, number: int) -> ChangeBlock:
        sizes = [size for count in self._stored for size in _sizes(count)]
        return ChangeBlock(self._piece(sum(self._stored) + number), sizes[number])

    def _piece(self, number: int) -> bytes:
        begin, end = self._starts[number : number + 2].tolist()
        return self._map[self._data + begin : self._data + end]

    def _read_starts(self, path: Path) -> NDArray[np.uint64]:
        """A copy of the starts, because the map cannot be closed while an array is a view of it."""
        count = _starts_of(self._stored)
        size = _HEADER.size + _START.itemsize * count
        stored = self._map[_HEADER.size : size]
        starts = np.frombuffer(stored[: len(stored) // 8 * 8], dtype=_START)
        if len(starts) != count or size + int(starts[-1]) != len(self._map):
            self._map.close()
            raise CorruptError(f"{path} is not whole; build or fetch it again")
        return starts


def find_deleted(path: Path, folded: str) -> dict[str, int]:
    """The deleted companies with a folded identifier, and the numbers of these changes.

    The file is searched as it is mapped: to open it would copy the starts of all changes.

    Raises:
        FileNotFoundError, WrongFormatError, CorruptError: as of ChangeFile.
    """
    with path.open("rb") as file:
        _, counts = _read_header(file, path)
        data = _HEADER.size + _START.itemsize * _starts_of(counts)
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:

            def identifier(number: int) -> str:
                place = _HEADER.size + _START.itemsize * number
                begin, end = _ENDS.unpack_from(mapped, place)
                return str(orjson.loads(mapped[data + begin : data + end])["id"])

            numbers = range(counts.supprimees)
            try:
                first = bisect_left(numbers, folded, key=lambda one: fold_id(identifier(one)))
                found = ((identifier(one), one) for one in numbers[first:])
                return dict(takewhile(lambda one: fold_id(one[0]) == folded, found))
            except (LookupError, OverflowError, TypeError, ValueError, struct.error) as error:
                raise CorruptError(f"{path} is damaged ({error!r}); fetch it again") from error


def _read_header(file: IO[bytes], path: Path) -> tuple[str, ChangeCounts]:
    """The country and the counts of a file."""
    packed = file.read(_HEADER.size)
    if len(packed) < _HEADER.size or not packed.startswith(_MAGIC):
        raise WrongFormatError(f"{path} holds no changes of companies; build it again")
    _, version, iso2, _, *counts = _HEADER.unpack(packed)
    if version != CHANGES_VERSION:
        raise WrongFormatError(
            f"{path} has format {version}, this code reads {CHANGES_VERSION}; build it again"
        )
    return iso2.decode(), ChangeCounts(*counts)


def _starts_of(counts: ChangeCounts) -> int:
    """The starts in a file: of its entries, of its blocks, and its end."""
    return sum(counts) + sum(map(_blocks, counts)) + 1


def _blocks(count: int) -> int:
    """The blocks of a section of `count` changes."""
    return -(-count // BLOCK)


def _sizes(count: int) -> list[int]:
    """The changes in each of these blocks."""
    return [min(BLOCK, count - first) for first in range(0, count, BLOCK)]


def of_step(step: ChangeStep, iso2: str) -> ChangeFile:
    """The changes of a country that is in the counts of a step.

    Raises:
        ShardError, FileNotFoundError: the file is damaged, or gone.
    """
    return ChangeFile(step.folder / f"{iso2}{SUFFIX}", backwards=step.backwards)
