"""GET /api/v1/societes/{iso}/{id}/analyses/entreprise (X11), over statements that a reader can check by hand."""

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.clock import Clock
from tests.world import Company, company

# Turnover, profit, equity, total assets and current assets of each year.
POSTES = ("TurnoverRevenue", "ProfitLoss", "Equity", "TotalAssets", "CurrentAssets")
FIRM = ("UK", "1")


def lines(years: Mapping[int, tuple[float | None, ...]], devise: str = "EUR") -> list[Any]:
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": devise,
         "exercice": year, "ordre": order}
        for year, values in sorted(years.items(), reverse=True)
        for order, (code, value) in enumerate(zip(POSTES, values, strict=True))
        if value is not None
    ]  # fmt: skip


def peer(iso2: str, number: int) -> Company:
    return company(iso2, f"P{number}", f"Peer {number}", division="62", groupe="62.0",
                   secteur=world.IT, a_comptes=True, ca_eur=float(number))  # fmt: skip


# 40 companies in the United Kingdom with an equity ratio of 0.00, 0.01, … 0.39; 3 of Estonia.
# 40 builders: gearing of 1, 2, …, 40, and as many days of payables.
BUILDERS = [
    company("UK", f"L{number}", f"Builder {number}", division="41", groupe="41.2", a_comptes=True)
    for number in range(40)
]
PEERS = [
    *(peer("UK", number) for number in range(40)),
    *(peer("EE", number) for number in range(3)),
]
COMPANIES = [
    company(*FIRM, "Łódź Analytics Ltd", division="62", groupe="62.0", secteur=world.IT,
            a_comptes=True, ca_eur=20.0, score=33, ville="Łódź"),
    company("EE", "10", "Vana OÜ", division="62", groupe="62.0", secteur=world.IT, a_comptes=True),
    company("EE", "11", "Tühi OÜ", division="62", groupe="62.0", secteur=world.IT),
    company("EE", "12", "Sektorita OÜ", a_comptes=True),
    company("EE", "13", "Lühike OÜ", a_comptes=True),
    *PEERS, *BUILDERS,
]  # fmt: skip
STATEMENTS = {
    FIRM: lines({2024: (800.0, -20.0, -5.0, 100.0, 50.0), 2023: (1_000.0, -10.0, 25.0, 100.0, None)}),
    ("EE", "10"): lines({2019: (None, 5.0, 50.0, 100.0, None)}),
    ("EE", "13"): [
        *lines({2024: (500.0, 50.0, 50.0, 100.0, None), 2023: (800.0, 80.0, 50.0, 100.0, None)}),
        {"etat": "annexe", "code": "PeriodMonths", "libelle": "Durée", "valeur": 6.0, "devise": None,
         "exercice": 2024, "ordre": 9},
    ],
    ("EE", "12"): lines({2024: (None, 5.0, 50.0, 0.0, None)}),
} | {
    (one["iso2"], one["id"]): lines({2023: (None, None, float(one["id"][1:]), 100.0, None)})
    for one in PEERS
} | {
    (one["iso2"], one["id"]): [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": 2023, "ordre": order}
        for order, (code, value) in enumerate({
            "Liabilities": 10.0 * (number + 1), "Equity": 10.0, "CostSales": 365.0,
            "TradeCreditorsTradePayables": number + 1.0,
        }.items())
    ]
    for number, one in enumerate(BUILDERS)
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("analyses")
    world.publish(data, COMPANIES, STATEMENTS)
    with serving(data, now=Clock("2026-11-30T12:00:00")) as found:
        yield found


def path(iso2: str, identifier: str) -> str:
    return f"/api/v1/societes/{iso2}/{identifier}/analyses/entreprise"


@pytest.fixture(scope="module")
def analysed(served: Served) -> Any:
    reply = served.ask(path(*FIRM), headers=served.customer("corporate").headers)
    assert reply.status == 200
    return reply.json


def ratio(document: Any, code: str) -> Any:
    return next(one for one in document["ratios"] if one["code"] == code)


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("croissance_ca", [-0.2, None]),  # (800 - 1 000) / 1 000
        ("marge_nette", [-0.025, -0.01]),  # -20 / 800, -10 / 1 000
        ("rentabilite_actif", [-0.2, -0.1]),  # -20 / 100, -10 / 100
        ("rentabilite_capitaux_propres", [None, -0.4]),  # equity is negative; -10 / 25
        ("autonomie_financiere", [-0.05, 0.25]),  # -5 / 100, 25 / 100
        ("rotation_actif", [8.0, 10.0]),  # 800 / 100, 1 000 / 100
        ("liquidite_generale", [None, None]),
    ],
)
def test_a_ratio_is_its_formula(analysed: Any, code: str, values: list[float | None]) -> None:
    found = ratio(analysed, code)["valeurs"]

    assert [one["exercice"] for one in found] == [2024, 2023]
    assert [one["valeur"] for one in found] == [
        None if v is None else pytest.approx(v) for v in values
    ]
    assert all((one["valeur"] is None) == (one["motif"] is not None) for one in found)


def test_flows_of_an_unlike_year_count_as_those_of_twelve_months(served: Served) -> None:
    """Half a year with 500 follows a year with 800: at 1 000 a year that is growth of a quarter."""
    found = served.ask(path("EE", "13"), headers=served.customer("corporate").headers).json

    known = {"devise": "EUR", "motif": None, "motif_code": None}
    assert found["exercices"] == [
        {"exercice": 2024, "duree_mois": 6, **known},
        {"exercice": 2023, "duree_mois": 12, **known},
    ]
    values = {
        code: [one["valeur"] for one in ratio(found, code)["valeurs"]]
        for code in ("croissance_ca", "rotation_actif", "marge_nette", "autonomie_financiere")
    }
    assert values["croissance_ca"] == [pytest.approx(0.25), None]
    assert values["rotation_actif"] == [pytest.approx(10.0), 8.0]  # 500 × 12 / 6 / 100
    assert values["marge_nette"] == [pytest.approx(0.1), 0.1]  # a flow by a flow: as filed
    assert values["autonomie_financiere"] == [0.5, 0.5]


def test_a_value_that_lacks_says_which_line_was_not_filed(analysed: Any) -> None:
    reasons = {
        (code, one["exercice"]): one["motif_code"]
        for code in ("liquidite_generale", "rentabilite_capitaux_propres", "croissance_ca")
        for one in ratio(analysed, code)["valeurs"]
    }

    assert reasons["liquidite_generale", 2024] == "poste_absent: CreditorsDueWithinOneYear"
    assert reasons["rentabilite_capitaux_propres", 2024] == "denominateur_negatif"
    assert reasons["croissance_ca", 2023] == "exercice_absent"


def test_reasons_and_formulas_are_in_the_language_of_the_caller(served: Served) -> None:
    """X0.4: French unless English is preferred; codes are the same"""
    headers = served.customer("corporate").headers
    french = served.ask(path(*FIRM), headers=headers)
    english = served.ask(path(*FIRM), headers=headers | {"Accept-Language": "en"})

    told = [ratio(one.json, "liquidite_generale") for one in (french, english)]
    assert [one["formule"] for one in told] == [
        "(Total de l'actif circulant) / (Dettes à un an au plus)",
        "(Total current assets) / (Creditors due within one year)",
    ]
    assert {one["formule_code"] for one in told} == {
        "(CurrentAssets) / (CreditorsDueWithinOneYear)"
    }
    assert [one["valeurs"][0]["motif"] for one in told] == [
        "postes non déposés : Dettes à un an au plus",
        "lines that were not filed: Creditors due within one year",
    ]
    assert [one.headers["Content-Language"] for one in (french, english)] == ["fr", "en"]
    assert "Accept-Language" in french.headers["Vary"]
    assert french.headers["ETag"] != english.headers["ETag"]
    known = {**headers, "Accept-Language": "en", "If-None-Match": english.headers["ETag"]}
    assert served.ask(path(*FIRM), headers=known).status == 304


def test_there_is_no_rank_among_nobody_and_quantiles_say_why(served: Served) -> None:
    """EE:10 alone has a return on equity: that of its own old year, which is none of the peers."""
    headers = served.customer("corporate").headers
    beside = [
        one["secteur"]
        for company in (path("EE", "10"), path(*FIRM))
        for one in served.ask(company, headers=headers).json["ratios"]
    ]

    empty = [one for one in beside if not one["n"]]
    assert empty
    for one in empty:
        assert [one[name] for name in ("p10", "p25", "mediane", "p75", "p90", "rang")] == [None] * 6
        assert one["motif_code"] == "aucun_ratio"
        assert one["motif"] == "aucune société comparée n'a publié les postes nécessaires"
    assert all(one["motif"] is None for one in beside if one["n"] >= 10 and one["rang"])


def test_a_rank_is_by_merit_and_debts_and_delays_are_best_when_small(served: Served) -> None:
    """Before: the company with the most debts was number 1 of its sector."""
    headers = served.customer("integral").headers
    found = served.ask(path("UK", "L0"), headers=headers).json
    worst = served.ask(path("UK", "L39"), headers=headers).json

    gearing, payables = ratio(found, "endettement"), ratio(found, "delai_fournisseurs")
    assert (gearing["sens"], gearing["secteur"]["rang"], gearing["secteur"]["n"]) == ("bas", 1, 40)
    assert ratio(worst, "endettement")["secteur"]["rang"] == 40
    assert ratio(found, "autonomie_financiere")["sens"] == "haut"
    assert payables["valeurs"][0]["valeur"] is not None
    assert (payables["sens"], payables["secteur"]["rang"]) == (None, None)
    assert payables["secteur"]["mediane"] is not None
    assert payables["secteur"]["motif_code"] == "sans_sens"


@pytest.mark.parametrize(
    ("size", "has_rank", "has_quartiles"), [(4, 0, 0), (5, 1, 0), (9, 1, 0), (10, 1, 1)]
)
def test_few_peers_have_no_rank_and_no_quartiles(
    tmp_path: Path, size: int, has_rank: int, has_quartiles: int
) -> None:
    """Before: `5,7 % 5,7 % 5,7 %`, the quartiles of a single company, and rank 1 of 1."""
    firms = [peer("UK", number) for number in range(size)]
    filed = {
        ("UK", f"P{n}"): lines({2023: (None, None, 1.0 + n, 100.0, None)}) for n in range(size)
    }
    world.publish(tmp_path, firms, filed)
    with serving(tmp_path) as served:
        reply = served.ask(path("UK", "P0"), headers=served.customer("corporate").headers)

    beside = ratio(reply.json, "autonomie_financiere")["secteur"]
    assert beside["n"] == size
    assert beside["rang"] == (size if has_rank else None)
    assert [beside[name] is not None for name in ("p10", "p25", "mediane", "p75", "p90")] == [
        bool(has_quartiles)
    ] * 5
    assert beside["motif_code"] == (None if has_quartiles else "trop_peu_de_pairs")


def test_a_ratio_stands_beside_its_sector_in_the_country(analysed: Any) -> None:
    beside = ratio(analysed, "autonomie_financiere")["secteur"]

    figures = [-0.05, *(number / 100 for number in range(40))]
    quartiles = statistics.quantiles(figures, n=4, method="inclusive")
    assert beside["perimetre"] == {
        "pays": "UK", "secteur": world.IT, "exercices": [2022, 2024], "exercice_compare": 2024,
    }  # fmt: skip
    assert (beside["n"], beside["rang"]) == (41, 41)
    assert [beside[name] for name in ("p25", "mediane", "p75")] == pytest.approx(quartiles)


def test_few_companies_are_compared_with_those_of_all_countries(served: Served) -> None:
    """A company of an old year is beside the peers of now, and is none of them: it has no rank."""
    reply = served.ask(path("EE", "10"), headers=served.customer("integral").headers)

    beside = ratio(reply.json, "autonomie_financiere")["secteur"]
    assert beside["perimetre"]["pays"] is None
    assert beside["perimetre"]["exercice_compare"] == 2019
    assert (beside["n"], beside["rang"]) == (44, None)  # 40 and the firm of UK, 3 of EE
    assert beside["motif_code"] == "hors_des_pairs"
    assert reply.json["alertes"] == [{"code": "comptes_anciens", "exercice": 2019}]


def test_ranks_count_the_greater_turnovers(analysed: Any) -> None:
    """20.0, and the peers 0.0 to 39.0: 19 of them are greater, one is equal."""
    known = {"motif": None, "motif_code": None}
    assert analysed["rangs"] == {
        "pays": {"rang": 20, "n": 41, **known},
        "europe": {"rang": 20, "n": 44, **known},
    }


def test_warnings_say_what_the_accounts_show(analysed: Any) -> None:
    assert [one["code"] for one in analysed["alertes"]] == [
        "capitaux_propres_negatifs", "pertes_consecutives", "ca_en_baisse",
    ]  # fmt: skip


def test_the_parts_of_the_score_are_the_known_fields(analysed: Any) -> None:
    score = analysed["score"]

    known = {part["champ"] for part in score["parts"] if part["points"]}
    assert known == {"secteur", "ville", "ca_eur"}
    assert (score["valeur"], score["maximum"]) == (33, 100)
    assert sum(part["maximum"] for part in score["parts"]) == 100


def test_a_company_without_statements_has_no_ratios_and_costs_no_credits(served: Served) -> None:
    customer = served.customer("data")

    reply = served.ask(path("EE", "11"), headers=customer.headers)

    assert (reply.status, reply.json["ratios"], reply.json["exercices"]) == (200, [], [])
    assert served.usage(customer).trials.used == 0
    without_sector = served.ask(path("EE", "12"), headers=served.customer("corporate").headers)
    found = ratio(without_sector.json, "autonomie_financiere")
    assert found["secteur"] is None
    assert found["valeurs"] == [
        {
            "exercice": 2024,
            "valeur": None,
            "motif": "dénominateur nul",
            "motif_code": "denominateur_nul",
        }
    ]


def test_an_analysis_costs_credits_once_a_month(served: Served) -> None:
    customer = served.customer("corporate")

    replies = [served.ask(path(*FIRM), headers=customer.headers) for _ in range(2)]

    assert [reply.headers["X-Credits-Debites"] for reply in replies] == ["10", "0"]
    assert replies[0].body == replies[1].body
    known = {**customer.headers, "If-None-Match": replies[0].headers["ETag"]}
    assert served.ask(path(*FIRM), headers=known).status == 304


def test_a_plan_may_try_three_analyses_a_month(served: Served) -> None:
    customer = served.customer("data")
    asked = [path("UK", f"P{number}") for number in range(3)]

    first = [served.ask(one, headers=customer.headers) for one in (*asked, asked[0])]
    fourth = served.ask(path(*FIRM), headers=customer.headers)

    assert [reply.status for reply in first] == [200] * 4
    assert {reply.headers["X-Credits-Debites"] for reply in first} == {"0"}
    assert (fourth.status, fourth.code) == (403, "essai_epuise")
    assert fourth.json["analyses"] == 3
    assert fourth.json["offre"] == "corporate"
    assert fourth.json["reinitialisation"] == "2026-12-01T00:00:00Z"
    usage = served.usage(customer)
    assert (usage.calls.used, usage.credits.used) == (
        4,
        0,
    )  # nothing was done for the fourth subject
    assert fourth.headers["X-Quota-Used"] == "4"


def test_nothing_is_computed_for_an_analysis_without_a_trial_left(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = served.customer("data")
    for number in range(3):
        served.ask(path("UK", f"P{number}"), headers=customer.headers)

    monkeypatch.setattr("serve.features.analyses.entreprise._analysis", None)

    assert served.ask(path(*FIRM), headers=customer.headers).code == "essai_epuise"
    assert served.ask(path(*FIRM), "HEAD", headers=customer.headers).status == 403
    assert served.usage(customer).calls.used == 3


@pytest.mark.parametrize(("plan", "offer"), [("free", "corporate"), ("marches", "integral")])
def test_a_plan_without_the_module_is_told_which_one_has_it(
    served: Served, plan: str, offer: str
) -> None:
    customer = served.customer(plan)

    reply = served.ask(path(*FIRM), headers=customer.headers)

    assert (reply.status, reply.code) == (403, "module_non_inclus")
    assert (reply.json["module"], reply.json["offre"]) == ("entreprise", offer)
    # Keys of `corporate` have the module with the API tool alone, keys of `integral` without more.
    assert ("outil API, en option (250 €" in reply.json["erreur"]["message"]) == (plan == "free")
    assert served.usage(customer).calls.used == 0


@pytest.mark.parametrize(
    ("plan", "module", "offer", "tool"),
    [("corporate", "entreprise", "corporate", True), ("data", "entreprise", "data", True),
     ("corporate", "marche", "integral", False)],
)  # fmt: skip
def test_a_plan_without_the_api_tool_is_told_that_the_tool_is_missing(
    served: Served, plan: str, module: str, offer: str, tool: bool
) -> None:
    """X11: nobody is told to buy the plan that they have"""
    customer = served.customer(plan, api_tool=False)
    asked_path = path(*FIRM) if module == "entreprise" else "/api/v1/analyses/marche"

    reply = served.ask(asked_path, headers={**customer.headers, "Accept-Language": "en"})

    assert (reply.status, reply.code) == (403, "module_non_inclus")
    assert (reply.json["module"], reply.json["offre"]) == (module, offer)
    assert reply.json.get("outil_api") == (False if tool else None)
    assert ("With the API tool (€250 a year" in reply.json["erreur"]["message"]) == tool


def test_a_visitor_needs_an_account(served: Served) -> None:
    assert served.ask(path(*FIRM)).code == "compte_requis"
    assert served.ask(path("UK", "none")).code == "compte_requis"


def test_an_absent_company_is_404_and_a_call(served: Served) -> None:
    customer = served.customer("corporate")

    assert served.ask(path("UK", "none"), headers=customer.headers).code == "societe_introuvable"
    assert served.usage(customer).calls.used == 1
