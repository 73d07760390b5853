"""The reference lists of a generation: countries, sectors, sub-sectors, and the companies in each of them.

The build writes them from `seeds/` into `reference.json`, and the server reads them there, so the lists always fit the
shards of the generation. Codes are NACE divisions and groups; callers see and send labels.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import orjson

from shards.generations.manifest import make_entry

_COUNTRY_CODE: Final = re.compile("[A-Z]{2}")


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
    """A sub-sector: its NACE group (`code`), its division (`secteur`), its French label."""

    code: str
    secteur: str
    sous_secteur: str


@dataclass(frozen=True, slots=True)
class CellCount:
    """The number of companies of a sub-sector of a sector in one country; None means no sector, no sub-sector."""

    secteur: str | None
    sous_secteur: str | None
    n: int


@dataclass(frozen=True, slots=True)
class Reference:
    """The lists, in the order in which the API returns them, and the counts by country."""

    pays: tuple[Pays, ...]
    secteurs: tuple[Secteur, ...]
    sous_secteurs: tuple[SousSecteur, ...]
    counts: Mapping[str, tuple[CellCount, ...]]

    def societes(self, iso2: str) -> int:
        """The number of companies of a country."""
        return sum(cell.n for cell in self.counts[iso2])

    @property
    def total(self) -> int:
        """The number of companies of all countries."""
        return sum(self.societes(pays.iso2) for pays in self.pays)


def dump(reference: Reference) -> bytes:
    """The bytes of `reference.json`; equal references give equal bytes."""
    return orjson.dumps(asdict(reference), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes) -> Reference:
    """The reference lists that these bytes encode.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: they encode no reference lists, or an entry names a country
            or sector that is not valid.
    """
    document: dict[str, Any] = orjson.loads(packed)
    reference = Reference(
        pays=tuple(make_entry(Pays, entry) for entry in document["pays"]),
        secteurs=tuple(make_entry(Secteur, entry) for entry in document["secteurs"]),
        sous_secteurs=tuple(make_entry(SousSecteur, entry) for entry in document["sous_secteurs"]),
        counts={
            iso2: tuple(make_entry(CellCount, cell) for cell in cells)
            for iso2, cells in document["counts"].items()
        },
    )
    # A country code becomes the name of a file, so a path must not pass as a code.
    isos = [pays.iso2 for pays in reference.pays]
    for iso2 in isos:
        if not _COUNTRY_CODE.fullmatch(iso2) or iso2 not in reference.counts:
            raise ValueError(f"{iso2!r} is not a country code, or has no counts")
    sectors = {secteur.code for secteur in reference.secteurs}
    for name, codes in (
        ("country", isos),
        ("sector", [secteur.code for secteur in reference.secteurs]),
    ):
        if len(set(codes)) < len(codes):
            raise ValueError(f"a code of a {name} is listed twice")
    for group in reference.sous_secteurs:
        if group.secteur not in sectors:
            raise ValueError(f"{group.secteur!r} of the sub-sector {group.code!r} is not a sector")
    return reference
