"""The changes of one country between two generations, as a file with random access (FORMAT.md §12).

    offset  0                  16   18   20       24                   48
            +------------------+----+----+--------+--------------------+---------+------+
            | "societes-diff\\0" | V  | C  | 0      | 3 counts, u64      | starts  | data |
            +------------------+----+----+--------+--------------------+---------+------+

The file has three sections, in the order of NATURES: companies deleted, created, changed. Entry i of the whole file is
`data[starts[i] : starts[i + 1]]`, JSON that is ready to send. Within a section, entries are sorted by folded
identifier, then by identifier. Integers are little-endian.
"""

import mmap
import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from shards.errors import CorruptError, WrongFormatError
from shards.generations import atomic_files

SUFFIX: Final = ".changes"
CHANGES_VERSION: Final = 1

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
_PIECE: Final = 1 << 20


class ChangeCounts(NamedTuple):
    """The numbers of companies deleted, created and changed, in the order of NATURES."""

    supprimees: int = 0
    creees: int = 0
    modifiees: int = 0

    def backwards(self) -> "ChangeCounts":
        """The counts of the opposite direction."""
        return ChangeCounts(self.creees, self.supprimees, self.modifiees)


class ChangeWriter:
    """The writer of a file of changes.

    Sections may be filled in any order. Memory is 8 bytes per entry; the entries themselves are in unnamed temporary
    files until `close`.
    """

    def __init__(self, path: Path, iso2: str) -> None:
        self._path = path
        self._iso2 = iso2
        self._sections = {nature: _Section(path.parent) for nature in NATURES}

    def add(self, nature: str, identifier: str, champs: Sequence[str] = ()) -> None:
        """Add a company; `champs` are the changed fields of a company that is CHANGED."""
        entry: dict[str, object] = {"iso2": self._iso2, "id": identifier}
        if nature == CHANGED:
            entry["champs"] = champs
        self._sections[nature].add(orjson.dumps(entry))

    def close(self) -> ChangeCounts:
        """Write the file, unless there are no changes; return the number of entries."""
        sections = list(self._sections.values())
        counts = ChangeCounts(*(len(section.lengths) for section in sections))
        if any(counts):
            partial = self._path.with_name(self._path.name + atomic_files.PARTIAL)
            with partial.open("wb") as file:
                iso2 = self._iso2.encode()
                file.write(_HEADER.pack(_MAGIC, CHANGES_VERSION, iso2, 0, *counts))
                lengths = np.concatenate([[0], *(section.lengths for section in sections)])
                file.write(lengths.cumsum(dtype=_START).tobytes())
                for section in sections:
                    section.copy(file)
            atomic_files.replace(partial, self._path)
        for section in sections:
            section.data.close()
        return counts


class _Section:
    def __init__(self, folder: Path) -> None:
        self.lengths = array("Q")
        self.data: IO[bytes] = TemporaryFile(dir=folder)  # noqa: SIM115 - the writer closes it

    def add(self, entry: bytes) -> None:
        self.lengths.append(len(entry))
        self.data.write(entry)

    def copy(self, file: IO[bytes]) -> None:
        self.data.seek(0)
        while piece := self.data.read(_PIECE):
            file.write(piece)


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
            packed = file.read(_HEADER.size)
            if len(packed) < _HEADER.size or not packed.startswith(_MAGIC):
                raise WrongFormatError(f"{path} holds no changes of companies; build it again")
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        _, version, iso2, _, *counts = _HEADER.unpack(packed)
        if version != CHANGES_VERSION:
            self._map.close()
            raise WrongFormatError(
                f"{path} has format {version}, this code reads {CHANGES_VERSION}; build it again"
            )
        self.iso2: str = iso2.decode()
        self._stored = ChangeCounts(*counts)
        self._backwards = backwards
        self._starts = self._read_starts(path)
        self._data = _HEADER.size + _START.itemsize * (sum(counts) + 1)

    @property
    def counts(self) -> ChangeCounts:
        """The number of entries of each section."""
        return self._stored.backwards() if self._backwards else self._stored

    def entries(self, nature: str, start: int, stop: int) -> list[bytes]:
        """The entries [start, stop) of a section, each a JSON object `{"iso2", "id", …}`."""
        place = NATURES.index(_BACKWARDS[nature] if self._backwards else nature)
        first = sum(self._stored[:place])
        last = first + self._stored[place]
        starts = self._starts[first + start : min(first + stop, last) + 1].tolist()
        data = self._data
        return [self._map[data + begin : data + end] for begin, end in pairwise(starts)]

    def close(self) -> None:
        """Close the file."""
        self._map.close()

    def _read_starts(self, path: Path) -> NDArray[np.uint64]:
        """A copy of the starts, because the map cannot be closed while an array is a view of it."""
        count = sum(self._stored) + 1
        stored = self._map[_HEADER.size : _HEADER.size + _START.itemsize * count]
        starts = np.frombuffer(stored[: len(stored) // 8 * 8], dtype=_START)
        size = _HEADER.size + _START.itemsize * count
        if len(starts) != count or size + int(starts[-1]) != len(self._map):
            self._map.close()
            raise CorruptError(f"{path} is not whole; build or fetch it again")
        return starts
