"""GET /api/v1/analyses/marche and /comparables (X11), over companies that a reader can add up by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quota.ledger.calls import Purchase
from tests.serve import world
from tests.serve.client import PLANS, Served, serving
from tests.serve.clock import Clock
from tests.world import company

PATH = "/api/v1/analyses/marche"
FIRM = "/api/v1/societes/UK/1/comparables"


def firm(iso2: str, identifier: str, ca_eur: float | None, **more: Any) -> Any:
    return company(iso2, identifier, f"Łódź {identifier}", division="62", groupe="62.0", secteur=world.IT,
                   a_comptes=True, ca_eur=ca_eur, **more)  # fmt: skip


def lines(year: int, equity: float, turnover: float, before: float) -> list[Any]:
    values = [(year, "Equity", equity), (year, "TotalAssets", 100.0),
              (year, "TurnoverRevenue", turnover), (year - 1, "TurnoverRevenue", before)]  # fmt: skip
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": at, "ordre": order}
        for order, (at, code, value) in enumerate(values)
    ]  # fmt: skip


COMPANIES = [
    firm("UK", "1", 600.0, ville="Leeds", effectif=9, date_creation="2001-05-04"),
    firm("UK", "2", 300.0, ville="York", effectif=9, date_creation="2001"),
    firm("UK", "3", 100.0, date_creation="2003-01-01", etat="cessee"),
    firm("UK", "4", -50.0),
    firm("UK", "5", None, ville="Leeds", effectif=9),
    firm("EE", "6", 1_000.0),
    company("FR", "7", "Vide", division="47", groupe="47.1", secteur=world.RETAIL),
]
STATEMENTS = {
    ("UK", "1"): lines(2024, 20.0, 600.0, 500.0),  # + 20 %
    ("UK", "2"): lines(2023, 40.0, 300.0, 600.0),  # - 50 %
    ("UK", "3"): lines(2019, 90.0, 100.0, 50.0),  # too old
    ("EE", "6"): lines(2024, 80.0, 1_000.0, 1_000.0),  # none
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("marche")
    world.publish(data, COMPANIES, STATEMENTS)
    with serving(data, now=Clock("2026-11-30T12:00:00")) as found:
        yield found


def ask(served: Served, plan: str = "marches", **filters: str) -> Any:
    reply = served.ask(PATH, params=filters, headers=served.customer(plan).headers)
    assert reply.status == 200, reply.body
    return reply.json


@pytest.mark.parametrize("further", [{}, {"nace": ""}, {"etat": "active,procedure,cessee,inconnu"}])
def test_a_market_is_the_sum_of_its_companies(served: Served, further: dict[str, str]) -> None:
    """A filter that every company passes changes nothing, though its rows are listed one by one."""
    found = ask(served, pays="UK", **further)

    assert (found["total"], found["exercices"]) == (5, [2022, 2024])
    assert found["taille"] == {
        "avec_ca": 4, "ca_total": 950.0, "p10": pytest.approx(-5.0), "p25": 62.5, "mediane": 200.0,
        "p75": 375.0, "p90": pytest.approx(510.0), "motif": None, "motif_code": None,
    }  # fmt: skip
    assert found["concentration"] == {
        "hhi": pytest.approx(4_600.0), "cr4": 1.0, "cr10": 1.0, "gini": pytest.approx(1 / 3), "motif": None,
        "motif_code": None,
    }  # fmt: skip
    assert [one["n"] for one in found["tranches"]["ca"]] == [1, 3, 0, 0, 0, 0, 0, 0, 1]
    assert {one["valeur"]: one["n"] for one in found["tranches"]["effectif"] if one["n"]} == {
        "1-9": 3, None: 2,
    }  # fmt: skip
    assert found["creations"] == {
        "annees": [{"annee": 2001, "n": 2}, {"annee": 2003, "n": 1}], "sans_date": 2,
    }  # fmt: skip
    assert (found["cessations"]["annees"], found["cessations"]["societes"]) == (None, 1)
    assert found["cessations"]["motif_code"] == "date_absente"
    growth = found["croissance"]
    assert (growth["n"], growth["en_hausse"], growth["mediane"]) == (2, 1, pytest.approx(-0.15))
    assert [(one["id"], one["part"]) for one in found["premieres"]] == [
        ("1", 0.6), ("2", 0.3), ("3", 0.1), ("4", None),
    ]  # fmt: skip


def test_ratios_stand_by_country(served: Served) -> None:
    ratios = {one["code"]: one for one in ask(served)["ratios"]}

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


def test_what_is_not_known_is_null_and_says_why(served: Served) -> None:
    customer = served.customer("marches")
    nothing = served.ask(PATH, params={"q": "zzzz"}, headers=customer.headers)
    unknown = ask(served, pays="FR")

    assert nothing.json["total"] == 0
    assert (nothing.json["taille"]["avec_ca"], nothing.json["taille"]["ca_total"]) == (0, None)
    assert {
        nothing.json[part]["motif_code"] for part in ("taille", "concentration", "croissance")
    } == {"aucune_societe"}
    assert (unknown["taille"]["motif_code"], unknown["croissance"]["motif_code"]) == (
        "aucun_ca",
        "aucun_ratio",
    )
    assert served.usage(customer).credits.used == 0  # nothing was found: a call alone
    assert served.usage(customer).calls.used == 1


def test_the_same_market_is_paid_for_once_a_month(served: Served) -> None:
    customer, grant = served.customer("marches"), PLANS["marches"].credits_par_mois
    asked = [{"pays": "UK,EE", "etat": "active,inconnu"}, {"pays": "ee,gb", "etat": "inconnu,active"},
             {"pays": "UK"}]  # fmt: skip

    replies = [served.ask(PATH, params=one, headers=customer.headers) for one in asked]

    assert [one.headers["X-Credits-Debites"] for one in replies] == ["25", "0", "25"]
    assert replies[0].body == replies[1].body
    known = {**customer.headers, "If-None-Match": replies[2].headers["ETag"]}
    assert served.ask(PATH, params=asked[2], headers=known).status == 304
    poor = served.customer("marches")
    purchase = Purchase(poor.account, call_limit=10**9, company="X", cost=grant - 24, grant=grant)
    served.store.take_and_charge(purchase, served.context.now()).result(10)
    refused = served.ask(PATH, headers=poor.headers)
    assert (refused.status, refused.code, refused.json["credits"]["solde"]) == (
        402,
        "credits_epuises",
        24,
    )


def test_markets_belong_to_their_module_and_to_trials(served: Served) -> None:
    tried = served.customer("data")

    without = served.ask(PATH, headers=served.customer("corporate").headers)
    replies = [
        served.ask(PATH, params={"pays": one}, headers=tried.headers)
        for one in ("UK", "EE", "EE,UK", "FR")
    ]

    assert (without.status, without.code, without.json["offre"]) == (
        403,
        "module_non_inclus",
        "integral",
    )
    assert [one.status for one in replies] == [200, 200, 200, 403]
    assert (replies[3].code, replies[3].json["offre"]) == ("essai_epuise", "marches")
    assert served.ask(PATH).code == "compte_requis"
    assert (
        served.ask(PATH, params={"tri": "nom"}, headers=tried.headers).code == "parametre_inconnu"
    )


def test_comparables_are_near_and_say_how_near(served: Served) -> None:
    """Of UK:1 with 600 euros, 9 people, in Leeds: UK:3 has ceased."""
    customer = served.customer("free")
    reply = served.ask(FIRM, headers=customer.headers)
    found = reply.json["comparables"]

    assert [(one["societe"]["iso2"], one["societe"]["id"]) for one in found] == [
        ("UK", "2"), ("UK", "4"), ("EE", "6"), ("UK", "5"),
    ]  # fmt: skip
    assert found[0]["ecarts"] == {
        "ca_eur": pytest.approx(0.6914, abs=1e-4),
        "effectif": 0.0,
        "lieu": 0.5,
    }
    assert found[3]["ecarts"] == {"ca_eur": None, "effectif": 0.0, "lieu": 0.0}
    assert [one["motif_code"] for one in found] == [
        None, "effectif_inconnu", "effectif_inconnu", "ca_inconnu",
    ]  # fmt: skip
    assert found[3]["motif"].startswith("chiffre d'affaires inconnu")
    gaps = [[gap for gap in one["ecarts"].values() if gap is not None] for one in found]
    unknown = [3.0 * (len(one) < 3) for one in gaps]  # what a gap counts that is known of one alone
    assert [one["distance"] for one in found] == pytest.approx(
        [sum(one) + more for one, more in zip(gaps, unknown, strict=True)]
    )
    english = served.ask(FIRM, headers=customer.headers | {"Accept-Language": "en"})
    assert english.json["comparables"][3]["motif"].startswith("the turnover of one of the two")
    assert (served.usage(customer).calls.used, served.usage(customer).credits.used) == (2, 0)


def test_a_visitor_sees_two_comparables_and_a_company_without_a_sector_has_none(
    served: Served,
) -> None:
    assert len(served.ask(FIRM).json["comparables"]) == 2
    assert len(served.ask(FIRM, params={"n": "1"}).json["comparables"]) == 1
    assert served.ask(FIRM, params={"n": "0"}).code == "parametre_invalide"
    assert served.ask("/api/v1/societes/UK/none/comparables").code == "societe_introuvable"
