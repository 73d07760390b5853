"""The index of words, compared with the folded names themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec.folding import fold
from shards.codec.sparse_index import probe
from shards.codec.strings import Interval
from shards.format import SUFFIX_BYTES
from shards.search.name_lookup import NameLookup, folded_names
from tests import world
from tests.shards.search.open_shards import open_shard
from tests.shards.second_engine import name_lookup
from tests.world import Company, company

NAMES = st.lists(world.names, min_size=1, max_size=15)


def named(noms: list[str]) -> list[Company]:
    return [company("EE", str(number), nom) for number, nom in enumerate(noms)]


def words_of(index: NameLookup) -> list[bytes]:
    return [index.words[number] for number in range(len(index.words))]


@pytest.mark.parametrize("heavy", [0, 1, 10**6])
@given(noms=NAMES, data=st.data())
def test_a_part_of_a_word_is_found_in_every_name_that_contains_it(
    heavy: int, noms: list[str], data: st.DataObject
) -> None:
    """B15; with sets that the build has united, and without"""
    words = sorted({word for nom in noms for word in fold(nom).split()}) or ["a"]
    word = data.draw(st.sampled_from(words))
    start = data.draw(st.integers(0, len(word) - 1))
    part = word[start : data.draw(st.integers(start + 1, len(word)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(format, "HEAVY_LEAST", heavy)
        patch.setattr(format, "HEAVY_SHARE", 2**31)
        with open_shard(named(noms)) as (shard, rows):
            head = probe(part.encode()[:SUFFIX_BYTES])
            lookup = name_lookup.rows_containing(shard, part.encode(), head)

            expected = [row for row, one in enumerate(rows) if part in fold(one["nom"])]
            assert lookup.find().rows().tolist() == expected
            if lookup.counted is not None:
                assert lookup.counted.size == len(expected)


def test_a_part_longer_than_the_sorted_bytes_is_compared_in_full() -> None:
    alike = "d" * (SUFFIX_BYTES + 4)
    with open_shard(named([alike + "a", alike + "b", "x" + alike + "bc"])) as (shard, rows):
        part = (alike + "b").encode()
        lookup = name_lookup.rows_containing(shard, part, probe(part[:SUFFIX_BYTES]))

        found = [rows[row]["nom"] for row in lookup.find().rows().tolist()]

    assert found == [alike + "b", "x" + alike + "bc"]


@given(NAMES, st.lists(world.names, max_size=3))
def test_the_folded_names_of_any_rows_are_put_together_from_words(
    noms: list[str], former: list[str]
) -> None:
    renamed = company("EE", "z", "Ä", noms_anterieurs=former)
    with open_shard([*named(noms), renamed]) as (shard, rows):
        chosen = np.arange(len(rows), dtype=np.uint32)[::-1].copy()

        found = folded_names(shard.words, chosen)

    assert [names[0] for names in found] == [fold(one["nom"]).encode() for one in reversed(rows)]
    assert [name for names in found for name in names[1:]] == [
        fold(name).encode() for name in former if fold(name)
    ]


@given(NAMES, st.text("aeо0", max_size=2))
def test_words_are_found_by_their_beginning_and_as_a_whole(noms: list[str], prefix: str) -> None:
    with open_shard(named(noms)) as (shard, _):
        words = words_of(shard.words)
        first, end = name_lookup.words_beginning_with(shard.words, prefix.encode())

        assert words[first:end] == [word for word in words if word.startswith(prefix.encode())]
        for number, word in enumerate(words):
            assert name_lookup.word_number(shard.words, word) == number
        assert name_lookup.word_number(shard.words, b"no such word") is None


@given(NAMES, st.data())
def test_suffixes_belong_to_words_and_words_to_rows(noms: list[str], data: st.DataObject) -> None:
    with open_shard(named(noms)) as (shard, rows):
        index = shard.words
        places = np.asarray(index.suffixes.places).tolist()
        first = data.draw(st.integers(0, len(places)))
        end = data.draw(st.integers(first, len(places)))

        owners = name_lookup.words_of_suffixes(index, Interval(first, end))
        united = name_lookup.rows_of_words(index, owners).tolist()

        ends = index.words.starts[1:].tolist()
        expected = sorted({sum(one <= place for one in ends) for place in places[first:end]})
        texts = {index.words[number].decode() for number in expected}
    assert owners.tolist() == expected
    assert united == [row for row, one in enumerate(rows) if texts & set(fold(one["nom"]).split())]
