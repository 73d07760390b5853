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
from tests.shards.set_decoder import unpack

# The names of each company: its present name, then its former names.
NAMES = st.lists(st.lists(world.names, min_size=1, max_size=3), max_size=30)


def folded_names(noms: list[list[str]]) -> FoldedNames:
    """The folded names of companies, as the writer computes them."""
    former = world.former_names([names[1:] for names in noms])
    return name_index.fold_names(strings.pack(names[0] for names in noms), former)


def packing(rows: Sequence[object]) -> Packing:
    """A packing of sets without heads."""
    return Packing(len(rows), ())


def list_texts(texts: Texts) -> list[str]:
    """The packed texts as a list."""
    return [texts[i].decode() for i in range(len(texts))]


@given(NAMES)
def test_a_row_has_the_words_of_its_name_and_its_former_names(noms: list[list[str]]) -> None:
    names = folded_names(noms)

    words = list_texts(names.words)
    assert words == sorted(set(words))
    starts = names.starts.tolist()
    words_and_separator = {**dict(enumerate(words)), format.FORMER_NAME: "\n"}
    for row, (nom, *former) in enumerate(noms):
        tokens = names.tokens[starts[row] : starts[row + 1]].tolist()
        expected = "\n".join([fold(nom), *filter(None, map(fold, former))])
        # Words of a name are joined by blanks; names are joined by ends of line, which get no blanks.
        result = " ".join(words_and_separator[token] for token in tokens)
        assert result.replace(" \n ", "\n").replace("\n ", "\n") == expected


@given(NAMES)
def test_present_names_are_sorted_by_folded_text_then_raw_text(noms: list[list[str]]) -> None:
    present = [names[0] for names in noms]
    by_id = np.arange(len(noms), dtype=np.uint32)[::-1].copy()

    result = name_index.sort_names(folded_names(noms), strings.pack(present), by_id)

    expected = sorted(range(len(noms)), key=lambda i: (fold(present[i]), present[i].encode(), -i))
    assert result.tolist() == expected


@given(NAMES)
def test_postings_have_each_row_of_a_word_once(noms: list[list[str]]) -> None:
    names = folded_names(noms)

    postings = name_index.make_postings(names)

    for number, word in enumerate(list_texts(names.words)):
        rows = postings.rows[postings.starts[number] : postings.starts[number + 1]].tolist()
        assert rows == [
            row for row, names in enumerate(noms) if word in " ".join(map(fold, names)).split()
        ]


@given(NAMES)
def test_suffixes_begin_at_all_characters_of_all_words_and_are_sorted(
    noms: list[list[str]],
) -> None:
    words = folded_names(noms).words
    data = bytes(words.data)

    result = name_index.suffixes(words).tolist()

    starts = [
        i for i, byte in enumerate(data) if byte != ord("\n") and byte & 0xC0 != 0x80
    ]  # fmt: skip
    padded = data + bytes(format.SUFFIX_BYTES)
    assert result == sorted(starts, key=lambda i: (padded[i : i + format.SUFFIX_BYTES], i))
    keys = name_index.sample_keys(words.data, np.array(result, dtype=np.uint32))
    sampled = result[:: format.SAMPLED]
    assert keys.tolist() == [int.from_bytes(padded[i : i + 8], "big") for i in sampled]


@pytest.mark.parametrize("most_unstored", [0, 1, 3])
@given(noms=NAMES)
def test_every_frequent_part_of_a_word_has_a_stored_set_of_its_rows(
    most_unstored: int, noms: list[list[str]]
) -> None:
    """A part is stored if the words that contain it have more than `most_unstored` rows together."""
    names = folded_names(noms)
    postings = name_index.make_postings(names)
    suffixes = name_index.suffixes(names.words)
    data = bytes(names.words.data)
    with patch.multiple(
        name_index, heavy_size=lambda _: most_unstored, counted_size=lambda _: most_unstored
    ):
        result = dict(name_index.heavy_sets(names.words, suffixes, postings, packing(noms)))

    parts: dict[str, list[int]] = defaultdict(list)  # part of a word -> its places in `suffixes`
    for place, start in enumerate(suffixes.tolist()):
        text = data[start : data.index(b"\n", start)].decode()
        for length in range(1, len(text) + 1):
            if len(text[:length].encode()) <= format.SUFFIX_BYTES:
                parts[text[:length]].append(place)
    word_sizes = np.diff(postings.starts.astype(int))
    words = list_texts(names.words)
    for part, places in parts.items():
        word_numbers = [
            np.searchsorted(names.words.starts, suffixes[p], side="right") - 1 for p in places
        ]
        if word_sizes[word_numbers].sum() > most_unstored:
            rows = [row for row, names in enumerate(noms) if any(part in fold(n) for n in names)]
            assert unpack(result[interval_key(Interval(places[0], places[-1] + 1))]).rows == rows
    assert len(result) <= len({tuple(places) for places in parts.values()})
    assert words or not result  # without words there are no sets


@given(NAMES)
def test_junctions_are_the_characters_around_each_blank(noms: list[list[str]]) -> None:
    expected: dict[str, set[int]] = defaultdict(set)
    for row, nom in ((row, nom) for row, names in enumerate(noms) for nom in names):
        words = fold(nom).split()
        for left_word, right_word in pairwise(words):
            expected[left_word[-1] + right_word[0]].add(row)

    result = list(name_index.junction_sets(folded_names(noms), packing(noms)))

    assert [key for key, _ in result] == sorted(pair_key(key.encode()) for key in expected)
    rows = {key: set(unpack(value).rows or ()) for key, value in result}
    assert rows == {pair_key(key.encode()): rows for key, rows in expected.items()}


@given(st.lists(world.identifiers, max_size=30))
def test_identifiers_are_folded_and_their_frequent_prefixes_have_sets(ids: list[str]) -> None:
    """A prefix of two identifiers or more counts as frequent here; its set has the rows of these identifiers."""
    folded = name_index.fold_ids(strings.pack(ids))
    assert list_texts(folded) == [fold_id(identifier) for identifier in ids]

    by_folded = strings.sort_texts(folded).rows
    ordered = name_index.take_texts(folded, by_folded)
    assert list_texts(ordered) == sorted(list_texts(folded))
    with patch.object(name_index, "heavy_size", lambda _: 1):
        result = list(name_index.prefix_sets(ordered, by_folded, packing(ids)))

    texts, expected = list_texts(ordered), {}
    for prefix in {text[:length] for text in texts for length in range(1, len(text) + 1)}:
        positions = [position for position, text in enumerate(texts) if text.startswith(prefix)]
        if len(positions) > 1:
            rows = {int(by_folded[position]) for position in positions}
            expected[interval_key(Interval(positions[0], positions[-1] + 1))] = rows
    assert {key: set(unpack(value).rows or ()) for key, value in result} == expected
    assert [key for key, _ in result] == sorted(key for key, _ in result)


@given(NAMES)
def test_every_sixteenth_byte_of_the_words_has_the_number_of_its_word(
    noms: list[list[str]],
) -> None:
    words = folded_names(noms).words

    result = name_index.word_owners(words).tolist()

    words_before = [
        data.count(b"\n")
        for data in (bytes(words.data)[:place] for place in range(0, len(words.data), format.OWNED))
    ]
    assert result == words_before
