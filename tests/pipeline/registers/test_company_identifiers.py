"""Headers, totals and trailers are not companies, in tables and in documents."""

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.registers.company_identifiers import is_identifier, is_no_company, is_trailer

COUNTRIES = seeds.read().pays
WORDS_AS_IDENTIFIERS = [
    "Total",
    "TOTAL",
    "SUMMA",
    "000TOTAL",
    "TOTAL: 118",
    "Osaühing",
    "CompanyNumber",
    "SIREN",
    "-",
    "NA",
    "--",
]
ZEROS = ["0", "00000000", "000.000.000", "00-00"]


def _is_refused(iso2: str, identifier: str) -> bool:
    """Whether the rule for tables says that a row with this identifier is not a company."""
    frame = pl.DataFrame({"iso2": [iso2], "id": [identifier], "nom": ["Muster"]})
    is_refused = is_no_company(pl.col("iso2"), pl.col("id"), pl.col("nom"))
    return bool(frame.select(is_refused.fill_null(False)).item())


@pytest.mark.parametrize("country", COUNTRIES, ids=lambda country: country.iso2)
def test_identifiers_of_a_country_are_accepted_and_words_and_zeros_are_refused(
    country: seeds.Country,
) -> None:
    # An identifier in the form of the country, an LEI, and short numbers in another form.
    valid_identifiers = [country.id_exemple, "529900T8BM49AURSDO55", "12", "12A"]

    assert [text for text in valid_identifiers if _is_refused(country.iso2, text)] == []
    assert [
        text for text in (*WORDS_AS_IDENTIFIERS, *ZEROS) if not _is_refused(country.iso2, text)
    ] == []


@given(
    iso2=st.sampled_from([country.iso2 for country in COUNTRIES]),
    text=st.one_of(
        st.text("0129AZÉaé-. :", max_size=22),
        st.text(max_size=8),
        st.sampled_from(WORDS_AS_IDENTIFIERS),
        st.from_regex(r"\A0*(total|SUMA)[ :0-9]*\Z"),
    ),
)
@example("UK", "")
def test_documents_and_tables_accept_the_same_identifiers(iso2: str, text: str) -> None:
    assert is_identifier(iso2, text) is not _is_refused(iso2, text)


@pytest.mark.parametrize(
    ("identifier", "name", "row", "is_end", "is_trailer_expected"),
    [
        # Trailers: the identifier or the name is a filler, or the name is the number of rows.
        ("99999999", "4", 5, False, True),
        ("99999999", "00000004", 5, True, True),
        ("99999999", "2026-11-01", 5, True, True),
        ("9999999999", "END OF FILE", 5, True, True),
        ("99999999", "4 records", 5, True, True),
        ("12345678", "4", 5, True, True),
        ("4", "99999999", 5, True, True),
        # Companies: not the last row, or a name that is not the number of rows.
        ("12345678", "4", 5, False, False),
        ("12345678", "1664", 5, True, False),
        ("12345678", "3", 900, True, False),
        ("12345678", "03", 4, True, False),
        ("4", "1664", 5, True, False),
        # Companies: the name has letters and is not a word for a trailer, or the identifier is no filler.
        ("99999999", "Muster AG", 5, True, False),
        ("99999999", "Records of the North", 5, True, False),
        ("12345678", "Trailer", 5, True, False),
        ("12345678", "118 118", 5, True, False),
    ],
)
def test_a_trailer_is_recognised_but_not_a_company_whose_name_is_a_number(
    identifier: str, name: str, row: int, is_end: bool, is_trailer_expected: bool
) -> None:
    frame = pl.DataFrame({"id": [identifier], "nom": [name], "ligne": [row], "end": [is_end]})

    trailer = is_trailer(pl.col("id"), pl.col("nom"), pl.col("ligne"), pl.col("end"))

    assert frame.select(trailer).item() is is_trailer_expected
