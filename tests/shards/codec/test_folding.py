"""Folding (contract B15), compared with the oracle for every character of Unicode."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold, fold_id
from tests import oracle

# Without surrogates, which no valid text contains.
EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def test_every_character_folds_as_the_oracle_folds_it() -> None:
    assert [c for c in EVERY_CHARACTER if fold(f"a{c}b") != oracle.folded_text(f"a{c}b")] == []


def test_folding_twice_is_folding_once() -> None:
    for function in (fold, fold_id):
        assert [
            text for text in set(map(function, EVERY_CHARACTER)) if function(text) != text
        ] == []


@given(st.text())
def test_any_text_folds_as_the_oracle_folds_it(text: str) -> None:
    assert fold(text) == oracle.folded_text(text)
    assert fold_id(text) == oracle.letters_and_digits(text)


def test_unicode_forms_and_cases_fold_to_the_same_text() -> None:
    """B15"""
    forms = ["ORLÉANS", "orléans", "Orle\u0301ans", "ＯＲＬÉＡＮＳ"]

    assert {fold(form) for form in forms} == {"orleans"}


def test_ligatures_are_spelt_out() -> None:
    """B15"""
    assert fold("Straße Ærø Œuvre Łódź Đuro Þór Ðe") == "strasse aero oeuvre lodz duro thor de"


def test_neighbouring_characters_that_are_not_letters_or_digits_become_one_blank() -> None:
    """B15"""
    assert fold("  A&B--(C)\u00a0«D»_E ") == "a b c d e"


@pytest.mark.parametrize("invisible", ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff"])
def test_a_character_without_width_does_not_split_a_word(invisible: str) -> None:
    text = f"Bau{invisible}haus"

    assert fold(text) == oracle.folded_text(text) == "bauhaus"
