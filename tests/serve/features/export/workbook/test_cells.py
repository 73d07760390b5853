"""Text in cells and names of sheets (F8, F9)."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.features.export.workbook.sheet import (
    LONGEST_CELL,
    LONGEST_NAME,
    clean,
    is_active,
    sheet_names,
    shorten,
)

anything = st.text(st.characters(codec="utf-8"), max_size=60)


@given(anything)
@example("Société d'Orléans")
def test_text_that_fits_is_not_touched(text: str) -> None:
    fit = clean(text)

    assert (fit is text) or not text.isprintable()
    assert clean(fit) == fit


@given(anything)
def test_what_is_left_is_what_xml_can_say(text: str) -> None:
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
def test_what_no_cell_can_hold_becomes_a_blank(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("letter", ["é", "🚀"])
@pytest.mark.parametrize("length", [LONGEST_CELL // 2, LONGEST_CELL, LONGEST_CELL + 1, 70_000])
def test_a_cell_holds_so_many_utf_16_units(letter: str, length: int) -> None:
    text = letter * length
    units = len(text.encode("utf-16-le")) // 2

    fit = clean(text)

    assert len(fit.encode("utf-16-le")) // 2 <= LONGEST_CELL
    assert (fit == text) == (units <= LONGEST_CELL)
    assert fit.endswith("…") == (units > LONGEST_CELL)


@given(anything, st.integers(1, 20))
def test_a_cut_keeps_as_much_as_there_is_room_for(text: str, units: int) -> None:
    short = shorten(text, units)
    length = len(short.encode("utf-16-le")) // 2

    assert length <= units
    assert text.startswith(short.removesuffix("…"))
    assert short == text or length >= units - 1


@pytest.mark.parametrize("text", ["=1", "+33", "-1", "@a", "\tx", "\rx", "\nx"])
def test_text_that_a_program_could_run_is_known(text: str) -> None:
    """F9"""
    assert is_active(text)
    assert not is_active(f"a{text}")


@given(st.lists(anything, max_size=40))
@example(["A", "a", "A~2", "'", "", "x" * 40, "X" * 40, "é" * 31, "🚀" * 20])
def test_names_of_sheets_are_allowed_and_unlike_in_any_case(wanted: list[str]) -> None:
    """F8"""
    names = list(sheet_names(wanted, taken=["Intro"]))

    assert len(names) == len(wanted)
    assert len({name.casefold() for name in [*names, "Intro"]}) == len(wanted) + 1
    for name in names:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= LONGEST_NAME
        assert not re.search(r"[\[\]:*?/\\\x00-\x1f]", name)
        assert name[0] != "'"
        assert name[-1] != "'"
