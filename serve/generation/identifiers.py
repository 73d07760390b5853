"""Companies by any of their numbers, in any spelling: identifier, VAT number, SIRET, LEI (extensions X6).

How a number is found is in `shards/search/matching/company_numbers.py`; here is which way comes first, and which
identifiers are near a number that is unknown.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from serve.contract import seed_tables
from shards.codec.folding import fold_id
from shards.search.matching.company_numbers import (
    LONGEST,
    VAT,
    CompanyPlace,
    Shards,
    of_any_court,
    respelt,
    with_derived_number,
    with_identifier,
    with_number,
)  # fmt: skip
from shards.search.reader import Shard

IDENTIFIER: Final = "immatriculation"
LEI: Final = "lei"
SIRET: Final = "siret"
TYPES: Final = (IDENTIFIER, VAT, SIRET, LEI)

_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_NEAREST: Final = 3


class Match(NamedTuple):
    """What a number is, and the companies that have it; none if it is unknown."""

    type: str
    places: Sequence[CompanyPlace]


def find(shards: Shards, number: str) -> Match:
    """The companies of `shards` with this number.

    The first of these that finds some: identifiers as written; numbers in records; numbers that contain an identifier;
    identifiers with other zeros, or with the code of the country; numbers of any court.
    """
    folded = fold_id(number)
    if not folded:
        return Match(IDENTIFIER, ())
    if exact := list(with_identifier(shards, folded)):
        return Match(IDENTIFIER, exact)
    if in_records := list(with_number(shards, folded)):
        return Match(LEI if is_lei(folded) else VAT, in_records)
    for one in seed_tables.derivations():
        if places := list(with_derived_number(shards, folded, one)):
            return Match(one.type, places)
    found = dict.fromkeys(respelt(shards, folded)) or dict.fromkeys(of_any_court(shards, folded))
    return Match(IDENTIFIER, list(found))


def is_lei(number: str) -> bool:
    """Is this shaped as a LEI?

    >>> is_lei("2138 00WS KXQ2 B5PQ HK86"), is_lei("Société Générale 1864")
    (True, False)
    """
    return bool(_LEI.fullmatch(fold_id(number)))


def maybe_numbered(shards: Shards, number: str) -> list[CompanyPlace]:
    """The companies that may have this LEI or VAT number; no record is read, so any thread may ask."""
    return [
        CompanyPlace(iso2, row)
        for iso2, shard in shards.items()
        for row in shard.maybe_numbered(number)
    ]


def row(shard: Shard, identifier: str) -> int | None:
    """The row of a company of a country, in any spelling that means one company only (contract E2, extensions X6)."""
    exact = shard.find(identifier)
    if exact is not None:
        return exact
    places = find({shard.iso2: shard}, identifier).places
    return places[0].row if len(places) == 1 else None


def nearest(shards: Shards, number: str, most: int = _NEAREST) -> list[CompanyPlace]:
    """Up to `most` companies whose identifier is the number but for zeros, or for one typing error."""
    folded = fold_id(number)
    if not folded or len(folded) > LONGEST:
        return []
    found = dict.fromkeys(respelt(shards, folded))
    for one in _near_numbers(folded):
        if len(found) >= most:
            break
        found |= dict.fromkeys(with_identifier(shards, one))
    return list(found)[:most]


def _near_numbers(folded: str) -> Iterator[str]:
    """The numbers that differ by one typing error: two neighbours exchanged, one character other, missing or too many.

    >>> sorted(_near_numbers("1"))[:4]
    ['', '0', '01', '10']
    """
    for place in range(len(folded)):
        head, here, tail = folded[:place], folded[place], folded[place + 1 :]
        if tail and tail[0] != here:
            yield head + tail[0] + here + tail[1:]
        yield head + tail
        yield from (head + other + tail for other in "0123456789" if other != here)
    for place in range(len(folded) + 1):
        yield from (folded[:place] + more + folded[place:] for more in "0123456789")
