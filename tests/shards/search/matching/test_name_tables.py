"""Legal forms and abbreviations of the tables, as they are written in lists."""

import pytest

from shards.codec.folding import fold
from shards.search.matching.name_tables import NameTables, Words
from tests.bench.matching.seed_tables import tables


@pytest.fixture(scope="module")
def known() -> NameTables:
    return tables()


def words(text: str) -> Words:
    return tuple(fold(text).split())


@pytest.mark.parametrize(
    ("iso2", "spellings"),
    [
        ("UK", ["Royal Tool Ltd", "ROYAL TOOL LIMITED", "Ltd. Royal Tool", "Royal Tool L.T.D."]),
        ("FR", ["SARL Royal Tool", "Royal Tool S.A.R.L.", "Royal Tool SAS", "S.à r.l. Royal Tool"]),
        ("DE", ["Royal Tool GmbH & Co. KG", "Royal Tool GmbH&Co.KG", "Royal Tool mbH & Co. KG"]),
        ("PL", ["Royal Tool sp. z o.o.", "Royal Tool spółka z ograniczoną odpowiedzialnością"]),
        ("CZ", ["Royal Tool s.r.o.", "Royal Tool, spol. s r.o."]),
        ("EE", ["OÜ Royal Tool", "Royal Tool Osaühing", "aktsiaselts Royal Tool"]),
        ("BG", ["Royal Tool ЕООД", "Royal Tool EOOD"]),
    ],
)
def test_a_legal_form_is_taken_out_however_it_is_written(
    known: NameTables, iso2: str, spellings: list[str]
) -> None:
    found = {known.bare(words(text), iso2).words for text in spellings}

    assert found == {("royal", "tool")}


def test_a_legal_form_has_a_class(known: NameTables) -> None:
    assert known.bare(words("Alfa Ltd"), "UK").classes == {"limitee"}
    assert known.bare(words("Alfa PLC"), "UK").classes == {"anonyme"}
    assert known.bare(words("Alfa"), "UK").classes == set()


def test_a_short_form_inside_a_name_is_a_word_of_it(known: NameTables) -> None:
    assert known.bare(words("Alfa AG Beta GmbH"), "DE").words == ("alfa", "ag", "beta")


def test_a_name_of_nothing_but_a_form_keeps_a_word(known: NameTables) -> None:
    assert known.bare(words("SA"), "FR").words == ("sa",)
    assert known.bare(words("Limited Company"), "UK").words


def test_initials_are_one_word_and_words_like_and_are_none(known: NameTables) -> None:
    assert known.bare(words("A.B.C. Trading & Sons Ltd"), "UK").words == ("abc", "trading", "sons")
    assert known.bare(words("ABC Trading and Sons"), "UK").words == ("abc", "trading", "sons")
