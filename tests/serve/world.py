"""The test data of the HTTP tests: about forty companies of four countries, with the real lists.

The lists are those of `seeds/`: 25 countries and 84 sectors. Two sub-sectors of different sectors share
a label here, unlike any real pair (contract B10). Every contact value contains CONTACT, and no other
value does: a leak is a substring.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson

from seeds import TABLES
from shards.analyses import market
from shards.changes import comparison
from shards.codec.record import FIELDS
from shards.generations import generation_files, groups, publication, register_sources
from shards.generations import reference as references
from shards.generations.groups import Relationship
from shards.generations.publication import Gates
from shards.generations.reference import CellCount, Pays, Reference, Secteur, SousSecteur
from shards.generations.register_sources import DateOrigin, Imports, RegisterFile, RegisterImport
from tests import oracle, world
from tests.world import Company, company

CONTACT: Final = "fuite"  # "leak" in French
TWO_SECTORS_LABEL: Final = "Commerce divers"
_SAME_LABEL_GROUPS: Final = ("46.9", "47.9")

IT: Final = "Programmation, conseil et autres activités informatiques"
RETAIL: Final = "Commerce de détail, à l'exception des automobiles et des motocycles"


def _contacts(name: str) -> dict[str, str]:
    """The fields with ways to contact a company."""
    return {
        "site_web": f"https://www.{CONTACT}-{name}.eu",
        "domaine": f"{CONTACT}-{name}.eu",
        "email": f"bonjour@{CONTACT}-{name}.eu",
        "telephone": f"+33 1 {CONTACT} {name}",
    }


def company_of_group(
    iso2: str, identifier: str, nom: str, groupe: str | None = None, **values: Any
) -> Company:
    """A company with the labels of its NACE group. `values` may have a class of the group as `nace_code`."""
    if groupe:
        division = groupe[:2]
        sector_labels = {sector.code: sector.secteur for sector in LISTS.secteurs}
        group_labels = {group.code: group.sous_secteur for group in LISTS.sous_secteurs}
        values |= {"groupe": groupe, "division": division}
        values |= {"secteur": sector_labels[division], "sous_secteur": group_labels[groupe]}
        values.setdefault("nace_code", groupe)
    return company(iso2, identifier, nom, **values)


def _csv_rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a table of seeds/."""
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _read_lists() -> Reference:
    """The countries, sectors and sub-sectors of seeds/, without counts of companies."""
    pays = (
        Pays(**{name: row[name] for name in Pays.__dataclass_fields__})
        for row in _csv_rows("pays.csv")
    )
    secteurs = tuple(
        Secteur(
            row["nace_division"],
            row["secteur"],
            row["secteur_en"],
            row["slug"],
            row["grand_secteur"],
        )
        for row in _csv_rows("secteurs.csv")
    )
    divisions = {sector.code for sector in secteurs}
    groups = (
        SousSecteur(row["code"], row["division"], row["label_fr"])
        for row in _csv_rows("nace_groups.csv")
        if row["division"] in divisions
    )
    sous_secteurs = tuple(
        replace(group, sous_secteur=TWO_SECTORS_LABEL)
        if group.code in _SAME_LABEL_GROUPS
        else group
        for group in groups
    )
    return Reference(tuple(pays), secteurs, sous_secteurs, {})


LISTS: Final = _read_lists()
COUNTRIES: Final = tuple(country.iso2 for country in LISTS.pays)

_VARIOUS: Final = [
    company_of_group("FR", "552100554", "Société Générale d'Orléans", "64.1", ca_eur=3_250_000_000.5,
        effectif=1_200, date_creation="1864-05-04", score=90, capital_eur=1e9, ville="Orléans",
        code_postal="45000", forme="Société anonyme", etat="active", actif_eur=1.5e12, a_comptes=True,
        capital_social=1e9, capital_devise="EUR", **_contacts("sgo")),
    company_of_group("FR", "552059024", "Boulangerie Lefèvre", "47.2", ca_eur=480_000.0, effectif=7,
        date_creation="1998-02", score=70, ville="ORLEANS", code_postal="45 100", forme="SARL",
        etat="active", actif_eur=250_000.0, nace_code="47.24", **_contacts("lefevre")),
    company_of_group("FR", "732829320", "Œuvre & Cie", "62.0", ca_eur=1_000_000.0, effectif=12,
        date_creation="2015", score=60, ville="Saint-Étienne", code_postal="42000", forme="SARL",
        etat="cessee", actif_eur=0.0),
    company_of_group("FR", "309634954", "Fitlab", "62.0", ca_eur=1_000_000.0, effectif=12, score=60,
        nace_code="62.01"),
    company_of_group("FR", "784671695", "Bazar du Marché", "47.9", ca_eur=0.0, effectif=0, score=40),
    company_of_group("FR", "428268023", "Grossiste du Nord", "46.9", ca_eur=-1.0, effectif=3, score=30),
    company_of_group("FR", "A 1/2.b", "Étoile filante", "62.0", score=5),
    company_of_group("FR", "SANS-SECTEUR", "Sans secteur", None, effectif=50, **_contacts("sans")),
    company_of_group("UK", "08209948", "Zażółć Holdings Ltd", "70.1", ca_eur=5_000_000.0, effectif=88,
        date_creation="2012-09-12", score=80, ville="St. Etienne", code_postal="sw1a 1aa",
        forme="Private Limited Company", etat="active", **_contacts("zazolc")),
    company_of_group("UK", "SC123456", "Straße & Sons", "62.0", ca_eur=1_000_000.0, tranche_effectif="12", score=20,
        ville="Łódź Road", code_postal="SW1", forme="Private Limited Company", actif_eur=-5.5),
    company_of_group("UK", "OC301540", "Lab Partners LLP", "69.1", ca_eur=None, effectif=4, score=10,
        nace_code="69.10"),
    company_of_group("EE", "12652512", "Eesti Tarkvara OÜ", "62.0", ca_eur=750_000.5, effectif=9,
        date_creation="2014-04-29", score=75, forme="Osaühing", statut="Likvideerimisel",
        ville="Tallinn", code_postal="10115", actif_eur=250_000.0,
        etat="procedure", lei="549300LKH2ZT2UYX8L57", tva="EE100366327", date_source="2026-06-01",
        noms_anterieurs=["Vana Nimi OÜ", "Õunapuu OÜ"], nace_secondaires=["56.10", "62.09"],
        **_contacts("tarkvara")),
    company_of_group("EE", "10000001", "Ψυχή OÜ", "86.9", ca_eur=0.5, effectif=1, score=15),
    company_of_group("DE", "F1103R_HRB218916", "Müller Maschinenbau GmbH", "28.9", ca_eur=42_000_000.0,
        effectif=310, date_creation="2019-11-30", score=85, **_contacts("mueller")),
    company_of_group("DE", "F1103R_HRB1", "Ærø Handels GmbH", "46.9", ca_eur=None, effectif=None),
]  # fmt: skip
_BAKERIES: Final = [
    company_of_group(
        "DE",
        f"K1101R_HRB{number:03}",
        f"Bäckerei Nord {number}",
        "10.7",
        ca_eur=100_000.0,
        nace_code="10.71",
    )
    for number in range(26)
]
# The first 15 companies are all different. The 26 bakeries differ only in their numbers, so COMPANIES[:16] has one of
# each kind.
COMPANIES: Final[Sequence[Company]] = (*_VARIOUS, *_BAKERIES)

STATEMENTS: Final = [
    {
        "etat": "bilan_actif",
        "code": "AT",
        "libelle": "Total de l'actif",
        "valeur": 12.5,
        "devise": "EUR",
        "exercice": 2024,
        "ordre": 1,
    }
]
WITH_STATEMENTS: Final = ("FR", "552100554")
# Statements for every company, so that each record costs credits: a record without statements costs none.
ALL_STATEMENTS: Final = {(company["iso2"], company["id"]): STATEMENTS for company in COMPANIES}
StatementLines = Sequence[Mapping[str, Any]]


def _register_import(
    source: str,
    table: str,
    day: str,
    origin: DateOrigin,
    licence: str = "CC BY 4.0",
    complement: tuple[str, ...] = (),
) -> RegisterImport:
    """An import of one file of a source.

    Args:
        day: the date of the file, with the precision of its origin.
        origin: the place where the date was read.
        complement: the countries whose register the source only completes; `*` for all.
    """
    return RegisterImport(
        source=source,
        table=table,
        registre=f"Registre {source}",
        adresse="",
        licence=licence,
        licence_adresse=f"https://licence.example/{source}",
        attribution=f"Source : {source} & Cie",
        attribution_en=f"Source: {source} & Co",
        complement=complement,
        fichiers=(RegisterFile(f"{source}-{day}.zip", day, origin, 1_000, "0" * 64),),
        importe="2026-11-20T04:05:06+00:00",
        lignes=8,
    )


# The sources of three countries. Germany has companies but no declared source.
SOURCES: Final = {
    "FR": [
        _register_import("fr-comptes", "comptes", "2026-11-19", "nom"),
        _register_import("fr-registre", "companies", "2026-11-01", "nom", "Licence Ouverte 2.0"),
        _register_import("lei", "companies", "2018-09-01", "contenu", "CC0 1.0", ("*",)),
    ],
    "UK": [_register_import("uk-registre", "companies", "2026-10", "indiquee")],
    "EE": [_register_import("ee-registre", "companies", "2022-01-15", "contenu")],
}


# The parent and a child of 12652512 of Estonia. Both identifiers are invented.
_ESTONIAN_LEI, PARENT_LEI, CHILD_LEI = "549300LKH2ZT2UYX8L57", world.lei(1), world.lei(2)
RELATIONSHIPS: Final = (
    Relationship(_ESTONIAN_LEI, PARENT_LEI, "directe", "2021-04-12", None),
    Relationship(_ESTONIAN_LEI, PARENT_LEI, "ultime", "2021-04-12", None),
    Relationship(CHILD_LEI, _ESTONIAN_LEI, "directe", None, None),
)
# The import of the relationships: GLEIF calls these data "level 2".
LEVEL_2_IMPORT: Final = _register_import(
    "gleif-rr", "relations", "2023-11-06", "contenu", "CC0 1.0"
)


def publish(
    data: Path,
    companies: Sequence[Company] = COMPANIES,
    comptes: Mapping[tuple[str, str], StatementLines] = MappingProxyType(
        {WITH_STATEMENTS: STATEMENTS}
    ),
    sources: Imports = MappingProxyType(SOURCES),
    relationships: Sequence[Relationship] = RELATIONSHIPS,
) -> str:
    """Publish a generation of `companies` in the folder `data`; return its name.

    `comptes`: statement lines by country and identifier.
    """
    staged = publication.make_staging_folder(data)
    for iso2 in COUNTRIES:
        lines_by_id = {key[1]: lines for key, lines in comptes.items() if key[0] == iso2}
        world.write_shard(staged / generation_files.shard_name(iso2), iso2, companies, lines_by_id)
    reference = replace(LISTS, counts={iso2: _cell_counts(companies, iso2) for iso2 in COUNTRIES})
    (staged / generation_files.REFERENCE).write_bytes(references.dump(reference))
    (staged / generation_files.QUALITY).write_bytes(orjson.dumps(_quality_report(companies)))
    (staged / register_sources.SOURCES).write_bytes(register_sources.dump(sources))
    groups.write(staged / groups.GROUPS, relationships)
    (staged / groups.GROUP_SOURCES).write_bytes(
        register_sources.dump({"relations": [LEVEL_2_IMPORT]})
    )
    return publication.publish(
        data,
        staged,
        sources=(),
        compare=comparison.compare_all,
        derive=market.files,
        gates=Gates(force=True),
    )


def _quality_report(companies: Sequence[Company]) -> dict[str, Any]:
    """The part of the quality report of these companies that the server reads."""
    counts = {
        iso2: {field: oracle.count_filled(companies, iso2, field) for field in FIELDS}
        for iso2 in COUNTRIES
    }
    return {"pays": {iso2: {"renseignees": filled} for iso2, filled in counts.items()}}


def _cell_counts(companies: Sequence[Company], iso2: str) -> tuple[CellCount, ...]:
    """The number of companies of each sub-sector of a country."""
    cells = [(row["division"], row["groupe"]) for row in companies if row["iso2"] == iso2]
    return tuple(CellCount(*cell, cells.count(cell)) for cell in dict.fromkeys(cells))
