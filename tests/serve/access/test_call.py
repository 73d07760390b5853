"""Entity tags (G8)."""

import pytest

from serve.access.call import etag, matches
from shards.query import Query


def test_a_tag_is_strong_and_quoted() -> None:
    """G8"""
    tag = etag("g1", "free", Query(), 5)

    assert tag.startswith('"')
    assert tag.endswith('"')
    assert tag.count('"') == 2


def test_another_generation_plan_query_or_limit_changes_the_tag() -> None:
    """G8: each tuple has the generation, the plan, the query and the limit"""
    inputs = ("g1", "free", Query(q="Orléans"), 5)
    changed_inputs = (
        ("g2", "free", Query(q="Orléans"), 5),
        ("g1", "data", Query(q="Orléans"), 5),
        ("g1", "free", Query(q="orléans"), 5),
        ("g1", "free", Query(q="Orléans"), 4),
    )

    assert etag(*inputs) == etag("g1", "free", Query(q="Orléans"), 5)
    assert len({etag(*inputs), *(etag(*changed) for changed in changed_inputs)}) == 5


@pytest.mark.parametrize(
    ("header", "is_match"),
    [
        (None, False),
        ("", False),
        ("*", True),
        (" * ", True),
        ('"a"', True),
        ('W/"a"', True),
        ('"b", W/"a" , "c"', True),
        ('"b"', False),
        ("a", False),
        ('"A"', False),
        ('"a,b"', False),
    ],
)
def test_if_none_match_may_list_tags_and_compares_them_weakly(
    header: str | None, is_match: bool
) -> None:
    """G8, RFC 9110 §13.1.2"""
    assert matches(header, '"a"') is is_match
