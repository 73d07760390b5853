"""Companies by any of their numbers, in any spelling: identifier, VAT number, SIRET, LEI (extensions X6).

A number is compared by its letters and digits. An identifier is found with other leading zeros than the register
writes, with the code of its country in front, or both. How other numbers contain identifiers is in `seeds/numeros.csv`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from serve.contract import seed_tables
from shards.codec.folding import fold_id
from shards.generations.reference import SPELLINGS
from shards.search import id_lookup
from shards.search.reader import Shard

IDENTIFIER: Final = "immatriculation"
VAT: Final = "tva"
LEI: Final = "lei"
SIRET: Final = "siret"
TYPES: Final = (IDENTIFIER, VAT, SIRET, LEI)

_LONGEST: Final = (
    24  # letters and digits of a number that is looked up with zeros, or with a typing error
)
_ZEROS: Final = 7  # that a spreadsheet may have lost
_LETTERS_THEN_ZEROS: Final = re.compile(r"([A-Z]*+)0*+(.*)")
_LEI: Final = re.compile(r"[0-9A-Z]{18}[0-9]{2}")
_NEAREST: Final = 3

Shards = Mapping[str, Shard]


class CompanyPlace(NamedTuple):
    """A company."""

    iso2: str
    row: int


class Match(NamedTuple):
    """What a number is, and the companies that have it; none if it is unknown."""

    type: str
    places: Sequence[CompanyPlace]


def find(shards: Shards, number: str) -> Match:
    """The companies of `shards` with this number.

    The first of these that finds some: identifiers as written; numbers in records; numbers that contain an identifier;
    identifiers with other zeros, or with the code of the country.
    """
    folded = fold_id(number)
    if not folded:
        return Match(IDENTIFIER, ())
    if exact := list(_identified(shards, folded)):
        return Match(IDENTIFIER, exact)
    listed = [
        CompanyPlace(iso2, row) for iso2, shard in shards.items() for row in shard.numbered(folded)
    ]
    if listed:
        return Match(LEI if _LEI.fullmatch(folded) else VAT, listed)
    for one in seed_tables.derivations():
        matched = one.pattern.fullmatch(folded)
        if matched and one.iso2 in shards:
            of_country = {one.iso2: shards[one.iso2]}
            identifier = fold_id(matched.expand(one.identifier))
            derived = [
                place
                for place in _identified(of_country, identifier)
                if one.type != VAT or _may_have(shards[place.iso2], place.row, folded)
            ]
            if derived:
                return Match(one.type, derived)
    return Match(IDENTIFIER, list(dict.fromkeys(_respelt(shards, folded))))


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
    if not folded or len(folded) > _LONGEST:
        return []
    found = dict.fromkeys(_respelt(shards, folded))
    for one in _mistyped(folded):
        if len(found) >= most:
            break
        found |= dict.fromkeys(_identified(shards, one))
    return list(found)[:most]


def _may_have(shard: Shard, row: int, vat: str) -> bool:
    """Whether the record of a company does not have another VAT number."""
    stored = shard.company(row)["tva"]
    # Norwegian numbers are often written without the code of the country.
    return stored is None or fold_id(stored).endswith(vat)


def _identified(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    for iso2, shard in shards.items():
        if shard.rows:
            for row in id_lookup.rows_equal_to(shard.idents, folded).tolist():
                yield CompanyPlace(iso2, row)


def _respelt(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies whose identifier is the number with other zeros, with or without the code of their country."""
    if len(folded) > _LONGEST:
        return
    for iso2, shard in shards.items():
        codes = [iso2, *(other for other, code in SPELLINGS.items() if code == iso2)]
        spellings = [folded, *(folded[2:] for code in codes if folded.startswith(code))]
        for spelling in filter(None, spellings):
            for one in _with_zeros(spelling):
                yield from _identified({iso2: shard}, one)


def _with_zeros(folded: str) -> Iterator[str]:
    """The number with zero to _ZEROS zeros behind its first letters.

    >>> list(_with_zeros("SC012"))[:3]
    ['SC12', 'SC012', 'SC0012']
    """
    matched = _LETTERS_THEN_ZEROS.fullmatch(folded)
    if matched and matched[2][:1].isdigit():
        for zeros in range(_ZEROS + 1):
            yield matched[1] + "0" * zeros + matched[2]
    else:
        yield folded


def _mistyped(folded: str) -> Iterator[str]:
    """The numbers that differ by one typing error: two neighbours exchanged, one character other, missing or too many.

    >>> sorted(_mistyped("1"))[:4]
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
