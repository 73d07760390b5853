"""Formulas over the lines of annual accounts: text to value, and value to figures.

    FixedAssets + CurrentAssets + CalledUpShareCapitalNotPaid? | TotalAssets

A name in CamelCase is a line of the chart (`seeds/postes.csv`), one in small letters another row of
`seeds/ratios.csv`. A term may have a factor (`6.56 *`). `?` marks a line that counts as zero where it
was not filed, `@-1` the year before. Alternatives are separated by `|`: the first whose lines were all
filed holds. So nothing is estimated: a formula has a value, or the names of the lines that lack.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

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
