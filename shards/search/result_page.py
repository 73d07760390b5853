"""The result of a search: a total, the rows of one page, and their records, which one call of the kernel joins."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import record
from shards.codec.folding import fold, fold_id
from shards.codec.record import FIELDS, parse
from shards.errors import REMEDY, CorruptError
from shards.kernel import memory, types
from shards.kernel.memory import address_of, view
from shards.kernel.records import run as join_records
from shards.search.generation_arrays import GenerationArrays, libzstd

SlotCounts = Mapping[int, NDArray[np.int64]]  # by kind of a census


class MergedRow(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


class ResultPage(NamedTuple):
    """`total` companies match in the whole base (§8.2 rule 3); `rows` are those of the page, in order.

    Attributes:
        counts: the matches in each slot, for the kinds of the census.
    """

    total: int
    rows: tuple[MergedRow, ...]
    counts: SlotCounts


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
        self._record = view(np.empty(format.MOST_RECORD, np.uint8))  # the record that is read
        self._make_room(_LEAST)

    def _make_room(self, size: int) -> None:
        """Make the memory of the joined records."""
        self._joined = view(np.empty(size, np.uint8))
        self._room = (address_of(self._record), len(self._record), address_of(self._joined), size)

    def join(self, rows: Sequence[tuple[str, int]], *, coordonnees: bool) -> bytes:
        """The JSON objects of companies, joined by commas; without `coordonnees` contact fields are null.

        Args:
            rows: countries and row numbers.

        Raises:
            CorruptError: a record is damaged.
        """
        numbers, shards = self._arrays.numbers, self._arrays.shards
        if not self._decompress:
            return b",".join(
                [shards[numbers[iso2]].record(row, coordonnees=coordonnees) for iso2, row in rows]
            )
        nulls = b"" if coordonnees else record.NO_CONTACTS
        packed = array("q", [n for iso2, row in rows for n in (numbers[iso2], row)]).tobytes()
        while True:
            size = join_records(
                self._arrays.address, packed, nulls, self._decompress, self._context, *self._room
            )
            if size != types.NO_ROOM:
                return bytes(self._joined[:size])
            if len(self._joined) >= _MOST:
                raise CorruptError(f"{len(rows)} records have over {_MOST} bytes; {REMEDY}")
            self._make_room(4 * len(self._joined))


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
