"""Text in cells and names of sheets (F8, F9)."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.features.export.workbook.sheet import (
    LONGEST_CELL,
    LONGEST_NAME,
    clean,
    could_be_formula,
    sheet_names,
    shorten,
)

# Without surrogates, which UTF-8 does not have.
any_text = st.text(st.characters(codec="utf-8"), max_size=60)


@given(any_text)
@example("Société d'Orléans")
def test_text_that_fits_is_not_changed(text: str) -> None:
    cleaned = clean(text)

    assert (cleaned is text) or not text.isprintable()
    assert clean(cleaned) == cleaned


@given(any_text)
def test_cleaned_text_is_valid_in_xml(text: str) -> None:
    """XML 1.0 §2.2"""
    assert not re.search("[^\t\n\x20-\x7e\xa0-\ufffd\U00010000-\U0010ffff]", clean(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b\x1fc", "a b c"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\rA", "\nA"),
        ("a\tb\nc", "a\tb\nc"),
        ("\ufffe\uffff", "  "),
        ("\x85\x9f", "  "),
        ("<r><t>x</t></r>", "<r><t>x</t></r> "),
        ("Żabka 🚀\u2028", "Żabka 🚀\u2028"),
    ],
)
def test_a_character_that_no_cell_can_hold_becomes_a_blank(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("letter", ["é", "🚀"])
@pytest.mark.parametrize("length", [LONGEST_CELL // 2, LONGEST_CELL, LONGEST_CELL + 1, 70_000])
def test_a_text_is_cut_at_the_utf_16_limit_of_a_cell(letter: str, length: int) -> None:
    text = letter * length
    units = len(text.encode("utf-16-le")) // 2

    cleaned = clean(text)

    assert len(cleaned.encode("utf-16-le")) // 2 <= LONGEST_CELL
    assert (cleaned == text) == (units <= LONGEST_CELL)
    assert cleaned.endswith("…") == (units > LONGEST_CELL)


@given(any_text, st.integers(1, 20))
def test_a_shortened_text_leaves_at_most_one_unit_unused(text: str, units: int) -> None:
    """Excel counts UTF-16 units, and some characters need two, so a text may end one unit early."""
    shortened = shorten(text, units)
    length = len(shortened.encode("utf-16-le")) // 2

    assert length <= units
    assert text.startswith(shortened.removesuffix("…"))
    assert shortened == text or length >= units - 1


@pytest.mark.parametrize("text", ["=1", "+33", "-1", "@a", "\tx", "\rx", "\nx"])
def test_text_that_a_program_takes_for_a_formula_is_recognised(text: str) -> None:
    """F9"""
    assert could_be_formula(text)
    assert not could_be_formula(f"a{text}")


@given(st.lists(any_text, max_size=40))
@example(["A", "a", "A~2", "'", "", "x" * 40, "X" * 40, "é" * 31, "🚀" * 20])
def test_names_of_sheets_are_valid_and_unique_without_regard_to_case(titles: list[str]) -> None:
    """F8"""
    names = list(sheet_names(titles, taken=["Intro"]))

    assert len(names) == len(titles)
    assert len({name.casefold() for name in [*names, "Intro"]}) == len(titles) + 1
    for name in names:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= LONGEST_NAME
        assert not re.search(r"[\[\]:*?/\\\x00-\x1f]", name)
        assert name[0] != "'"
        assert name[-1] != "'"
