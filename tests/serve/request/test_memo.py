"""The bounded memo of texts that clients wrote."""

import pytest

from serve.request.query_string import memoise


def test_a_short_text_is_read_once_and_a_long_one_each_time() -> None:
    read: list[str] = []

    @memoise
    def recall(text: str) -> int:
        read.append(text)
        return len(text)

    assert [recall("a"), recall("a"), recall("b" * 500), recall("b" * 500)] == [1, 1, 500, 500]
    assert read == ["a", "b" * 500, "b" * 500]


def test_what_cannot_be_read_is_read_again() -> None:
    recall = memoise(int)

    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            recall("x")
    assert recall("7") == 7
