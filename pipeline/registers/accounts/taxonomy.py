"""The elements of a source on the chart: the rows of `seeds/elements.csv` that name the source.

An element is a concept of a taxonomy, a box of a form or a code of a field, in the words of its
source. Of an XBRL fact it is the local name (three generations of taxonomies spell the prefix
differently), with the member in brackets where only a part of a total is meant:
`Creditors[WithinOneYear]`. Where several elements give one line, the first in the file wins. A row
without `code` is an element that is ignored, with the reason; there `*` stands for any text.

`signe` is 1, -1 or abs. British filers publish creditors as positive amounts (all 557 in 283
filings); -1 is for sources that publish costs as negative ones, abs for elements published with
either sign.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, cast

from pipeline.canonical import InputError
from pipeline.registers.accounts import chart
from pipeline.registers.accounts.chart import ChartLine
from pipeline.seeds import read_table
from seeds import TABLES

ELEMENTS: Final = TABLES / "elements.csv"
_COLUMNS: Final = ("source", "element", "code", "signe", "motif")


@dataclass(frozen=True, slots=True)
class Element:
    """An element's line of the chart and its sign; `rank` orders the elements of one line."""

    line: ChartLine
    signe: Literal["1", "-1", "abs"]
    rank: int

    def apply_sign(self, value: float) -> float:
        """The published `value` with the sign of the line."""
        if self.signe == "abs":
            return abs(value)
        return (-value if self.signe == "-1" else value) + 0.0  # + 0.0 makes -0.0 a 0.0


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The statement line of each element of a source, and the elements that are ignored."""

    lines: Mapping[str, Element]
    ignored: tuple[tuple[str, str], ...]  # pattern, reason
    known: frozenset[str]  # every mapped element, without its member

    def reason(self, element: str) -> str | None:
        """The reason to ignore an element; None if no row ignores it."""
        return next((why for pattern, why in self.ignored if fnmatchcase(element, pattern)), None)


def load(source: str, path: Path = ELEMENTS) -> Taxonomy:
    """Read the elements of `source`.

    Raises:
        InputError: a code that is not on the chart, an unknown sign, an element twice, or a source
            without elements.
        SeedError: a table that is missing, empty or not a CSV of these columns.
    """
    lines: dict[str, Element] = {}
    ignored: list[tuple[str, str]] = []
    for rank, row in enumerate(read_table(path, _COLUMNS)):
        if row["source"] != source:
            continue
        if not row["code"]:
            ignored.append((row["element"], row["motif"]))
            continue
        if row["element"] in lines:
            raise InputError(
                f"{path.name}: {source}: element {row['element']} is there twice; keep one"
            )
        lines[row["element"]] = _element(row, rank, path)
    if not lines:
        raise InputError(f"{path.name} has no element of {source}; add its rows")
    known = frozenset(element.partition("[")[0] for element in lines)
    return Taxonomy(lines, tuple(ignored), known)


def _element(row: Mapping[str, str], rank: int, path: Path) -> Element:
    line, signe = chart.load().get(row["code"]), row["signe"]
    if line is None or signe not in ("1", "-1", "abs"):
        raise InputError(
            f"{path.name}: {row['source']} {row['element']}: code {row['code']!r} or signe {signe!r}"
            f" is wrong; write the code of a line of {chart.POSTES.name}, and 1, -1 or abs"
        )
    return Element(line, cast(Literal["1", "-1", "abs"], signe), rank)
