"""Numbers of companies as people write them: each label of the table, between all marks, in front and behind (X19)."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.contract import seed_tables
from shards.codec.folding import fold_id
from shards.search.written_numbers import plain_text

NOTATION: Final = seed_tables.number_notation()
LABELS: Final = [row for row in seed_tables.rows("mentions.csv") if row["type"] != "mot"]
# A number of each country, of the form of its register.
NUMBERS: Final = {row["iso2"]: row["id_exemple"] for row in seed_tables.rows("pays.csv")}
BEHIND: Final = (
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


def spelt(number: str, marks: list[int], kind: str) -> str:
    """The number with marks between its digits, in usual or in full-width digits."""
    parts = [
        char + (MARKS[marks[i % len(marks)]] if char.isdigit() else "")
        for i, char in enumerate(number)
    ]
    text = "".join(parts).rstrip(".- –\u00a0\u2009")
    if kind == "wide":
        return "".join(chr(ord(char) + 0xFEE0) if char.isdigit() else char for char in text)
    return text.lower() if kind == "small" else text


@given(
    st.integers(0, len(LABELS) - 1),
    st.sampled_from(BEHIND),
    st.lists(st.integers(0, len(MARKS) - 1), min_size=1, max_size=4),
    st.sampled_from(("", "wide", "small")),
    st.booleans(),
    st.integers(0, 24),
)
def test_a_label_beside_a_number_names_its_countries(
    place: int, between: str, marks: list[int], kind: str, before: bool, country: int
) -> None:
    label = LABELS[place]
    isos = sorted(label["iso2"].split()) or sorted(NUMBERS)
    iso2 = isos[country % len(isos)]
    number = NUMBERS[iso2].partition("_")[2] or NUMBERS[iso2]  # without the code of a court
    text = spelt(number, marks, kind)
    written = f"{label['mention']}{between}{text}" if before else f"{text} ({label['mention']})"

    read = NOTATION.read(written)

    if label["type"] == "autre":  # `HRB` says what it is, whatever is said beside it
        assert not number.isdigit() or not any(
            fold_id(number) == one.folded for group in read.numbers for one in group
        )
        return
    meant = [one for group in read.numbers for one in group if not one.isos or iso2 in one.isos]
    bare = fold_id(number).lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert any(one.folded.endswith((fold_id(number), bare)) for one in meant), written


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
def test_a_label_without_a_blank_beside_the_number_has_three_letters_or_more(
    text: str, number: str, isos: set[str]
) -> None:
    (readings,) = NOTATION.read(text).numbers

    assert readings[0].folded == number
    assert readings[0].isos == isos


@given(st.text(max_size=60), st.integers(0, len(LABELS) - 1))
def test_no_text_is_too_odd_to_be_read(text: str, place: int) -> None:
    for written in (text, f"{LABELS[place]['mention']} {text}", f"{text} {text}"):
        read = NOTATION.read(written)

        assert read.is_number == bool(read.numbers)
        assert all(reading.folded for group in read.numbers for reading in group)
        assert not (NOTATION.is_placeholder(written) and read.is_number)
        assert plain_text(plain_text(written)) == plain_text(plain_text(plain_text(written)))


@pytest.mark.parametrize(
    "row", seed_tables.rows("valeurs_absentes.csv"), ids=lambda row: row["valeur"]
)
def test_a_placeholder_is_none_in_any_case(row: dict[str, str]) -> None:
    for text in (row["valeur"], row["valeur"].upper(), f" {row['valeur']}. ", f"({row['valeur']})"):
        assert NOTATION.is_placeholder(text), text


@pytest.mark.parametrize("row", seed_tables.rows("icd.csv"), ids=lambda row: row["code"])
def test_each_scheme_of_participants_is_known(row: dict[str, str]) -> None:
    read = NOTATION.read(f"iso6523-actorid-upis::{row['code']}:123456789")

    isos = {iso2 for group in read.numbers for one in group for iso2 in one.isos}
    assert read.is_number == (row["type"] != "autre")
    assert not row["iso2"] or isos <= {row["iso2"]}


@pytest.mark.parametrize("row", seed_tables.rows("tribunaux.csv"), ids=lambda row: row["nom"])
def test_each_court_is_known_by_its_names(row: dict[str, str]) -> None:
    for text in (f"Amtsgericht {row['nom']} HRB 123", f"HRB 123 ({row['nom']})"):
        readings = [one.folded for group in NOTATION.read(text).numbers for one in group]
        assert f"{row['code']}HRB123" in readings, text


@pytest.mark.parametrize(
    "text",
    ["Boulangerie 1864", "Studio 54", "Area 51", "3M", "2020 Invest SAS", "24 heures", "Renault 542065479",
     "VAT 4 U Ltd", "B 52", "1664"],
)  # fmt: skip
def test_a_name_with_a_number_is_rather_a_name(text: str) -> None:
    read = NOTATION.read(text)

    digits = max((len(group[0].folded) for group in read.numbers), default=0)
    assert not read.is_certain or digits < 5
