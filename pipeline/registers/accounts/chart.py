"""The chart of statement lines, the same codes for every country, and the elements of each source on it.

A line of the chart (`seeds/postes.csv`) has its statement, its place in it, a label in French and English, and, where
it is a part of another line, that line as its parent. Costs are positive, results have their sign.

The accounts of a group stand beside those of the company that files them. Their codes end in
`Consolidated` (as RIK publishes them) and their places follow those of the company's own lines, so
that no rule about a company can take one for the other.

An element (`seeds/elements.csv`) is a concept of a taxonomy, a box of a form or a code of a field, in the words of its
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
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, cast

from pipeline.canonical import GROUP, InputError
from pipeline.seeds import read_table
from seeds import TABLES
from shards.codec.record import ETATS

POSTES: Final = TABLES / "postes.csv"
GROUP_PLACES: Final = 1_000  # more than any place of the chart
_COLUMNS: Final = ("code", "etat", "parent", "ordre", "libelle_fr", "libelle_en", "somme", "genre")
ELEMENTS: Final = TABLES / "elements.csv"
_ELEMENT_COLUMNS: Final = ("source", "element", "code", "signe", "motif")


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of the chart.

    Attributes:
        parent: the code of the line it is a part of, or empty.
        is_count: its value is a number of persons or shares, not an amount of money.
    """

    code: str
    etat: str
    parent: str
    ordre: int
    libelle_fr: str
    libelle_en: str
    is_count: bool

    @property
    def as_part(self) -> str:
        """The French label below the parent.

        >>> load()["Goodwill"].as_part
        "dont écart d'acquisition"
        """
        first, second = self.libelle_fr[0], self.libelle_fr[1:2]
        small = first if second.isupper() else first.lower()
        return f"dont {small}{self.libelle_fr[1:]}"


@cache
def load(path: Path = POSTES) -> Mapping[str, ChartLine]:
    """Read the chart, by code.

    Raises:
        InputError: an unknown statement, a code or a place twice, or a parent that is no line of
            the same statement above its part.
        SeedError: a table that is missing, empty or not a CSV of these columns.
    """
    lines: dict[str, ChartLine] = {}
    places: dict[tuple[str, int], str] = {}
    for row in read_table(path, _COLUMNS):
        line = _line(row, path)
        other = places.setdefault((line.etat, line.ordre), line.code)
        if line.code in lines or other != line.code:
            raise InputError(
                f"{path.name}: {line.code} has the code or the place of {other}; give it its own"
            )
        lines[line.code] = line
    for line in lines.values():
        _check_parent(line, lines, path)
    return MappingProxyType(lines)


def _line(row: Mapping[str, str], path: Path) -> ChartLine:
    if row["etat"] not in ETATS:
        raise InputError(
            f"{path.name}: {row['code']}: etat {row['etat']!r} is unknown; write one of {', '.join(ETATS)}"
        )
    if row["code"].endswith(GROUP) or not 0 < int(row["ordre"]) < GROUP_PLACES:
        raise InputError(
            f"{path.name}: {row['code']} at {row['ordre']}: {GROUP} and places from"
            f" {GROUP_PLACES} are for group accounts; take others"
        )
    return ChartLine(
        code=row["code"],
        etat=row["etat"],
        parent=row["parent"],
        ordre=int(row["ordre"]),
        libelle_fr=row["libelle_fr"],
        libelle_en=row["libelle_en"],
        is_count=row["genre"] == "nombre",
    )


def _check_parent(line: ChartLine, lines: Mapping[str, ChartLine], path: Path) -> None:
    """A part stands below its parent, with nothing but other parts of it between them."""
    if not line.parent:
        return
    parent = lines.get(line.parent)
    if parent is None or parent.parent or parent.etat != line.etat or parent.ordre >= line.ordre:
        raise InputError(
            f"{path.name}: {line.code} cannot be a part of {line.parent!r}; name a line of"
            " the same statement above it that is no part itself"
        )
    for other in lines.values():
        between = other.etat == line.etat and parent.ordre < other.ordre < line.ordre
        if between and other.parent != line.parent:
            raise InputError(
                f"{path.name}: {other.code} stands between {line.code} and {line.parent}; move it"
            )


# -- elements of a source ------------------------------------------------------------


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


def load_elements(source: str, path: Path = ELEMENTS) -> Taxonomy:
    """Read the elements of `source`.

    Raises:
        InputError: a code that is not on the chart, an unknown sign, an element twice, or a source
            without elements.
        SeedError: a table that is missing, empty or not a CSV of these columns.
    """
    lines: dict[str, Element] = {}
    ignored: list[tuple[str, str]] = []
    for rank, row in enumerate(read_table(path, _ELEMENT_COLUMNS)):
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
    line, signe = load().get(row["code"]), row["signe"]
    if line is None or signe not in ("1", "-1", "abs"):
        raise InputError(
            f"{path.name}: {row['source']} {row['element']}: code {row['code']!r} or signe {signe!r}"
            f" is wrong; write the code of a line of {POSTES.name}, and 1, -1 or abs"
        )
    return Element(line, cast(Literal["1", "-1", "abs"], signe), rank)
