"""Accounts that the build withheld because they contradict themselves, as a caller sees them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, statement_line, write_input
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock

# Fields of statement lines; without any of these a line is of total assets.
LIABILITY_SIDE = {"etat": "bilan_passif"}
EQUITY = {**LIABILITY_SIDE, "code": "Equity"}
LIABILITIES_TOTAL = {**LIABILITY_SIDE, "code": "LiabilitiesAndEquity"}
INCOME_STATEMENT = {"etat": "compte_resultat"}
TURNOVER = {**INCOME_STATEMENT, "code": "TurnoverRevenue"}
PROFIT = {**INCOME_STATEMENT, "code": "ProfitLoss"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of two companies: the balance sheet of Õun balances in 2023 and not in 2024; Ära has none."""
    folder = tmp_path_factory.mktemp("withheld")
    lines = [
        *(statement_line("EE", "1", year, **TURNOVER, valeur=1_000.0) for year in (2023, 2024)),
        *(statement_line("EE", "1", year, **PROFIT, valeur=50.0) for year in (2023, 2024)),
        *(statement_line("EE", "1", year, valeur=100.0) for year in (2023, 2024)),
        *(statement_line("EE", "1", year, **EQUITY, valeur=40.0) for year in (2023, 2024)),
        statement_line("EE", "1", 2023, **LIABILITIES_TOTAL, valeur=100.0),
        statement_line("EE", "1", 2024, **LIABILITIES_TOTAL, valeur=70.0),
        statement_line("EE", "2", 2024, **TURNOVER, valeur=1_000.0),
    ]
    rows = [company("EE", "1", "Õun"), company("EE", "2", "Ära")]
    run_build(folder, write_input(folder / "in", rows, lines))
    with run_server(folder / "data", now=Clock("2026-11-30T12:00:00")) as server:
        yield server


def reasons_of(server: Server, identifier: str, lang: str = "fr") -> dict[tuple[str, int], Any]:
    """The code and the text of the reason of each value, by ratio and year; None for a known value."""
    path = f"/api/v1/societes/EE/{identifier}/analyses/entreprise"
    headers = server.customer("integral").headers | {"Accept-Language": lang}
    reply = server.ask(path, headers=headers)
    assert reply.status == 200
    return {
        (ratio["code"], value["exercice"]): (value["motif_code"], value["motif"])
        for ratio in reply.json["ratios"]
        for value in ratio["valeurs"]
    }


def test_a_ratio_of_a_withheld_balance_sheet_says_so(server: Server) -> None:
    """Only the balance sheet of 2024 does not balance; a margin needs none"""
    texts = reasons_of(server, "1")

    withheld = ("comptes_retenus", "comptes écartés : ils se contredisent")
    assert texts["rentabilite_actif", 2024] == withheld
    assert texts["autonomie_financiere", 2024] == withheld
    assert texts["rentabilite_actif", 2023] == (None, None)
    assert texts["marge_nette", 2024] == (None, None)
    assert reasons_of(server, "1", "en")["rentabilite_actif", 2024][1] == (
        "accounts withheld because they contradict themselves"
    )


def test_a_line_never_filed_is_missing_with_or_without_a_withheld_balance_sheet(
    server: Server,
) -> None:
    """A line that the company never filed is missing whether or not the balance sheet of its year was withheld."""
    assert reasons_of(server, "1")["liquidite_generale", 2024][0] == (
        "poste_absent: CurrentAssets, CreditorsDueWithinOneYear"
    )
    assert reasons_of(server, "2")["rentabilite_actif", 2024][0] == (
        "poste_absent: ProfitLoss, TotalAssets"
    )


def test_withheld_lines_are_not_served(server: Server) -> None:
    path = "/api/v1/societes/EE/1"
    lines = server.ask(path, headers=server.customer("integral").headers).json["comptes"]

    assert {row["exercice"] for row in lines if row["etat"] != "compte_resultat"} == {2023}
