"""The result of a search: a total, the rows of one page, and their records, which one call of the kernel joins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from shards import format
from shards.codec import record
from shards.codec.folding import fold, fold_id
from shards.codec.record import FIELDS, parse
from shards.errors import REMEDY, CorruptError
from shards.kernel import memory, types
from shards.kernel.memory import address_of, view
from shards.kernel.records import run as join_records
from shards.search.generation_arrays import GenerationArrays, libzstd

Place = tuple[int, int]  # a shard, by its place in the table, and a row of it


class Places(Protocol):
    """Pairs of a shard, by its place in `isos`, and a row of it: 64-bit numbers of the shape (number of rows, 2).

    An array of NumPy is one, and so is the memoryview of a page, which is made in a tenth of the time.
    """

    def tolist(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def __len__(self) -> int: ...


class MergedRow(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class ResultPage:
    """`total` companies match in the whole base (§8.2 rule 3); `places` are the ones asked for.

    Attributes:
        isos: the countries of the base, in alphabetical order.
    """

    total: int
    isos: Sequence[str]
    places: Places

    @property
    def rows(self) -> tuple[MergedRow, ...]:
        """The companies asked for, by country and row number."""
        return merged_rows(self.isos, self.places)


def merged_rows(isos: Sequence[str], places: Places) -> tuple[MergedRow, ...]:
    """Places by the name of their country."""
    return tuple(MergedRow(isos[shard], row) for shard, row in places.tolist())


# Bytes for the records of a page, at first and at most: those of 1 000 companies have 1.2 MB.
_LEAST: Final = 1 << 18
_MOST: Final = 1 << 24


class RecordJoiner:
    """Joins the records of one generation; it is used by one thread."""

    def __init__(self, arrays: GenerationArrays) -> None:
        self._arrays = arrays
        library = libzstd()
        self._context = library.context(self) if library else 0
        self._decompress = library.decompress if library and memory.COMPILED else 0
        self._room = _Room(_LEAST)

    def join(self, places: Places, *, coordonnees: bool) -> bytes:
        """The JSON objects of companies, joined by commas; without `coordonnees` contact fields are null.

        Raises:
            CorruptError: a record is damaged.
        """
        if not self._decompress:
            shards = self._arrays.shards
            return b",".join(
                [shards[n].record(row, coordonnees=coordonnees) for n, row in places.tolist()]
            )
        nulls = b"" if coordonnees else record.NO_CONTACTS
        packed = places.tobytes()
        while True:
            room = self._room
            size = join_records(
                self._arrays.address, packed, nulls, self._decompress, self._context,
                room.work, room.work_size, room.joined, room.size,
            )  # fmt: skip
            if size != types.NO_ROOM:
                return bytes(room.bytes[:size])
            if room.size >= _MOST:
                raise CorruptError(f"{len(places)} records have over {_MOST} bytes; {REMEDY}")
            self._room = _Room(4 * room.size)


class _Room:
    """Where one record is decompressed (`work`), and where the records of a page are joined."""

    def __init__(self, size: int) -> None:
        self.size, self.work_size = size, format.MOST_RECORD
        self._work = np.empty(self.work_size, np.uint8)
        self.bytes = view(np.empty(size, np.uint8))
        self.joined, self.work = address_of(self.bytes), address_of(self._work)


# -- former names that `q` has found -----------------------------------------------------------


# Where a company begins, its names end, and the list of its former names begins and ends. No value of a company
# contains these bytes, because its quotes are escaped.
_BEGIN: Final = b'{"iso2":"'
_NAMED: Final = f',"{FIELDS[FIELDS.index("nom") + 1]}":'.encode()
_FORMER: Final = b',"noms_anterieurs":['
_BEHIND: Final = f',"{FIELDS[FIELDS.index("noms_anterieurs") + 1]}":'.encode()


class FormerNameMatch(NamedTuple):
    """A company, and its first former name that contains `q`, as published."""

    iso2: str
    id: str
    nom: str


def former_name_matches(rows: bytes, q: str) -> Iterator[FormerNameMatch]:
    """The companies of a page of a search for `q` that only a former name has brought there (extension X4).

    The rows are JSON as stored, joined by commas. Most companies never had another name: a page without one costs one
    search through its bytes, and of the others only identifier and names are decoded.

    >>> row = b'{"iso2":"UK","id":"1","nom":"New","forme":null,"noms_anterieurs":["Old"],"nace_secondaires":null}'
    >>> list(former_name_matches(row, "old"))
    [FormerNameMatch(iso2='UK', id='1', nom='Old')]
    """
    if (place := rows.find(_FORMER)) < 0:
        return
    text, prefix = fold(q), fold_id(q)
    while place >= 0:
        begin, end = rows.rfind(_BEGIN, 0, place), rows.find(_BEHIND, place)
        company = parse(rows[begin : rows.find(_NAMED, begin)] + b"}")
        if not (
            text in fold(company["nom"]) or (prefix and fold_id(company["id"]).startswith(prefix))
        ):
            former = parse(rows[place + len(_FORMER) - 1 : end])
            found = next((nom for nom in former if text in fold(nom)), None)
            if found is not None:
                yield FormerNameMatch(company["iso2"], company["id"], found)
        place = rows.find(_FORMER, end)
