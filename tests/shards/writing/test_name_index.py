"""The indexes of names and identifiers, compared with plain Python on the folded words."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec import strings
from shards.codec.folding import fold, fold_id
from shards.codec.row_sets import Packing
from shards.codec.strings import Interval, Texts, interval_key, pair_key
from shards.writing import name_index
from shards.writing.name_index import FoldedNames
from tests import world
from tests.shards.unpacked import unpack

# Of each company its name, then its former names.
NAMES = st.lists(st.lists(world.names, min_size=1, max_size=3), max_size=30)


def folded_names(noms: list[list[str]]) -> FoldedNames:
    former = world.former_names([names[1:] for names in noms])
    return name_index.fold_names(strings.pack(names[0] for names in noms), former)


def packing(rows: Sequence[object]) -> Packing:
    """Sets of so few rows have no heads."""
    return Packing(len(rows), ())


def listed(held: Texts) -> list[str]:
    return [held[i].decode() for i in range(len(held))]


@given(NAMES)
def test_a_row_is_the_words_of_its_name_and_of_each_former_name(noms: list[list[str]]) -> None:
    names = folded_names(noms)

    words = listed(names.words)
    assert words == sorted(set(words))
    starts = names.starts.tolist()
    words_and_separator = {**dict(enumerate(words)), format.FORMER_NAME: "\n"}
    for row, (nom, *former) in enumerate(noms):
        held = names.tokens[starts[row] : starts[row + 1]].tolist()
        expected = "\n".join([fold(nom), *filter(None, map(fold, former))])
        found = " ".join(words_and_separator[token] for token in held)
        assert found.replace(" \n ", "\n").replace("\n ", "\n") == expected


@given(NAMES)
def test_present_names_sort_as_their_folded_and_raw_texts_do(noms: list[list[str]]) -> None:
    present = [names[0] for names in noms]
    by_id = np.arange(len(noms), dtype=np.uint32)[::-1].copy()

    found = name_index.sort_names(folded_names(noms), strings.pack(present), by_id)

    expected = sorted(range(len(noms)), key=lambda i: (fold(present[i]), present[i].encode(), -i))
    assert found.tolist() == expected


@given(NAMES)
def test_postings_are_the_rows_that_hold_a_word_once_each(noms: list[list[str]]) -> None:
    names = folded_names(noms)

    held = name_index.make_postings(names)

    for number, word in enumerate(listed(names.words)):
        rows = held.rows[held.starts[number] : held.starts[number + 1]].tolist()
        assert rows == [
            row for row, names in enumerate(noms) if word in " ".join(map(fold, names)).split()
        ]


@given(NAMES)
def test_suffixes_are_all_characters_of_all_words_in_order(noms: list[list[str]]) -> None:
    words = folded_names(noms).words
    data = bytes(words.data)

    found = name_index.suffixes(words).tolist()

    begins = [
        i for i, byte in enumerate(data) if byte != ord("\n") and byte & 0xC0 != 0x80
    ]  # fmt: skip
    padded = data + bytes(format.SUFFIX_BYTES)
    assert found == sorted(begins, key=lambda i: (padded[i : i + format.SUFFIX_BYTES], i))
    keys = name_index.sample_keys(words.data, np.array(found, dtype=np.uint32))
    sampled = found[:: format.SAMPLED]
    assert keys.tolist() == [int.from_bytes(padded[i : i + 8], "big") for i in sampled]


@pytest.mark.parametrize("least", [0, 1, 3])
@given(noms=NAMES)
def test_every_part_of_a_word_that_many_rows_hold_has_its_rows_united(
    least: int, noms: list[list[str]]
) -> None:
    names = folded_names(noms)
    held = name_index.make_postings(names)
    suffixes = name_index.suffixes(names.words)
    data = bytes(names.words.data)
    with patch.multiple(name_index, heavy_size=lambda _: least, counted_size=lambda _: least):
        found = dict(name_index.heavy_sets(names.words, suffixes, held, packing(noms)))

    parts: dict[str, list[int]] = defaultdict(list)  # part of a word -> its places in `suffixes`
    for place, start in enumerate(suffixes.tolist()):
        text = data[start : data.index(b"\n", start)].decode()
        for length in range(1, len(text) + 1):
            if len(text[:length].encode()) <= format.SUFFIX_BYTES:
                parts[text[:length]].append(place)
    counts = np.diff(held.starts.astype(int))
    words = listed(names.words)
    for part, places in parts.items():
        owners = [
            np.searchsorted(names.words.starts, suffixes[p], side="right") - 1 for p in places
        ]
        if counts[owners].sum() > least:
            rows = [row for row, names in enumerate(noms) if any(part in fold(n) for n in names)]
            assert unpack(found[interval_key(Interval(places[0], places[-1] + 1))]).rows == rows
    assert len(found) <= len({tuple(places) for places in parts.values()})
    assert words or not found


@given(NAMES)
def test_junctions_are_the_characters_around_each_blank(noms: list[list[str]]) -> None:
    expected: dict[str, set[int]] = defaultdict(set)
    for row, nom in ((row, nom) for row, names in enumerate(noms) for nom in names):
        words = fold(nom).split()
        for before, after in pairwise(words):
            expected[before[-1] + after[0]].add(row)

    found = list(name_index.junction_sets(folded_names(noms), packing(noms)))

    assert [key for key, _ in found] == sorted(pair_key(key.encode()) for key in expected)
    rows = {key: set(unpack(value).rows or ()) for key, value in found}
    assert rows == {pair_key(key.encode()): rows for key, rows in expected.items()}


@given(st.lists(world.identifiers, max_size=30))
def test_identifiers_are_folded_and_their_frequent_prefixes_listed(ids: list[str]) -> None:
    folded = name_index.fold_ids(strings.pack(ids))
    assert listed(folded) == [fold_id(identifier) for identifier in ids]

    by_folded = strings.sort_texts(folded).rows
    ordered = name_index.take_texts(folded, by_folded)
    assert listed(ordered) == sorted(listed(folded))
    with patch.object(name_index, "heavy_size", lambda _: 1):
        found = list(name_index.prefix_sets(ordered, by_folded, packing(ids)))

    texts, expected = listed(ordered), {}
    for prefix in {text[:length] for text in texts for length in range(1, len(text) + 1)}:
        places = [place for place, text in enumerate(texts) if text.startswith(prefix)]
        if len(places) > 1:
            rows = {int(by_folded[place]) for place in places}
            expected[interval_key(Interval(places[0], places[-1] + 1))] = rows
    assert {key: set(unpack(value).rows or ()) for key, value in found} == expected
    assert [key for key, _ in found] == sorted(key for key, _ in found)


@given(NAMES)
def test_every_sixteenth_byte_of_the_words_knows_its_word(noms: list[list[str]]) -> None:
    words = folded_names(noms).words

    found = name_index.word_owners(words).tolist()

    before = [
        data.count(b"\n")
        for data in (bytes(words.data)[:place] for place in range(0, len(words.data), format.OWNED))
    ]
    assert found == before
