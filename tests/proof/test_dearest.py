"""The dearest question that a visitor may ask: generated searches, suggestions and lines, in processor time."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from serve.contract import seed_tables
from shards.query import Query
from shards.search.matching.line import Line
from shards.search.matching.matcher import Matcher
from shards.search.proposals import suggestions
from shards.search.search import search
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import FORMS, PIECES, POSTCODES, TOWNS, Company, company

pytestmark = pytest.mark.slow

ROWS: Final = 20_000
# A search passes over every company a few times at most, at some nanoseconds each.
MOST_SECONDS: Final = 0.001 + ROWS * 50e-9
# A line looks for several spellings of each word, and reads the few nearest records.
MOST_A_LINE: Final = 0.05


def _companies() -> list[Company]:
    chance = random.Random(21)
    return [
        company(
            chance.choice(("EE", "FR", "UK")), f"{number:08}",
            " ".join(chance.choices((*PIECES, "Société", "Lab", "Õun", "Żabka"), k=3)) or "A",
            ca_eur=chance.choice((None, -1.0, 0.0, 0.5, number * 1e3)),
            effectif=chance.choice((None, number % 700)), ville=chance.choice((None, *TOWNS)),
            code_postal=chance.choice((None, *POSTCODES)), forme=chance.choice((None, *FORMS)),
            score=number % 100, site_web=chance.choice((None, "https://exemple.ee")),
        )
        for number in range(ROWS)
    ]  # fmt: skip


COMPANIES: Final = _companies()


@pytest.fixture(scope="module")
def opened() -> Iterator[OpenShards]:
    with OpenShards(COMPANIES) as found:
        yield found


def seconds(work: Callable[[], Any]) -> float:
    """The least processor time of three runs, of this thread: other work on the machine adds nothing."""
    found = []
    for _ in range(3):
        start = time.thread_time()
        work()
        found.append(time.thread_time() - start)
    return min(found)


BOUNDED: Final = settings(
    max_examples=250,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@BOUNDED
@given(query=queries(COMPANIES[:40]))
def test_no_search_of_a_visitor_is_dearer_than_its_bound(opened: OpenShards, query: Query) -> None:
    """D7, issue P: two rows, whatever the filters, the order and the text"""
    assert seconds(lambda: search(opened.shards, query, offset=0, limit=2)) < MOST_SECONDS, query


@BOUNDED
@given(text=st.sampled_from([*PIECES, "s a r", "e o", "a" * 120, "ab " * 40, "ß", "0"]))
def test_no_suggestion_is_dearer_than_its_bound(opened: OpenShards, text: str) -> None:
    """X4"""

    def suggested() -> None:
        for kind in (suggestions.companies, suggestions.words, suggestions.towns):
            kind(opened.shards, text, (), 10)

    assert seconds(suggested) < MOST_SECONDS, text


@settings(BOUNDED, max_examples=40)
@given(words=st.lists(st.sampled_from([*PIECES, "Lab", "Labb", "and", "Ltd", "zz"]), min_size=1))
def test_no_line_of_a_list_is_dearer_than_its_bound(opened: OpenShards, words: list[str]) -> None:
    """X5"""
    matcher = Matcher(
        opened.shards,
        seed_tables.name_tables(),
        seed_tables.match_weights(),
        seed_tables.derivations(),
    )
    line = Line(" ".join(words)[:300] or "A")

    assert seconds(lambda: matcher.match(line, 10)) < MOST_A_LINE, line
