"""Candidates of a name: near words and rows that share words, beside what a loop over everything finds."""

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
    """Names of words that differ by few letters, searched by one of the two engines."""
    folder, chance = tmp_path_factory.mktemp("shards"), random.Random(3)
    base: ShardSet = ENGINES[request.param].ShardSet()
    for iso2, count in (("EE", 900), ("FR", 0), ("UK", 300)):
        words = ["".join(chance.choices(LETTERS, k=chance.randrange(1, 9))) for _ in range(200)]
        found = [
            company(iso2, str(i), " ".join(chance.choices(words, k=chance.randrange(1, 5))))
            for i in range(count)
        ]
        write_shard(folder / iso2, iso2, found)
        base[iso2] = Shard(folder / iso2)
    yield base
    for shard in base.values():
        shard.close()


def engine_of(base: ShardSet) -> ModuleType:
    """The module of candidates of the engine of `base`."""
    interpreted = isinstance(base, INTERPRETED.ShardSet)
    name = "shards.matching.candidate_rows"
    return INTERPRETED_MODULES[name] if interpreted else candidate_rows


def look_up(base: ShardSet) -> CandidateRows:
    """The look-up of candidates by the engine of `base`."""
    found: CandidateRows = engine_of(base).CandidateRows(base.own_session().arrays)
    return found


def words_of(shard: Shard) -> list[str]:
    return bytes(shard.words.words.data).decode().split("\n")[:-1]


def test_near_words_are_those_at_one_error(base: ShardSet) -> None:
    rows = look_up(base)
    chance = random.Random(4)
    for _ in range(60):
        text = "".join(chance.choices("abcde", k=chance.randrange(4, 9)))
        middle = len(text) // 2
        across = text[: middle - 1] + text[middle] + text[middle - 1] + text[middle + 1 :]
        for number, iso2 in enumerate(sorted(base)):
            shard = base[iso2]
            # The caller looks for two letters that changed places across the middle.
            near = {word for word in words_of(shard) if OSA.distance(text, word) <= 1} - {across}
            expected = {
                row
                for row in range(shard.rows)
                if any(word in near for name in folded_words(shard, row) for word, _ in name)
            }
            found = rows.rows([Spelling(text, 0, 1.0)], [number], near=True)

            some = {row.row for row in found if not has_word(shard, row.row, across)}
            assert some <= expected
            if len(found) < types.KEPT:
                assert some >= {row for row in expected if not has_word(shard, row, across)}


def has_word(shard: Shard, row: int, wanted: str) -> bool:
    return any(word == wanted for name in folded_words(shard, row) for word, _ in name)


def test_the_best_rows_are_those_with_the_greatest_weight(base: ShardSet) -> None:
    rows = look_up(base)
    chance = random.Random(5)
    for _ in range(40):
        chosen = [number for number, iso2 in enumerate(sorted(base)) if base[iso2].rows]
        shard = base[sorted(base)[chosen[0]]]
        wanted = [word for word, _ in folded_words(shard, chance.randrange(shard.rows))[0]]
        spellings = [Spelling(word, group, 1.0) for group, word in enumerate(dict.fromkeys(wanted))]
        found = rows.rows(spellings, chosen, near=False)

        assert found == sorted(found, key=lambda row: -row.score)
        scores = {(row.shard, row.row): row.score for row in found}
        for place, score in scores.items():
            assert score == pytest.approx(slow_score(base, place, {s.text for s in spellings}))
        best = max(
            slow_score(base, (number, row), {s.text for s in spellings})
            for number in chosen
            for row in range(base[sorted(base)[number]].rows)
        )
        assert found[0].score == pytest.approx(best)


@pytest.mark.parametrize("allowed", [20, 60, 3_000])
def test_no_row_is_left_out_that_weighs_enough(
    base: ShardSet, allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of rare words, and those that two of the next three words share, however early the kernel ends."""
    for module in (candidate_rows, INTERPRETED_MODULES["shards.matching.candidate_rows"]):
        monkeypatch.setattr(module, "_ALLOWED", allowed)
    rows, chance = look_up(base), random.Random(6)
    numbers = [number for number, iso2 in enumerate(sorted(base)) if base[iso2].rows]
    for chosen in [numbers] * 60 + [numbers[:1]] * 60:
        shard = base[sorted(base)[chance.choice(chosen)]]
        drawn = chance.choices(range(shard.rows), k=2)
        wanted = sorted({word for row in drawn for word, _ in folded_words(shard, row)[0]})
        spellings = [Spelling(word, group, 1.0) for group, word in enumerate(wanted)]
        found = rows.rows(spellings, chosen, near=False)

        weighed = {number: weighed_rows(base, number, wanted, allowed) for number in chosen}
        if not all(weighed.values()):  # the rarest of the frequent words may stand alone
            continue
        scores = sorted(itertools.chain.from_iterable(weighed.values()), reverse=True)
        least = scores[0] - types.BEHIND
        kept = [
            score
            for place, score in enumerate(scores[: types.KEPT])
            if place < types.FIRST or score >= least
        ]
        assert [row.score for row in found] == pytest.approx(kept)
        assert found == sorted(found, key=lambda row: (-row.score, row.shard, row.row))


def test_a_word_is_looked_up_once_in_a_batch(
    base: ShardSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, looked_up = look_up(base), list[int]()
    lines: ModuleType = engine_of(base).candidates
    look = lines.lookup

    def counted(*given: Any) -> int:
        looked_up.append(look(*given))
        return looked_up[-1]

    monkeypatch.setattr(lines, "lookup", counted)
    words = words_of(base["EE"])[:7]
    rows.rows([Spelling(word, i, 1.0) for i, word in enumerate(words[:4])], [0], near=True)
    sizes = [rows.sizes(words, 0), rows.sizes(words, 0)]
    rows.forget()
    sizes.append(rows.sizes(words, 0))

    assert looked_up == [1] * (3 + 7)
    assert sizes[0] == sizes[1] == sizes[2] == {word: rows_with(base["EE"], word) for word in words}


def test_more_texts_are_looked_up_than_are_remembered(base: ShardSet) -> None:
    rows = look_up(base)
    words = words_of(base["EE"])
    for first in range(0, 20_000, 200):
        sizes = rows.sizes([*words[:2], *(f"no{i}" for i in range(first, first + 200))], 0)

        assert [sizes.pop(word) for word in words[:2]] == [
            rows_with(base["EE"], w) for w in words[:2]
        ]
        assert not any(sizes.values())


def rows_with(shard: Shard, word: str) -> int:
    return sum(has_word(shard, row, word) for row in range(shard.rows))


def weighed_rows(base: ShardSet, number: int, wanted: Sequence[str], allowed: int) -> list[float]:
    """What the rows of a shard weigh that have a rare word, or two of the frequent ones."""
    shard = base[sorted(base)[number]]
    words = [
        {word: size for name in folded_words(shard, row) for word, size in name}
        for row in range(shard.rows)
    ]
    sizes = {word: size for row in words for word, size in row.items()}
    rare, frequent = parted({word: sizes[word] for word in wanted if word in sizes}, allowed)
    return [
        slow_score(base, (number, row), set(wanted))
        for row in range(shard.rows)
        if words[row].keys() & rare or len(words[row].keys() & frequent) > 1
    ]


def parted(wanted: dict[str, int], allowed: int) -> tuple[set[str], set[str]]:
    """The words whose rows are all weighed, the rarest first, and the next three."""
    rare: set[str] = set()
    ranked = sorted(wanted, key=lambda word: wanted[word])
    for word in ranked:
        if sum(wanted[one] for one in rare) + wanted[word] <= allowed:
            rare.add(word)
    return rare, set([word for word in ranked if word not in rare][: types.FREQUENT_GROUPS])


def slow_score(base: ShardSet, place: tuple[int, int], wanted: set[str]) -> float:
    shard = base[sorted(base)[place[0]]]
    score, seen = 0.0, set()
    for word, size in folded_words(shard, place[1])[0]:
        if word not in wanted:
            score -= 256 * size < shard.rows
        elif word not in seen:
            seen.add(word)
            score += candidate_rows.information(shard.rows, size)
    return score
