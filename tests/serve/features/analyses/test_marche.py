"""GET /api/v1/analyses/marche and /comparables (X11), over companies that a reader can add up by hand."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from quota.ledger.calls import Purchase
from tests.serve import world
from tests.serve.client import PLANS, Server, run_server
from tests.serve.clock import Clock
from tests.world import company

PATH = "/api/v1/analyses/marche"
COMPARABLES = "/api/v1/societes/UK/1/comparables"


def it_company(iso2: str, identifier: str, ca_eur: float | None, **fields: Any) -> Any:
    """A company of the sector of computing."""
    return company(iso2, identifier, f"Łódź {identifier}", division="62", groupe="62.0", secteur=world.IT,
                   a_comptes=True, ca_eur=ca_eur, **fields)  # fmt: skip


def statement_lines(year: int, equity: float, turnover: float, turnover_before: float) -> list[Any]:
    """Lines of equity, total assets of 100, and the turnovers of this year and of the year before."""
    values = [(year, "Equity", equity), (year, "TotalAssets", 100.0),
              (year, "TurnoverRevenue", turnover), (year - 1, "TurnoverRevenue", turnover_before)]  # fmt: skip
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": line_year, "ordre": order}
        for order, (line_year, code, value) in enumerate(values)
    ]  # fmt: skip


COMPANIES = [
    it_company(
        "UK",
        "1",
        600.0,
        ville="Leeds",
        code_postal="LS1 4AP",
        effectif=9,
        date_creation="2001-05-04",
    ),
    it_company("UK", "2", 300.0, ville="York", effectif=9, date_creation="2001"),
    it_company("UK", "3", 100.0, date_creation="2003-01-01", etat="cessee"),
    it_company("UK", "4", -50.0),
    it_company("UK", "5", None, ville="Leeds", effectif=9),
    it_company("EE", "6", 1_000.0),
    company("FR", "7", "Vide", division="47", groupe="47.1", secteur=world.RETAIL),
]
# The statement lines of companies, by country and identifier.
STATEMENTS = {
    ("UK", "1"): statement_lines(2024, 20.0, 600.0, 500.0),  # growth: + 20 %
    ("UK", "2"): statement_lines(2023, 40.0, 300.0, 600.0),  # - 50 %
    ("UK", "3"): statement_lines(2019, 90.0, 100.0, 50.0),  # too old for the years of a market
    ("EE", "6"): statement_lines(2024, 80.0, 1_000.0, 1_000.0),  # no growth
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of COMPANIES and STATEMENTS, in November 2026."""
    data: Path = tmp_path_factory.mktemp("marche")
    world.publish(data, COMPANIES, STATEMENTS)
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as running:
        yield running


def market_answer(server: Server, plan: str = "marches", **filters: str) -> Any:
    """The market of the companies that pass the filters."""
    reply = server.ask(PATH, params=filters, headers=server.customer(plan).headers)
    assert reply.status == 200, reply.body
    return reply.json


@pytest.mark.parametrize(
    "neutral_filter", [{}, {"nace": ""}, {"etat": "active,procedure,cessee,inconnu"}]
)
def test_a_market_is_the_sum_of_its_companies(
    server: Server, neutral_filter: dict[str, str]
) -> None:
    """A filter that all companies pass changes no figure, although its rows are listed."""
    answer = market_answer(server, pays="UK", **neutral_filter)

    assert (answer["total"], answer["exercices"]) == (5, [2022, 2024])
    assert answer["taille"] == {
        "avec_ca": 4, "ca_total": 950.0, "p10": pytest.approx(-5.0), "p25": 62.5, "mediane": 200.0,
        "p75": 375.0, "p90": pytest.approx(510.0), "motif": None, "motif_code": None,
    }  # fmt: skip
    # The turnovers are 600, 300, 100 and -50. Shares are of the positive ones: 60² + 30² + 10² = 4 600.
    assert answer["concentration"] == {
        "hhi": pytest.approx(4_600.0), "cr4": 1.0, "cr10": 1.0, "gini": pytest.approx(1 / 3), "motif": None,
        "motif_code": None,
    }  # fmt: skip
    assert [band["n"] for band in answer["tranches"]["ca"]] == [1, 3, 0, 0, 0, 0, 0, 0, 1]
    assert {band["valeur"]: band["n"] for band in answer["tranches"]["effectif"] if band["n"]} == {
        "1-9": 3, None: 2,
    }  # fmt: skip
    assert answer["creations"] == {
        "annees": [{"annee": 2001, "n": 2}, {"annee": 2003, "n": 1}], "sans_date": 2,
    }  # fmt: skip
    assert (answer["cessations"]["annees"], answer["cessations"]["societes"]) == (None, 1)
    assert answer["cessations"]["motif_code"] == "date_absente"
    growth = answer["croissance"]
    # UK:1 grew by 20 % and UK:2 fell by 50 %.
    assert (growth["n"], growth["en_hausse"], growth["mediane"]) == (2, 1, pytest.approx(-0.15))
    assert [(company["id"], company["part"]) for company in answer["premieres"]] == [
        ("1", 0.6), ("2", 0.3), ("3", 0.1), ("4", None),
    ]  # fmt: skip


def test_ratios_are_grouped_by_country(server: Server) -> None:
    """Quartiles of the equity ratio of one Estonian and two British companies"""
    ratios = {entry["code"]: entry for entry in market_answer(server)["ratios"]}

    assert ratios["autonomie_financiere"]["pays"] == [
        {"pays": "EE", "n": 1, "p25": 0.8, "mediane": 0.8, "p75": 0.8},
        {
            "pays": "UK",
            "n": 2,
            "p25": 0.25,
            "mediane": pytest.approx(0.3),
            "p75": pytest.approx(0.35),
        },
    ]
    assert (ratios["delai_stocks"]["pays"], ratios["delai_stocks"]["motif_code"]) == (
        [],
        "aucun_ratio",
    )


def test_unknown_figures_are_null_with_a_reason(server: Server) -> None:
    customer = server.customer("marches")
    no_company = server.ask(PATH, params={"q": "zzzz"}, headers=customer.headers)
    no_figures = market_answer(server, pays="FR")

    assert no_company.json["total"] == 0
    assert (no_company.json["taille"]["avec_ca"], no_company.json["taille"]["ca_total"]) == (
        0,
        None,
    )
    assert {
        no_company.json[section]["motif_code"]
        for section in ("taille", "concentration", "croissance")
    } == {"aucune_societe"}
    assert (no_figures["taille"]["motif_code"], no_figures["croissance"]["motif_code"]) == (
        "aucun_ca",
        "aucun_ratio",
    )
    assert server.usage(customer).credits.used == 0  # no company matches: only a call
    assert server.usage(customer).calls.used == 1


def test_the_same_market_is_charged_once_a_month(server: Server) -> None:
    """The first two searches are the same, in another order of values"""
    customer, grant = server.customer("marches"), PLANS["marches"].credits_par_mois
    searches = [{"pays": "UK,EE", "etat": "active,inconnu"}, {"pays": "ee,gb", "etat": "inconnu,active"},
             {"pays": "UK"}]  # fmt: skip

    replies = [server.ask(PATH, params=filters, headers=customer.headers) for filters in searches]

    assert [reply.headers["X-Credits-Debites"] for reply in replies] == ["25", "0", "25"]
    assert replies[0].body == replies[1].body
    conditional = {**customer.headers, "If-None-Match": replies[2].headers["ETag"]}
    assert server.ask(PATH, params=searches[2], headers=conditional).status == 304
    # A customer with 24 credits left; a market costs 25.
    poor = server.customer("marches")
    purchase = Purchase(poor.account, call_limit=10**9, company="X", cost=grant - 24, grant=grant)
    server.store.take_and_charge(purchase, server.context.now()).result()
    refused = server.ask(PATH, headers=poor.headers)
    assert (refused.status, refused.code, refused.json["credits"]["solde"]) == (
        402,
        "credits_epuises",
        24,
    )


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("q", ["łódź", "LODZ", " Łodz, "]),
        ("ville", ["Leeds", "LEEDS", "lééds|Leeds"]),
        ("ids", ["UK:1,EE:6", "EE:06,GB:1", "UK:001,UK:1,EE:6"]),
        ("code_postal", ["LS", "LS,LS1", "ls1, LS,LS"]),
        ("etat", ["", "active,procedure,cessee,inconnu", "inconnu,cessee,procedure,active"]),
    ],
)  # fmt: skip
def test_another_spelling_of_a_filter_is_the_same_market(
    server: Server, name: str, spellings: Sequence[str]
) -> None:
    customer = server.customer("marches")

    replies = [
        server.ask(PATH, params={name: text}, headers=customer.headers) for text in spellings
    ]

    assert replies[0].json["total"]
    assert [reply.headers["X-Credits-Debites"] for reply in replies] == ["25", "0", "0"]
    assert {reply.json["total"] for reply in replies} == {replies[0].json["total"]}


def test_a_flag_beside_a_bound_of_its_column_is_the_same_market(server: Server) -> None:
    customer = server.customer("marches")

    debits = [
        server.ask(PATH, params=params, headers=customer.headers).headers["X-Credits-Debites"]
        for params in ({"ca_min": "0"}, {"ca_min": "0", "avec_ca": "1"}, {"avec_ca": "1"})
    ]

    assert debits == ["25", "0", "25"]


def test_markets_need_their_module_or_a_trial(server: Server) -> None:
    """`corporate` has neither the module nor trials, `data` has three trials"""
    trial_customer = server.customer("data")

    refused = server.ask(PATH, headers=server.customer("corporate").headers)
    replies = [
        server.ask(PATH, params={"pays": pays}, headers=trial_customer.headers)
        for pays in ("UK", "EE", "EE,UK", "FR")
    ]

    assert (refused.status, refused.code, refused.json["offre"]) == (
        403,
        "module_non_inclus",
        "integral",
    )
    # The plan `data` has three trials a month.
    assert [reply.status for reply in replies] == [200, 200, 200, 403]
    assert (replies[3].code, replies[3].json["offre"]) == ("essai_epuise", "marches")
    assert server.ask(PATH).code == "compte_requis"
    assert (
        server.ask(PATH, params={"tri": "nom"}, headers=trial_customer.headers).code
        == "parametre_inconnu"
    )


def test_comparables_have_their_distance_and_its_parts(server: Server) -> None:
    """The companies closest to UK:1 (600 euros, 9 people, Leeds). UK:3 is not compared: it has ceased."""
    customer = server.customer("free")
    reply = server.ask(COMPARABLES, headers=customer.headers)
    neighbours = reply.json["comparables"]

    assert [(neighbour["societe"]["iso2"], neighbour["societe"]["id"]) for neighbour in neighbours] == [
        ("UK", "2"), ("UK", "4"), ("EE", "6"), ("UK", "5"),
    ]  # fmt: skip
    assert neighbours[0]["ecarts"] == {
        "ca_eur": pytest.approx(0.6914, abs=1e-4),  # ln(601 / 301)
        "effectif": 0.0,
        "lieu": 0.5,  # another town of the country
    }
    assert neighbours[3]["ecarts"] == {"ca_eur": None, "effectif": 0.0, "lieu": 0.0}
    assert [neighbour["motif_code"] for neighbour in neighbours] == [
        None, "effectif_inconnu", "effectif_inconnu", "ca_inconnu",
    ]  # fmt: skip
    assert neighbours[3]["motif"].startswith("chiffre d'affaires inconnu")
    gaps = [
        [gap for gap in neighbour["ecarts"].values() if gap is not None] for neighbour in neighbours
    ]
    penalties = [3.0 * (len(row) < 3) for row in gaps]  # for a gap that only one company has
    assert [neighbour["distance"] for neighbour in neighbours] == pytest.approx(
        [sum(row) + penalty for row, penalty in zip(gaps, penalties, strict=True)]
    )
    english = server.ask(COMPARABLES, headers=customer.headers | {"Accept-Language": "en"})
    assert english.json["comparables"][3]["motif"].startswith("the turnover of one of the two")
    assert (server.usage(customer).calls.used, server.usage(customer).credits.used) == (2, 0)


def test_a_visitor_sees_two_comparables_and_a_company_without_a_sector_has_none(
    server: Server,
) -> None:
    assert len(server.ask(COMPARABLES).json["comparables"]) == 2
    assert len(server.ask(COMPARABLES, params={"n": "1"}).json["comparables"]) == 1
    assert server.ask(COMPARABLES, params={"n": "0"}).code == "parametre_invalide"
    assert server.ask("/api/v1/societes/UK/none/comparables").code == "societe_introuvable"
