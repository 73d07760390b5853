"""The table of ratios (`seeds/ratios.csv`): formulas by code, in the order in which they are shown.

A row without a denominator is an amount or a sum, a row with a denominator is a quotient. A row uses
only rows above it, so one pass computes all rows. An example of a formula:

    FixedAssets + CurrentAssets + CalledUpShareCapitalNotPaid? | TotalAssets

A name in CamelCase is a line of the chart (`seeds/postes.csv`), a name in small letters another row of
`seeds/ratios.csv`. A term can have a factor (`6.56 *`). `?` marks a line that counts as zero if it was
not filed, `@-1` the year before. `|` separates alternatives: the first with all lines filed is used. So
nothing is estimated: a formula has a value, or the names of the missing lines.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from seeds import TABLES

# A term of a formula with its sign, its factor, its name, `@-1` and `?`.
_TERM: Final = re.compile(
    r"\s*+(?P<sign>[+-])?\s*+(?:(?P<factor>\d++(?:\.\d++)?)\s*+\*\s*+)?"
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*(?:-[a-z][A-Za-z]*)*)(?P<before>@-1)?(?P<optional>\?)?\s*"
)

# A function that returns a figure by its name and the number of years before, None if the figure is missing.
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
        optional: whether the line counts as zero if it was not filed.
    """

    name: str
    factor: float
    years_before: int
    optional: bool


@dataclass(frozen=True, slots=True)
class Formula:
    """Alternative sums; the first sum with all terms known is used."""

    alternatives: tuple[tuple[Term, ...], ...]

    @property
    def terms(self) -> Iterator[Term]:
        """All terms of all alternatives."""
        return (term for sum_ in self.alternatives for term in sum_)

    def value(self, lookup: Lookup) -> float | None:
        """The first sum with all lines filed, by figures of `lookup(name, years_before)`; None without such a sum."""
        for terms in self.alternatives:
            total = _sum(terms, lookup)
            if total is not None:
                return total
        return None

    def lacking_terms(self, lookup: Lookup) -> tuple[Term, ...]:
        """The missing terms of the alternative with the fewest missing terms; empty if one can be computed."""
        lacking_by_alternative = [
            tuple(
                term
                for term in terms
                if not term.optional and lookup(term.name, term.years_before) is None
            )
            for terms in self.alternatives
        ]
        return min(lacking_by_alternative, key=len)


def parse(text: str) -> Formula:
    """Parse a formula.

    >>> parse("Equity | 2 * A - B@-1?").alternatives[1][1]
    Term(name='B', factor=-1.0, years_before=1, optional=True)

    Raises:
        FormulaError: `text` is not in the language.
    """
    return Formula(tuple(_terms(part, text) for part in text.split("|")))


def _terms(alternative: str, formula: str) -> tuple[Term, ...]:
    """Parse one alternative of a formula, which is a sum of terms; the complete `formula` is for messages.

    Raises:
        FormulaError: the text is not a sum of terms, or all its terms are optional.
    """
    terms: list[Term] = []
    place = 0
    while place < len(alternative) or not terms:
        match = _TERM.match(alternative, place)
        # The first term has no sign, every further term has one.
        if match is None or bool(match["sign"]) != bool(terms):
            raise FormulaError(
                f"{formula!r}: no term at {alternative[place:].strip()!r}; correct it"
            )
        sign = -1.0 if match["sign"] == "-" else 1.0
        terms.append(
            Term(
                match["name"],
                sign * float(match["factor"] or 1),
                1 if match["before"] else 0,
                match["optional"] is not None,
            )
        )
        place = match.end()
    if all(term.optional for term in terms):
        raise FormulaError(
            f"{formula!r}: a sum of optional lines alone would be zero for everyone; make one necessary"
        )
    return tuple(terms)


def _sum(terms: tuple[Term, ...], lookup: Lookup) -> float | None:
    """The sum of the terms; None if a line that is not optional is missing."""
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
# The units of rows that are amounts for other rows, not ratios.
AMOUNTS: Final = ("montant", "personnes")
# The valid values of `sens`; see `Ratio.sens`.
_DIRECTIONS: Final = ("haut", "bas", "")
# The line with the months of a fiscal year, if these are not twelve.
MONTHS: Final = "PeriodMonths"
YEAR_MONTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Ratio:
    """One row of the table.

    Attributes:
        libelle: by language, `fr` and `en`.
        denominator: None for an amount or a sum.
        factor: multiplies a quotient; for example, 365 converts it to days.
        annual: 1 if a flow is divided by a stock, -1 if a stock is divided by a flow: the flow is converted
            to twelve months. 0 otherwise: the length of the year makes no difference.
        formule: the formula as in the table, for readers.
        sens: the better value: `haut` (the greatest), `bas` (the smallest), None if neither is better.
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
        """Whether the ratio uses figures of the year before."""
        formulas = (self.numerator, self.denominator)
        return any(term.years_before for formula in formulas if formula for term in formula.terms)

    @property
    def is_amount(self) -> bool:
        """Whether the row is an amount for other rows, and not a ratio."""
        return self.unite in AMOUNTS


@cache
def ratios() -> Mapping[str, Ratio]:
    """All rows of `seeds/ratios.csv` by code, ratios and amounts, in the order of the table.

    Raises:
        FormulaError: a formula is not in the language, or uses a row below it.
    """
    by_code: dict[str, Ratio] = {}
    with (TABLES / "ratios.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ratio = _make_ratio(row)
            _check_names(ratio, by_code)
            by_code[ratio.code] = ratio
    return MappingProxyType(by_code)


def stored_codes() -> tuple[str, ...]:
    """The codes of the ratios without amounts; a shard has their values of the last year."""
    return tuple(code for code, ratio in ratios().items() if not ratio.is_amount)


def ordered_codes() -> tuple[str, ...]:
    """The codes in the order of a shard's `orders`: sorted, whatever the order of the table."""
    return tuple(sorted(stored_codes()))


def chart_lines() -> frozenset[str]:
    """The statement lines that any formula needs."""
    # The names of statement lines begin with a capital; the others are codes of ratios.
    return frozenset((MONTHS,)) | frozenset(
        term.name
        for ratio in ratios().values()
        for formula in (ratio.numerator, ratio.denominator)
        if formula is not None
        for term in formula.terms
        if term.name[0].isupper()
    )


def _make_ratio(row: Mapping[str, str]) -> Ratio:
    """The ratio of a row of `seeds/ratios.csv`, with its parsed formulas and the text that shows them.

    Raises:
        FormulaError: a formula, the unit or the direction is not valid.
    """
    if row["unite"] not in UNITS:
        raise FormulaError(f"{row['code']}: unit {row['unite']!r}; known: {', '.join(UNITS)}")
    if row["sens"] not in _DIRECTIONS:
        raise FormulaError(f"{row['code']}: direction {row['sens']!r}; known: haut, bas, or empty")
    quotient = f"({row['numerateur']}) / ({row['denominateur']})"
    formula = quotient if row["denominateur"] else row["numerateur"]
    return Ratio(
        row["code"],
        {"fr": row["libelle"], "en": row["libelle_en"]},
        parse(row["numerateur"]),
        parse(row["denominateur"]) if row["denominateur"] else None,
        float(row["facteur"] or 1),
        int(row["annuel"] or 0),
        row["unite"],
        row["sens"] or None,
        formula + (f" × {row['facteur']}" if row["facteur"] else "") + _ANNUAL[row["annuel"]],
        row["source"],
    )


# The text of a formula that converts a flow to twelve months.
_ANNUAL: Final = {"": "", "1": " × 12 / mois", "-1": " × mois / 12"}


def _check_names(ratio: Ratio, above: Mapping[str, Ratio]) -> None:
    """Raise FormulaError if a formula uses a row of the table that is not in `above`."""
    for formula in (ratio.numerator, ratio.denominator):
        for term in formula.terms if formula else ():
            if term.name[0].islower() and term.name not in above:
                raise FormulaError(
                    f"{ratio.code}: {term.name} is not a row above it; move that row up, or add it"
                )
