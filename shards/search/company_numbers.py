"""Companies by any of their numbers, in any spelling: identifier, VAT number, SIRET, LEI (extensions X5, X6).

`find` tries the ways to read a number in their order; `find_companies` looks up the companies of a search.
`written_numbers` reads the text. A number is compared by its letters and digits. An identifier can be written with
other leading zeros than in the register, with the code of its country before, or with both. The table
`seeds/numeros.csv` says how other numbers contain identifiers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final, NamedTuple

from shards.codec.folding import SPELLINGS, fold_id
from shards.errors import translate_errors
from shards.reader import lookups
from shards.reader.shard import CompanyRow, Shard
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

# The types of numbers that a company of the base can have.
TYPES: Final = (IDENTIFIER, VAT, SIRET, LEI)

# The most letters and digits of a number that is also looked up with other zeros.
LONGEST: Final = 24
_MOST_SUGGESTED: Final = 3  # the most companies that are suggested for an unknown number
_MOST_ZEROS: Final = 7  # the most zeros that a spreadsheet may have removed
_LETTERS_THEN_ZEROS: Final = re.compile(r"([A-Z]*+)0*+(.*)")

# Countries where each court numbers its own companies, and the form of such a number without the code of the court.
_COURT_COUNTRIES: Final = ("DE",)
_NUMBER_OF_COURT: Final = re.compile(r"(HRA|HRB|GNR|VR|PR|GSR)\d+[A-Z]{0,2}")
# Countries whose identifiers end with a check letter, and the form of an identifier without this letter, as other
# registers write it.
_CHECK_LETTERS: Final = {"AT": re.compile(r"(?:AT)?(?:FN)?0*(\d{1,6})")}

ShardsByCountry = Mapping[str, Shard]


class Match(NamedTuple):
    """The type of a number, and the companies with this number; `places` is empty if the number is unknown."""

    type: str
    places: Sequence[CompanyRow]


def find(shards: ShardsByCountry, number: str, notation: NumberNotation) -> Match:
    """The companies of `shards` with this number, as people write it.

    The complete text is tried as one number, then each number in the text. All numbers of the text count; for each, the
    first reading with a company counts. A reading is looked up in these ways, and the first way with a result counts:
    identifiers as written; numbers in records; numbers that contain an identifier; identifiers with other zeros, or
    with the code of the country; numbers of any court.
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
    shards: ShardsByCountry, readings: Sequence[Reading], derivations: Sequence[Derivation]
) -> Match:
    """The match of the first reading that a company has; without places if no reading has a company."""
    matches = (_find_reading(shards, reading, derivations) for reading in readings)
    return next((match for match in matches if match.places), Match(IDENTIFIER, ()))


def _find_reading(
    shards: ShardsByCountry, reading: Reading, derivations: Sequence[Derivation]
) -> Match:
    """The companies of one reading, by the first way of `find` that gives any, and the type of number that matched.

    A reading is one way to understand a written number (`written_numbers.Reading`). Without a company, `places` is
    empty.
    """
    shards, folded = _country_shards(shards, reading), reading.folded
    if reading.type != VAT and (exact := list(find_identifier(shards, folded))):
        return Match(IDENTIFIER, exact)
    if in_records := list(find_number(shards, folded)):
        return Match(LEI if is_lei(folded) else VAT, in_records)
    for derivation in derivations:
        if places := list(find_derived_number(shards, folded, derivation)):
            return Match(derivation.type, places)
    if reading.type == VAT:
        return Match(VAT, ())
    places = list(dict.fromkeys(respelt_companies(shards, folded)))
    return Match(IDENTIFIER, places or list(find_any_court(shards, folded)))


def _country_shards(shards: ShardsByCountry, reading: Reading) -> ShardsByCountry:
    """The shards of the countries of a reading; all shards if the reading names no country."""
    if not reading.isos:
        return shards
    return {iso2: shards[iso2] for iso2 in sorted(reading.isos) if iso2 in shards}


@translate_errors()
def find_row(shard: Shard, identifier: str, notation: NumberNotation) -> int | None:
    """The row of the company that an identifier means: as stored, or in any unambiguous spelling (contract E2, X6)."""
    shards = {shard.iso2: shard}
    for _, row in find_identifier(shards, fold_id(identifier)):
        if shard.company(row)["id"] == identifier:
            return row
    places = find(shards, identifier, notation).places
    return places[0].row if len(places) == 1 else None


def find_companies(
    shards: ShardsByCountry, pairs: Iterable[tuple[str, str]], notation: NumberNotation
) -> list[tuple[str, str] | None]:
    """Companies by country and identifier in any spelling: each with its stored identifier, or None if unknown."""
    companies: list[tuple[str, str] | None] = []
    for iso2, identifier in pairs:
        row = find_row(shards[iso2], identifier, notation)
        companies.append(None if row is None else (iso2, str(shards[iso2].company(row)["id"])))
    return companies


def possible_companies(shards: ShardsByCountry, number: str) -> list[CompanyRow]:
    """The companies that may have this LEI or VAT number, by hash; reads no record, so any thread can call it."""
    return [
        CompanyRow(iso2, row)
        for iso2, shard in shards.items()
        for row in shard.rows_by_hash(number)
    ]


def nearest_companies(
    shards: ShardsByCountry, number: str, notation: NumberNotation, most: int = _MOST_SUGGESTED
) -> list[CompanyRow]:
    """Up to `most` companies whose identifier differs from the number by zeros, or by one typing error.

    They are suggestions after a search for a number that no company has; those that differ by zeros come first.
    """
    read = notation.read(number)
    shards = _country_shards(shards, read.numbers[0][0]) if read.numbers else shards
    folded = read.numbers[0][-1].folded if read.is_labelled else fold_id(plain_text(number))
    if not folded or len(folded) > LONGEST:
        return []
    places = dict.fromkeys(respelt_companies(shards, folded))
    for spelling in _near_numbers(folded):
        if len(places) >= most:
            break
        places |= dict.fromkeys(find_identifier(shards, spelling))
    return list(places)[:most]


def find_any_spelling(
    shards: ShardsByCountry, number: str, notation: NumberNotation
) -> Iterator[CompanyRow]:
    """All companies that a number in a customer's list may mean, with or without the code of the country."""
    read = notation.read(number)

    def places(reading: Reading) -> list[CompanyRow]:
        """The companies of one reading, in its countries."""
        return list(_find_spellings(_country_shards(shards, reading), reading, notation))

    # The complete text counts as one number if a company has it; else the first reading with a company, of each number.
    if read.whole and read.whole.folded and (whole := places(read.whole)):
        yield from whole
        return
    for readings in read.numbers:
        yield from next(filter(None, map(places, readings)), [])


def _find_spellings(
    shards: ShardsByCountry, reading: Reading, notation: NumberNotation
) -> Iterator[CompanyRow]:
    """The companies of one reading in all ways of `find`, with and without the code of each country.

    A reading is one way to understand a written number. A company can occur several times.
    """
    folded = reading.folded
    for iso2, shard in shards.items():
        of_country = {iso2: shard}
        if reading.type != VAT:
            yield from find_identifier(of_country, folded)
        codes = _country_codes(iso2)
        without_code = [folded[2:] for code in codes if folded.startswith(code)]
        derivations = [derivation for derivation in notation.derivations if derivation.iso2 == iso2]
        for spelling in filter(None, [folded, *without_code, *(code + folded for code in codes)]):
            yield from find_number(of_country, spelling)
            for derivation in derivations:
                yield from find_derived_number(of_country, spelling, derivation)
        if reading.type != VAT:
            yield from respelt_companies(of_country, folded)
    if reading.type != VAT:
        yield from find_any_court(shards, folded)


def find_any_court(shards: ShardsByCountry, folded: str) -> Iterator[CompanyRow]:
    """Companies with this number in the register of any court: HRB 260632."""
    if _NUMBER_OF_COURT.fullmatch(folded):
        for iso2 in _COURT_COUNTRIES:
            if iso2 in shards:
                for code in shards[iso2].courts:
                    yield from find_identifier({iso2: shards[iso2]}, code + folded)


def find_identifier(shards: ShardsByCountry, folded: str) -> Iterator[CompanyRow]:
    """Companies with this folded identifier."""
    for iso2, shard in shards.items():
        if shard.rows:
            for row in lookups.rows_equal_to(shard.idents, folded).tolist():
                yield CompanyRow(iso2, row)


def find_number(shards: ShardsByCountry, folded: str) -> Iterator[CompanyRow]:
    """Companies whose records have this LEI or VAT number."""
    for iso2, shard in shards.items():
        for row in shard.rows_by_number(folded):
            yield CompanyRow(iso2, row)


def find_derived_number(
    shards: ShardsByCountry, folded: str, derivation: Derivation
) -> Iterator[CompanyRow]:
    """Companies whose identifier the number contains, except companies whose record has another VAT number."""
    for iso2, identifier in contained_identifiers(folded, (derivation,)):
        if iso2 in shards:
            for place in find_identifier({iso2: shards[iso2]}, identifier):
                if derivation.type != VAT or _may_have_vat_number(shards[iso2], place.row, folded):
                    yield place


def contained_identifiers(folded: str, derivations: Sequence[Derivation]) -> list[tuple[str, str]]:
    """The identifiers, by country, that a VAT number or a SIRET contains."""
    matches = [
        (derivation, derivation.pattern.fullmatch(folded))
        for derivation in derivations
        if derivation.identifier
    ]
    return [
        (derivation.iso2, fold_id(match.expand(derivation.identifier)))
        for derivation, match in matches
        if match
    ]


def _may_have_vat_number(shard: Shard, row: int, vat: str) -> bool:
    """Whether the record of a company contains this VAT number or no VAT number."""
    stored = shard.company(row)["tva"]
    # Norwegian numbers are often written without the code of the country.
    return stored is None or fold_id(stored).endswith(vat)


def respelt_companies(shards: ShardsByCountry, folded: str) -> Iterator[CompanyRow]:
    """Companies whose identifier is this number with other zeros, with or without the code of the country.

    In countries of _CHECK_LETTERS, an identifier without its check letter is found, too.
    """
    if len(folded) > LONGEST:
        return
    for iso2, shard in shards.items():
        width = shard.idents.width if shard.rows else 0
        for spelling in spellings(iso2, folded):
            if width in (0, len(spelling)):
                yield from find_identifier({iso2: shard}, spelling)
        if (pattern := _CHECK_LETTERS.get(iso2)) and (without_letter := pattern.fullmatch(folded)):
            for letter in ascii_uppercase:  # the check letter is unknown, so each letter is tried
                yield from find_identifier({iso2: shard}, f"FN{without_letter[1]}{letter}")


def spellings(iso2: str, folded: str) -> Iterator[str]:
    """A number with other zeros, with and without the code of its country."""
    without_code = (folded[2:] for code in _country_codes(iso2) if folded.startswith(code))
    for spelling in filter(None, [folded, *without_code]):
        yield from _with_other_zeros(spelling)


def _country_codes(iso2: str) -> list[str]:
    """The code of a country and its other spellings: `UK` and `GB`."""
    return [iso2, *(other for other, code in SPELLINGS.items() if code == iso2)]


def _with_other_zeros(folded: str) -> Iterator[str]:
    """The number with 0 to _MOST_ZEROS zeros after its first letters, in place of its own zeros there.

    >>> list(_with_other_zeros("SC012"))[:3]
    ['SC12', 'SC012', 'SC0012']
    """
    matched = _LETTERS_THEN_ZEROS.fullmatch(folded)
    if matched and matched[2][:1].isdigit():
        for zeros in range(_MOST_ZEROS + 1):
            yield matched[1] + "0" * zeros + matched[2]
    else:
        yield folded


def _near_numbers(folded: str) -> Iterator[str]:
    """The numbers with one typing error: two adjacent characters swapped, or one wrong, missing or added.

    >>> sorted(_near_numbers("1"))[:4]
    ['', '0', '01', '10']
    """
    for place in range(len(folded)):
        before, char, after = folded[:place], folded[place], folded[place + 1 :]
        if after and after[0] != char:
            yield before + after[0] + char + after[1:]
        yield before + after
        yield from (before + digit + after for digit in "0123456789" if digit != char)
    for place in range(len(folded) + 1):
        yield from (folded[:place] + digit + folded[place:] for digit in "0123456789")
