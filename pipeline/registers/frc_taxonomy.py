"""The mapping of FRC and UK GAAP concepts to statement lines: seeds/frc.csv, read and checked.

A concept is its local name (three generations of taxonomies spell the prefix differently), with the
member in brackets when only one part of a total is meant: `Creditors[WithinOneYear]`. Several
concepts give one line: the first in the file wins. A row without `etat` is a concept we leave, with
the reason; there `*` stands for any text.

`signe` is 1, -1 or abs. Filers give creditors as positive amounts (all 557 in 283 filings), so
nothing needs -1 today; abs is for what they publish with either sign: disposals, depreciation,
dividends.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal

from pipeline.canonical import ETATS, InputError
from seeds import TABLES

FRC: Final = TABLES / "frc.csv"


@dataclass(frozen=True, slots=True)
class ConceptLine:
    """A line of a statement; `rang` orders the concepts that give the same line."""

    etat: str
    code: str
    libelle: str
    signe: Literal["1", "-1", "abs"]
    ordre: int
    rang: int

    def signed(self, value: float) -> float:
        """The value as the line shows it."""
        if self.signe == "abs":
            return abs(value)
        return (-value if self.signe == "-1" else value) + 0.0  # + 0.0 makes -0.0 a 0.0


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """What each concept becomes."""

    lines: Mapping[str, ConceptLine]
    ignored: tuple[tuple[str, str], ...]  # pattern, reason
    known: frozenset[str]  # every mapped concept, without its member

    def reason(self, concept: str) -> str | None:
        """Why this concept is left, or None if nothing says it is."""
        return next((why for what, why in self.ignored if fnmatchcase(concept, what)), None)


def load(path: Path = FRC) -> Taxonomy:
    """Read the mapping.

    Raises:
        InputError: an unknown etat or sign, a concept there twice, a line told in two ways.
    """
    lines: dict[str, ConceptLine] = {}
    ignored: list[tuple[str, str]] = []
    with path.open(encoding="utf-8", newline="") as file:
        for rang, row in enumerate(csv.DictReader(file)):
            if not row["etat"]:
                ignored.append((row["concept"], row["motif"]))
                continue
            if row["concept"] in lines:
                raise InputError(f"{path.name}: concept {row['concept']} is there twice")
            lines[row["concept"]] = _line(row, rang, path)
    _check_one_telling(lines, path)
    known = frozenset(concept.partition("[")[0] for concept in lines)
    return Taxonomy(lines, tuple(ignored), known)


def _line(row: Mapping[str, str], rang: int, path: Path) -> ConceptLine:
    signe = row["signe"]
    if row["etat"] not in ETATS or signe not in ("1", "-1", "abs"):
        raise InputError(
            f"{path.name}: {row['concept']}: etat {row['etat']!r} (one of {', '.join(ETATS)}) or"
            f" signe {signe!r} (1, -1 or abs) is wrong"
        )
    return ConceptLine(row["etat"], row["code"], row["libelle"], signe, int(row["ordre"]), rang)  # type: ignore[arg-type]


def _check_one_telling(lines: Mapping[str, ConceptLine], path: Path) -> None:
    told: dict[str, tuple[str, str, int]] = {}
    places: dict[tuple[str, int], str] = {}
    for line in lines.values():
        telling = (line.etat, line.libelle, line.ordre)
        if told.setdefault(line.code, telling) != telling:
            raise InputError(f"{path.name}: code {line.code} has two etats, labels or places")
        if places.setdefault((line.etat, line.ordre), line.code) != line.code:
            raise InputError(f"{path.name}: {line.etat} has two codes at place {line.ordre}")
