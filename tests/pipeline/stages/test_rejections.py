"""Rejected rows: each reason, the order of reasons, the threshold."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import BuildError
from pipeline.stages import rejections, text_cleaning
from pipeline.stages.persons import personal_data
from pipeline.stages.rejections import REASON
from tests.pipeline.rows import companies, company

NAN, INF = float("nan"), float("inf")


def reason(**fields: Any) -> str | None:
    frame = companies(company("EE", "1", "Été") | fields)
    found: str | None = (
        frame.pipe(text_cleaning.clean)
        .pipe(personal_data.refuse, {})
        .pipe(rejections.add_reasons)
        .collect()[REASON]
        .item()
    )
    return found


@pytest.mark.parametrize("identifier", ["1", "FN 122119m", "É/1", "x" * 64, "0", "Ψ😀"])
def test_an_identifier_is_any_text_of_1_to_64_printable_characters(identifier: str) -> None:
    assert reason(id=identifier) is None


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        (None, "identifiant vide"),
        ("", "identifiant vide"),
        (" \t ", "identifiant vide"),
        ("x" * 65, "identifiant trop long"),
        ("é" * 65, "identifiant trop long"),
        ("a\tb", "identifiant non imprimable"),
        ("a\x00b", "identifiant non imprimable"),
        ("a\u00a0b", "identifiant non imprimable"),
        ("a\u200bb", "identifiant non imprimable"),
    ],
)
def test_a_bad_identifier_is_a_reason(identifier: str | None, expected: str) -> None:
    assert reason(id=identifier) == expected


@pytest.mark.parametrize("nom", [None, "", " \n "])
def test_an_empty_name_is_a_reason(nom: str | None) -> None:
    assert reason(nom=nom) == "nom vide"


@pytest.mark.parametrize("field", ["capital_social", "ca_eur", "ca_last", "total_actif_last"])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_an_amount_that_is_not_finite_is_a_reason(field: str, value: float) -> None:
    assert reason(**{field: value}) == "montant non fini"


@pytest.mark.parametrize(
    ("effectif", "expected"),
    [
        (-1, "effectif négatif"),
        (0, None),
        (2**31 - 1, None),
        (2**31, "effectif démesuré"),
    ],
)
def test_a_headcount_is_0_to_2147483647(effectif: int, expected: str | None) -> None:
    assert reason(effectif=effectif) == expected


@pytest.mark.parametrize("date", [None, "", "1999", "1999-12", "2024-02-29", " 2024-02-29 "])
def test_a_date_may_lack_its_day_or_month(date: str | None) -> None:
    """Contract C8."""
    assert reason(date_creation=date) is None
    assert reason(date_source=date) is None


@pytest.mark.parametrize(
    "date",
    ["2023-02-29", "2023-13", "2023-00", "29.02.2024", "20240229", "0001", "٢٠٢٤", "2024-2-9"],
)
def test_a_date_that_is_none_is_a_reason(date: str) -> None:
    assert reason(date_creation=date) == "date de création illisible"
    assert reason(date_source=date) == "date de source illisible"


@pytest.mark.parametrize("field", ["ca_devise", "capital_devise", "devise"])
@pytest.mark.parametrize("devise", ["eur", "€", "EURO", "Livre"])
def test_a_currency_is_three_capitals(field: str, devise: str) -> None:
    assert reason(**{field: devise}) == "devise illisible"
    assert reason(**{field: "USD"}) is None


@pytest.mark.parametrize("field", ["ca_mult", "unite_mult"])
@pytest.mark.parametrize("value", [0, -1000])
def test_a_multiplier_is_positive(field: str, value: int) -> None:
    assert reason(**{field: value}) == "multiplicateur nul ou négatif"
    assert reason(**{field: 1000}) is None


@pytest.mark.parametrize("field", ["ca_year", "exercice_actif"])
@pytest.mark.parametrize("value", [0, 20, 1799, 2201, -2020])
def test_a_fiscal_year_is_one(field: str, value: int) -> None:
    assert reason(**{field: value}) == "exercice invraisemblable"
    assert reason(**{field: 2020}) is None


def test_a_revision_of_the_nace_is_2_or_2_1() -> None:
    assert reason(nace_version="3") == "version de la NACE inconnue"
    assert reason(nace_version="2.1") is reason(nace_version="2") is reason() is None


def test_an_unknown_activity_code_is_no_reason() -> None:
    assert reason(nace_code="ZZ") is None


def test_a_row_has_one_reason_the_first_so_that_counts_add_up() -> None:
    assert reason(id=None, nom=None, effectif=-1) == "identifiant vide"
    assert reason(nom=None, effectif=-1) == "nom vide"


def test_rejected_rows_are_written_whole_with_their_reason(tmp_path: Path) -> None:
    marked = (
        companies(
            company("EE", "2", None, ville="Õismäe"),
            company("EE", "1", "Ä"),
            company("EE", None, "Ö"),
        )
        .pipe(personal_data.refuse, {})
        .pipe(rejections.add_reasons)
    )
    path = tmp_path / "rejected" / "EE.parquet"

    rejections.write(marked, ["iso2", "id", "nom", "ville"], path, tmp_path)

    assert pl.read_parquet(path).rows() == [
        ("nom vide", "EE", "2", None, "Õismäe"),
        ("identifiant vide", "EE", None, "Ö", None),
    ]
    assert rejections.count_reasons(marked) == {"identifiant vide": 1, "nom vide": 1}


def test_no_rejected_row_is_no_file_and_takes_an_old_one_away(tmp_path: Path) -> None:
    path = tmp_path / "EE.parquet"
    path.write_bytes(b"old")

    marked = (
        companies(company("EE", "1", "Ä"))
        .pipe(personal_data.refuse, {})
        .pipe(rejections.add_reasons)
    )
    rejections.write(marked, ["id", "nom"], path, tmp_path)

    assert not path.exists()


def test_over_the_threshold_the_country_the_share_and_three_reasons_are_named() -> None:
    found = {"nom vide": 2, "effectif négatif": 5, "identifiant vide": 3, "devise illisible": 1}

    with pytest.raises(BuildError) as caught:
        rejections.refuse_too_many("EE", "rows", 1000, found, 0.01, Path("rejected/EE.parquet"))

    assert str(caught.value) == (
        "EE: 11 of 1000 rows rejected (1.1%, at most 1.0%): negative headcount (5), "
        "empty identifier (3), empty name (2); look into rejected/EE.parquet and mend the input, "
        "or raise --max-rejected"
    )


def test_at_the_threshold_the_build_goes_on() -> None:
    rejections.refuse_too_many("EE", "rows", 1000, {"nom vide": 10}, 0.01, "")
    rejections.refuse_too_many("EE", "rows", 0, {}, 0.0, "")
