"""The market of all companies is the same, whether it is read from the generation or computed."""

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
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock
from tests.serve.features.analyses.test_marche import COMPANIES, PATH, STATEMENTS

ALL_COUNTRIES = ",".join(world.COUNTRIES)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a published generation."""
    world.publish(tmp_path, COMPANIES, STATEMENTS)
    return tmp_path


@pytest.fixture
def computed_queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A list that gets each search whose market is computed; a market read from a file computes none."""
    queries: list[Any] = []
    original = market.figures_of

    def note_and_compute(base: Any, query: Any, *arguments: Any) -> Any:
        """Add the search to the list, and compute its market as usual."""
        queries.append(query)
        return original(base, query, *arguments)

    monkeypatch.setattr(market, "figures_of", note_and_compute)
    yield queries


def market_answer(server: Server, **filters: str) -> dict[str, Any]:
    """The market of the companies that pass the filters, without the offer, which depends on the caller."""
    reply = server.ask(PATH, params=filters, headers=server.customer("marches").headers)
    assert reply.status == 200, reply.body
    answer = dict(reply.json)
    answer.pop("offre_suivante")
    return answer


def market_file(data: Path) -> Path:
    """The stored market of the only generation."""
    [path] = data.glob(f"*/{generation_files.MARKET}")
    return path


def test_the_stored_market_of_all_companies_equals_the_computed_one(
    data: Path, computed_queries: list[Any]
) -> None:
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        without_filter, with_all_countries = (
            market_answer(server),
            market_answer(server, pays=ALL_COUNTRIES),
        )
        assert computed_queries == []
        with_all_statuses = market_answer(server, etat="active,procedure,cessee,inconnu")
        assert len(computed_queries) == 1

    without_data = with_all_countries.pop("pays_sans_donnees", None)  # only if countries are named
    assert without_filter == with_all_countries == with_all_statuses
    assert without_filter["total"] == len(COMPANIES)
    assert without_data


def test_a_market_with_a_filter_is_not_the_market_of_all_companies(data: Path) -> None:
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        totals = [
            market_answer(server, **filters)["total"]
            for filters in ({"pays": "UK"}, {"q": "łódź"}, {"avec_comptes": "1"}, {"nace": "47"})
        ]

    assert max(totals) < len(COMPANIES)


@pytest.mark.parametrize("is_missing", [True, False])
def test_the_market_is_computed_if_its_file_is_missing_or_damaged(
    data: Path, computed_queries: list[Any], is_missing: bool
) -> None:
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        stored_answer = market_answer(server)
    path = market_file(data)
    content = path.read_bytes()
    path.unlink()
    if not is_missing:
        # The digest of the file no longer matches.
        path.write_bytes(content.replace(b'"total": 7', b'"total": 8'))

    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        assert market_answer(server) == stored_answer
    assert len(computed_queries) == 1


def test_there_are_no_figures_of_all_companies_while_a_country_is_left_out(data: Path) -> None:
    """Decision 081: a damaged country is left out. The last year of a market still counts that country."""
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        estonian = market_answer(server, pays="EE")
    shard = market_file(data).with_name("UK.shard")
    shard.write_bytes(shard.read_bytes()[:-4096])

    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        headers = server.customer("marches").headers
        refused = [
            server.ask(PATH, params=item, headers=headers) for item in ({}, {"pays": ALL_COUNTRIES})
        ]
        assert market_answer(server, pays="EE") == estonian
    assert [item.status for item in refused] == [503, 503]


def test_a_company_that_the_build_leaves_out_is_in_no_figure(data: Path) -> None:
    """A person's objection removes a company from the shards, and the build computes the figures from the shards."""
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        with_company = market_answer(server)
    world.publish(data, COMPANIES[1:], STATEMENTS)  # without the largest British company
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        without_company = market_answer(server)

    assert (with_company["total"] - without_company["total"]) == 1
    assert with_company["taille"]["ca_total"] - without_company["taille"]["ca_total"] == 600.0
    assert "Łódź 1" not in [company["nom"] for company in without_company["premieres"]]


def test_no_figures_of_all_companies_are_computed_at_a_start(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With None instead of the function, its computation would raise an error.
    monkeypatch.setattr(market, "newest_year", None)

    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        assert market_answer(server)["exercices"] == [2022, 2024]


def test_no_part_of_a_market_is_computed_on_the_loop(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: the first market of 18.7 million companies sorted the turnovers on the loop, which blocked it."""
    threads: dict[str, int] = {}

    def watch_thread(module: Any, name: str) -> None:
        """Note the thread that calls a function."""
        original = getattr(module, name)

        def note_thread(*arguments: Any) -> Any:
            """Note the thread in which the function runs, and run it."""
            threads[name] = threading.get_ident()
            return original(*arguments)

        monkeypatch.setattr(module, name, note_thread)

    watch_thread(row_bitmap, "_read_sequence")
    watch_thread(market, "market_part")
    watch_thread(market, "join_parts")
    watch_thread(market, "first_companies")
    watch_thread(marche, "_market_document")
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        loop_thread = asyncio.run_coroutine_threadsafe(_current_thread(), server.loop).result()
        market_answer(server, pays="UK")

    assert len(threads) == 5  # each watched function was called
    assert loop_thread not in threads.values()


async def _current_thread() -> int:
    """The id of the thread that runs this coroutine."""
    return threading.get_ident()
