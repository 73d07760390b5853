"""The mapping of FRC and UK GAAP concepts to statement lines: `seeds/frc.csv`, read and checked.

A concept is its local name (three generations of taxonomies spell the prefix differently), with the
member in brackets where only a part of a total is meant: `Creditors[WithinOneYear]`. Where several
concepts give one line, the first in the file wins. A row without `etat` is a concept that is
ignored, with the reason; there `*` stands for any text.

`signe` is 1, -1 or abs. Filers publish creditors as positive amounts (all 557 in 283 filings), so
no row needs -1 today. abs is for concepts published with either sign: disposals, depreciation,
dividends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal

from pipeline.canonical import ETATS, InputError
from pipeline.seeds import read_table
from seeds import TABLES

FRC: Final = TABLES / "frc.csv"
_COLUMNS: Final = ("concept", "etat", "code", "libelle", "signe", "ordre", "motif")


@dataclass(frozen=True, slots=True)
class ConceptLine:
    """A statement line, in the columns of `frc.csv`; `rank` orders the concepts of one line."""

    etat: str
    code: str
    libelle: str
    signe: Literal["1", "-1", "abs"]
    ordre: int
    rank: int

    def signed(self, value: float) -> float:
        """The published `value` with the sign of the line."""
        if self.signe == "abs":
            return abs(value)
        return (-value if self.signe == "-1" else value) + 0.0  # + 0.0 makes -0.0 a 0.0


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The statement line of each concept, and the concepts that are ignored."""

    lines: Mapping[str, ConceptLine]
    ignored: tuple[tuple[str, str], ...]  # pattern, reason
    known: frozenset[str]  # every mapped concept, without its member

    def reason(self, concept: str) -> str | None:
        """The reason to ignore a concept; None if no row ignores it."""
        return next((why for pattern, why in self.ignored if fnmatchcase(concept, pattern)), None)


def load(path: Path = FRC) -> Taxonomy:
    """Read the mapping.

    Raises:
        InputError: an unknown etat or sign, a concept twice, or a line with two definitions.
        SeedError: a table that is missing, empty or not a CSV of these columns.
    """
    lines: dict[str, ConceptLine] = {}
    ignored: list[tuple[str, str]] = []
    for rank, row in enumerate(read_table(path, _COLUMNS)):
        if not row["etat"]:
            ignored.append((row["concept"], row["motif"]))
            continue
        if row["concept"] in lines:
            raise InputError(f"{path.name}: concept {row['concept']} is there twice")
        lines[row["concept"]] = _line(row, rank, path)
    _check_definitions(lines, path)
    known = frozenset(concept.partition("[")[0] for concept in lines)
    return Taxonomy(lines, tuple(ignored), known)


def _line(row: Mapping[str, str], rank: int, path: Path) -> ConceptLine:
    signe = row["signe"]
    if row["etat"] not in ETATS or signe not in ("1", "-1", "abs"):
        raise InputError(
            f"{path.name}: {row['concept']}: etat {row['etat']!r} (one of {', '.join(ETATS)}) or"
            f" signe {signe!r} (1, -1 or abs) is wrong"
        )
    return ConceptLine(row["etat"], row["code"], row["libelle"], signe, int(row["ordre"]), rank)  # type: ignore[arg-type]


def _check_definitions(lines: Mapping[str, ConceptLine], path: Path) -> None:
    definitions: dict[str, tuple[str, str, int]] = {}
    places: dict[tuple[str, int], str] = {}
    for line in lines.values():
        definition = (line.etat, line.libelle, line.ordre)
        if definitions.setdefault(line.code, definition) != definition:
            raise InputError(f"{path.name}: code {line.code} has two etats, labels or places")
        if places.setdefault((line.etat, line.ordre), line.code) != line.code:
            raise InputError(f"{path.name}: {line.etat} has two codes at place {line.ordre}")
