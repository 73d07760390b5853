"""Names resemble real names."""

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

from tests.bench.synth.names import draw_rare
from tests.bench.synth.random_draws import fill_pattern, generator
from tests.bench.synth.synthetic import PROFILES


def count_words(companies: pl.DataFrame) -> Counter[str]:
    """The number of companies whose name has a word, by word."""
    split = companies["nom"].str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    return Counter(split.list.unique().explode().to_list())


def test_word_frequencies_resemble_a_register(companies: pl.DataFrame) -> None:
    counts = count_words(companies)

    assert counts.most_common(1)[0][1] > 0.01 * companies.height
    assert counts["services"] > 0.01 * companies.height
    assert sum(count == 1 for count in counts.values()) > 0.5 * len(counts)
    assert 0.3 < len(counts) / companies.height < 1.2


def test_the_share_of_new_rare_words_falls_with_the_number_of_draws() -> None:
    english = PROFILES["UK"].lexicons[0]
    rare_words = draw_rare(english, generator(1, 0, 0, "names"), 400_000)

    assert rare_words[:4_000].n_unique() / 4_000 > 0.6
    assert 0.2 < rare_words.n_unique() / 400_000 < 0.5


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
def test_names_have_the_marks_of_real_names(companies: pl.DataFrame, pattern: str) -> None:
    assert companies["nom"].str.contains(pattern).any()


def test_some_companies_have_the_name_of_another_company(companies: pl.DataFrame) -> None:
    distinct = companies.select("iso2", "nom").n_unique()

    # 3 % of the names are copies, and a name can also be drawn twice.
    assert 0.02 < 1 - distinct / companies.height < 0.1


def test_a_pattern_is_filled_with_digits_and_letters() -> None:
    texts = fill_pattern("@#-##", np.random.default_rng(1), 100)

    assert texts.str.contains(r"^[A-Z]\d-\d\d$").all()
