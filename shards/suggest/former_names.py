"""The former name by which `q` has found a company, of each row of a page that has `q` in nothing else (extension X4).

The rows are JSON as stored, joined by commas. Most companies never had another name: a page without one costs one
search through its bytes, and of the others only identifier and names are decoded.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from shards.codec.folding import fold, fold_id
from shards.codec.record import FIELDS, parse

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


def matches(rows: bytes, q: str) -> Iterator[FormerNameMatch]:
    """The companies of a page of a search for `q` that only a former name has brought there.

    >>> row = b'{"iso2":"UK","id":"1","nom":"New","forme":null,"noms_anterieurs":["Old"],"nace_secondaires":null}'
    >>> list(matches(row, "old"))
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
