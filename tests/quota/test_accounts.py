"""The plan that keys are served with (§5 rule 3, A7)."""

import pytest

from quota.accounts import Account, dump, effective_plan, has_tool, load_account, load_key
from quota.errors import StoreUnavailable, UnknownError
from tests.quota.small import PLANS


def account(plan: str, *, api_tool: bool) -> Account:
    return Account("a_", "Société Générale", plan, api_tool, (), "2026-11-21T12:00:00+00:00")


@pytest.mark.parametrize(
    ("plan", "without", "taken"),
    [
        ("free", "free", "free"),
        ("data", "free", "data"),
        ("corporate", "free", "corporate"),
        ("carte", "free", "carte"),
        ("marches", "marches", "marches"),
        ("integral", "integral", "integral"),
    ],
)
def test_without_the_tool_an_option_plan_is_served_as_free(
    plan: str, without: str, taken: str
) -> None:
    assert effective_plan(account(plan, api_tool=False), PLANS).slug == without
    assert effective_plan(account(plan, api_tool=True), PLANS).slug == taken


@pytest.mark.parametrize(
    ("plan", "api_tool", "has"),
    [
        ("free", False, False),
        ("data", False, False),
        ("data", True, True),
        ("integral", False, True),
    ],
)
def test_the_tool_is_included_or_taken(plan: str, api_tool: bool, has: bool) -> None:
    assert has_tool(account(plan, api_tool=api_tool), PLANS) is has


def test_a_plan_that_the_grid_has_no_more_is_named() -> None:
    with pytest.raises(UnknownError, match="'platine'"):
        effective_plan(account("platine", api_tool=True), PLANS)


def test_a_stored_member_that_is_unknown_is_refused() -> None:
    stored = dump(account("data", api_tool=True))

    assert load_account(stored) == account("data", api_tool=True)
    for other in (stored.replace(b'"nom"', b'"name"'), stored.replace(b"}", b',"x":1}'), b"{}"):
        with pytest.raises(StoreUnavailable, match="a stored account has"):
            load_account(other)
    with pytest.raises(StoreUnavailable, match="a stored key has"):
        load_key(stored)
