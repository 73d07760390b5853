"""Companies by any of their numbers, in any spelling: identifier, VAT number, SIRET, LEI (extensions X5, X6).

`find` says which way comes first, `find_each` looks up the companies that a search names. `written_numbers` reads the
text. A number is compared by its letters and digits. An identifier is found with other leading zeros than the register
writes, with the code of its country in front, or both. How other numbers contain identifiers is a table
(`seeds/numeros.csv`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final, NamedTuple

from shards.codec.folding import SPELLINGS, fold_id
from shards.errors import translate_errors
from shards.reader import lookups
from shards.reader.shard import Shard
from shards.search.written_numbers import (
    IDENTIFIER,
    LEI,
    SIRET,
    VAT,
    Derivation,
    NumberNotation,
    Reading,
    is_lei,
    plain_text,
)

TYPES: Final = (IDENTIFIER, VAT, SIRET, LEI)

# Letters and digits of a number that is looked up with zeros.
LONGEST: Final = 24
_NEAREST: Final = 3
_ZEROS: Final = 7  # that a spreadsheet may have lost
_LETTERS_THEN_ZEROS: Final = re.compile(r"([A-Z]*+)0*+(.*)")

# Countries where each court numbers its companies, and a number without the code of its court.
_COURTS: Final = ("DE",)
_OF_COURT: Final = re.compile(r"(HRA|HRB|GNR|VR|PR|GSR)\d+[A-Z]{0,2}")
# Countries whose identifiers end with a check letter that other registers leave out, and such a number.
_CHECK_LETTERS: Final = {"AT": re.compile(r"(?:AT)?(?:FN)?0*(\d{1,6})")}

Shards = Mapping[str, Shard]


class CompanyPlace(NamedTuple):
    """A company."""

    iso2: str
    row: int


class Match(NamedTuple):
    """What a number is, and the companies that have it; none if it is unknown."""

    type: str
    places: Sequence[CompanyPlace]


def find(shards: Shards, number: str, notation: NumberNotation) -> Match:
    """The companies of `shards` with this number, as people write it.

    The text is tried as one number, then the numbers that are written in it: all of them count, and of the readings of
    one the first with a company. Of a number, the first of these that finds some: identifiers as written; numbers in
    records; numbers that contain an identifier; identifiers with other zeros, or with the code of the country; numbers
    of any court.
    """
    read = notation.read(number)
    if read.whole and read.whole.folded:
        match = _find_reading(shards, read.whole, notation.derivations)
        if match.places:
            return match
    matches = [
        match
        for readings in read.numbers
        if (match := _first_match(shards, readings, notation.derivations)).places
    ]
    places = dict.fromkeys(place for match in matches for place in match.places)
    return Match(matches[0].type if matches else IDENTIFIER, list(places))


def _first_match(
    shards: Shards, readings: Sequence[Reading], derivations: Sequence[Derivation]
) -> Match:
    matches = (_find_reading(shards, reading, derivations) for reading in readings)
    return next((match for match in matches if match.places), Match(IDENTIFIER, ()))


def _find_reading(shards: Shards, reading: Reading, derivations: Sequence[Derivation]) -> Match:
    shards, folded = _of_countries(shards, reading), reading.folded
    if reading.type != VAT and (exact := list(with_identifier(shards, folded))):
        return Match(IDENTIFIER, exact)
    if in_records := list(with_number(shards, folded)):
        return Match(LEI if is_lei(folded) else VAT, in_records)
    for one in derivations:
        if places := list(with_derived_number(shards, folded, one)):
            return Match(one.type, places)
    if reading.type == VAT:
        return Match(VAT, ())
    places = list(dict.fromkeys(respelt_companies(shards, folded)))
    return Match(IDENTIFIER, places or list(of_any_court(shards, folded)))


def _of_countries(shards: Shards, reading: Reading) -> Shards:
    if not reading.isos:
        return shards
    return {iso2: shards[iso2] for iso2 in sorted(reading.isos) if iso2 in shards}


@translate_errors()
def find_one(shard: Shard, identifier: str, notation: NumberNotation) -> int | None:
    """The row of a company of a country, in any spelling that means one company only (contract E2, extensions X6).

    Of several with the same letters and digits it is the one that is written so.
    """
    places = find({shard.iso2: shard}, identifier, notation).places
    if len(places) == 1:
        return places[0].row
    if not fold_id(identifier):
        places = list(with_identifier({shard.iso2: shard}, ""))
    written = (row for _, row in places if shard.company(row)["id"] == identifier)
    return next(written, None)


def find_each(
    shards: Shards, wanted: Iterable[tuple[str, str]], notation: NumberNotation
) -> list[tuple[str, str] | None]:
    """Companies by country and identifier in any spelling, with the stored identifier; None for unknown ones."""
    companies: list[tuple[str, str] | None] = []
    for iso2, identifier in wanted:
        row = find_one(shards[iso2], identifier, notation)
        companies.append(None if row is None else (iso2, str(shards[iso2].company(row)["id"])))
    return companies


def maybe_numbered(shards: Shards, number: str) -> list[CompanyPlace]:
    """The companies that may have this LEI or VAT number; no record is read, so any thread may ask."""
    return [
        CompanyPlace(iso2, row)
        for iso2, shard in shards.items()
        for row in shard.maybe_numbered(number)
    ]


def nearest_companies(
    shards: Shards, number: str, notation: NumberNotation, most: int = _NEAREST
) -> list[CompanyPlace]:
    """Up to `most` companies whose identifier is the number but for zeros, or for one typing error."""
    read = notation.read(number)
    shards = _of_countries(shards, read.numbers[0][0]) if read.numbers else shards
    folded = read.numbers[0][-1].folded if read.is_labelled else fold_id(plain_text(number))
    if not folded or len(folded) > LONGEST:
        return []
    found = dict.fromkeys(respelt_companies(shards, folded))
    for one in _near_numbers(folded):
        if len(found) >= most:
            break
        found |= dict.fromkeys(with_identifier(shards, one))
    return list(found)[:most]


def in_any_spelling(
    shards: Shards, number: str, notation: NumberNotation
) -> Iterator[CompanyPlace]:
    """All companies that a number of somebody's list may mean, with the code of their country or without."""
    read = notation.read(number)

    def places(reading: Reading) -> list[CompanyPlace]:
        return list(_in_any_spelling(_of_countries(shards, reading), reading, notation))

    if read.whole and read.whole.folded and (whole := places(read.whole)):
        yield from whole
        return
    for readings in read.numbers:
        yield from next(filter(None, map(places, readings)), [])


def _in_any_spelling(
    shards: Shards, reading: Reading, notation: NumberNotation
) -> Iterator[CompanyPlace]:
    folded = reading.folded
    for iso2, shard in shards.items():
        of_country = {iso2: shard}
        if reading.type != VAT:
            yield from with_identifier(of_country, folded)
        codes = _codes(iso2)
        bare = [folded[2:] for code in codes if folded.startswith(code)]
        own = [one for one in notation.derivations if one.iso2 == iso2]
        for spelling in filter(None, [folded, *bare, *(code + folded for code in codes)]):
            yield from with_number(of_country, spelling)
            for one in own:
                yield from with_derived_number(of_country, spelling, one)
        if reading.type != VAT:
            yield from respelt_companies(of_country, folded)
    if reading.type != VAT:
        yield from of_any_court(shards, folded)


def of_any_court(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies with this number of a register that each court keeps: HRB 260632."""
    if _OF_COURT.fullmatch(folded):
        for iso2 in _COURTS:
            if iso2 in shards:
                for code in shards[iso2].courts:
                    yield from with_identifier({iso2: shards[iso2]}, code + folded)


def with_identifier(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies with this identifier."""
    for iso2, shard in shards.items():
        if shard.rows:
            for row in lookups.rows_equal_to(shard.idents, folded).tolist():
                yield CompanyPlace(iso2, row)


def with_number(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies whose records have this LEI or VAT number."""
    for iso2, shard in shards.items():
        for row in shard.rows_by_number(folded):
            yield CompanyPlace(iso2, row)


def with_derived_number(
    shards: Shards, folded: str, derivation: Derivation
) -> Iterator[CompanyPlace]:
    """Companies whose identifier is in the number, and that do not have another VAT number in their records."""
    for iso2, identifier in contained_identifiers(folded, (derivation,)):
        if iso2 in shards:
            for place in with_identifier({iso2: shards[iso2]}, identifier):
                if derivation.type != VAT or _may_have(shards[iso2], place.row, folded):
                    yield place


def contained_identifiers(folded: str, derivations: Sequence[Derivation]) -> list[tuple[str, str]]:
    """The identifiers, by country, that a VAT number or a SIRET contains."""
    matches = [(one, one.pattern.fullmatch(folded)) for one in derivations if one.identifier]
    return [(one.iso2, fold_id(match.expand(one.identifier))) for one, match in matches if match]


def _may_have(shard: Shard, row: int, vat: str) -> bool:
    """Whether the record of a company does not have another VAT number."""
    stored = shard.company(row)["tva"]
    # Norwegian numbers are often written without the code of the country.
    return stored is None or fold_id(stored).endswith(vat)


def respelt_companies(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies whose identifier is the number with other zeros, with or without the code of their country."""
    if len(folded) > LONGEST:
        return
    for iso2, shard in shards.items():
        width = shard.idents.width if shard.rows else 0
        for one in spellings(iso2, folded):
            if width in (0, len(one)):
                yield from with_identifier({iso2: shard}, one)
        if (checked := _CHECK_LETTERS.get(iso2)) and (bare := checked.fullmatch(folded)):
            for letter in ascii_uppercase:
                yield from with_identifier({iso2: shard}, f"FN{bare[1]}{letter}")


def spellings(iso2: str, folded: str) -> Iterator[str]:
    """A number with other zeros, with and without the code of its country."""
    bare = (folded[2:] for code in _codes(iso2) if folded.startswith(code))
    for spelling in filter(None, [folded, *bare]):
        yield from _with_zeros(spelling)


def _codes(iso2: str) -> list[str]:
    """The codes of a country: `UK` and `GB`."""
    return [iso2, *(other for other, code in SPELLINGS.items() if code == iso2)]


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
