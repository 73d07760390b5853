"""Company numbers as people write them: every label of the table, before or after the number, with any marks (X19)."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.contract import seed_tables
from shards.codec.folding import fold_id
from shards.search.written_numbers import plain_text

NOTATION: Final = seed_tables.number_notation()
LABELS: Final = [row for row in seed_tables.rows("mentions.csv") if row["type"] != "mot"]
# A number of each country, in the form of its register.
NUMBERS: Final = {row["iso2"]: row["id_exemple"] for row in seed_tables.rows("pays.csv")}
SEPARATORS: Final = (
    " ",
    ": ",
    " : ",
    " n° ",
    " Nr. ",
    ". ",
    "\u00a0",
    " – ",
    " no. ",
    "\t",
    " č. ",
    " № ",
)
MARKS: Final = ("", " ", ".", "-", "\u00a0", "\u2009", "–", "\u200b")


def spell(number: str, marks: list[int], style: str) -> str:
    """The number with marks between its digits, possibly with full-width digits or small letters."""
    parts = [
        char + (MARKS[marks[i % len(marks)]] if char.isdigit() else "")
        for i, char in enumerate(number)
    ]
    text = "".join(parts).rstrip(".- –\u00a0\u2009")
    if style == "wide":
        return "".join(chr(ord(char) + 0xFEE0) if char.isdigit() else char for char in text)
    return text.lower() if style == "small" else text


@given(
    st.integers(0, len(LABELS) - 1),
    st.sampled_from(SEPARATORS),
    st.lists(st.integers(0, len(MARKS) - 1), min_size=1, max_size=4),
    st.sampled_from(("", "wide", "small")),
    st.booleans(),
    st.integers(0, 24),
)
def test_a_label_before_or_after_a_number_gives_its_countries(
    label_number: int,
    separator: str,
    marks: list[int],
    style: str,
    label_first: bool,
    country_number: int,
) -> None:
    """The number is read, at least without its letters, for the country, unless the label is of other numbers."""
    label = LABELS[label_number]
    isos = sorted(label["iso2"].split()) or sorted(NUMBERS)
    iso2 = isos[country_number % len(isos)]
    number = NUMBERS[iso2].partition("_")[2] or NUMBERS[iso2]  # without the code of a court
    text = spell(number, marks, style)
    labelled = (
        f"{label['mention']}{separator}{text}" if label_first else f"{text} ({label['mention']})"
    )

    written = NOTATION.read(labelled)

    # After a label of other numbers (DUNS), digits are not read; a number with letters (`HRB 1`) may be read.
    if label["type"] == "autre":
        assert not number.isdigit() or not any(
            fold_id(number) == reading.folded for group in written.numbers for reading in group
        )
        return
    readings = [
        reading
        for group in written.numbers
        for reading in group
        if not reading.isos or iso2 in reading.isos
    ]
    without_letters = fold_id(number).lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert any(
        reading.folded.endswith((fold_id(number), without_letters)) for reading in readings
    ), labelled


@pytest.mark.parametrize(
    ("text", "number", "isos"),
    [
        ("KRS0000028860", "0000028860", {"PL"}),
        ("0000028860KRS", "0000028860", {"PL"}),
        ("IČO27074358", "27074358", {"CZ", "SK"}),
        ("27074358 IČ", "27074358", {"CZ", "SK"}),
        # Two letters may be a part of the number.
        ("IČ27074358", "IČ27074358", set()),
        ("27074358IČ", "27074358IČ", set()),
        ("CF06377691008", "CF06377691008", set()),
        ("CF 06377691008", "06377691008", {"IT"}),
    ],
)
def test_a_label_joined_to_its_number_has_three_letters_or_more(
    text: str, number: str, isos: set[str]
) -> None:
    (readings,) = NOTATION.read(text).numbers

    assert readings[0].folded == number
    assert readings[0].isos == isos


@given(st.text(max_size=60), st.integers(0, len(LABELS) - 1))
def test_any_text_can_be_read(text: str, label_number: int) -> None:
    for labelled in (text, f"{LABELS[label_number]['mention']} {text}", f"{text} {text}"):
        written = NOTATION.read(labelled)

        assert written.is_number == bool(written.numbers)
        assert all(reading.folded for group in written.numbers for reading in group)
        assert not (NOTATION.is_placeholder(labelled) and written.is_number)
        # A second call may still remove a mark; a third changes nothing.
        assert plain_text(plain_text(labelled)) == plain_text(plain_text(plain_text(labelled)))


@pytest.mark.parametrize(
    "row", seed_tables.rows("valeurs_absentes.csv"), ids=lambda row: row["valeur"]
)
def test_a_placeholder_is_recognised_in_any_case(row: dict[str, str]) -> None:
    for text in (row["valeur"], row["valeur"].upper(), f" {row['valeur']}. ", f"({row['valeur']})"):
        assert NOTATION.is_placeholder(text), text


@pytest.mark.parametrize("row", seed_tables.rows("icd.csv"), ids=lambda row: row["code"])
def test_each_scheme_of_participants_is_recognised(row: dict[str, str]) -> None:
    written = NOTATION.read(f"iso6523-actorid-upis::{row['code']}:123456789")

    isos = {iso2 for group in written.numbers for reading in group for iso2 in reading.isos}
    assert written.is_number == (row["type"] != "autre")
    assert not row["iso2"] or isos <= {row["iso2"]}


@pytest.mark.parametrize("row", seed_tables.rows("tribunaux.csv"), ids=lambda row: row["nom"])
def test_each_court_is_recognised_by_its_name(row: dict[str, str]) -> None:
    for text in (f"Amtsgericht {row['nom']} HRB 123", f"HRB 123 ({row['nom']})"):
        readings = [reading.folded for group in NOTATION.read(text).numbers for reading in group]
        assert f"{row['code']}HRB123" in readings, text


@pytest.mark.parametrize(
    "text",
    ["Boulangerie 1864", "Studio 54", "Area 51", "3M", "2020 Invest SAS", "24 heures", "Renault 542065479",
     "VAT 4 U Ltd", "B 52", "1664"],
)  # fmt: skip
def test_a_name_with_a_number_is_not_certainly_a_number(text: str) -> None:
    written = NOTATION.read(text)

    longest = max((len(group[0].folded) for group in written.numbers), default=0)
    assert not written.is_certain or longest < 5
