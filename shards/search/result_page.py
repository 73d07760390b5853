"""The result of a search: a total, the rows of one page, and their records, joined by one call of the kernel."""

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
from shards.reader.shard import CompanyRow
from shards.search.generation_arrays import GenerationArrays, libzstd

SlotCounts = Mapping[int, NDArray[np.int64]]  # by kind of a census


class ResultPage(NamedTuple):
    """The number of matches in all countries of the search (§8.2 rule 3), and the rows of the page in order.

    Attributes:
        counts: the matches in each slot, for the kinds of the census.
    """

    total: int
    rows: tuple[CompanyRow, ...]
    counts: SlotCounts


# The bytes of memory for the joined records of a page, at first and at most; 1 000 records take some 1.2 MB.
_LEAST_ROOM: Final = 1 << 18
_MOST_ROOM: Final = 1 << 24


class RecordJoiner:
    """Joins the records of one generation; for use by one thread."""

    def __init__(self, arrays: GenerationArrays) -> None:
        """Prepare libzstd, if this machine has it, and the memory for one record and for the joined records."""
        self._arrays = arrays
        library = libzstd()
        self._context = library.context(self) if library else 0
        # The address of the function of libzstd; 0: records are decompressed one by one, in Python.
        self._decompress = library.decompress if library and memory.COMPILED else 0
        self._record = view(np.empty(format.MOST_RECORD, np.uint8))  # one decompressed record
        self._make_room(_LEAST_ROOM)

    def _make_room(self, size: int) -> None:
        """Allocate `size` bytes for the joined records."""
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
        packed = array(
            "q", [number for iso2, row in rows for number in (numbers[iso2], row)]
        ).tobytes()
        while True:
            size = join_records(
                self._arrays.address, packed, nulls, self._decompress, self._context, *self._room
            )
            if size != types.NO_ROOM:
                return bytes(self._joined[:size])
            if len(self._joined) >= _MOST_ROOM:
                raise CorruptError(f"{len(rows)} records have over {_MOST_ROOM} bytes; {REMEDY}")
            self._make_room(4 * len(self._joined))


# -- former names that match `q` ---------------------------------------------------------------


# The bytes where a company begins, after its name, where the list of its former names begins, and after this list. No
# value of a company contains these bytes, because quotes in values are escaped.
_COMPANY_BEGINS: Final = b'{"iso2":"'
_AFTER_NAME: Final = f',"{FIELDS[FIELDS.index("nom") + 1]}":'.encode()
_FORMER_NAMES_BEGIN: Final = b',"noms_anterieurs":['
_AFTER_FORMER_NAMES: Final = f',"{FIELDS[FIELDS.index("noms_anterieurs") + 1]}":'.encode()


class FormerNameMatch(NamedTuple):
    """A company, and its first former name that contains `q`, as published."""

    iso2: str
    id: str
    nom: str


def former_name_matches(rows: bytes, q: str) -> Iterator[FormerNameMatch]:
    """The companies of a page that match `q` by a former name only (extension X4).

    The rows are JSON as stored, joined by commas. Most companies have no former name, so a page without any costs one
    pass over its bytes. Of companies with former names, only identifier and names are decoded.

    >>> row = b'{"iso2":"UK","id":"1","nom":"New","forme":null,"noms_anterieurs":["Old"],"nace_secondaires":null}'
    >>> list(former_name_matches(row, "old"))
    [FormerNameMatch(iso2='UK', id='1', nom='Old')]
    """
    if (place := rows.find(_FORMER_NAMES_BEGIN)) < 0:
        return
    folded, prefix = fold(q), fold_id(q)
    while place >= 0:
        begin, end = rows.rfind(_COMPANY_BEGINS, 0, place), rows.find(_AFTER_FORMER_NAMES, place)
        company = parse(rows[begin : rows.find(_AFTER_NAME, begin)] + b"}")
        if not (
            folded in fold(company["nom"]) or (prefix and fold_id(company["id"]).startswith(prefix))
        ):
            former = parse(rows[place + len(_FORMER_NAMES_BEGIN) - 1 : end])
            former_name = next((nom for nom in former if folded in fold(nom)), None)
            if former_name is not None:
                yield FormerNameMatch(company["iso2"], company["id"], former_name)
        place = rows.find(_FORMER_NAMES_BEGIN, end)
