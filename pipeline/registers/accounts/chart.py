"""The chart of statement lines, with the same codes for all countries, and the elements of each source.

A line of the chart (`seeds/postes.csv`) has a statement (`etat`), a place in the statement (`ordre`), a label in French
and English, and, if the line is a part of another line, that line as its parent. Costs are positive; results have their
sign.

Group accounts are stored with the accounts of the company that files them. The codes of group lines end in
`Consolidated` (as RIK publishes them), and their `ordre` is GROUP_PLACE_OFFSET higher, so that no rule about a company
takes a group line for a line of the company.

An element (`seeds/elements.csv`) is a concept of a taxonomy, a box of a form or the code of a field, as its source
writes it. For an XBRL fact the element is the local name (three generations of taxonomies spell the prefix
differently), with the member in brackets for a part of a total: `Creditors[WithinOneYear]`. If several
elements have one line, the first in the file wins. A row without `code` is an ignored element, with the
reason; in such a row `*` matches any text.

`signe` of an element says how its published amount becomes the amount of the line: 1 keeps the sign, -1 reverses the
sign (for sources that publish costs as negative amounts), abs removes the sign (for elements published with either
sign). British filers publish creditors as positive amounts (all 557 in 283 filings).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, cast

from pipeline.canonical import GROUP_SUFFIX, InputError
from pipeline.seeds import read_table
from seeds import TABLES
from shards.codec.record import ETATS

POSTES: Final = TABLES / "postes.csv"  # the lines of the chart
# Added to the `ordre` of a group line; higher than every `ordre` of the chart, so that group lines come last.
GROUP_PLACE_OFFSET: Final = 1_000
# The columns of POSTES.
_COLUMNS: Final = ("code", "etat", "parent", "ordre", "libelle_fr", "libelle_en", "somme", "genre")
ELEMENTS: Final = TABLES / "elements.csv"  # the elements of all sources
# The columns of ELEMENTS.
_ELEMENT_COLUMNS: Final = ("source", "element", "code", "signe", "motif")


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of the chart.

    Attributes:
        etat: the statement, one of ETATS.
        parent: the code of the line that has this line as a part, or empty.
        ordre: the place of the line in its statement.
        is_count: whether the value is a number of persons or shares, not an amount of money.
    """

    code: str
    etat: str
    parent: str
    ordre: int
    libelle_fr: str
    libelle_en: str
    is_count: bool

    @property
    def label_below_parent(self) -> str:
        """The French label of a part when its parent is in the same accounts.

        >>> load_lines()["Goodwill"].label_below_parent
        "dont écart d'acquisition"
        """
        first_letter, second_letter = self.libelle_fr[0], self.libelle_fr[1:2]
        new_first_letter = first_letter if second_letter.isupper() else first_letter.lower()
        return f"dont {new_first_letter}{self.libelle_fr[1:]}"


@cache
def load_lines(path: Path = POSTES) -> Mapping[str, ChartLine]:
    """The lines of the chart, by code.

    Raises:
        InputError: an unknown statement, a code or a place that two lines have, or a parent that is not a line of
            the same statement above its part.
        SeedError: the table is missing, empty or not a CSV, or lacks a column of _COLUMNS.
    """
    lines: dict[str, ChartLine] = {}
    places: dict[tuple[str, int], str] = {}
    for row in read_table(path, _COLUMNS):
        line = _line(row, path)
        first_code = places.setdefault((line.etat, line.ordre), line.code)
        if line.code in lines or first_code != line.code:
            raise InputError(
                f"{path.name}: {line.code} has the code or place of {first_code}; give it its own"
            )
        lines[line.code] = line
    for line in lines.values():
        _check_parent(line, lines, path)
    return MappingProxyType(lines)


def _line(row: Mapping[str, str], path: Path) -> ChartLine:
    """The line that a row of `seeds/postes.csv` declares; a code or a place of group accounts is refused."""
    if row["etat"] not in ETATS:
        raise InputError(
            f"{path.name}: {row['code']}: etat {row['etat']!r} is unknown; write one of {', '.join(ETATS)}"
        )
    if row["code"].endswith(GROUP_SUFFIX) or not 0 < int(row["ordre"]) < GROUP_PLACE_OFFSET:
        raise InputError(
            f"{path.name}: {row['code']} at {row['ordre']}: {GROUP_SUFFIX} and places from"
            f" {GROUP_PLACE_OFFSET} are for group accounts; use others"
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
    """Check that a part is below its parent, and that only parts of the same parent are between the two."""
    if not line.parent:
        return
    parent = lines.get(line.parent)
    if parent is None or parent.parent or parent.etat != line.etat or parent.ordre >= line.ordre:
        raise InputError(
            f"{path.name}: {line.code} cannot be a part of {line.parent!r}; name a line of"
            " the same statement above it that is not a part itself"
        )
    for candidate in lines.values():
        is_between = candidate.etat == line.etat and parent.ordre < candidate.ordre < line.ordre
        if is_between and candidate.parent != line.parent:
            raise InputError(
                f"{path.name}: {candidate.code} is between {line.code} and {line.parent}; move it"
            )


# -- elements of a source ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Element:
    """The line and the sign (`signe`) of an element; of several elements of one line, the lowest `rank` wins."""

    line: ChartLine
    signe: Literal["1", "-1", "abs"]
    rank: int

    def apply_sign(self, value: float) -> float:
        """The published `value` with the sign of the line."""
        if self.signe == "abs":
            return abs(value)
        return (-value if self.signe == "-1" else value) + 0.0  # + 0.0 turns -0.0 into 0.0


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The statement line of each element of a source, and the elements that are ignored."""

    lines: Mapping[str, Element]
    ignored: tuple[tuple[str, str], ...]  # pattern, reason
    concepts: frozenset[str]  # the names of all mapped elements, without an XBRL dimension member

    def reason(self, element: str) -> str | None:
        """The reason to ignore an element; None if no row ignores it."""
        return next((why for pattern, why in self.ignored if fnmatchcase(element, pattern)), None)


def load_elements(source: str, path: Path = ELEMENTS) -> Taxonomy:
    """Read the elements of `source`.

    Raises:
        InputError: a code that is not on the chart, an unknown sign, an element in two rows, or a source
            without elements.
        SeedError: the table is missing, empty or not a CSV, or lacks a column of _ELEMENT_COLUMNS.
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
    concepts = frozenset(element.partition("[")[0] for element in lines)
    return Taxonomy(lines, tuple(ignored), concepts)


def _element(row: Mapping[str, str], rank: int, path: Path) -> Element:
    """The element that a row of `seeds/elements.csv` declares; `rank` is the place of the row."""
    line, signe = load_lines().get(row["code"]), row["signe"]
    if line is None or signe not in ("1", "-1", "abs"):
        raise InputError(
            f"{path.name}: {row['source']} {row['element']}: code {row['code']!r} or signe {signe!r}"
            f" is wrong; write the code of a line of {POSTES.name}, and 1, -1 or abs"
        )
    return Element(line, cast(Literal["1", "-1", "abs"], signe), rank)
