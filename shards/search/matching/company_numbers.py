"""Companies by any of their numbers, in any spelling: identifier, VAT number, SIRET, LEI (extensions X5, X6).

A number is compared by its letters and digits. An identifier is found with other leading zeros than the register
writes, with the code of its country in front, or both. How other numbers contain identifiers is a table
(`seeds/numeros.csv`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from shards.codec.folding import SPELLINGS, fold_id
from shards.search import id_lookup
from shards.search.reader import Shard

VAT: Final = "tva"

# Letters and digits of a number that is looked up with zeros.
LONGEST: Final = 24
_ZEROS: Final = 7  # that a spreadsheet may have lost
_LETTERS_THEN_ZEROS: Final = re.compile(r"([A-Z]*+)0*+(.*)")

# Countries where each court numbers its companies, and how a folded identifier begins there: with the code of the
# court (XJustiz) and a letter.
_COURTS: Final = ("DE",)
_COURT: Final = re.compile(rb"[A-Z]\d{4}[A-Z]?(?=HR|GN|VR|PR|GS)")
_OF_COURT: Final = re.compile(r"(HRA|HRB|GNR|VR|PR|GSR)\d+[A-Z]{0,2}")

Shards = Mapping[str, Shard]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a number of this `type` in the country contains the identifier: a pattern of it, and its replacement."""

    type: str
    iso2: str
    pattern: re.Pattern[str]
    identifier: str

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, str]]) -> "tuple[Derivation, ...]":
        """The rows of `seeds/numeros.csv`, in the order in which they are tried."""
        return tuple(
            cls(row["type"], row["iso2"], re.compile(row["motif"]), row["identifiant"])
            for row in rows
        )


class CompanyPlace(NamedTuple):
    """A company."""

    iso2: str
    row: int


def in_any_spelling(
    shards: Shards, number: str, derivations: Sequence[Derivation]
) -> Iterator[CompanyPlace]:
    """All companies that a number of somebody's list may mean, with the code of their country or without."""
    folded = fold_id(number)
    if not folded:
        return
    for iso2, shard in shards.items():
        of_country = {iso2: shard}
        yield from with_identifier(of_country, folded)
        codes = _codes(iso2)
        bare = [folded[2:] for code in codes if folded.startswith(code)]
        own = [one for one in derivations if one.iso2 == iso2]
        for spelling in filter(None, [folded, *bare, *(code + folded for code in codes)]):
            yield from with_number(of_country, spelling)
            for one in own:
                yield from with_derived_number(of_country, spelling, one)
        yield from respelt(of_country, folded)
    yield from of_any_court(shards, folded)


def of_any_court(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies with this number of a register that each court keeps: HRB 260632."""
    if _OF_COURT.fullmatch(folded):
        for iso2 in _COURTS:
            if iso2 in shards and shards[iso2].rows:
                found = id_lookup.rows_behind_prefixes(shards[iso2].idents, folded, _COURT)
                for row in found:
                    yield CompanyPlace(iso2, row)


def with_identifier(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies with this identifier."""
    for iso2, shard in shards.items():
        if shard.rows:
            for row in id_lookup.rows_equal_to(shard.idents, folded).tolist():
                yield CompanyPlace(iso2, row)


def with_number(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies whose records have this LEI or VAT number."""
    for iso2, shard in shards.items():
        for row in shard.rows_by_number(folded):
            yield CompanyPlace(iso2, row)


def with_derived_number(shards: Shards, folded: str, one: Derivation) -> Iterator[CompanyPlace]:
    """Companies whose identifier is in the number, and that do not have another VAT number in their records."""
    matched = one.pattern.fullmatch(folded)
    if matched and one.iso2 in shards:
        identifier = fold_id(matched.expand(one.identifier))
        for place in with_identifier({one.iso2: shards[one.iso2]}, identifier):
            if one.type != VAT or _may_have(shards[place.iso2], place.row, folded):
                yield place


def _may_have(shard: Shard, row: int, vat: str) -> bool:
    """Whether the record of a company does not have another VAT number."""
    stored = shard.company(row)["tva"]
    # Norwegian numbers are often written without the code of the country.
    return stored is None or fold_id(stored).endswith(vat)


def respelt(shards: Shards, folded: str) -> Iterator[CompanyPlace]:
    """Companies whose identifier is the number with other zeros, with or without the code of their country."""
    if len(folded) > LONGEST:
        return
    for iso2, shard in shards.items():
        width = shard.idents.width if shard.rows else 0
        for one in spellings(iso2, folded):
            if width in (0, len(one)):
                yield from with_identifier({iso2: shard}, one)


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
