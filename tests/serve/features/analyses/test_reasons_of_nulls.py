"""Every null figure of an analysis has a reason (X11), over random accounts."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock
from tests.world import company

# Keys that may be null without a reason, because they are names and scopes, not figures.
NULLABLE_KEYS: Final = frozenset({
    "motif", "motif_code", "offre_suivante", "pays", "secteur", "sous_secteur", "sens", "ville", "ca_year",
})  # fmt: skip
LINE_CODES: Final = (
    "TurnoverRevenue", "ProfitLoss", "Equity", "TotalAssets", "CurrentAssets", "Liabilities", "CostSales",
    "TradeCreditorsTradePayables",
)  # fmt: skip
# Division, group and sector of a company.
SECTORS: Final = (("62", "62.0", world.IT), ("41", "41.2", None), (None, None, None))


def random_lines(chance: random.Random) -> list[Mapping[str, Any]]:
    """Statement lines of one to three years; one in 31 has no currency or an unknown one."""
    years = sorted(chance.sample(range(2018, 2025), chance.randint(1, 3)), reverse=True)
    return [
        {"etat": "annexe", "code": code, "libelle": code, "exercice": year, "ordre": order,
         "valeur": chance.choice([0.0, -5.0, 20.0, 300.0, 500.0]),
         "devise": chance.choice(["EUR"] * 60 + ["XXX", None])}
        for year in years
        for order, code in enumerate(chance.sample(LINE_CODES, chance.randint(5, len(LINE_CODES))))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of 120 companies with random sectors, countries, turnovers and accounts."""
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
        statements[key] = random_lines(chance)
    data: Path = tmp_path_factory.mktemp("nulls")
    world.publish(data, companies, statements)
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        yield server


def nulls_without_a_reason(value: Any, path: str = "", *, reasoned: bool = False) -> Iterator[str]:
    """The paths of null values whose object has no reason.

    Args:
        value: a JSON value of an answer.
        path: the path of this value in the answer.
        reasoned: whether the object around the value has the reason.
    """
    if isinstance(value, list):
        for item in value:
            yield from nulls_without_a_reason(item, path)
    elif isinstance(value, dict):
        exempt = path.endswith(("societe", "tranches/ca", "tranches/effectif"))
        if not (reasoned or exempt or value.get("motif")):
            yield from (
                f"{path}/{key}"
                for key, member in value.items()
                if member is None and key not in NULLABLE_KEYS
            )
        for key, member in value.items():
            # The gaps between two companies have no reason of their own: their neighbour has it.
            has_reason = key == "ecarts" and bool(value["motif"])
            yield from nulls_without_a_reason(member, f"{path}/{key}", reasoned=has_reason)


def company_paths(server: Server) -> list[str]:
    """The paths of all companies."""
    headers = server.customer("integral").headers
    rows = server.ask("/api/v1/societes", params={"limit": "1000"}, headers=headers).json[
        "societes"
    ]
    return [f"/api/v1/societes/{row['iso2']}/{row['id']}" for row in rows]


@pytest.mark.parametrize("analysis", ["analyses/entreprise", "comparables"])
def test_every_null_of_a_company_has_a_reason(server: Server, analysis: str) -> None:
    headers = server.customer("integral").headers
    paths = company_paths(server)

    answers = [server.ask(f"{path}/{analysis}", headers=headers).json for path in paths]
    assert len(answers) == 120
    assert sorted({path for answer in answers for path in nulls_without_a_reason(answer)}) == []


def test_a_ratio_without_a_sector_says_why_it_has_none(server: Server) -> None:
    headers = server.customer("integral").headers
    answers = [
        server.ask(f"{path}/analyses/entreprise", headers=headers).json
        for path in company_paths(server)
    ]

    ratios_without_sector = [
        ratio_entry
        for answer in answers
        for ratio_entry in answer["ratios"]
        if ratio_entry["secteur"] is None
    ]
    assert len(ratios_without_sector) > 100  # about a third of the companies have no sector
    assert {ratio["motif_code"] for ratio in ratios_without_sector} == {"secteur_absent"}


def test_no_rank_is_above_the_number_of_peers(server: Server) -> None:
    """Before: accounts of 2020 had rank 10 among the 9 peers of 2021 to 2023."""
    headers = server.customer("integral").headers
    answers = [
        server.ask(f"{path}/analyses/entreprise", headers=headers).json
        for path in company_paths(server)
    ]

    sectors = [
        ratio["secteur"] for answer in answers for ratio in answer["ratios"] if ratio["secteur"]
    ]
    assert [sector for sector in sectors if sector["rang"] and sector["rang"] > sector["n"]] == []
    assert any(sector["motif_code"] == "hors_des_pairs" for sector in sectors)


@pytest.mark.parametrize(
    "filters",
    [
        {}, {"pays": "UK"}, {"pays": "FR,EE"}, {"secteur": world.IT}, {"q": "õ"}, {"q": "absent"},
        {"ca_max": "0"}, {"ca_max": "-1"}, {"ca_min": "1"}, {"avec_ca": "1"}, {"effectif_min": "1"},
        {"ids": "UK:999"}, {"ids": "EE:1,EE:2,FR:3"},
    ],
    ids=str,
)  # fmt: skip
def test_every_null_of_a_market_has_a_reason(server: Server, filters: Mapping[str, str]) -> None:
    headers = server.customer("integral").headers

    reply = server.ask("/api/v1/analyses/marche", params=dict(filters), headers=headers)

    assert sorted(set(nulls_without_a_reason(reply.json))) == []
