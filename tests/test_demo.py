"""The demonstration: it has every bundled excerpt, each with its date, and is worth a visit.

Counts are lower bounds: what a visitor must find there.
"""

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest
from openpyxl import load_workbook

from pipeline.registers import REGISTERS
from seeds import TABLES
from serve.app import PRODUCT
from shards.generations import generation_files, groups, pointer, reference, register_sources
from tests import demo
from tests.serve import exports
from tests.serve.client import Customer, Served, serving
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import Visitor, member

RAW: Final = TABLES / "raw"
# The CSV of rows whose JSON is imported, and a legend without its table.
LEFT_OUT: Final = {RAW / "no" / "enheter_2024_54col.csv", RAW / "ro" / "web_bl_bs_sl_an2023.csv"}


def test_every_excerpt_is_imported_by_an_importer_that_there_is() -> None:
    found = [path for one in demo.excerpts() for path in RAW.glob(one["fichiers"])]

    assert len(found) == len(set(found))
    assert {*found, *LEFT_OUT} == {path for path in RAW.glob("*/*")}
    assert {one["source"] for one in demo.excerpts()} <= REGISTERS.keys()


def test_the_demonstration_has_companies_of_fifteen_countries_or_more(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current_name(demo_data))
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
    folder = demo_data / str(pointer.current_name(demo_data))
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
    folder = demo_data / str(pointer.current_name(demo_data))
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
    folder = demo_data / str(pointer.current_name(demo_data))
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


# -- a company for each kind of page (seeds/WALK.md names them, too) ---------------------------------

CHART, BALANCE, RATIOS = "FR/383474814", "UK/00944111", "EE/11966711"
GROUP: Final = "NL/O1A2ET91OUYOZUUJI538"


def test_the_counts_of_the_readme_are_those_of_the_build(
    demo_data: Path,
) -> None:
    countries = _quality(demo_data)
    counts = {"companies of 25 countries": sum(one["gardees"] for one in countries.values())}
    for field, words in (
        ("ca_eur", "with a turnover"), ("comptes", "with statements"),
        ("total_actif_last", "with a balance sheet"), ("lei", "with an LEI"),
    ):  # fmt: skip
        counts[words] = sum(one["renseignees"].get(field, 0) for one in countries.values())
    counts["lines) belong to companies"] = sum(
        one["lignes_ecartees"].get("société absente", 0)
        for iso2, one in countries.items()
        if iso2 != "FR"
    )
    said = " ".join((TABLES / "README.md").read_text(encoding="utf-8").split())

    assert [
        words for words, n in counts.items() if f"{n:,} {words}".replace(",", " ") not in said
    ] == []


def test_a_record_has_a_chart_peers_and_comparable_companies(served: Served) -> None:
    person, _ = member(served, "integral")
    person.get(f"/societes/{CHART}")
    person.send(f"/societes/{CHART}")
    page = person.get(f"/societes/{CHART}")

    assert '<svg class="chart"' in page.html and '<svg class="hist"' in page.html
    # Comparable companies, each with its turnover; one far from the size of this one says so.
    assert len(re.findall(r"Md€ ·(?: [^·]+·)? FR", page.text)) == 5


def test_a_record_has_a_balance_sheet(served: Served, visitor: Customer) -> None:
    lines = _ask(served, visitor, f"societes/{BALANCE}")["comptes"]

    assert {"bilan_actif", "bilan_passif"} <= {line["etat"] for line in lines}
    assert len({line["exercice"] for line in lines}) == 2


def test_a_record_has_a_group(served: Served, visitor: Customer) -> None:
    assert "Sociétés mères" in Visitor(served).get(f"/societes/{GROUP}").text
    found = _ask(served, visitor, f"societes/{GROUP}/groupe")
    assert [one["societe"] and one["societe"]["nom"] for one in found["parents"]] == [
        "Air Products Holdings B.V.", None,
    ]  # fmt: skip


def test_an_analysis_has_most_ratios(served: Served, visitor: Customer) -> None:
    found = _ask(served, visitor, f"societes/{RATIOS}/analyses/entreprise")["ratios"]

    known = [one for one in found if any(year["valeur"] is not None for year in one["valeurs"])]
    assert (len(known), len(found)) == (13, 21)


def test_a_workbook_has_a_sheet_for_each_company_with_statements(
    served: Served, visitor: Customer
) -> None:
    ids = ",".join(one.replace("/", ":") for one in (CHART, BALANCE, RATIOS, GROUP))
    reply = exports.get(served, visitor, ids=ids)

    assert reply.status == 200
    names = load_workbook(BytesIO(reply.body)).sheetnames
    own = [one.replace("/", " ") for one in (CHART, RATIOS, BALANCE)]
    assert [name for name in names if re.match("[A-Z]{2} ", name)] == own


def test_the_examples_of_the_first_page_find_as_many_as_they_say(
    served: Served, visitor: Customer
) -> None:
    html = Visitor(served).get("/").html.partition('class="chips"')[2].partition("</ul>")[0]
    found = re.findall(r'<a href="([^"]*)">.*?<small>([^<]*)</small>', html)

    assert len(found) >= 3
    for href, number in found:
        params = dict(parse_qsl(urlsplit(href.replace("&amp;", "&")).query))
        total = _ask(served, visitor, "societes", **params)["total"]
        assert total == int(re.sub(r"\D", "", number)) > 0, href


def test_the_bodies_of_the_documentation_name_what_there_is(
    served: Served, visitor: Customer
) -> None:
    shown = {(one.id, body.name): body.value for one in PRODUCT.operations for body in one.bodies}
    for one in shown["watchChanges", "ids"]["ids"]:
        _ask(served, visitor, f"societes/{one.replace(':', '/')}")
    wanted = shown["watchChanges", "recherche"]["recherche"]
    export = shown["exportCompaniesFromBody", "export"]
    for filters in (wanted, {name: export[name] for name in ("pays", "q")}):
        strings = {name: str(value) for name, value in filters.items()}
        assert _ask(served, visitor, "societes", **strings)["total"] > 0, filters
    body = json.dumps(shown["matchCompanies", "lines"]).encode()
    reply = exports.post(served, visitor, body, "/api/v1/rapprochement")
    assert reply.json["resultats"][0]["verdict"] == "sur", reply.json
    assert len(shown) == 4  # a new example needs a question here


def test_the_walk_says_what_there_is(served: Served, visitor: Customer) -> None:
    walk = " ".join((TABLES / "WALK.md").read_text(encoding="utf-8").split())
    first = Visitor(served).get("/").text
    for told, shown in (("23 French restaurants", "1 M€ 23"), ("15 companies with", "Estonie 15"),
                        ("266 software companies", "logiciel 266")):  # fmt: skip
        assert told in walk and shown in first, told

    largest = _ask(served, visitor, "societes", pays="FR", secteur="restauration", tri="ca_desc")
    names = [(one["nom"], round(one["ca_eur"] / 1e6)) for one in largest["societes"][:2]]
    assert names == [("COMPASS GROUP FRANCE", 930), ("ELRES", 707)]
    assert "N° 1 sur 25" in Visitor(served).get(f"/societes/{CHART}").text

    market = _ask(served, visitor, "analyses/marche", pays="FR", secteur="restauration")
    size = market["taille"]
    quartiles = [round(size[name] / 1e6) for name in ("p25", "mediane", "p75")]
    assert (market["total"], size["avec_ca"], quartiles) == (84, 23, [50, 75, 226])
    assert round(market["concentration"]["cr4"], 2) == 0.6
