"""Candidates of a name: near words and rows with common words, compared with a loop over all rows."""

import itertools
import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from rapidfuzz.distance import OSA

from shards.kernel import types
from shards.matching import candidate_rows
from shards.matching.candidate_rows import CandidateRows, Spelling, folded_words
from shards.reader.shard import Shard
from shards.search.search import ShardSet
from tests.shards.search.open_shards import ENGINES, INTERPRETED, INTERPRETED_MODULES
from tests.world import company, write_shard

LETTERS = "abcdeé"


@pytest.fixture(scope="module", params=ENGINES)
def base(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShardSet]:
    """Companies whose names have similar words, searched by one of the two engines."""
    folder, chance = tmp_path_factory.mktemp("shards"), random.Random(3)
    base: ShardSet = ENGINES[request.param].ShardSet()
    for iso2, count in (("EE", 900), ("FR", 0), ("UK", 300)):
        words = ["".join(chance.choices(LETTERS, k=chance.randrange(1, 9))) for _ in range(200)]
        dataset = [
            company(iso2, str(i), " ".join(chance.choices(words, k=chance.randrange(1, 5))))
            for i in range(count)
        ]
        write_shard(folder / iso2, iso2, dataset)
        base[iso2] = Shard(folder / iso2)
    yield base
    for shard in base.values():
        shard.close()


def candidates_module(base: ShardSet) -> ModuleType:
    """The module of candidates of the engine of `base`."""
    interpreted = isinstance(base, INTERPRETED.ShardSet)
    name = "shards.matching.candidate_rows"
    return INTERPRETED_MODULES[name] if interpreted else candidate_rows


def make_lookup(base: ShardSet) -> CandidateRows:
    """The look-up of candidates by the engine of `base`."""
    result: CandidateRows = candidates_module(base).CandidateRows(base.own_session().arrays)
    return result


def words_of(shard: Shard) -> list[str]:
    """The folded words of a shard."""
    return bytes(shard.words.words.data).decode().split("\n")[:-1]


def test_near_words_have_at_most_one_error(base: ShardSet) -> None:
    """The rows found are those with a word at a distance of at most 1; some are missing if there are too many rows."""
    candidates = make_lookup(base)
    chance = random.Random(4)
    for _ in range(60):
        # A random word of four to eight letters, and the word with the two letters at its middle swapped.
        text = "".join(chance.choices("abcde", k=chance.randrange(4, 9)))
        middle = len(text) // 2
        swapped = text[: middle - 1] + text[middle] + text[middle - 1] + text[middle + 1 :]
        for shard_number, iso2 in enumerate(sorted(base)):
            shard = base[iso2]
            # The look-up does not find `swapped`: its caller looks it up.
            near = {word for word in words_of(shard) if OSA.distance(text, word) <= 1} - {swapped}
            expected = {
                row
                for row in range(shard.rows)
                if any(word in near for name in folded_words(shard, row) for word, _ in name)
            }
            result = candidates.rows([Spelling(text, 0, 1.0)], [shard_number], near=True)

            result_rows = {row.row for row in result if not has_word(shard, row.row, swapped)}
            assert result_rows <= expected
            if len(result) < types.MOST_CANDIDATES:
                assert result_rows >= {row for row in expected if not has_word(shard, row, swapped)}


def has_word(shard: Shard, row: int, text: str) -> bool:
    """Whether a name of the row has the folded word `text`."""
    return any(word == text for name in folded_words(shard, row) for word, _ in name)


def test_the_best_rows_are_those_with_the_greatest_weight(base: ShardSet) -> None:
    """A search for the words of a random name: the first candidate has the greatest score of all rows."""
    candidates = make_lookup(base)
    chance = random.Random(5)
    for _ in range(40):
        shard_numbers = [
            shard_number for shard_number, iso2 in enumerate(sorted(base)) if base[iso2].rows
        ]
        shard = base[sorted(base)[shard_numbers[0]]]
        words = [word for word, _ in folded_words(shard, chance.randrange(shard.rows))[0]]
        spellings = [Spelling(word, group, 1.0) for group, word in enumerate(dict.fromkeys(words))]
        result = candidates.rows(spellings, shard_numbers, near=False)

        assert result == sorted(result, key=lambda row: -row.score)
        scores = {(row.shard, row.row): row.score for row in result}
        for place, score in scores.items():
            assert score == pytest.approx(
                slow_score(base, place, {spelling.text for spelling in spellings})
            )
        best = max(
            slow_score(base, (shard_number, row), {spelling.text for spelling in spellings})
            for shard_number in shard_numbers
            for row in range(base[sorted(base)[shard_number]].rows)
        )
        assert result[0].score == pytest.approx(best)


@pytest.mark.parametrize("most_rare_rows", [20, 60, 3_000])
def test_every_row_with_enough_weight_is_a_candidate(
    base: ShardSet, most_rare_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidates are those of a slow scan: rows with a rare word, or with two of the three rarest frequent words.

    `most_rare_rows` decides after how many rows the kernel reads no further words; the result does not depend on it.
    """
    for module in (candidate_rows, INTERPRETED_MODULES["shards.matching.candidate_rows"]):
        monkeypatch.setattr(module, "_MOST_RARE_ROWS", most_rare_rows)
    candidates, chance = make_lookup(base), random.Random(6)
    all_shard_numbers = [
        shard_number for shard_number, iso2 in enumerate(sorted(base)) if base[iso2].rows
    ]
    for shard_numbers in [all_shard_numbers] * 60 + [all_shard_numbers[:1]] * 60:
        shard = base[sorted(base)[chance.choice(shard_numbers)]]
        two_rows = chance.choices(range(shard.rows), k=2)
        words = sorted({word for row in two_rows for word, _ in folded_words(shard, row)[0]})
        spellings = [Spelling(word, group, 1.0) for group, word in enumerate(words)]
        result = candidates.rows(spellings, shard_numbers, near=False)

        scores_by_shard = {
            shard_number: slow_scores(base, shard_number, words, most_rare_rows)
            for shard_number in shard_numbers
        }
        # In a shard without such rows, the kernel may also take rows with only the rarest frequent word, which have no
        # score in `slow_scores`.
        if not all(scores_by_shard.values()):
            continue
        scores = sorted(itertools.chain.from_iterable(scores_by_shard.values()), reverse=True)
        least_score = scores[0] - types.MOST_WEIGHT_GAP
        expected = [
            score
            for rank, score in enumerate(scores[: types.MOST_CANDIDATES])
            if rank < types.ALWAYS_COMPARED or score >= least_score
        ]
        assert [row.score for row in result] == pytest.approx(expected)
        assert result == sorted(result, key=lambda row: (-row.score, row.shard, row.row))


def test_a_word_is_looked_up_once_in_a_batch(
    base: ShardSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates, lookups = make_lookup(base), list[int]()
    kernel_module: ModuleType = candidates_module(base).candidates
    lookup = kernel_module.lookup

    def count_lookups(*arguments: Any) -> int:
        """Look up a word and note the result."""
        lookups.append(lookup(*arguments))
        return lookups[-1]

    monkeypatch.setattr(kernel_module, "lookup", count_lookups)
    words = words_of(base["EE"])[:7]
    candidates.rows([Spelling(word, i, 1.0) for i, word in enumerate(words[:4])], [0], near=True)
    sizes = [candidates.sizes(words, 0), candidates.sizes(words, 0)]
    candidates.forget()
    sizes.append(candidates.sizes(words, 0))

    # Three words are not in the line; `forget` then makes all seven be looked up again.
    assert lookups == [1] * (3 + 7)
    assert (
        sizes[0] == sizes[1] == sizes[2] == {word: count_rows(base["EE"], word) for word in words}
    )


def test_sizes_of_words_are_right_after_more_texts_than_are_remembered(base: ShardSet) -> None:
    candidates = make_lookup(base)
    words = words_of(base["EE"])
    for first in range(0, 20_000, 200):
        sizes = candidates.sizes([*words[:2], *(f"no{i}" for i in range(first, first + 200))], 0)

        assert [sizes.pop(word) for word in words[:2]] == [
            count_rows(base["EE"], word) for word in words[:2]
        ]
        assert not any(sizes.values())


def count_rows(shard: Shard, word: str) -> int:
    """The number of rows of the shard that have the word."""
    return sum(has_word(shard, row, word) for row in range(shard.rows))


def slow_scores(
    base: ShardSet, shard_number: int, line_words: Sequence[str], most_rare_rows: int
) -> list[float]:
    """The expected scores of candidates: rows with a rare word of the line, or with two of its frequent words.

    A word of at most `most_rare_rows` rows is rare.
    """
    shard = base[sorted(base)[shard_number]]
    words_by_row = [
        {word: size for name in folded_words(shard, row) for word, size in name}
        for row in range(shard.rows)
    ]
    sizes = {word: size for row in words_by_row for word, size in row.items()}
    rare, frequent = split_by_size(
        {word: sizes[word] for word in line_words if word in sizes}, most_rare_rows
    )
    return [
        slow_score(base, (shard_number, row), set(line_words))
        for row in range(shard.rows)
        if words_by_row[row].keys() & rare or len(words_by_row[row].keys() & frequent) > 1
    ]


def split_by_size(sizes: dict[str, int], most_rare_rows: int) -> tuple[set[str], set[str]]:
    """The rare words, which have at most `most_rare_rows` rows together, and the three next in frequency."""
    rare: set[str] = set()
    ranked = sorted(sizes, key=lambda word: sizes[word])
    for word in ranked:
        if sum(sizes[rare_word] for rare_word in rare) + sizes[word] <= most_rare_rows:
            rare.add(word)
    return rare, set([word for word in ranked if word not in rare][: types.MOST_FREQUENT_GROUPS])


def slow_score(base: ShardSet, shard_and_row: tuple[int, int], line_words: set[str]) -> float:
    """The information of the words that a row, given with its shard, shares with a line.

    Each other word of the row that fewer than one row in 256 has lowers the score by 1.
    """
    shard = base[sorted(base)[shard_and_row[0]]]
    score, counted_words = 0.0, set()
    for word, size in folded_words(shard, shard_and_row[1])[0]:
        if word not in line_words:
            score -= 256 * size < shard.rows
        elif word not in counted_words:
            counted_words.add(word)
            score += candidate_rows.information(shard.rows, size)
    return score
