"""The demonstration: it has every bundled excerpt with its date, and companies for all kinds of pages.

Most counts are lower bounds.
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
from tests.serve.client import Customer, Server, run_server
from tests.serve.clock import Clock
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member

RAW: Final = TABLES / "raw"
# A CSV whose rows are imported from JSON, and a legend without its table.
LEFT_OUT: Final = {RAW / "no" / "enheter_2024_54col.csv", RAW / "ro" / "web_bl_bs_sl_an2023.csv"}


def test_every_excerpt_has_an_importer() -> None:
    paths = [path for excerpt in demo.excerpts() for path in RAW.glob(excerpt["fichiers"])]

    assert len(paths) == len(set(paths))
    assert {*paths, *LEFT_OUT} == {path for path in RAW.glob("*/*")}
    assert {excerpt["source"] for excerpt in demo.excerpts()} <= REGISTERS.keys()


def test_the_demonstration_has_companies_of_23_countries_and_15_company_registers_or_more(
    demo_data: Path,
) -> None:
    folder = demo_data / str(pointer.current_name(demo_data))
    lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    countries = {entry.iso2 for entry in lists.pays if lists.societes(entry.iso2)}
    registers = {
        iso2
        for iso2, imports in sources.items()
        if any(entry.table == "companies" and not entry.completes(iso2) for entry in imports)
    }
    assert len(countries) >= 23
    assert len(registers) >= 15
    assert countries <= sources.keys()


def test_every_file_of_the_demonstration_has_a_date(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current_name(demo_data))
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    dates = {
        (entry.source, file.nom): file.origine_date
        for imports in sources.values()
        for entry in imports
        for file in entry.fichiers
    }
    assert "inconnue" not in dates.values(), dates


# -- content for visitors --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(demo_data: Path) -> Iterator[Server]:
    """A server of the demonstration."""
    with run_server(demo_data, now=Clock("2026-11-30T12:00:00")) as running_server:
        yield running_server


@pytest.fixture(scope="module")
def customer(server: Server) -> Customer:
    """A customer of the server, with the largest plan."""
    return server.customer("integral")


def _ask(server: Server, customer: Customer, path: str, **params: str) -> Any:
    """The JSON of a route, which must answer 200."""
    reply = server.ask(f"/api/v1/{path}", headers=customer.headers, params=params)
    assert reply.status == 200, reply.json
    return reply.json


def _quality(demo_data: Path) -> dict[str, Any]:
    """The quality report of the build, by country."""
    folder = demo_data / str(pointer.current_name(demo_data))
    countries: dict[str, Any] = json.loads((folder / "quality.json").read_bytes())["pays"]
    return countries


def test_companies_have_turnovers_statements_and_balance_sheets(demo_data: Path) -> None:
    counts = [country["renseignees"] for country in _quality(demo_data).values()]

    for field, least in (
        ("ca_eur", 1_000), ("comptes", 1_500), ("total_actif_last", 250), ("tranche_effectif", 5_000),
        ("nace_code", 10_000), ("lei", 100),
    ):  # fmt: skip
        assert sum(country.get(field, 0) for country in counts) >= least, field


def test_withheld_rows_are_counted_by_reason(demo_data: Path) -> None:
    withheld = _quality(demo_data)["FR"]["lignes_ecartees"]

    for reason, least in (
        ("chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins", 20),
        ("chiffre d'affaires huit fois celui des exercices voisins, ou le huitième", 10),
        ("comptes individuels et consolidés selon les exercices", 100),
        ("résultat d'une autre unité que le chiffre d'affaires", 3),
    ):
        assert withheld.get(reason, 0) >= least, reason


def test_the_largest_companies_are_well_known(server: Server, customer: Customer) -> None:
    companies = _ask(server, customer, "societes", tri="ca_desc", limit="12")["societes"]

    assert [company["nom"].strip() for company in companies[:5]] == [
        "PSA AUTOMOBILES SA", "AIRBUS SAS", "Renault s.a.s.", "C.S.F.", "ITM ALIMENTAIRE INTERNATIONAL",
    ]  # fmt: skip
    # The twelve largest turnovers are between 5 and 65 billion euros.
    assert all(5e9 < company["ca_eur"] < 65e9 for company in companies)


def test_sixty_companies_or_more_are_in_groups_and_some_groups_link_two_of_them(
    demo_data: Path, server: Server, customer: Customer
) -> None:
    folder = demo_data / str(pointer.current_name(demo_data))
    links = groups.read(folder / groups.GROUPS)
    leis = {str(lei, "ascii") for name in ("child", "parent") for lei in links.rows[name].tolist()}
    companies: list[dict[str, str]] = []
    for lei in sorted(leis):
        reply = server.ask(f"/api/v1/identifiants/{lei}", headers=customer.headers)
        companies += reply.json["candidats"] if reply.status == 200 else []

    assert len(companies) >= 60
    groups_with_companies = [
        group
        for company in companies[:40]
        if (group := _ask(server, customer, f"societes/{company['iso2']}/{company['id']}/groupe"))[
            "sources"
        ]
        and any(link["societe"] for link in (*group["parents"], *group["enfants"]))
    ]
    assert len(groups_with_companies) >= 5  # a link to another company of the demonstration
    assert {
        source["source"] for company in groups_with_companies for source in company["sources"]
    } == {"gleif-rr"}


@pytest.mark.parametrize(
    "sector",
    [
        "restauration",
        "commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles",
        "travaux-de-construction-specialises",
    ],
)
def test_a_market_has_quartiles(server: Server, customer: Customer, sector: str) -> None:
    market = _ask(server, customer, "analyses/marche", pays="FR", secteur=sector)

    assert market["taille"]["avec_ca"] >= 10
    assert market["taille"]["p25"] < market["taille"]["mediane"] < market["taille"]["p75"]


# -- a company for each kind of page (also in seeds/WALK.md) ---------------------------------

# Companies whose pages show a chart, a balance sheet, most ratios, and a group.
CHART, BALANCE, RATIOS = "FR/383474814", "UK/00944111", "EE/11966711"
GROUP: Final = "NL/O1A2ET91OUYOZUUJI538"


def test_the_counts_of_the_readme_are_those_of_the_build(
    demo_data: Path,
) -> None:
    countries = _quality(demo_data)
    # By the words that follow the count in seeds/README.md.
    counts = {
        "companies of 25 countries": sum(country["gardees"] for country in countries.values())
    }
    for field, words in (
        ("ca_eur", "with a turnover"), ("comptes", "with statements"),
        ("total_actif_last", "with a balance sheet"), ("lei", "with an LEI"),
    ):  # fmt: skip
        counts[words] = sum(country["renseignees"].get(field, 0) for country in countries.values())
    counts["lines) belong to companies"] = sum(
        country["lignes_ecartees"].get("société absente", 0)
        for iso2, country in countries.items()
        if iso2 != "FR"
    )
    text = " ".join((TABLES / "README.md").read_text(encoding="utf-8").split())

    assert [
        words
        for words, count in counts.items()
        if f"{count:,} {words}".replace(",", " ") not in text
    ] == []


def test_a_record_has_a_chart_peers_and_comparable_companies(server: Server) -> None:
    person, _ = sign_up_member(server, "integral")
    person.get(f"/societes/{CHART}")
    person.send(f"/societes/{CHART}")
    page = person.get(f"/societes/{CHART}")

    assert '<svg class="chart"' in page.html and '<svg class="hist"' in page.html
    # Comparable companies, each with its turnover; a company of a very different size has a remark.
    assert len(re.findall(r"Md€ ·(?: [^·]+·)? FR", page.text)) == 5


def test_a_record_has_a_balance_sheet(server: Server, customer: Customer) -> None:
    lines = _ask(server, customer, f"societes/{BALANCE}")["comptes"]

    assert {"bilan_actif", "bilan_passif"} <= {line["etat"] for line in lines}
    assert len({line["exercice"] for line in lines}) == 2


def test_a_record_has_a_group(server: Server, customer: Customer) -> None:
    assert "Sociétés mères" in Visitor(server).get(f"/societes/{GROUP}").text
    group = _ask(server, customer, f"societes/{GROUP}/groupe")
    assert [parent["societe"] and parent["societe"]["nom"] for parent in group["parents"]] == [
        "Air Products Holdings B.V.", None,
    ]  # fmt: skip


def test_an_analysis_has_most_ratios(server: Server, customer: Customer) -> None:
    ratios = _ask(server, customer, f"societes/{RATIOS}/analyses/entreprise")["ratios"]

    with_values = [
        ratio for ratio in ratios if any(year["valeur"] is not None for year in ratio["valeurs"])
    ]
    assert (len(with_values), len(ratios)) == (13, 21)


def test_a_workbook_has_a_sheet_for_each_company_with_statements(
    server: Server, customer: Customer
) -> None:
    ids = ",".join(company.replace("/", ":") for company in (CHART, BALANCE, RATIOS, GROUP))
    reply = exports.get_export(server, customer, ids=ids)

    assert reply.status == 200
    names = load_workbook(BytesIO(reply.body)).sheetnames
    expected = [company.replace("/", " ") for company in (CHART, RATIOS, BALANCE)]
    assert [name for name in names if re.match("[A-Z]{2} ", name)] == expected


def test_the_examples_of_the_first_page_have_the_totals_that_they_show(
    server: Server, customer: Customer
) -> None:
    html = Visitor(server).get("/").html.partition('class="chips"')[2].partition("</ul>")[0]
    examples = re.findall(r'<a href="([^"]*)">.*?<small>([^<]*)</small>', html)

    assert len(examples) >= 3
    for href, number in examples:
        params = dict(parse_qsl(urlsplit(href.replace("&amp;", "&")).query))
        total = _ask(server, customer, "societes", **params)["total"]
        assert total == int(re.sub(r"\D", "", number)) > 0, href


def test_the_bodies_of_the_documentation_name_companies_of_the_demonstration(
    server: Server, customer: Customer
) -> None:
    bodies = {
        (operation.id, body.name): body.value
        for operation in PRODUCT.operations
        for body in operation.bodies
    }
    for company in bodies["watchChanges", "ids"]["ids"]:
        _ask(server, customer, f"societes/{company.replace(':', '/')}")
    search = bodies["watchChanges", "recherche"]["recherche"]
    export = bodies["exportCompaniesFromBody", "export"]
    for filters in (search, {name: export[name] for name in ("pays", "q")}):
        strings = {name: str(value) for name, value in filters.items()}
        assert _ask(server, customer, "societes", **strings)["total"] > 0, filters
    body = json.dumps(bodies["matchCompanies", "lines"]).encode()
    reply = exports.post_json(server, customer, body, "/api/v1/rapprochement")
    assert reply.json["resultats"][0]["verdict"] == "sur", reply.json
    for operation_id in ("reconcileFromForm", "reconcileFromFormAtAddress"):
        form = bodies[operation_id, "queries"]
        assert _ask(server, customer, "reconciliation", **form)["q0"]["result"]
    assert len(bodies) == 6  # a new example needs a check here


def test_the_figures_of_the_walk_are_those_of_the_demonstration(
    server: Server, customer: Customer
) -> None:
    """The walk, seeds/WALK.md, guides a reader through the demonstration and names figures of its pages."""
    walk = " ".join((TABLES / "WALK.md").read_text(encoding="utf-8").split())
    first_page = Visitor(server).get("/").text
    for sentence, text in (("23 French restaurants", "1 M€ 23"), ("15 companies with", "Estonie 15"),
                        ("266 software companies", "logiciel 266")):  # fmt: skip
        assert sentence in walk and text in first_page, sentence

    largest = _ask(server, customer, "societes", pays="FR", secteur="restauration", tri="ca_desc")
    names = [(row["nom"], round(row["ca_eur"] / 1e6)) for row in largest["societes"][:2]]
    assert names == [("COMPASS GROUP FRANCE", 930), ("ELRES", 707)]
    assert "N° 1 sur 25" in Visitor(server).get(f"/societes/{CHART}").text

    market = _ask(server, customer, "analyses/marche", pays="FR", secteur="restauration")
    size = market["taille"]
    quartiles = [round(size[name] / 1e6) for name in ("p25", "mediane", "p75")]
    assert (market["total"], size["avec_ca"], quartiles) == (84, 23, [50, 75, 226])
    assert round(market["concentration"]["cr4"], 2) == 0.6
