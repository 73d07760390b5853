"""Every figure of an analysis is null with a reason (X11): all nulls of all analyses over random accounts."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.clock import Clock
from tests.world import company

# Keys that are null without a reason: names and scopes, not figures.
NAMES: Final = frozenset({
    "motif", "motif_code", "offre_suivante", "pays", "secteur", "sous_secteur", "sens", "ville", "ca_year",
})  # fmt: skip
CODES: Final = (
    "TurnoverRevenue", "ProfitLoss", "Equity", "TotalAssets", "CurrentAssets", "Liabilities", "CostSales",
    "TradeCreditorsTradePayables",
)  # fmt: skip
SECTORS: Final = (("62", "62.0", world.IT), ("41", "41.2", None), (None, None, None))


def lines(chance: random.Random) -> list[Mapping[str, Any]]:
    years = sorted(chance.sample(range(2018, 2025), chance.randint(1, 3)), reverse=True)
    return [
        {"etat": "annexe", "code": code, "libelle": code, "exercice": year, "ordre": order,
         "valeur": chance.choice([0.0, -5.0, 20.0, 300.0, 500.0]),
         "devise": chance.choice(["EUR"] * 60 + ["XXX", None])}
        for year in years
        for order, code in enumerate(chance.sample(CODES, chance.randint(5, len(CODES))))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    chance = random.Random(11)
    companies, statements = [], {}
    for number in range(120):
        division, groupe, secteur = chance.choice(SECTORS)
        key = chance.choice(["UK", "EE", "FR"]), str(number)
        companies.append(
            company(
                *key, f"Õ {number}", division=division, groupe=groupe, secteur=secteur,
                a_comptes=True, ca_eur=chance.choice([None, -3.0, 0.0, 8.0]), ca_year=2024,
                effectif=chance.choice([None, 4]), score=20,
            )
        )  # fmt: skip
        statements[key] = lines(chance)
    data: Path = tmp_path_factory.mktemp("nulls")
    world.publish(data, companies, statements)
    with serving(data, now=Clock("2026-11-30T12:00:00")) as found:
        yield found


def nulls_without_a_reason(value: Any, path: str = "", *, reasoned: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from nulls_without_a_reason(one, path)
    elif isinstance(value, dict):
        known = path.endswith(("societe", "tranches/ca", "tranches/effectif"))
        if not (reasoned or known or value.get("motif")):
            yield from (
                f"{path}/{key}" for key, one in value.items() if one is None and key not in NAMES
            )
        for key, one in value.items():
            gaps = key == "ecarts" and bool(value["motif"])
            yield from nulls_without_a_reason(one, f"{path}/{key}", reasoned=gaps)


def companies_of(served: Served) -> list[str]:
    headers = served.customer("integral").headers
    rows = served.ask("/api/v1/societes", params={"limit": "1000"}, headers=headers).json[
        "societes"
    ]
    return [f"/api/v1/societes/{row['iso2']}/{row['id']}" for row in rows]


@pytest.mark.parametrize("below", ["analyses/entreprise", "comparables"])
def test_every_null_of_a_company_has_a_reason(served: Served, below: str) -> None:
    headers = served.customer("integral").headers
    paths = companies_of(served)

    answers = [served.ask(f"{path}/{below}", headers=headers).json for path in paths]
    assert len(answers) == 120
    assert sorted({path for one in answers for path in nulls_without_a_reason(one)}) == []


def test_a_ratio_without_a_sector_says_why_it_has_none(served: Served) -> None:
    headers = served.customer("integral").headers
    answers = [
        served.ask(f"{path}/analyses/entreprise", headers=headers).json
        for path in companies_of(served)
    ]

    without = [r for one in answers for r in one["ratios"] if r["secteur"] is None]
    assert len(without) > 100
    assert {ratio["motif_code"] for ratio in without} == {"secteur_absent"}


def test_no_rank_is_over_the_number_of_its_peers(served: Served) -> None:
    """Accounts of 2020 were ranked 10 among the 9 peers of 2021 to 2023."""
    headers = served.customer("integral").headers
    answers = [
        served.ask(f"{path}/analyses/entreprise", headers=headers).json
        for path in companies_of(served)
    ]

    sectors = [r["secteur"] for one in answers for r in one["ratios"] if r["secteur"]]
    assert [one for one in sectors if one["rang"] and one["rang"] > one["n"]] == []
    assert any(one["motif_code"] == "hors_des_pairs" for one in sectors)


@pytest.mark.parametrize(
    "filters",
    [
        {}, {"pays": "UK"}, {"pays": "FR,EE"}, {"secteur": world.IT}, {"q": "õ"}, {"q": "absent"},
        {"ca_max": "0"}, {"ca_max": "-1"}, {"ca_min": "1"}, {"avec_ca": "1"}, {"effectif_min": "1"},
        {"ids": "UK:999"}, {"ids": "EE:1,EE:2,FR:3"},
    ],
    ids=str,
)  # fmt: skip
def test_every_null_of_a_market_has_a_reason(served: Served, filters: Mapping[str, str]) -> None:
    headers = served.customer("integral").headers

    reply = served.ask("/api/v1/analyses/marche", params=dict(filters), headers=headers)

    assert sorted(set(nulls_without_a_reason(reply.json))) == []
