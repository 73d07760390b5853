"""The analysis of all companies: read from the generation or computed, and the same each time."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve.features.analyses import marche
from shards.analyses import market
from shards.generations import generation_files
from shards.search import row_bitmap
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.clock import Clock
from tests.serve.features.analyses.test_marche import COMPANIES, PATH, STATEMENTS

ALL = ",".join(world.COUNTRIES)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    world.publish(tmp_path, COMPANIES, STATEMENTS)
    return tmp_path


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The searches whose market was computed."""
    searches: list[Any] = []
    original = market.figures_of

    def compute(base: Any, query: Any, *others: Any) -> Any:
        searches.append(query)
        return original(base, query, *others)

    monkeypatch.setattr(market, "figures_of", compute)
    yield searches


def ask(served: Served, **filters: str) -> dict[str, Any]:
    reply = served.ask(PATH, params=filters, headers=served.customer("marches").headers)
    assert reply.status == 200, reply.body
    found = dict(reply.json)
    found.pop("offre_suivante")
    return found


def only_file(data: Path) -> Path:
    [path] = data.glob(f"*/{generation_files.MARKET}")
    return path


def test_the_whole_base_is_read_and_is_what_would_be_computed(
    data: Path, computed: list[Any]
) -> None:
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        whole, by_name = ask(served), ask(served, pays=ALL)
        assert computed == []
        filtered = ask(served, etat="active,procedure,cessee,inconnu")
        assert len(computed) == 1

    lacking = by_name.pop("pays_sans_donnees", None)  # of countries that are named
    assert whole == by_name == filtered
    assert whole["total"] == len(COMPANIES)
    assert lacking


def test_a_market_with_a_filter_is_not_the_whole_base(data: Path) -> None:
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        totals = [
            ask(served, **filters)["total"]
            for filters in ({"pays": "UK"}, {"q": "łódź"}, {"avec_comptes": "1"}, {"nace": "47"})
        ]

    assert max(totals) < len(COMPANIES)


@pytest.mark.parametrize("gone", [True, False])
def test_a_damaged_file_is_done_without(data: Path, computed: list[Any], gone: bool) -> None:
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        before = ask(served)
    path = only_file(data)
    content = path.read_bytes()
    path.unlink()
    if not gone:
        path.write_bytes(content.replace(b'"total": 7', b'"total": 8'))

    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        assert ask(served) == before
    assert len(computed) == 1


def test_the_whole_base_has_no_figures_while_a_country_is_left_out(data: Path) -> None:
    """Decision 081; the last year of the data stays that of all countries"""
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        estonian = ask(served, pays="EE")
    shard = only_file(data).with_name("UK.shard")
    shard.write_bytes(shard.read_bytes()[:-4096])

    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        headers = served.customer("marches").headers
        refused = [served.ask(PATH, params=one, headers=headers) for one in ({}, {"pays": ALL})]
        assert ask(served, pays="EE") == estonian
    assert [one.status for one in refused] == [503, 503]


def test_what_an_objection_hides_is_in_no_figure(data: Path) -> None:
    """The build leaves a company out of its shards, and counts the figures over these"""
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        before = ask(served)
    world.publish(data, COMPANIES[1:], STATEMENTS)  # without the largest British company
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        after = ask(served)

    assert (before["total"] - after["total"]) == 1
    assert before["taille"]["ca_total"] - after["taille"]["ca_total"] == 600.0
    assert "Łódź 1" not in [one["nom"] for one in after["premieres"]]


def test_no_figures_of_all_companies_are_computed_at_a_start(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(market, "newest_year", None)

    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        assert ask(served)["exercices"] == [2022, 2024]


def test_no_part_of_a_market_is_made_on_the_loop(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18.7 million companies: the first caller of any market held the loop, where the turnovers were put in order"""
    steps: dict[str, int] = {}

    def watch(module: Any, name: str) -> None:
        original = getattr(module, name)

        def noting(*arguments: Any) -> Any:
            steps[name] = threading.get_ident()
            return original(*arguments)

        monkeypatch.setattr(module, name, noting)

    watch(row_bitmap, "_read_sequence")
    watch(market, "part")
    watch(market, "join")
    watch(market, "first_companies")
    watch(marche, "_document")
    with serving(data, now=Clock("2026-11-30T12:00:00")) as served:
        loop = asyncio.run_coroutine_threadsafe(_thread(), served.loop).result(10)
        ask(served, pays="UK")

    assert len(steps) == 5
    assert loop not in steps.values()


async def _thread() -> int:
    return threading.get_ident()
