"""Text cleaning: one Unicode form, no control characters, no empty values."""

import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import canonical
from pipeline.stages import text_cleaning
from tests.pipeline.rows import companies, company

# Texts that `rejections`, `codes` and `accounts` check by their form or look up: codes and dates.
CHECKED = {
    "iso2", "id", "date_creation", "date_source", "capital_devise", "ca_devise", "devise", "nace_code",
    "nace_version", "etat", "code",
}  # fmt: skip


def cleaned(nom: str | None) -> str | None:
    found: str | None = (
        companies(company("EE", "1", nom)).pipe(text_cleaning.clean).collect()["nom"].item()
    )
    return found


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("https://bank.fr@evil.com/x", "https://evil.com/x"),
        ("HTTP://user:pass@www.abc.ee", "HTTP://www.abc.ee"),
        ("//a@b@abc.ee", "//abc.ee"),
        ("https://abc.ee/@profile", "https://abc.ee/@profile"),
        ("https://abc.ee?mail=a@b.ee", "https://abc.ee?mail=a@b.ee"),
        ("abc.ee", "abc.ee"),
    ],
)
def test_an_address_has_no_user_before_its_host(published: str, expected: str) -> None:
    """RFC 3986 §3.2.1"""
    rows = companies(company("EE", "1", "Ä", site_web=published, url_registre=published))

    found = rows.pipe(text_cleaning.clean).collect()

    assert found["site_web"].item() == found["url_registre"].item() == expected


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("Orle\u0301ans", "Orléans"),
        ("  Société   Générale \n", "Société   Générale"),
        ("Rue A\r\nBât. B", "Rue A Bât. B"),
        ("Ża\x00bka\x07", "Ża bka"),
        ("\x85\u2028", None),
        ("\ufeffŻabka\u200d \u00ad", "Żabka"),
        ("\u200b", None),
        ("Ża\u200bbka", "Żabka"),
        ("", None),
        (None, None),
        ("ＡＢＣ Ψ 😀", "ＡＢＣ Ψ 😀"),
    ],
)
def test_text_is_composed_trimmed_and_printable(
    published: str | None, expected: str | None
) -> None:
    assert cleaned(published) == expected


def test_what_is_taken_for_tidy_is_left_alone_by_every_rule() -> None:
    """Alone and beside any other: no letter of it joins the one before (NFC), none is a blank."""
    tidy = [chr(c) for c in range(0x600) if re.fullmatch(f"[{text_cleaning._TIDY}]", chr(c))]
    seconds = {
        unicodedata.normalize("NFD", chr(c))[1:2]
        for c in range(0x30000)
        if not 0xAC00 <= c < 0xD7B0
    }

    assert {"A", "é", "ł", "Ψ", "Ж"} <= set(tidy)
    assert not seconds & set(tidy)
    for letter in tidy:
        assert unicodedata.normalize("NFC", letter) == letter
        assert not unicodedata.combining(letter)
        assert unicodedata.category(letter) not in ("Cc", "Cf", "Zl", "Zp")
        assert letter == " " or not letter.isspace()


@pytest.mark.parametrize("published", ["\ufeff7", "\u200b7", " 7\u00a0", "\t7\u00ad", "7\u200e"])
def test_an_identifier_loses_what_no_one_sees_at_its_ends(published: str) -> None:
    frame = companies(company("EE", published, "Ä")).pipe(text_cleaning.clean).collect()

    assert frame["id"].item() == "7"


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("10000018.0", "10000018"),
        ("1.0", "1.0"),
        ("0422.033.736", "0422.033.736"),
        ("12345.00", "12345.00"),
    ],
)
def test_an_identifier_that_was_a_float_is_a_whole_number_again(
    published: str, expected: str
) -> None:
    frame = companies(company("EE", published, "Ä")).pipe(text_cleaning.clean)

    assert frame.collect()["id"].item() == expected


def test_the_inside_of_an_identifier_is_left_alone() -> None:
    frame = companies(company("EE", " a\tb ", "Ä")).pipe(text_cleaning.clean).collect()

    assert frame["id"].item() == "a\tb"


def test_a_long_name_is_cut_and_the_row_marked() -> None:
    frame = companies(company("EE", "1", "é" * 501), company("EE", "2", "é" * 500))

    found = frame.pipe(text_cleaning.clean).collect()

    assert found["nom"].str.len_chars().to_list() == [500, 500]
    assert found[text_cleaning.CUT].to_list() == [True, False]


def test_a_text_that_is_cut_at_a_blank_does_not_end_with_it() -> None:
    assert cleaned("é" * 499 + " fin") == "é" * 499


def test_every_text_that_is_stored_has_a_cap() -> None:
    """ARCHITECTURE.md, *a company field*: those without one are codes and dates, which other stages check."""
    texts = {
        name
        for columns in (canonical.COMPANIES, canonical.COMPTES)
        for name, dtype in columns.items()
        if dtype in (canonical.TEXT, canonical.TEXTS)
    }

    assert texts - set(text_cleaning.CAPS) == CHECKED


@pytest.mark.parametrize("field", sorted(text_cleaning.WHOLE_OR_NULL))
def test_a_long_contact_is_null_never_a_part_of_one(field: str) -> None:
    """§2.1: an approximate value is never returned."""
    row = company("EE", "1", "Ä", **{field: "x" * (text_cleaning.CAPS[field] + 1)})

    found = companies(row).pipe(text_cleaning.clean).collect()

    assert found[field].item() is None
    assert found[text_cleaning.CUT].item() is True


@pytest.mark.parametrize("field", sorted(set(text_cleaning.CAPS) & set(canonical.COMPANIES)))
def test_a_text_of_exactly_its_cap_stays_whole(field: str) -> None:
    text = "@abc.ee".rjust(text_cleaning.CAPS[field], "x")
    published = [text] if canonical.COMPANIES[field] == canonical.TEXTS else text
    row = {**company("EE", "1", "Ä"), field: published}

    frame = companies(row).pipe(text_cleaning.clean).collect()

    assert frame.to_dicts()[0][field] == published
    assert frame[text_cleaning.CUT].item() is False


@given(st.lists(st.none() | st.text(max_size=20), max_size=10))
def test_cleaning_twice_changes_nothing(names: list[str | None]) -> None:
    once = companies(*(company("EE", str(i), nom) for i, nom in enumerate(names))).pipe(
        text_cleaning.clean
    )

    assert (
        text_cleaning.clean(
            once.drop(text_cleaning.CUT, text_cleaning.NO_LINK, text_cleaning.NO_EMAIL)
        )
        .collect()
        .equals(once.collect())
    )
    for value in once.collect()["nom"].drop_nulls():
        assert value == unicodedata.normalize("NFC", value)
        assert not any(unicodedata.category(char) == "Cc" for char in value)


def test_a_frame_without_text_that_can_be_too_long_is_cleaned_too() -> None:
    frame = (
        pl.LazyFrame({"id": [" 1 "], "libelle": ["Œuvre\t"]}).pipe(text_cleaning.clean).collect()
    )

    assert frame.row(0) == ("1", "Œuvre", False, 0, False)


def test_the_texts_of_a_list_are_cleaned_and_an_empty_list_is_null() -> None:
    lists = [
        ["  Orle\u0301ans \n", "", None, "Rue\r\nA", "Orléans"],
        ["x" * 501, "b"],
        ["\x85", None],
        [],
        None,
    ]
    rows = [company("EE", str(n), "Õ", noms_anterieurs=found) for n, found in enumerate(lists)]

    found = companies(*rows).pipe(text_cleaning.clean).collect()

    cut = ["x" * 500, "b"]
    assert found["noms_anterieurs"].to_list() == [["Orléans", "Rue A"], cut, None, None, None]
    assert found[text_cleaning.CUT].to_list() == [False, True, False, False, False]


def test_a_part_of_an_lei_or_a_vat_number_is_never_kept() -> None:
    row = company("EE", "1", "Õ", lei="5" * 21, tva="EE" + "1" * 29)

    found = companies(row).pipe(text_cleaning.clean).collect()

    assert found.select("lei", "tva", text_cleaning.CUT).row(0) == (None, None, True)


@pytest.mark.parametrize(
    ("published", "kept"),
    [
        ("javascript:alert(1)", False),
        ("\x01 JavaScript:alert(1)//a.fr:80/", False),
        ("data:text/html,<b>", False),
        ("file:///etc/passwd", False),
        ("vbscript:x", False),
        ("mailto:info@abc.ee", False),
        ("javascript:80", False),
        ("https://abc.ee/a:b", True),
        ("HTTP://abc.ee", True),
        ("www.abc.ee", True),
        ("www.abc.ee:8080/à", True),
        ("www.abc.ee/x?y=javascript:1", True),
    ],
)
def test_an_address_that_is_none_of_the_web_is_null_and_counted(published: str, kept: bool) -> None:
    row = company("EE", "1", "Ä", site_web=published, url_registre="https://register.ee/1")
    found = companies(row).pipe(text_cleaning.clean).collect()

    assert found["site_web"].item() == (published if kept else None)
    assert found[text_cleaning.NO_LINK].item() == (0 if kept else 1)
    assert found["url_registre"].item() == "https://register.ee/1"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("info@abc.ee", True),
        ("jean-paul.o'neil+x@sub.société-générale.fr", True),
        ("почта@пример.бг", True),
        ("a@xn--exmple-cua.xn--p1ai", True),
        ("A_B=C!#$%&*/?^`{|}~@A.COM", True),
        ("info@abc.ee; x@y.fr", False),
        ("info@abc.ee, x@y.fr", False),
        ("mailto:info@abc.ee", False),
        ("javascript:alert(1)@a.fr", False),
        ("<info@abc.ee>", False),
        ("info @abc.ee", False),
        ("info(at)abc.ee", False),
        ("info@@abc.ee", False),
        ("info@abc", False),
        ("info@abc.", False),
        ("info@.ee", False),
        ("info@-abc.ee", False),
        ("info@abc..ee", False),
        (".info@abc.ee", False),
        ("info.@abc.ee", False),
        ("info@127.0.0.1", False),
        ("@abc.ee", False),
        ("n/a", False),
        ("www.abc.ee", False),
    ],
)
def test_what_is_no_email_address_is_null_and_counted(text: str, kept: bool) -> None:
    frame = pl.DataFrame({"email": [text, None], "nom": ["A", "B"]}).lazy()

    found = text_cleaning.clean(frame).collect()

    assert found["email"].to_list() == [text if kept else None, None]
    assert found[text_cleaning.NO_EMAIL].to_list() == [not kept, False]


@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\u2060", "\ufeff"])
def test_a_word_keeps_no_character_without_a_width(unseen: str) -> None:
    frame = companies(company("EE", "7", f"Bau{unseen}haus e\u200b\u0301"))

    assert frame.pipe(text_cleaning.clean).collect()["nom"].item() == "Bauhaus é"
