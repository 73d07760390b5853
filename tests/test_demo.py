"""The demonstration: it has every bundled excerpt, each with its date, and is worth a visit.

Counts are lower bounds: what a visitor must find there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from pipeline.registers import REGISTERS
from seeds import TABLES
from shards.generations import generation_files, groups, pointer, reference, register_sources
from tests import demo
from tests.serve.client import Customer, Served, serving
from tests.serve.clock import Clock

RAW: Final = TABLES / "raw"
# The CSV of rows whose JSON is imported, and a legend without its table.
LEFT_OUT: Final = {RAW / "no" / "enheter_2024_54col.csv", RAW / "ro" / "web_bl_bs_sl_an2023.csv"}


def test_every_excerpt_is_imported_by_an_importer_that_there_is() -> None:
    found = [path for one in demo.excerpts() for path in RAW.glob(one["fichiers"])]

    assert len(found) == len(set(found))
    assert {*found, *LEFT_OUT} == {path for path in RAW.glob("*/*")}
    assert {one["source"] for one in demo.excerpts()} <= REGISTERS.keys()


def test_the_demonstration_has_companies_of_fifteen_countries_or_more(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current(demo_data))
    lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    there = {one.iso2 for one in lists.pays if lists.societes(one.iso2)}
    registers = {
        iso2
        for iso2, imports in sources.items()
        if any(one.table == "companies" and not one.completes(iso2) for one in imports)
    }
    assert len(there) >= 23
    assert len(registers) >= 15
    assert there <= sources.keys()


def test_every_file_of_the_demonstration_has_a_date(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current(demo_data))
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    found = {
        (one.source, file.nom): file.origine_date
        for imports in sources.values()
        for one in imports
        for file in one.fichiers
    }
    assert "inconnue" not in found.values(), found


# -- what a visitor finds --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(demo_data: Path) -> Iterator[Served]:
    with serving(demo_data, now=Clock("2026-11-30T12:00:00")) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(served: Served) -> Customer:
    """A customer who may see everything, often."""
    return served.customer("integral")


def _ask(served: Served, visitor: Customer, path: str, **params: str) -> Any:
    reply = served.ask(f"/api/v1/{path}", headers=visitor.headers, params=params)
    assert reply.status == 200, reply.json
    return reply.json


def _quality(demo_data: Path) -> dict[str, Any]:
    folder = demo_data / str(pointer.current(demo_data))
    found: dict[str, Any] = json.loads((folder / "quality.json").read_bytes())["pays"]
    return found


def test_companies_have_turnovers_statements_and_balance_sheets(demo_data: Path) -> None:
    known = [country["renseignees"] for country in _quality(demo_data).values()]

    for field, least in (
        ("ca_eur", 1_000), ("comptes", 1_500), ("total_actif_last", 250), ("tranche_effectif", 5_000),
        ("nace_code", 10_000), ("lei", 100),
    ):  # fmt: skip
        assert sum(country.get(field, 0) for country in known) >= least, field


def test_what_is_withheld_is_counted_by_its_reason(demo_data: Path) -> None:
    left_out = _quality(demo_data)["FR"]["lignes_ecartees"]

    for reason, least in (
        ("chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins", 20),
        ("chiffre d'affaires huit fois celui des exercices voisins, ou le huitième", 10),
        ("comptes individuels et consolidés selon les exercices", 100),
        ("résultat d'une autre unité que le chiffre d'affaires", 3),
    ):
        assert left_out.get(reason, 0) >= least, reason


def test_the_largest_companies_are_those_that_everybody_knows(
    served: Served, visitor: Customer
) -> None:
    found = _ask(served, visitor, "societes", tri="ca_desc", limit="12")["societes"]

    assert [one["nom"].strip() for one in found[:5]] == [
        "PSA AUTOMOBILES SA", "AIRBUS SAS", "Renault s.a.s.", "C.S.F.", "ITM ALIMENTAIRE INTERNATIONAL",
    ]  # fmt: skip
    # Nobody sold for more than PSA, and nobody of the first twelve for less than five milliards.
    assert all(5e9 < one["ca_eur"] < 65e9 for one in found)


def test_ten_companies_or_more_are_in_a_group(
    demo_data: Path, served: Served, visitor: Customer
) -> None:
    folder = demo_data / str(pointer.current(demo_data))
    links = groups.read(folder / groups.GROUPS)
    ends = {str(lei, "ascii") for name in ("child", "parent") for lei in links.rows[name].tolist()}
    found: list[dict[str, str]] = []
    for lei in sorted(ends):
        reply = served.ask(f"/api/v1/identifiants/{lei}", headers=visitor.headers)
        found += reply.json["candidats"] if reply.status == 200 else []

    assert len(found) >= 60
    named = [
        group
        for one in found[:40]
        if (group := _ask(served, visitor, f"societes/{one['iso2']}/{one['id']}/groupe"))["sources"]
        and any(link["societe"] for link in (*group["parents"], *group["enfants"]))
    ]
    assert len(named) >= 5  # a link to another company of the demonstration
    assert {source["source"] for one in named for source in one["sources"]} == {"gleif-rr"}


@pytest.mark.parametrize(
    "sector",
    [
        "restauration",
        "commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles",
        "travaux-de-construction-specialises",
    ],
)
def test_a_market_has_quartiles(served: Served, visitor: Customer, sector: str) -> None:
    found = _ask(served, visitor, "analyses/marche", pays="FR", secteur=sector)

    assert found["taille"]["avec_ca"] >= 10
    assert found["taille"]["p25"] < found["taille"]["mediane"] < found["taille"]["p75"]
