"""The reference lists of a generation: countries, sectors and sub-sectors, with their counts."""

from collections.abc import Mapping

from pipeline.seeds import Seeds
from shards.generations.reference import CellCount, Pays, Reference, Secteur, SousSecteur


def reference(seeds: Seeds, counts: Mapping[str, tuple[CellCount, ...]]) -> Reference:
    """The lists of the API, in the order of the tables of `seeds/`, with `counts` per country."""
    sectors = seeds.tables["secteurs"]
    shown = {row["nace_division"] for row in sectors}
    return Reference(
        pays=tuple(
            Pays(p.iso2, p.slug, p.nom_fr, p.nom_en, p.devise, p.registre) for p in seeds.pays
        ),
        secteurs=tuple(
            Secteur(
                row["nace_division"],
                row["secteur"],
                row["secteur_en"],
                row["slug"],
                row["grand_secteur"],
            )
            for row in sectors
        ),
        sous_secteurs=tuple(
            SousSecteur(row["code"], row["division"], row["label_fr"])
            for row in seeds.tables["nace_groups"]
            if row["division"] in shown
        ),
        counts={pays.iso2: counts[pays.iso2] for pays in seeds.pays},
    )
