"""GET /api/v1/societes/{iso}/{id}/analyses/entreprise (X11), over statements that a reader can check by hand."""

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock
from tests.world import Company, company

# The order of the values of a year in `statement_lines`.
LINE_CODES = ("TurnoverRevenue", "ProfitLoss", "Equity", "TotalAssets", "CurrentAssets")
SUBJECT_KEY = ("UK", "1")  # the company that most tests analyse


def statement_lines(
    years: Mapping[int, tuple[float | None, ...]], devise: str = "EUR"
) -> list[Any]:
    """Statement lines of values by year, in the order of LINE_CODES; None for a line that was not filed."""
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": devise,
         "exercice": year, "ordre": order}
        for year, values in sorted(years.items(), reverse=True)
        for order, (code, value) in enumerate(zip(LINE_CODES, values, strict=True))
        if value is not None
    ]  # fmt: skip


def it_company(iso2: str, number: int) -> Company:
    """A company of the sector of computing, which is that of the subject; its number is its turnover."""
    return company(iso2, f"P{number}", f"Peer {number}", division="62", groupe="62.0",
                   secteur=world.IT, a_comptes=True, ca_eur=float(number))  # fmt: skip


# Another sector: builder L0 has a gearing of 1 and 1 day of payables, L1 has 2 of each, … L39 has 40.
BUILDERS = [
    company("UK", f"L{number}", f"Builder {number}", division="41", groupe="41.2", a_comptes=True)
    for number in range(40)
]
# 40 British companies with an equity ratio of 0.00, 0.01, … 0.39, and 3 Estonian ones.
PEERS = [
    *(it_company("UK", number) for number in range(40)),
    *(it_company("EE", number) for number in range(3)),
]
# Besides the subject, four companies with one peculiarity each: old accounts, no accounts, no sector, a short year.
COMPANIES = [
    company(*SUBJECT_KEY, "Łódź Analytics Ltd", division="62", groupe="62.0", secteur=world.IT,
            a_comptes=True, ca_eur=20.0, score=33, ville="Łódź"),
    company("EE", "10", "Vana OÜ", division="62", groupe="62.0", secteur=world.IT, a_comptes=True),
    company("EE", "11", "Tühi OÜ", division="62", groupe="62.0", secteur=world.IT),
    company("EE", "12", "Sektorita OÜ", a_comptes=True),
    company("EE", "13", "Lühike OÜ", a_comptes=True),
    *PEERS, *BUILDERS,
]  # fmt: skip
# The statement lines of companies, by country and identifier.
STATEMENTS = {
    SUBJECT_KEY: statement_lines({2024: (800.0, -20.0, -5.0, 100.0, 50.0), 2023: (1_000.0, -10.0, 25.0, 100.0, None)}),
    ("EE", "10"): statement_lines({2019: (None, 5.0, 50.0, 100.0, None)}),
    ("EE", "13"): [
        *statement_lines({2024: (500.0, 50.0, 50.0, 100.0, None), 2023: (800.0, 80.0, 50.0, 100.0, None)}),
        {"etat": "annexe", "code": "PeriodMonths", "libelle": "Durée", "valeur": 6.0, "devise": None,
         "exercice": 2024, "ordre": 9},
    ],
    ("EE", "12"): statement_lines({2024: (None, 5.0, 50.0, 0.0, None)}),
} | {
    (rival["iso2"], rival["id"]): statement_lines({2023: (None, None, float(rival["id"][1:]), 100.0, None)})
    for rival in PEERS
} | {
    (builder["iso2"], builder["id"]): [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": 2023, "ordre": order}
        for order, (code, value) in enumerate({
            "Liabilities": 10.0 * (number + 1), "Equity": 10.0, "CostSales": 365.0,
            "TradeCreditorsTradePayables": number + 1.0,
        }.items())
    ]
    for number, builder in enumerate(BUILDERS)
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of COMPANIES. Accounts of 2022 to 2024 make a company a peer, and those of 2019 are too old."""
    data: Path = tmp_path_factory.mktemp("analyses")
    world.publish(data, COMPANIES, STATEMENTS)
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        yield server


def analysis_path(iso2: str, identifier: str) -> str:
    """The path of the analysis of a company."""
    return f"/api/v1/societes/{iso2}/{identifier}/analyses/entreprise"


@pytest.fixture(scope="module")
def subject_analysis(server: Server) -> Any:
    """The analysis of the subject."""
    reply = server.ask(analysis_path(*SUBJECT_KEY), headers=server.customer("corporate").headers)
    assert reply.status == 200
    return reply.json


def ratio_of(document: Any, code: str) -> Any:
    """The ratio with this code, of an analysis."""
    return next(candidate for candidate in document["ratios"] if candidate["code"] == code)


@pytest.mark.parametrize(
    ("code", "expected_values"),
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
def test_a_ratio_is_its_formula(
    subject_analysis: Any, code: str, expected_values: list[float | None]
) -> None:
    yearly = ratio_of(subject_analysis, code)["valeurs"]

    assert [value["exercice"] for value in yearly] == [2024, 2023]
    assert [value["valeur"] for value in yearly] == [
        None if expected is None else pytest.approx(expected) for expected in expected_values
    ]
    assert all((value["valeur"] is None) == (value["motif"] is not None) for value in yearly)


def test_flows_of_a_short_year_are_scaled_to_twelve_months(server: Server) -> None:
    """Half a year with a turnover of 500 is a rate of 1 000 a year: a quarter more than the 800 of the year before."""
    answer = server.ask(
        analysis_path("EE", "13"), headers=server.customer("corporate").headers
    ).json

    no_reason = {"devise": "EUR", "motif": None, "motif_code": None}
    assert answer["exercices"] == [
        {"exercice": 2024, "duree_mois": 6, **no_reason},
        {"exercice": 2023, "duree_mois": 12, **no_reason},
    ]
    values = {
        code: [value["valeur"] for value in ratio_of(answer, code)["valeurs"]]
        for code in ("croissance_ca", "rotation_actif", "marge_nette", "autonomie_financiere")
    }
    assert values["croissance_ca"] == [pytest.approx(0.25), None]
    assert values["rotation_actif"] == [pytest.approx(10.0), 8.0]  # 500 × 12 / 6 / 100
    # Profit and turnover cover the same months, so their ratio is not scaled.
    assert values["marge_nette"] == [
        pytest.approx(0.1),
        0.1,
    ]
    assert values["autonomie_financiere"] == [0.5, 0.5]


def test_a_missing_value_names_the_line_that_was_not_filed(subject_analysis: Any) -> None:
    """Or says that the denominator is negative or that the year before is missing"""
    reasons = {
        (code, value["exercice"]): value["motif_code"]
        for code in ("liquidite_generale", "rentabilite_capitaux_propres", "croissance_ca")
        for value in ratio_of(subject_analysis, code)["valeurs"]
    }

    assert reasons["liquidite_generale", 2024] == "poste_absent: CreditorsDueWithinOneYear"
    assert reasons["rentabilite_capitaux_propres", 2024] == "denominateur_negatif"
    assert reasons["croissance_ca", 2023] == "exercice_absent"


def test_reasons_and_formulas_are_in_the_language_of_the_caller(server: Server) -> None:
    """X0.4: French unless English is preferred; codes are the same"""
    headers = server.customer("corporate").headers
    french = server.ask(analysis_path(*SUBJECT_KEY), headers=headers)
    english = server.ask(analysis_path(*SUBJECT_KEY), headers=headers | {"Accept-Language": "en"})

    ratios = [ratio_of(reply.json, "liquidite_generale") for reply in (french, english)]
    assert [reply["formule"] for reply in ratios] == [
        "(Total de l'actif circulant) / (Dettes à un an au plus)",
        "(Total current assets) / (Creditors due within one year)",
    ]
    assert {entry["formule_code"] for entry in ratios} == {
        "(CurrentAssets) / (CreditorsDueWithinOneYear)"
    }
    assert [entry["valeurs"][0]["motif"] for entry in ratios] == [
        "postes non déposés : Dettes à un an au plus",
        "lines that were not filed: Creditors due within one year",
    ]
    assert [reply.headers["Content-Language"] for reply in (french, english)] == ["fr", "en"]
    assert "Accept-Language" in french.headers["Vary"]
    assert french.headers["ETag"] != english.headers["ETag"]
    conditional = {**headers, "Accept-Language": "en", "If-None-Match": english.headers["ETag"]}
    assert server.ask(analysis_path(*SUBJECT_KEY), headers=conditional).status == 304


def test_a_ratio_without_peers_has_no_rank_and_says_why(server: Server) -> None:
    """In its sector only EE:10 has a return on equity for its last year, and this year is too old for a peer."""
    headers = server.customer("corporate").headers
    sectors = [
        entry["secteur"]
        for target in (analysis_path("EE", "10"), analysis_path(*SUBJECT_KEY))
        for entry in server.ask(target, headers=headers).json["ratios"]
    ]

    without_peers = [sector for sector in sectors if not sector["n"]]
    assert without_peers
    for sector in without_peers:
        assert [sector[name] for name in ("p10", "p25", "mediane", "p75", "p90", "rang")] == [
            None
        ] * 6
        assert sector["motif_code"] == "aucun_ratio"
        assert sector["motif"] == "aucune société comparée n'a publié les postes nécessaires"
    assert all(
        sector["motif"] is None for sector in sectors if sector["n"] >= 10 and sector["rang"]
    )


def test_the_lowest_gearing_ranks_first_and_payables_have_no_rank(server: Server) -> None:
    """Before: the company with the most debts was number 1 of its sector."""
    headers = server.customer("integral").headers
    least_indebted = server.ask(analysis_path("UK", "L0"), headers=headers).json
    most_indebted = server.ask(analysis_path("UK", "L39"), headers=headers).json

    gearing, payables = (
        ratio_of(least_indebted, "endettement"),
        ratio_of(least_indebted, "delai_fournisseurs"),
    )
    assert (gearing["sens"], gearing["secteur"]["rang"], gearing["secteur"]["n"]) == ("bas", 1, 40)
    assert ratio_of(most_indebted, "endettement")["secteur"]["rang"] == 40
    assert ratio_of(least_indebted, "autonomie_financiere")["sens"] == "haut"
    assert payables["valeurs"][0]["valeur"] is not None
    assert (payables["sens"], payables["secteur"]["rang"]) == (None, None)
    assert payables["secteur"]["mediane"] is not None
    assert payables["secteur"]["motif_code"] == "sans_sens"


@pytest.mark.parametrize(
    ("peers", "has_rank", "has_quartiles"), [(4, 0, 0), (5, 1, 0), (9, 1, 0), (10, 1, 1)]
)
def test_few_peers_have_no_rank_and_no_quartiles(
    tmp_path: Path, peers: int, has_rank: int, has_quartiles: int
) -> None:
    """Before: the page showed rank 1 of 1, and `5,7 % 5,7 % 5,7 %` as the quartiles of a single company."""
    companies = [it_company("UK", number) for number in range(peers)]
    statements = {
        ("UK", f"P{number}"): statement_lines({2023: (None, None, 1.0 + number, 100.0, None)})
        for number in range(peers)
    }
    world.publish(tmp_path, companies, statements)
    with run_server(tmp_path) as server:
        reply = server.ask(analysis_path("UK", "P0"), headers=server.customer("corporate").headers)

    sector = ratio_of(reply.json, "autonomie_financiere")["secteur"]
    assert sector["n"] == peers
    assert sector["rang"] == (peers if has_rank else None)
    assert [sector[name] is not None for name in ("p10", "p25", "mediane", "p75", "p90")] == [
        bool(has_quartiles)
    ] * 5
    assert sector["motif_code"] == (None if has_quartiles else "trop_peu_de_pairs")


def test_a_ratio_is_compared_with_its_sector_in_the_country(subject_analysis: Any) -> None:
    sector = ratio_of(subject_analysis, "autonomie_financiere")["secteur"]

    figures = [-0.05, *(number / 100 for number in range(40))]
    quartiles = statistics.quantiles(figures, n=4, method="inclusive")
    assert sector["perimetre"] == {
        "pays": "UK", "secteur": world.IT, "exercices": [2022, 2024], "exercice_compare": 2024,
    }  # fmt: skip
    assert (sector["n"], sector["rang"]) == (41, 41)  # the ratio of the subject is the lowest
    assert [sector[name] for name in ("p25", "mediane", "p75")] == pytest.approx(quartiles)


def test_a_sector_with_few_companies_is_compared_across_all_countries(server: Server) -> None:
    """A company whose last year is too old is compared with the peers, but has no rank among them."""
    reply = server.ask(analysis_path("EE", "10"), headers=server.customer("integral").headers)

    sector = ratio_of(reply.json, "autonomie_financiere")["secteur"]
    assert sector["perimetre"]["pays"] is None
    assert sector["perimetre"]["exercice_compare"] == 2019
    assert (sector["n"], sector["rang"]) == (44, None)  # 41 of UK, 3 of EE
    assert sector["motif_code"] == "hors_des_pairs"
    assert reply.json["alertes"] == [{"code": "comptes_anciens", "exercice": 2019}]


def test_ranks_count_the_greater_turnovers(subject_analysis: Any) -> None:
    """The subject has a turnover of 20.0. Its British peers have 0.0 to 39.0, and 19 of them have more."""
    no_reason = {"motif": None, "motif_code": None}
    assert subject_analysis["rangs"] == {
        "pays": {"rang": 20, "n": 41, **no_reason},
        "europe": {"rang": 20, "n": 44, **no_reason},
    }


def test_warnings_follow_from_the_accounts(subject_analysis: Any) -> None:
    assert [warning["code"] for warning in subject_analysis["alertes"]] == [
        "capitaux_propres_negatifs", "pertes_consecutives", "ca_en_baisse",
    ]  # fmt: skip


def test_the_parts_of_the_score_are_the_known_fields(subject_analysis: Any) -> None:
    score = subject_analysis["score"]

    fields_with_points = {
        score_part["champ"] for score_part in score["parts"] if score_part["points"]
    }
    assert fields_with_points == {"secteur", "ville", "ca_eur"}
    assert (score["valeur"], score["maximum"]) == (33, 100)
    assert sum(score_part["maximum"] for score_part in score["parts"]) == 100


def test_a_company_without_statements_has_no_ratios_and_costs_no_credits(server: Server) -> None:
    customer = server.customer("data")

    reply = server.ask(analysis_path("EE", "11"), headers=customer.headers)

    assert (reply.status, reply.json["ratios"], reply.json["exercices"]) == (200, [], [])
    assert server.usage(customer).trials.used == 0
    # EE:12 has no sector, so its ratios are not compared; its total assets are 0.
    without_sector = server.ask(
        analysis_path("EE", "12"), headers=server.customer("corporate").headers
    )
    autonomy = ratio_of(without_sector.json, "autonomie_financiere")
    assert autonomy["secteur"] is None
    assert autonomy["valeurs"] == [
        {
            "exercice": 2024,
            "valeur": None,
            "motif": "dénominateur nul",
            "motif_code": "denominateur_nul",
        }
    ]


def test_an_analysis_costs_credits_once_a_month(server: Server) -> None:
    customer = server.customer("corporate")

    replies = [server.ask(analysis_path(*SUBJECT_KEY), headers=customer.headers) for _ in range(2)]

    assert [reply.headers["X-Credits-Debites"] for reply in replies] == ["10", "0"]
    assert replies[0].body == replies[1].body
    conditional = {**customer.headers, "If-None-Match": replies[0].headers["ETag"]}
    assert server.ask(analysis_path(*SUBJECT_KEY), headers=conditional).status == 304


def test_a_plan_may_try_three_analyses_a_month(server: Server) -> None:
    """`data` does not include the module of analyses"""
    customer = server.customer("data")
    targets = [analysis_path("UK", f"P{number}") for number in range(3)]

    # The repeated analysis of the first company does not count as a new trial.
    trial_replies = [
        server.ask(target, headers=customer.headers) for target in (*targets, targets[0])
    ]
    fourth = server.ask(analysis_path(*SUBJECT_KEY), headers=customer.headers)

    assert [reply.status for reply in trial_replies] == [200] * 4
    assert {reply.headers["X-Credits-Debites"] for reply in trial_replies} == {"0"}
    assert (fourth.status, fourth.code) == (403, "essai_epuise")
    assert fourth.json["analyses"] == 3
    assert fourth.json["offre"] == "corporate"
    assert fourth.json["reinitialisation"] == "2026-12-01T00:00:00Z"
    usage = server.usage(customer)
    # The fourth analysis was not run.
    assert (usage.calls.used, usage.credits.used) == (
        4,
        0,
    )
    assert fourth.headers["X-Quota-Used"] == "4"


def test_nothing_is_computed_for_an_analysis_without_a_trial_left(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    customer = server.customer("data")
    for number in range(3):
        server.ask(analysis_path("UK", f"P{number}"), headers=customer.headers)

    # With None instead of the function, each computation would raise an error.
    monkeypatch.setattr("serve.features.analyses.entreprise._analysis", None)

    assert server.ask(analysis_path(*SUBJECT_KEY), headers=customer.headers).code == "essai_epuise"
    assert server.ask(analysis_path(*SUBJECT_KEY), "HEAD", headers=customer.headers).status == 403
    assert server.usage(customer).calls.used == 3


@pytest.mark.parametrize(("plan", "offer"), [("free", "corporate"), ("marches", "integral")])
def test_a_plan_without_the_module_reads_which_plan_has_it(
    server: Server, plan: str, offer: str
) -> None:
    customer = server.customer(plan)

    reply = server.ask(analysis_path(*SUBJECT_KEY), headers=customer.headers)

    assert (reply.status, reply.code) == (403, "module_non_inclus")
    assert (reply.json["module"], reply.json["offre"]) == ("entreprise", offer)
    # `corporate` has the module with the API tool only, `integral` without it.
    assert ("outil API, en option (250 €" in reply.json["erreur"]["message"]) == (plan == "free")
    assert server.usage(customer).calls.used == 0


@pytest.mark.parametrize(
    ("plan", "module", "offer", "tool_suffices"),
    [("corporate", "entreprise", "corporate", True), ("data", "entreprise", "data", True),
     ("corporate", "marche", "integral", False)],
)  # fmt: skip
def test_a_plan_without_the_api_tool_reads_that_the_tool_is_missing(
    server: Server, plan: str, module: str, offer: str, tool_suffices: bool
) -> None:
    """X11: the message does not offer the plan that the caller has"""
    customer = server.customer(plan, api_tool=False)
    target = analysis_path(*SUBJECT_KEY) if module == "entreprise" else "/api/v1/analyses/marche"

    reply = server.ask(target, headers={**customer.headers, "Accept-Language": "en"})

    assert (reply.status, reply.code) == (403, "module_non_inclus")
    assert (reply.json["module"], reply.json["offre"]) == (module, offer)
    assert reply.json.get("outil_api") == (False if tool_suffices else None)
    assert ("With the API tool (€250 a year" in reply.json["erreur"]["message"]) == tool_suffices


def test_a_visitor_needs_an_account(server: Server) -> None:
    assert server.ask(analysis_path(*SUBJECT_KEY)).code == "compte_requis"
    assert server.ask(analysis_path("UK", "none")).code == "compte_requis"


def test_an_absent_company_is_404_and_costs_a_call(server: Server) -> None:
    customer = server.customer("corporate")

    assert (
        server.ask(analysis_path("UK", "none"), headers=customer.headers).code
        == "societe_introuvable"
    )
    assert server.usage(customer).calls.used == 1
