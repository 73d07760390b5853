"""The changes of one country between two generations, as a file with random access (FORMAT.md §12).

    offset  0                  16   18   20       24                   48
            +------------------+----+----+--------+--------------------+---------+------+
            | "societes-diff\\0" | V  | C  | 0      | 3 counts, u64      | starts  | data |
            +------------------+----+----+--------+--------------------+---------+------+

V is the version and C the country. The file has three sections, in the order of NATURES: companies deleted, created,
changed. Piece i of the file is `data[starts[i] : starts[i + 1]]`. The first pieces are the entries, one per change, as
JSON that is ready to send; then come the blocks of each section, one per BLOCK changes. Within a section, changes are
sorted by folded identifier, then by identifier. Integers are little-endian.

A block contains consecutive changes: the values that filters compare, before and after, and every changed value. A
search of a block does not decode companies that do not match: each of `shards.search.columns` is a column of codes for
its distinct values, so a filter runs once per distinct value and not per company.
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
from shards.search.columns import COLUMNS, ColumnValues, Filter

# -- blocks ------------------------------------------------------------------------------------


# Changes per block; the lists of its columns take a few megabytes of memory.
BLOCK: Final = 4_096
# Changes whose details are compressed together, in one frame.
TOGETHER: Final = 32

_DETAILS: Final = "details"
_END: Final = b"\n"  # ends the JSON of a column, in which line feeds are escaped
_LEVEL: Final = 3  # the compression level of zstd
# The most bytes of a frame, unpacked: TOGETHER companies, before and after, each of at most one MiB.
_LARGEST_FRAME: Final = 1 << 27
# The exceptions of reading damaged bytes, or of comparing a value of a wrong type.
_DAMAGE_ERRORS: Final = (AttributeError, LookupError, TypeError, ValueError, zstandard.ZstdError)

# For each change of a block or a file, whether its company passes the filters.
Mask = NDArray[np.bool_]


class StoredChange(NamedTuple):
    """A change to be stored.

    Attributes:
        before, after: the values that filters compare; None if the company did not exist.
        details: the changed fields with their values before and after; all fields of a company created or deleted.
    """

    before: ColumnValues | None
    after: ColumnValues | None
    details: Mapping[str, tuple[Any, Any]]


def pack(changes: Sequence[StoredChange]) -> bytes:
    """The bytes of a block: each column and each frame of details is compressed alone, so that it can be read alone."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    sides = [change.before for change in changes] + [change.after for change in changes]
    packed: dict[str, Any] = {name: compress(_pack_column(name, sides)) for name in COLUMNS}
    details = [orjson.dumps(change.details) for change in changes]
    packed[_DETAILS] = [
        compress(b"[%b]" % b",".join(details[first : first + TOGETHER]))
        for first in range(0, len(details), TOGETHER)
    ]
    return bytes(msgpack.packb(packed))


def _pack_column(name: str, sides: Sequence[ColumnValues | None]) -> bytes:
    """The distinct values of a column as JSON, and a code for each of `sides`: 0 for no company, else 1, 2, …

    Args:
        sides: the companies of all changes before, then those of all changes after.
    """
    numbering: dict[Any, int] = {}
    codes = [
        0 if side is None else numbering.setdefault(side[name], len(numbering) + 1)
        for side in sides
    ]
    return (
        orjson.dumps(list(numbering)) + _END + np.array(codes, _code_type(len(numbering))).tobytes()
    )


def _code_type(value_count: int) -> np.dtype[Any]:
    """The smallest type of the codes of this number of distinct values."""
    return np.min_scalar_type(value_count).newbyteorder("<")


class ChangeBlock:
    """A stored block of `count` changes.

    Every method raises CorruptError if the bytes are damaged.
    """

    def __init__(self, packed: bytes, count: int) -> None:
        """Unpack the block; its columns and frames of details stay compressed until they are used."""
        self.count = count
        # The frames of details that are unpacked already, by number.
        self._details: dict[int, list[dict[str, tuple[Any, Any]]]] = {}
        try:
            self._packed = msgpack.unpackb(packed)
        except (ValueError, msgpack.UnpackException) as error:
            raise _corrupt_error(error) from error

    def matches(self, filters: Sequence[Filter]) -> tuple[Mask, Mask]:
        """Whether each company of the block passes every filter: a mask for before its change, and one for after it.

        A company that did not exist passes no filter.
        """
        # The first half of `mask`, and of the codes of each column, is for before; the second half is for after.
        mask = np.ones(2 * self.count, dtype=bool)
        try:
            mask = self._column("iso2")[1] > 0  # code 0: there was no company
            for condition in filters:
                distinct, codes = self._column(condition.value)
                passes = np.zeros(len(distinct) + 1, dtype=bool)
                # Only values of companies that still pass are tested, because the last filters, by name, are slow.
                for code in np.flatnonzero(np.bincount(codes[mask])).tolist():
                    passes[code] = condition.passes(distinct[code - 1])
                mask &= passes[codes]
        except _DAMAGE_ERRORS as error:
            raise _corrupt_error(error) from error
        return mask[: self.count], mask[self.count :]

    def details(self, number: int) -> dict[str, tuple[Any, Any]]:
        """The fields of a change with their values before and after."""
        try:
            frame, index = divmod(number, TOGETHER)
            if frame not in self._details:
                self._details[frame] = orjson.loads(_decompress(self._packed[_DETAILS][frame]))
            return self._details[frame][index]
        except _DAMAGE_ERRORS as error:
            raise _corrupt_error(error) from error

    def values(self) -> list[tuple[ColumnValues | None, ColumnValues | None]]:
        """The values that filters compare, for each change before and after; None where the company did not exist."""
        try:
            columns = {name: self._column(name) for name in COLUMNS}
            # Code 0 means that the company did not exist; code 1 + i is distinct value i.
            sides = [
                {name: distinct[codes[place] - 1] for name, (distinct, codes) in columns.items()}
                if columns["iso2"][1][place]
                else None
                for place in range(2 * self.count)
            ]
        except _DAMAGE_ERRORS as error:
            raise _corrupt_error(error) from error
        return list(zip(sides[: self.count], sides[self.count :], strict=True))

    def _column(self, name: str) -> tuple[list[Any], NDArray[Any]]:
        """The distinct values of a column, and its codes: one before each change, then one after each change."""
        stored = _decompress(self._packed[name])
        end = stored.index(_END)
        distinct: list[Any] = orjson.loads(stored[:end])
        codes = np.frombuffer(stored, _code_type(len(distinct)), offset=end + 1)
        if len(codes) != 2 * self.count or (self.count and codes.max() > len(distinct)):
            raise ValueError(f"{len(codes)} codes of {name} for {self.count} changes")
        return distinct, codes


def _decompress(frame: bytes) -> bytes:
    """Unpack a frame; one of more than _LARGEST_FRAME bytes is refused as damaged."""
    return record.decompress(frame, _LARGEST_FRAME, zstandard.ZstdDecompressor())


def _corrupt_error(error: Exception) -> CorruptError:
    """The error to raise for a block whose bytes caused this exception."""
    return CorruptError(f"a block of changes is damaged ({error!r}); build or fetch it again")


# -- the file ----------------------------------------------------------------------------------


CHANGES_VERSION: Final = 2

DELETED: Final = "supprimee"
CREATED: Final = "creee"
CHANGED: Final = "modifiee"
NATURES: Final = (DELETED, CREATED, CHANGED)
# The nature of each change for a reader that goes from the later generation to the earlier one.
_BACKWARDS: Final = {DELETED: CREATED, CREATED: DELETED, CHANGED: CHANGED}
STATEMENTS: Final = "comptes"  # the name of the statement lines among the changed fields

_MAGIC: Final = b"societes-diff\0\0\0"
# The magic, the version, the country, 0, and the counts of the three sections.
_HEADER: Final = struct.Struct("<16sH2sI3Q")
_START_TYPE: Final = np.dtype("<u8")  # of the starts
_TWO_STARTS: Final = struct.Struct("<2Q")  # two starts: where a piece begins and ends
_COPIED_AT_ONCE: Final = 1 << 20  # bytes that are copied at once


class ChangeWriter:
    """The writer of a file of changes.

    Sections can be filled in any order. The writer needs 8 bytes of memory per change and a block per section; complete
    blocks are in unnamed temporary files until `close`.
    """

    def __init__(self, path: Path, iso2: str) -> None:
        """Begin a file at `path` for the changes of the country `iso2`; nothing is written there before `close`."""
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
        """Write the file, unless there are no changes, and close the temporary files; return the counts by nature."""
        sections = list(self._sections.values())
        for section in sections:
            section.end_block()
        counts = ChangeCounts(*(len(section.entries.lengths) for section in sections))
        if any(counts):
            spools = [
                *(section.entries for section in sections),
                *(section.blocks for section in sections),
            ]
            partial = self._path.with_name(self._path.name + atomic_files.PARTIAL)
            with partial.open("wb") as file:
                iso2 = self._iso2.encode()
                file.write(_HEADER.pack(_MAGIC, CHANGES_VERSION, iso2, 0, *counts))
                lengths = np.concatenate([[0], *(spool.lengths for spool in spools)])
                file.write(lengths.cumsum(dtype=_START_TYPE).tobytes())
                for spool in spools:
                    spool.copy_to(file)
            atomic_files.replace(partial, self._path)
        for section in sections:
            section.entries.data.close()
            section.blocks.data.close()
        return counts


class _Section:
    """The entries and the blocks of one section."""

    def __init__(self, folder: Path) -> None:
        """Open the temporary files of the section in `folder`."""
        self.entries, self.blocks = _Spool(folder), _Spool(folder)
        self._changes: list[StoredChange] = []

    def add(self, entry: bytes, change: StoredChange) -> None:
        """Add a change and its entry; a full block is packed."""
        self.entries.add(entry)
        self._changes.append(change)
        if len(self._changes) == BLOCK:
            self.end_block()

    def end_block(self) -> None:
        """Pack the changes that are in no block yet."""
        if self._changes:
            self.blocks.add(pack(self._changes))
            self._changes.clear()


class _Spool:
    """Pieces that are appended to an unnamed temporary file (`data`), and their `lengths` in bytes."""

    def __init__(self, folder: Path) -> None:
        self.lengths = array("Q")
        self.data: IO[bytes] = TemporaryFile(dir=folder)  # noqa: SIM115 - the writer closes it

    def add(self, piece: bytes) -> None:
        """Append a piece."""
        self.lengths.append(len(piece))
        self.data.write(piece)

    def copy_to(self, file: IO[bytes]) -> None:
        """Append all pieces to a file."""
        self.data.seek(0)
        while copied := self.data.read(_COPIED_AT_ONCE):
            file.write(copied)


class ChangeFile:
    """An open file of changes, which any thread can read until `close`."""

    def __init__(self, path: Path, *, backwards: bool = False) -> None:
        """Open the file.

        Args:
            backwards: read the changes from the later generation to the earlier one.

        Raises:
            FileNotFoundError: there is no such file.
            WrongFormatError: the file is not a file of changes, or has another version.
            CorruptError: the file is truncated.
        """
        with path.open("rb") as file:
            self.iso2, self._stored_counts = _read_header(file, path)
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._backwards = backwards
        self._path = path
        self._starts = self._read_starts(path)
        self._data_offset = _HEADER.size + self._starts.nbytes

    @property
    def counts(self) -> ChangeCounts:
        """The number of entries of each section."""
        return self._stored_counts.reverse() if self._backwards else self._stored_counts

    def entries(self, nature: str, start: int, stop: int) -> list[bytes]:
        """The entries [start, stop) of a section, each a JSON object `{"iso2", "id", …}`."""
        section = NATURES.index(_BACKWARDS[nature] if self._backwards else nature)
        section_start = sum(self._stored_counts[:section])
        section_end = section_start + self._stored_counts[section]
        starts = self._starts[
            section_start + start : min(section_start + stop, section_end) + 1
        ].tolist()
        data = self._data_offset
        return [self._map[data + begin : data + end] for begin, end in pairwise(starts)]

    def matches(self, filters: Sequence[Filter]) -> tuple[Mask, Mask]:
        """Whether the company of each change passes every filter: a mask for before the change, and one for after."""
        masks = [block.matches(filters) for block in self._blocks()]
        before, after = (np.concatenate(sides) for sides in zip(*masks, strict=True))
        return (after, before) if self._backwards else (before, after)

    def details(self, numbers: Sequence[int]) -> list[dict[str, tuple[Any, Any]]]:
        """The changed fields of each of these changes, with their values before and after (`StoredChange.details`).

        `numbers` count the changes of all sections of the file. Each block is unpacked only once.
        """
        blocks: dict[int, ChangeBlock] = {}
        section_starts = list(accumulate(self._stored_counts, initial=0))
        first_blocks = list(accumulate(map(_block_count, self._stored_counts), initial=0))
        all_details = []
        for number in numbers:
            section = bisect_right(section_starts, number) - 1
            block, number_in_block = divmod(number - section_starts[section], BLOCK)
            block += first_blocks[section]
            if block not in blocks:
                blocks[block] = self._block(block)
            details = blocks[block].details(number_in_block)
            if self._backwards:
                details = {field: (after, before) for field, (before, after) in details.items()}
            all_details.append(details)
        return all_details

    def changes(self) -> Iterator[tuple[str, str, StoredChange]]:
        """Every change as it was written: its nature, its identifier and its stored values."""
        number = 0
        for block in self._blocks():
            for number_in_block, (before, after) in enumerate(block.values()):
                (identifier,) = self.identifiers([number])
                nature = NATURES[self._section(number)[0]]
                yield (
                    nature,
                    identifier,
                    StoredChange(before, after, block.details(number_in_block)),
                )
                number += 1

    def identifiers(self, numbers: Sequence[int]) -> list[str]:
        """The identifiers of the companies of these changes."""
        return self._identifiers([self._piece(number) for number in numbers])

    def all_identifiers(self) -> list[str]:
        """The identifiers of the companies of all changes."""
        starts = (
            self._starts[: sum(self._stored_counts) + 1] + _START_TYPE.type(self._data_offset)
        ).tolist()
        return self._identifiers([self._map[begin:end] for begin, end in pairwise(starts)])

    def _identifiers(self, entries: Sequence[bytes]) -> list[str]:
        """The identifiers in some entries of the file; the entries are parsed together because that is faster.

        Raises:
            CorruptError: an entry is not the JSON of a company.
        """
        try:
            identifiers = [entry["id"] for entry in orjson.loads(b"[%b]" % b",".join(entries))]
            if len(identifiers) != len(entries):
                raise ValueError(f"{len(identifiers)} companies in {len(entries)} entries")
            return identifiers
        except (LookupError, TypeError, ValueError) as error:
            raise CorruptError(
                f"an entry of {self._path} is damaged ({error!r}); build or fetch it again"
            ) from error

    def nature(self, number: int) -> str:
        """The nature of a change, one of NATURES; read backwards, a deletion is a creation and vice versa."""
        stored = NATURES[self._section(number)[0]]
        return _BACKWARDS[stored] if self._backwards else stored

    def close(self) -> None:
        """Close the file."""
        self._map.close()

    def _section(self, number: int) -> tuple[int, int]:
        """The index in NATURES of the section of a change, and the number of the first change of the section."""
        section_starts = list(accumulate(self._stored_counts, initial=0))
        section = bisect_right(section_starts, number) - 1
        return section, section_starts[section]

    def _blocks(self) -> Iterator[ChangeBlock]:
        """All blocks, in the order of the sections."""
        return map(self._block, range(sum(map(_block_count, self._stored_counts))))

    def _block(self, number: int) -> ChangeBlock:
        """Block `number`, counted over all sections."""
        sizes = [size for count in self._stored_counts for size in _block_sizes(count)]
        return ChangeBlock(self._piece(sum(self._stored_counts) + number), sizes[number])

    def _piece(self, number: int) -> bytes:
        """The bytes of piece `number` of the file."""
        begin, end = self._starts[number : number + 2].tolist()
        return self._map[self._data_offset + begin : self._data_offset + end]

    def _read_starts(self, path: Path) -> NDArray[np.uint64]:
        """A copy of the starts: the map cannot be closed while an array is a view of it."""
        count = _start_count(self._stored_counts)
        size = _HEADER.size + _START_TYPE.itemsize * count
        stored = self._map[_HEADER.size : size]
        starts = np.frombuffer(stored[: len(stored) // 8 * 8], dtype=_START_TYPE)
        if len(starts) != count or size + int(starts[-1]) != len(self._map):
            self._map.close()
            raise CorruptError(f"{path} is not complete; build or fetch it again")
        return starts


def find_deleted(path: Path, folded: str) -> dict[str, int]:
    """The deleted companies with a folded identifier, and the numbers of these changes.

    The mapped file is searched directly, since ChangeFile would copy the starts of all changes.

    Raises:
        FileNotFoundError, WrongFormatError, CorruptError: as of ChangeFile.
    """
    with path.open("rb") as file:
        _, counts = _read_header(file, path)
        data = _HEADER.size + _START_TYPE.itemsize * _start_count(counts)
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:

            def identifier(number: int) -> str:
                """The identifier in the entry of change `number`; the entries of deletions are first in the file."""
                place = _HEADER.size + _START_TYPE.itemsize * number
                begin, end = _TWO_STARTS.unpack_from(mapped, place)
                return str(orjson.loads(mapped[data + begin : data + end])["id"])

            numbers = range(counts.supprimees)
            try:
                first = bisect_left(numbers, folded, key=lambda number: fold_id(identifier(number)))
                pairs = ((identifier(number), number) for number in numbers[first:])
                return dict(takewhile(lambda pair: fold_id(pair[0]) == folded, pairs))
            except (LookupError, OverflowError, TypeError, ValueError, struct.error) as error:
                raise CorruptError(f"{path} is damaged ({error!r}); fetch it again") from error


def _read_header(file: IO[bytes], path: Path) -> tuple[str, ChangeCounts]:
    """The country of a file, and its number of changes by section."""
    packed = file.read(_HEADER.size)
    if len(packed) < _HEADER.size or not packed.startswith(_MAGIC):
        raise WrongFormatError(f"{path} is not a file of changes; build it again")
    _, version, iso2, _, *counts = _HEADER.unpack(packed)
    if version != CHANGES_VERSION:
        raise WrongFormatError(
            f"{path} has format {version}, this code reads {CHANGES_VERSION}; build it again"
        )
    return iso2.decode(), ChangeCounts(*counts)


def _start_count(counts: ChangeCounts) -> int:
    """The number of starts in a file: of its entries, of its blocks, and its end."""
    return sum(counts) + sum(map(_block_count, counts)) + 1


def _block_count(count: int) -> int:
    """The number of blocks of a section of `count` changes."""
    return -(-count // BLOCK)


def _block_sizes(count: int) -> list[int]:
    """The number of changes in each block of a section of `count` changes."""
    return [min(BLOCK, count - first) for first in range(0, count, BLOCK)]


def open_step(step: ChangeStep, iso2: str) -> ChangeFile:
    """The changes of a country that is in the counts of a step.

    Raises:
        ShardError, FileNotFoundError: the file is damaged or missing.
    """
    return ChangeFile(step.folder / f"{iso2}{SUFFIX}", backwards=step.backwards)
