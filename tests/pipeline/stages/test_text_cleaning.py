"""Text cleaning: one Unicode form, no control characters, no empty values."""

import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import canonical
from pipeline.stages import text_cleaning
from tests.pipeline.rows import companies_frame, company

# Columns without a cap on their length, because other stages check their form or look them up: codes and dates.
CHECKED_ELSEWHERE = {
    "iso2", "id", "date_creation", "date_source", "capital_devise", "ca_devise", "devise", "nace_code",
    "nace_version", "etat", "code",
}  # fmt: skip


def clean_name(nom: str | None) -> str | None:
    """The name of a company after text cleaning."""
    cleaned: str | None = (
        companies_frame(company("EE", "1", nom)).pipe(text_cleaning.clean).collect()["nom"].item()
    )
    return cleaned


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
def test_a_web_address_loses_the_user_before_its_host(published: str, expected: str) -> None:
    """RFC 3986 §3.2.1."""
    rows = companies_frame(company("EE", "1", "Ä", site_web=published, url_registre=published))

    frame = rows.pipe(text_cleaning.clean).collect()

    assert frame["site_web"].item() == frame["url_registre"].item() == expected


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
    assert clean_name(published) == expected


def test_no_cleaning_rule_changes_the_characters_that_are_taken_for_tidy() -> None:
    """No tidy character combines with the character before it (NFC), and no tidy character is a blank."""
    tidy = [
        chr(code_point)
        for code_point in range(0x600)
        if re.fullmatch(f"[{text_cleaning._TIDY}]", chr(code_point))
    ]
    # Characters that Unicode composes with the character before them; Korean syllables (from 0xAC00) are left out.
    combining = {
        unicodedata.normalize("NFD", chr(code_point))[1:2]
        for code_point in range(0x30000)
        if not 0xAC00 <= code_point < 0xD7B0
    }

    assert {"A", "é", "ł", "Ψ", "Ж"} <= set(tidy)
    assert not combining & set(tidy)
    for letter in tidy:
        assert unicodedata.normalize("NFC", letter) == letter
        assert not unicodedata.combining(letter)
        assert unicodedata.category(letter) not in ("Cc", "Cf", "Zl", "Zp")
        assert letter == " " or not letter.isspace()


@pytest.mark.parametrize("published", ["\ufeff7", "\u200b7", " 7\u00a0", "\t7\u00ad", "7\u200e"])
def test_an_identifier_loses_invisible_characters_at_its_ends(published: str) -> None:
    frame = companies_frame(company("EE", published, "Ä")).pipe(text_cleaning.clean).collect()

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
def test_an_identifier_of_five_or_more_digits_loses_the_ending_that_a_float_has(
    published: str, expected: str
) -> None:
    frame = companies_frame(company("EE", published, "Ä")).pipe(text_cleaning.clean)

    assert frame.collect()["id"].item() == expected


def test_a_control_character_inside_an_identifier_stays() -> None:
    frame = companies_frame(company("EE", " a\tb ", "Ä")).pipe(text_cleaning.clean).collect()

    assert frame["id"].item() == "a\tb"


def test_a_long_name_is_cut_and_the_row_marked() -> None:
    frame = companies_frame(company("EE", "1", "é" * 501), company("EE", "2", "é" * 500))

    rows = frame.pipe(text_cleaning.clean).collect()

    assert rows["nom"].str.len_chars().to_list() == [500, 500]
    assert rows[text_cleaning.CUT].to_list() == [True, False]


def test_a_text_that_is_cut_at_a_blank_does_not_end_with_it() -> None:
    assert clean_name("é" * 499 + " fin") == "é" * 499


def test_every_text_that_is_stored_has_a_cap() -> None:
    """ARCHITECTURE.md, *a company field*: texts without a cap are codes and dates, which other stages check."""
    texts = {
        name
        for columns in (canonical.COMPANIES, canonical.COMPTES)
        for name, dtype in columns.items()
        if dtype in (canonical.TEXT, canonical.TEXTS)
    }

    assert texts - set(text_cleaning.CAPS) == CHECKED_ELSEWHERE


@pytest.mark.parametrize("field", sorted(text_cleaning.WHOLE_OR_NULL))
def test_a_contact_over_its_cap_becomes_null_and_is_not_cut(field: str) -> None:
    """§2.1: an approximate value is never returned."""
    row = company("EE", "1", "Ä", **{field: "x" * (text_cleaning.CAPS[field] + 1)})

    rows = companies_frame(row).pipe(text_cleaning.clean).collect()

    assert rows[field].item() is None
    assert rows[text_cleaning.CUT].item() is True


@pytest.mark.parametrize("field", sorted(set(text_cleaning.CAPS) & set(canonical.COMPANIES)))
def test_a_text_of_the_length_of_its_cap_is_not_cut(field: str) -> None:
    # A text that the column `email` accepts too.
    text = "@abc.ee".rjust(text_cleaning.CAPS[field], "x")
    published = [text] if canonical.COMPANIES[field] == canonical.TEXTS else text
    row = {**company("EE", "1", "Ä"), field: published}

    frame = companies_frame(row).pipe(text_cleaning.clean).collect()

    assert frame.to_dicts()[0][field] == published
    assert frame[text_cleaning.CUT].item() is False


@given(st.lists(st.none() | st.text(max_size=20), max_size=10))
def test_cleaning_twice_changes_nothing(names: list[str | None]) -> None:
    cleaned = companies_frame(
        *(company("EE", str(place), nom) for place, nom in enumerate(names))
    ).pipe(text_cleaning.clean)

    assert (
        text_cleaning.clean(
            cleaned.drop(text_cleaning.CUT, text_cleaning.NO_LINK, text_cleaning.NO_EMAIL)
        )
        .collect()
        .equals(cleaned.collect())
    )
    for value in cleaned.collect()["nom"].drop_nulls():
        assert value == unicodedata.normalize("NFC", value)
        assert not any(unicodedata.category(char) == "Cc" for char in value)


def test_a_frame_without_the_columns_of_companies_is_cleaned_too() -> None:
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
    rows = [
        company("EE", str(place), "Õ", noms_anterieurs=names) for place, names in enumerate(lists)
    ]

    frame = companies_frame(*rows).pipe(text_cleaning.clean).collect()

    cut_list = ["x" * 500, "b"]
    assert frame["noms_anterieurs"].to_list() == [["Orléans", "Rue A"], cut_list, None, None, None]
    assert frame[text_cleaning.CUT].to_list() == [False, True, False, False, False]


def test_an_lei_or_vat_number_that_is_too_long_becomes_null_and_is_not_cut() -> None:
    row = company("EE", "1", "Õ", lei="5" * 21, tva="EE" + "1" * 29)

    rows = companies_frame(row).pipe(text_cleaning.clean).collect()

    assert rows.select("lei", "tva", text_cleaning.CUT).row(0) == (None, None, True)


@pytest.mark.parametrize(
    ("published", "is_kept"),
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
def test_a_site_that_is_not_a_web_address_is_null_and_counted(
    published: str, is_kept: bool
) -> None:
    row = company("EE", "1", "Ä", site_web=published, url_registre="https://register.ee/1")
    rows = companies_frame(row).pipe(text_cleaning.clean).collect()

    assert rows["site_web"].item() == (published if is_kept else None)
    assert rows[text_cleaning.NO_LINK].item() == (0 if is_kept else 1)
    assert rows["url_registre"].item() == "https://register.ee/1"


@pytest.mark.parametrize(
    ("text", "is_kept"),
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
def test_an_invalid_email_address_is_null_and_counted(text: str, is_kept: bool) -> None:
    frame = pl.DataFrame({"email": [text, None], "nom": ["A", "B"]}).lazy()

    rows = text_cleaning.clean(frame).collect()

    assert rows["email"].to_list() == [text if is_kept else None, None]
    assert rows[text_cleaning.NO_EMAIL].to_list() == [not is_kept, False]


@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\u2060", "\ufeff"])
def test_characters_without_a_width_are_removed_from_words(unseen: str) -> None:
    frame = companies_frame(company("EE", "7", f"Bau{unseen}haus e\u200b\u0301"))

    assert frame.pipe(text_cleaning.clean).collect()["nom"].item() == "Bauhaus é"
