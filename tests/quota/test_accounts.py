"""The plan that keys are served with (§5 rule 3, A7)."""

import pytest

from quota.accounts import Account, dump, effective_plan, has_tool, load_account, load_key
from quota.errors import StoreUnavailable, UnknownError
from tests.quota.small import PLANS


def account(plan: str, *, api_tool: bool) -> Account:
    """An account with this plan, with or without the API tool."""
    return Account("a_", "Société Générale", plan, api_tool, (), "2026-11-21T12:00:00+00:00")


@pytest.mark.parametrize(
    ("plan", "served_without_tool", "served_with_tool"),
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
    plan: str, served_without_tool: str, served_with_tool: str
) -> None:
    assert effective_plan(account(plan, api_tool=False), PLANS).slug == served_without_tool
    assert effective_plan(account(plan, api_tool=True), PLANS).slug == served_with_tool


@pytest.mark.parametrize(
    ("plan", "api_tool", "is_expected"),
    [
        ("free", False, False),
        ("data", False, False),
        ("data", True, True),
        ("integral", False, True),
    ],
)
def test_an_account_has_the_tool_if_its_plan_includes_it_or_it_was_bought(
    plan: str, api_tool: bool, is_expected: bool
) -> None:
    assert has_tool(account(plan, api_tool=api_tool), PLANS) is is_expected


def test_a_plan_that_the_grid_no_longer_has_is_named_in_the_error() -> None:
    with pytest.raises(UnknownError, match="'platine'"):
        effective_plan(account("platine", api_tool=True), PLANS)


def test_a_stored_account_with_a_missing_or_unknown_field_is_refused() -> None:
    stored = dump(account("data", api_tool=True))

    assert load_account(stored) == account("data", api_tool=True)
    for unreadable in (
        stored.replace(b'"nom"', b'"name"'),
        stored.replace(b"}", b',"x":1}'),
        b"{}",
    ):
        with pytest.raises(StoreUnavailable, match="a stored account has"):
            load_account(unreadable)
    with pytest.raises(StoreUnavailable, match="a stored key has"):
        load_key(stored)
