"""The table of ratios (`seeds/ratios.csv`): formulas by code, in the order in which they are shown.

A row without a denominator is an amount or a sum, one with a denominator a quotient. A row uses only
rows above it, so one pass computes all. A formula:

    FixedAssets + CurrentAssets + CalledUpShareCapitalNotPaid? | TotalAssets

A name in CamelCase is a line of the chart (`seeds/postes.csv`), one in small letters another row of
`seeds/ratios.csv`. A term may have a factor (`6.56 *`). `?` marks a line that counts as zero where it
was not filed, `@-1` the year before. Alternatives are separated by `|`: the first whose lines were all
filed holds. So nothing is estimated: a formula has a value, or the names of the lines that lack.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from seeds import TABLES

_TERM: Final = re.compile(
    r"\s*+(?P<sign>[+-])?\s*+(?:(?P<factor>\d++(?:\.\d++)?)\s*+\*\s*+)?"
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*(?:-[a-z][A-Za-z]*)*)(?P<before>@-1)?(?P<optional>\?)?\s*"
)

Lookup = Callable[[str, int], float | None]


class FormulaError(ValueError):
    """A formula that is not in the language; the message names the text and the place."""


@dataclass(frozen=True, slots=True)
class Term:
    """One addend.

    Attributes:
        name: a line of the chart, or a row of the table of ratios.
        factor: with its sign.
        years_before: 0, or 1 for the year before.
        optional: whether it counts as zero where it was not filed.
    """

    name: str
    factor: float
    years_before: int
    optional: bool


@dataclass(frozen=True, slots=True)
class Formula:
    """Alternative sums; the first whose terms are all known holds."""

    alternatives: tuple[tuple[Term, ...], ...]

    @property
    def terms(self) -> Iterator[Term]:
        """All terms of all alternatives."""
        return (term for sum_ in self.alternatives for term in sum_)

    def value(self, lookup: Lookup) -> float | None:
        """The value, where `lookup(name, years_before)` gives figures; None if a line lacks."""
        for terms in self.alternatives:
            found = _sum(terms, lookup)
            if found is not None:
                return found
        return None

    def lacking_terms(self, lookup: Lookup) -> tuple[Term, ...]:
        """The terms without which there is no value: those of the alternative that lacks fewest."""
        lacks = [
            tuple(t for t in terms if not t.optional and lookup(t.name, t.years_before) is None)
            for terms in self.alternatives
        ]
        return min(lacks, key=len)


def parse(text: str) -> Formula:
    """The formula that `text` states.

    >>> parse("Equity | 2 * A - B@-1?").alternatives[1][1]
    Term(name='B', factor=-1.0, years_before=1, optional=True)

    Raises:
        FormulaError: `text` is not in the language.
    """
    return Formula(tuple(_terms(part, text) for part in text.split("|")))


def _terms(part: str, text: str) -> tuple[Term, ...]:
    found: list[Term] = []
    place = 0
    while place < len(part) or not found:
        match = _TERM.match(part, place)
        if match is None or bool(match["sign"]) != bool(found):
            raise FormulaError(f"{text!r}: no term at {part[place:].strip()!r}; correct it")
        sign = -1.0 if match["sign"] == "-" else 1.0
        found.append(
            Term(
                match["name"],
                sign * float(match["factor"] or 1),
                1 if match["before"] else 0,
                match["optional"] is not None,
            )
        )
        place = match.end()
    if all(term.optional for term in found):
        raise FormulaError(
            f"{text!r}: a sum of optional lines alone would be zero for everyone; make one necessary"
        )
    return tuple(found)


def _sum(terms: tuple[Term, ...], lookup: Lookup) -> float | None:
    total = 0.0
    for term in terms:
        figure = lookup(term.name, term.years_before)
        if figure is None and not term.optional:
            return None
        total += term.factor * (figure or 0.0)
    return total


# -- rows of the table -------------------------------------------------------------------------


# Units of values: parts of 1, times, days, euros, an index, persons, an amount of the accounts.
UNITS: Final = ("part", "fois", "jours", "EUR", "indice", "personnes", "montant")
AMOUNTS: Final = ("montant", "personnes")
_DIRECTIONS: Final = ("haut", "bas", "")
# The line with the months of a fiscal year, where these are not twelve.
MONTHS: Final = "PeriodMonths"
YEAR_MONTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Ratio:
    """One row of the table.

    Attributes:
        libelle: by language, `fr` and `en`.
        denominator: None for an amount or a sum.
        factor: multiplies a quotient, as 365 makes days of it.
        annual: 1 where a flow is compared with a stock, -1 where a stock is with a flow: the flow counts as
            that of twelve months. 0 for others, in which the length of the year makes no difference.
        formule: the formula as the table states it, for people.
        sens: the better value: `haut` (the greatest), `bas` (the smallest), None where neither is.
        source: a textbook or a standard.
    """

    code: str
    libelle: Mapping[str, str]
    numerator: Formula
    denominator: Formula | None
    factor: float
    annual: int
    unite: str
    sens: str | None
    formule: str
    source: str

    @property
    def looks_back(self) -> bool:
        """Whether it uses figures of the year before."""
        formulas = (self.numerator, self.denominator)
        return any(term.years_before for formula in formulas if formula for term in formula.terms)

    @property
    def is_amount(self) -> bool:
        """Whether it is a part of other rows and no ratio of its own."""
        return self.unite in AMOUNTS


@cache
def ratios() -> Mapping[str, Ratio]:
    """All rows by code, in the order of the table.

    Raises:
        FormulaError: a formula is not in the language, or uses a row below it.
    """
    found: dict[str, Ratio] = {}
    with (TABLES / "ratios.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ratio = _ratio(row)
            _check_names(ratio, found)
            found[ratio.code] = ratio
    return MappingProxyType(found)


def stored_codes() -> tuple[str, ...]:
    """The codes of the ratios proper, of which a shard has the values of the last year."""
    return tuple(code for code, ratio in ratios().items() if not ratio.is_amount)


def ordered_codes() -> tuple[str, ...]:
    """The same codes as the orders of a shard lie: by their bytes, whatever the order of the table."""
    return tuple(sorted(stored_codes()))


def chart_lines() -> frozenset[str]:
    """The lines of the chart that any formula needs."""
    return frozenset((MONTHS,)) | frozenset(
        term.name
        for ratio in ratios().values()
        for formula in (ratio.numerator, ratio.denominator)
        if formula is not None
        for term in formula.terms
        if term.name[0].isupper()
    )


def _ratio(row: Mapping[str, str]) -> Ratio:
    if row["unite"] not in UNITS:
        raise FormulaError(f"{row['code']}: unit {row['unite']!r}; known: {', '.join(UNITS)}")
    if row["sens"] not in _DIRECTIONS:
        raise FormulaError(f"{row['code']}: direction {row['sens']!r}; known: haut, bas, or empty")
    quotient = f"({row['numerateur']}) / ({row['denominateur']})"
    shown = quotient if row["denominateur"] else row["numerateur"]
    return Ratio(
        row["code"],
        {"fr": row["libelle"], "en": row["libelle_en"]},
        parse(row["numerateur"]),
        parse(row["denominateur"]) if row["denominateur"] else None,
        float(row["facteur"] or 1),
        int(row["annuel"] or 0),
        row["unite"],
        row["sens"] or None,
        shown + (f" × {row['facteur']}" if row["facteur"] else "") + _ANNUAL[row["annuel"]],
        row["source"],
    )


# How a formula says that a flow counts as that of twelve months.
_ANNUAL: Final = {"": "", "1": " × 12 / mois", "-1": " × mois / 12"}


def _check_names(ratio: Ratio, above: Mapping[str, Ratio]) -> None:
    for formula in (ratio.numerator, ratio.denominator):
        for term in formula.terms if formula else ():
            if term.name[0].islower() and term.name not in above:
                raise FormulaError(
                    f"{ratio.code}: {term.name} is no row above it; move that up, or write it"
                )
