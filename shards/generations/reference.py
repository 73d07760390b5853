"""The lists of a generation: countries, sectors, sub-sectors, and how many companies each has.

They are written by the build from `seeds/` and read by the server, so that what is served always
fits the shards beside it. Kept as one JSON file, `reference.json`; codes inside are NACE divisions
and groups, labels are what callers see and send.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

# Country codes of the outside world that mean a code of ours (§1, contract B1).
SPELLINGS: Final = {"GB": "UK"}


@dataclass(frozen=True, slots=True)
class Pays:
    """A country entry of §2.5, without its count."""

    iso2: str
    slug: str
    nom_fr: str
    nom_en: str
    devise: str
    registre: str


@dataclass(frozen=True, slots=True)
class Secteur:
    """A sector entry of §2.5, without its count; `code` is its NACE division."""

    code: str
    secteur: str
    secteur_en: str
    slug: str
    grand_secteur: str


@dataclass(frozen=True, slots=True)
class SousSecteur:
    """A sub-sector: its NACE group, the division it belongs to, its French label."""

    code: str
    secteur: str
    sous_secteur: str


@dataclass(frozen=True, slots=True)
class CellCount:
    """How many companies a sub-sector of a sector has in one country; None is "without"."""

    secteur: str | None
    sous_secteur: str | None
    n: int


@dataclass(frozen=True, slots=True)
class Reference:
    """The lists, in the order in which they are shown, and the counts by country."""

    pays: tuple[Pays, ...]
    secteurs: tuple[Secteur, ...]
    sous_secteurs: tuple[SousSecteur, ...]
    counts: Mapping[str, tuple[CellCount, ...]]

    def societes(self, iso2: str) -> int:
        """How many companies a country has."""
        return sum(cell.n for cell in self.counts[iso2])

    @property
    def total(self) -> int:
        """How many companies there are."""
        return sum(self.societes(pays.iso2) for pays in self.pays)


def dump(reference: Reference) -> bytes:
    """The bytes of `reference.json`: the same reference, the same bytes."""
    return orjson.dumps(asdict(reference), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes) -> Reference:
    """The reference whose bytes these are."""
    document: dict[str, Any] = orjson.loads(packed)
    return Reference(
        pays=tuple(Pays(**entry) for entry in document["pays"]),
        secteurs=tuple(Secteur(**entry) for entry in document["secteurs"]),
        sous_secteurs=tuple(SousSecteur(**entry) for entry in document["sous_secteurs"]),
        counts={
            iso2: tuple(CellCount(**cell) for cell in cells)
            for iso2, cells in document["counts"].items()
        },
    )
