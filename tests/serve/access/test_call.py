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


def test_whatever_an_answer_depends_on_changes_its_tag() -> None:
    """G8"""
    parts = ("g1", "free", Query(q="Orléans"), 5)
    others = (
        ("g2", "free", Query(q="Orléans"), 5),
        ("g1", "data", Query(q="Orléans"), 5),
        ("g1", "free", Query(q="orléans"), 5),
        ("g1", "free", Query(q="Orléans"), 4),
    )

    assert etag(*parts) == etag("g1", "free", Query(q="Orléans"), 5)
    assert len({etag(*parts), *(etag(*other) for other in others)}) == 5


@pytest.mark.parametrize(
    ("header", "found"),
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
def test_tags_are_compared_weakly_and_come_in_lists(header: str | None, found: bool) -> None:
    """G8, RFC 9110 §13.1.2"""
    assert matches(header, '"a"') is found
