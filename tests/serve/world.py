"""The world of the HTTP tests: about forty companies in four countries, over the real lists.

Countries, sectors and sub-sectors are those of `seeds/`, so that 25 and 84 are what is served. Two
sub-sectors of different sectors share a label here, which no two real ones do (contract B10).
Every contact value contains CONTACT, and nothing else does: a leak is a substring.
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

CONTACT: Final = "fuite"
TWO_SECTORS_LABEL: Final = "Commerce divers"
_SAME_LABEL: Final = ("46.9", "47.9")

IT: Final = "Programmation, conseil et autres activités informatiques"
RETAIL: Final = "Commerce de détail, à l'exception des automobiles et des motocycles"


def _contacts(name: str) -> dict[str, str]:
    return {
        "site_web": f"https://www.{CONTACT}-{name}.eu",
        "domaine": f"{CONTACT}-{name}.eu",
        "email": f"bonjour@{CONTACT}-{name}.eu",
        "telephone": f"+33 1 {CONTACT} {name}",
    }


def _of(iso2: str, identifier: str, nom: str, groupe: str | None = None, **more: Any) -> Company:
    """A company with the labels that belong to its NACE group, whose code it has, or that of a class."""
    if groupe:
        division = groupe[:2]
        labels = {one.code: one.secteur for one in LISTS.secteurs}
        sub = {one.code: one.sous_secteur for one in LISTS.sous_secteurs}
        more |= {"groupe": groupe, "division": division}
        more |= {"secteur": labels[division], "sous_secteur": sub[groupe]}
        more.setdefault("nace_code", groupe)
    return company(iso2, identifier, nom, **more)


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _lists() -> Reference:
    pays = (
        Pays(**{name: row[name] for name in Pays.__dataclass_fields__}) for row in _rows("pays.csv")
    )
    secteurs = tuple(
        Secteur(
            row["nace_division"],
            row["secteur"],
            row["secteur_en"],
            row["slug"],
            row["grand_secteur"],
        )
        for row in _rows("secteurs.csv")
    )
    divisions = {one.code for one in secteurs}
    groups = (
        SousSecteur(row["code"], row["division"], row["label_fr"])
        for row in _rows("nace_groups.csv")
        if row["division"] in divisions
    )
    sous_secteurs = tuple(
        replace(one, sous_secteur=TWO_SECTORS_LABEL) if one.code in _SAME_LABEL else one
        for one in groups
    )
    return Reference(tuple(pays), secteurs, sous_secteurs, {})


LISTS: Final = _lists()
COUNTRIES: Final = tuple(one.iso2 for one in LISTS.pays)

_VARIOUS: Final = [
    _of("FR", "552100554", "Société Générale d'Orléans", "64.1", ca_eur=3_250_000_000.5,
        effectif=1_200, date_creation="1864-05-04", score=90, capital_eur=1e9, ville="Orléans",
        code_postal="45000", forme="Société anonyme", etat="active", actif_eur=1.5e12, a_comptes=True,
        capital_social=1e9, capital_devise="EUR", **_contacts("sgo")),
    _of("FR", "552059024", "Boulangerie Lefèvre", "47.2", ca_eur=480_000.0, effectif=7,
        date_creation="1998-02", score=70, ville="ORLEANS", code_postal="45 100", forme="SARL",
        etat="active", actif_eur=250_000.0, nace_code="47.24", **_contacts("lefevre")),
    _of("FR", "732829320", "Œuvre & Cie", "62.0", ca_eur=1_000_000.0, effectif=12,
        date_creation="2015", score=60, ville="Saint-Étienne", code_postal="42000", forme="SARL",
        etat="cessee", actif_eur=0.0),
    _of("FR", "309634954", "Fitlab", "62.0", ca_eur=1_000_000.0, effectif=12, score=60,
        nace_code="62.01"),
    _of("FR", "784671695", "Bazar du Marché", "47.9", ca_eur=0.0, effectif=0, score=40),
    _of("FR", "428268023", "Grossiste du Nord", "46.9", ca_eur=-1.0, effectif=3, score=30),
    _of("FR", "A 1/2.b", "Étoile filante", "62.0", score=5),
    _of("FR", "SANS-SECTEUR", "Sans secteur", None, effectif=50, **_contacts("sans")),
    _of("UK", "08209948", "Zażółć Holdings Ltd", "70.1", ca_eur=5_000_000.0, effectif=88,
        date_creation="2012-09-12", score=80, ville="St. Etienne", code_postal="sw1a 1aa",
        forme="Private Limited Company", etat="active", **_contacts("zazolc")),
    _of("UK", "SC123456", "Straße & Sons", "62.0", ca_eur=1_000_000.0, tranche_effectif="12", score=20,
        ville="Łódź Road", code_postal="SW1", forme="Private Limited Company", actif_eur=-5.5),
    _of("UK", "OC301540", "Lab Partners LLP", "69.1", ca_eur=None, effectif=4, score=10, nace_code="69.10"),
    _of("EE", "12652512", "Eesti Tarkvara OÜ", "62.0", ca_eur=750_000.5, effectif=9,
        date_creation="2014-04-29", score=75, forme="Osaühing", statut="Likvideerimisel",
        ville="Tallinn", code_postal="10115", actif_eur=250_000.0,
        etat="procedure", lei="549300LKH2ZT2UYX8L57", tva="EE100366327", date_source="2026-06-01",
        noms_anterieurs=["Vana Nimi OÜ", "Õunapuu OÜ"], nace_secondaires=["56.10", "62.09"],
        **_contacts("tarkvara")),
    _of("EE", "10000001", "Ψυχή OÜ", "86.9", ca_eur=0.5, effectif=1, score=15),
    _of("DE", "F1103R_HRB218916", "Müller Maschinenbau GmbH", "28.9", ca_eur=42_000_000.0,
        effectif=310, date_creation="2019-11-30", score=85, **_contacts("mueller")),
    _of("DE", "F1103R_HRB1", "Ærø Handels GmbH", "46.9", ca_eur=None, effectif=None),
]  # fmt: skip
_ALIKE: Final = [
    _of(
        "DE",
        f"K1101R_HRB{number:03}",
        f"Bäckerei Nord {number}",
        "10.7",
        ca_eur=100_000.0,
        nace_code="10.71",
    )
    for number in range(26)
]
COMPANIES: Final[Sequence[Company]] = (*_VARIOUS, *_ALIKE)

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
# Where every record has its price: one without statements costs no credits.
ALL_STATEMENTS: Final = {(one["iso2"], one["id"]): STATEMENTS for one in COMPANIES}
Lines = Sequence[Mapping[str, Any]]


def _imported(
    source: str,
    table: str,
    day: str,
    origin: DateOrigin,
    licence: str = "CC BY 4.0",
    complement: tuple[str, ...] = (),
) -> RegisterImport:
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


# The sources of three countries; Germany has companies of no declared source.
SOURCES: Final = {
    "FR": [
        _imported("fr-comptes", "comptes", "2026-11-19", "nom"),
        _imported("fr-registre", "companies", "2026-11-01", "nom", "Licence Ouverte 2.0"),
        _imported("lei", "companies", "2018-09-01", "contenu", "CC0 1.0", ("*",)),
    ],
    "UK": [_imported("uk-registre", "companies", "2026-10", "indiquee")],
    "EE": [_imported("ee-registre", "companies", "2022-01-15", "contenu")],
}


# The parent of 12652512 of Estonia, and a child of it, which is not served; both are made.
_ESTONIAN, PARENT_LEI, CHILD_LEI = "549300LKH2ZT2UYX8L57", world.lei(1), world.lei(2)
RELATIONSHIPS: Final = (
    Relationship(_ESTONIAN, PARENT_LEI, "directe", "2021-04-12", None),
    Relationship(_ESTONIAN, PARENT_LEI, "ultime", "2021-04-12", None),
    Relationship(CHILD_LEI, _ESTONIAN, "directe", None, None),
)
LEVEL_2: Final = _imported("gleif-rr", "relations", "2023-11-06", "contenu", "CC0 1.0")


def publish(
    data: Path,
    companies: Sequence[Company] = COMPANIES,
    comptes: Mapping[tuple[str, str], Lines] = MappingProxyType({WITH_STATEMENTS: STATEMENTS}),
    sources: Imports = MappingProxyType(SOURCES),
    relationships: Sequence[Relationship] = RELATIONSHIPS,
) -> str:
    """Publish a generation of `companies` in the folder `data`; return its name.

    `comptes`: statement lines by country and identifier.
    """
    staged = publication.make_staging_folder(data)
    for iso2 in COUNTRIES:
        of_country = {key[1]: lines for key, lines in comptes.items() if key[0] == iso2}
        world.write_shard(staged / generation_files.shard_name(iso2), iso2, companies, of_country)
    reference = replace(LISTS, counts={iso2: _cells(companies, iso2) for iso2 in COUNTRIES})
    (staged / generation_files.REFERENCE).write_bytes(references.dump(reference))
    (staged / generation_files.QUALITY).write_bytes(orjson.dumps(_quality(companies)))
    (staged / register_sources.SOURCES).write_bytes(register_sources.dump(sources))
    groups.write(staged / groups.GROUPS, relationships)
    (staged / groups.GROUP_SOURCES).write_bytes(register_sources.dump({"relations": [LEVEL_2]}))
    return publication.publish(
        data,
        staged,
        sources=(),
        compare=comparison.compare_all,
        derive=market.files,
        gates=Gates(force=True),
    )


def _quality(companies: Sequence[Company]) -> dict[str, Any]:
    """The quality report of these companies, as far as the server reads it."""
    counts = {
        iso2: {field: oracle.filled(companies, iso2, field) for field in FIELDS}
        for iso2 in COUNTRIES
    }
    return {"pays": {iso2: {"renseignees": filled} for iso2, filled in counts.items()}}


def _cells(companies: Sequence[Company], iso2: str) -> tuple[CellCount, ...]:
    places = [(one["division"], one["groupe"]) for one in companies if one["iso2"] == iso2]
    return tuple(CellCount(*place, places.count(place)) for place in dict.fromkeys(places))
