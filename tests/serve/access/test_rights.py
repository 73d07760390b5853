"""The part of a search that each plan shows (contract C, B18 to B21)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota import plans
from serve.access import rights
from serve.access.rights import VisibleWindow, Window

PLANS = plans.load()
CAPS = {
    "visiteur": 2, "free": 5, "data": 200, "corporate": 1000, "marches": 500, "integral": 1000,
    "carte": 200,
}  # fmt: skip


@pytest.mark.parametrize(
    ("slug", "total", "asked", "echoed", "visibles", "restantes", "rows"),
    [
        ("visiteur", 1_000, (50, 10), (2, 0), 2, 998, 2),
        ("free", 3, (50, 0), (5, 0), 3, 0, 3),
        ("data", 1_234_567, (50, 180), (20, 180), 200, 1_234_367, 20),
        ("corporate", 5_000, (1_000, 0), (500, 0), 1_000, 4_000, 500),
        ("corporate", 5_000, (500, 1_000), (0, 1_000), 1_000, 4_000, 0),
        ("marches", 5_000, (1_000, 400), (100, 400), 500, 4_500, 100),
        ("integral", 700, (1_000, 400), (500, 400), 700, 0, 300),
        ("carte", 199, (1_000, 0), (200, 0), 199, 0, 199),
    ],
)
def test_the_table_of_the_contract(
    slug: str,
    total: int,
    asked: tuple[int, int],
    echoed: tuple[int, int],
    visibles: int,
    restantes: int,
    rows: int,
) -> None:
    """C, C2"""
    plan = PLANS[slug]
    window = rights.window(plan, *asked)
    shown = rights.visible_window(plan, total)

    assert (rights.effective_limit(window, total), window.offset) == echoed
    assert shown == VisibleWindow(visibles, restantes)
    assert shown.tronque == (restantes > 0)
    assert max(0, min(window.limit, shown.visibles - window.offset)) == rows


@given(
    slug=st.sampled_from(plans.SLUGS),
    limit=st.integers(1, 1_000),
    offset=st.integers(0, 2_000) | st.integers(0, 10**30),
    total=st.integers(0, 20_000_000),
)
def test_no_page_passes_the_cap_of_its_plan(slug: str, limit: int, offset: int, total: int) -> None:
    """§8.2 rules 1 to 3, B19"""
    plan = PLANS[slug]
    window = rights.window(plan, limit, offset)
    shown = rights.visible_window(plan, total)

    assert 0 <= window.limit <= min(limit, plan.lignes_par_appel)
    assert not window.limit or window.offset + window.limit <= CAPS[slug]
    assert shown.visibles + shown.restantes == total
    assert window.offset == (0 if slug == "visiteur" else offset)


@given(
    slug=st.sampled_from(plans.SLUGS[1:]), limit=st.integers(1, 1_000), total=st.integers(0, 3_000)
)
def test_following_next_shows_each_visible_row_once(slug: str, limit: int, total: int) -> None:
    """B20: `next` is there exactly while another row is reachable"""
    plan = PLANS[slug]
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        window = rights.window(plan, limit, offset)
        visible = rights.visible_window(plan, total).visibles
        seen += range(offset, min(offset + window.limit, visible))
        offset = rights.next_offset(plan, window, total)

    assert seen == list(range(min(total, CAPS[slug])))


def test_a_visitor_has_no_next_page() -> None:
    """B20: its offset is locked, so the second row of a search with limit 1 cannot be reached"""
    plan = PLANS["visiteur"]

    assert rights.next_offset(plan, rights.window(plan, 1, 0), 1_000) is None


def test_past_the_total_the_limit_is_0_and_the_offset_as_sent() -> None:
    """B20"""
    window = rights.window(PLANS["data"], 50, 30)

    assert window == Window(50, 30)
    assert [rights.effective_limit(window, total) for total in (29, 30, 31)] == [0, 0, 50]


def test_an_empty_result_echoes_the_limit_of_the_plan() -> None:
    """C: an offset of 0 is past nothing"""
    assert rights.effective_limit(rights.window(PLANS["free"], 50, 0), 0) == 5


def test_only_the_visitor_has_a_preview() -> None:
    """C: apercu"""
    assert [slug for slug, plan in PLANS.items() if rights.apercu(plan)] == ["visiteur"]
