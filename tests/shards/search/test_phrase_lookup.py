"""Texts with blanks, compared with a search through every folded name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec.folding import fold
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.shards.second_engine import phrase_lookup
from tests.shards.second_engine.row_sets import NO_LOOKUP
from tests.world import company

NAMES = st.lists(world.names, min_size=1, max_size=15)


@pytest.mark.parametrize(
    "tuning",
    [
        {},
        {(format, "HEAVY_LEAST"): 0, (format, "PHRASE_SHARE"): 2**31},  # every text is stored
        {(phrase_lookup, "_ENDINGS"): 0, (phrase_lookup, "BATCH"): 1},
        {(phrase_lookup, "_MERGED"): 0},
        {(phrase_lookup, "_MERGED"): 10**9},
    ],
)
@given(noms=NAMES, data=st.data())
def test_neighbouring_words_are_found_in_every_name_that_contains_them(
    tuning: dict[tuple[object, str], int], noms: list[str], data: st.DataObject
) -> None:
    """B15: the first part ends a word, the last begins one"""
    text = data.draw(st.sampled_from([fold(nom) for nom in noms]))
    start = data.draw(st.integers(0, len(text)))
    parts = text[start : data.draw(st.integers(start, len(text)))].split()
    if len(parts) < 2:
        parts = ["a", "b"]
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in tuning.items():
            patch.setattr(module, name, value)
        found = [company("EE", str(number), nom) for number, nom in enumerate(noms)]
        with open_shard(found) as (shard, rows):
            lookup = phrase_lookup.rows_with_phrase(shard, [p.encode() for p in parts])

            wanted = " ".join(parts)
            expected = [row for row, one in enumerate(rows) if wanted in fold(one["nom"])]
            assert lookup.find().rows().tolist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red blue", ["red blue green"]),
        ("ed b", ["red blue green"]),
        ("blue green", ["red blue green"]),
        ("red green", []),  # not neighbours
        ("blue red", ["blue red"]),
        ("d blue green", ["red blue green"]),
        ("red blue gr", ["red blue green"]),
        ("red blu gr", []),  # a word between must be whole
    ],
)
def test_the_parts_must_be_neighbours(text: str, expected: list[str]) -> None:
    found = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]
    with open_shard(found) as (shard, rows):
        lookup = phrase_lookup.rows_with_phrase(shard, [part.encode() for part in text.split()])

        assert [rows[row]["nom"] for row in lookup.find().rows().tolist()] == expected


def test_characters_that_never_meet_at_a_blank_need_no_lookup() -> None:
    with open_shard([company("EE", "1", "red blue")]) as (shard, _):
        assert phrase_lookup.rows_with_phrase(shard, [b"x", b"y"]) is NO_LOOKUP
        assert phrase_lookup.rows_with_phrase(shard, [b"red", b"blue", b"x"]) is NO_LOOKUP
