"""Accounts that the build withheld, since they contradict themselves, as a caller sees them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pipeline.builds import run
from tests.pipeline.rows import company, line, write
from tests.serve.client import Served, serving
from tests.serve.clock import Clock

PASSIVE = {"etat": "bilan_passif"}
EQUITY = {**PASSIVE, "code": "Equity"}
OTHER_SIDE = {**PASSIVE, "code": "LiabilitiesAndEquity"}
INCOME = {"etat": "compte_resultat"}
TURNOVER = {**INCOME, "code": "TurnoverRevenue"}
RESULT = {**INCOME, "code": "ProfitLoss"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Õun closes in 2023 and not in 2024; Ära has no balance sheet at all."""
    folder = tmp_path_factory.mktemp("withheld")
    lines = [
        *(line("EE", "1", year, **TURNOVER, valeur=1_000.0) for year in (2023, 2024)),
        *(line("EE", "1", year, **RESULT, valeur=50.0) for year in (2023, 2024)),
        *(line("EE", "1", year, valeur=100.0) for year in (2023, 2024)),
        *(line("EE", "1", year, **EQUITY, valeur=40.0) for year in (2023, 2024)),
        line("EE", "1", 2023, **OTHER_SIDE, valeur=100.0),
        line("EE", "1", 2024, **OTHER_SIDE, valeur=70.0),
        line("EE", "2", 2024, **TURNOVER, valeur=1_000.0),
    ]
    rows = [company("EE", "1", "Õun"), company("EE", "2", "Ära")]
    run(folder, write(folder / "in", rows, lines))
    with serving(folder / "data", now=Clock("2026-11-30T12:00:00")) as found:
        yield found


def reasons(served: Served, identifier: str, lang: str = "fr") -> dict[tuple[str, int], Any]:
    """The code and the words of each missing value, by ratio and year."""
    path = f"/api/v1/societes/EE/{identifier}/analyses/entreprise"
    headers = served.customer("integral").headers | {"Accept-Language": lang}
    reply = served.ask(path, headers=headers)
    assert reply.status == 200
    return {
        (ratio["code"], value["exercice"]): (value["motif_code"], value["motif"])
        for ratio in reply.json["ratios"]
        for value in ratio["valeurs"]
    }


def test_a_ratio_of_a_withheld_balance_sheet_says_so(served: Served) -> None:
    found = reasons(served, "1")

    withheld = ("comptes_retenus", "comptes retenus : ils se contredisent")
    assert found["rentabilite_actif", 2024] == withheld
    assert found["autonomie_financiere", 2024] == withheld
    assert found["rentabilite_actif", 2023] == (None, None)
    assert found["marge_nette", 2024] == (None, None)
    assert reasons(served, "1", "en")["rentabilite_actif", 2024][1] == (
        "accounts withheld, since they contradict themselves"
    )


def test_what_was_not_filed_is_still_absent(served: Served) -> None:
    """The other lines of the year lack whether or not its balance sheet was withheld"""
    assert reasons(served, "1")["liquidite_generale", 2024][0] == (
        "poste_absent: CurrentAssets, CreditorsDueWithinOneYear"
    )
    assert reasons(served, "2")["rentabilite_actif", 2024][0] == (
        "poste_absent: ProfitLoss, TotalAssets"
    )


def test_withheld_lines_are_not_served(served: Served) -> None:
    path = "/api/v1/societes/EE/1"
    lines = served.ask(path, headers=served.customer("integral").headers).json["comptes"]

    assert {one["exercice"] for one in lines if one["etat"] != "compte_resultat"} == {2023}
