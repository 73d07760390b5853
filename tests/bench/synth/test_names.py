"""Names are shaped like real ones."""

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

from tests.bench.synth.names import draw_rare
from tests.bench.synth.random_draws import fill_pattern, generator
from tests.bench.synth.synthetic import PROFILES


def words(companies: pl.DataFrame) -> Counter[str]:
    split = companies["nom"].str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    return Counter(split.list.unique().explode().to_list())


def test_words_are_frequent_like_those_of_a_register(companies: pl.DataFrame) -> None:
    found = words(companies)

    assert found.most_common(1)[0][1] > 0.01 * companies.height
    assert found["services"] > 0.01 * companies.height
    assert sum(count == 1 for count in found.values()) > 0.5 * len(found)
    assert 0.3 < len(found) / companies.height < 1.2


def test_new_words_become_rarer_as_names_become_more() -> None:
    english = PROFILES["UK"].lexicons[0]
    drawn = draw_rare(english, generator(1, 0, 0, "names"), 400_000)

    assert drawn[:4_000].n_unique() / 4_000 > 0.6
    assert 0.2 < drawn.n_unique() / 400_000 < 0.5


def test_names_have_accents_ligatures_and_other_scripts(companies: pl.DataFrame) -> None:
    text = "".join(companies["nom"]).lower()

    assert set("éèçñãõäöüßøåæœłżšřđțșģļņąęīū") <= set(text)
    assert re.search("[а-я]", text)
    assert re.search("[α-ω]", text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^24 |\b24\b",
        r"^\p{L} \p{L} ",
        r"\p{L}\.\p{L}\.",
        "&",
        r"\p{L}-\p{L}",
        "['’]",
        '"',
        r"\(",
        r" (LTD|LIMITED)$",
        " GmbH",
        "OÜ",
        r"d\.o\.o\.",
        "SARL",
    ],
)
def test_names_have_the_marks_of_real_ones(companies: pl.DataFrame, pattern: str) -> None:
    assert companies["nom"].str.contains(pattern).any()


def test_some_whole_names_are_those_of_another_company(companies: pl.DataFrame) -> None:
    distinct = companies.select("iso2", "nom").n_unique()

    assert 0.02 < 1 - distinct / companies.height < 0.1


def test_a_pattern_is_filled_with_digits_and_letters() -> None:
    found = fill_pattern("@#-##", np.random.default_rng(1), 100)

    assert found.str.contains(r"^[A-Z]\d-\d\d$").all()
