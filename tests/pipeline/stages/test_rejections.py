"""Rejected rows: each reason, the order of reasons, the threshold."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import BuildError
from pipeline.stages import personal_data, rejections, text_cleaning
from pipeline.stages.rejections import REASON
from tests.pipeline.rows import companies_frame, company


def rejection_reason(**fields: Any) -> str | None:
    """The reason why a company with these fields is rejected; None if it is kept."""
    frame = companies_frame(company("EE", "1", "Été") | fields)
    reason: str | None = (
        frame.pipe(text_cleaning.clean)
        .pipe(personal_data.clear_personal_texts, {})
        .pipe(rejections.add_reasons)
        .collect()[REASON]
        .item()
    )
    return reason


@pytest.mark.parametrize("identifier", ["1", "FN 122119m", "É/1", "x" * 64, "0", "Ψ😀"])
def test_an_identifier_is_any_text_of_1_to_64_printable_characters(identifier: str) -> None:
    assert rejection_reason(id=identifier) is None


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        (None, "identifiant vide"),
        ("", "identifiant vide"),
        (" \t ", "identifiant vide"),
        ("nan", "identifiant vide"),
        ("<NA>", "identifiant vide"),
        ("None", "identifiant vide"),
        ("#N/A", "identifiant vide"),
        ("00000000", "identifiant vide"),
        ("x" * 65, "identifiant trop long"),
        ("é" * 65, "identifiant trop long"),
        ("a\tb", "identifiant non imprimable"),
        ("a\x00b", "identifiant non imprimable"),
        ("a\u00a0b", "identifiant non imprimable"),
        ("a\u200bb", "identifiant non imprimable"),
    ],
)
def test_a_row_with_a_bad_identifier_is_rejected_for_its_reason(
    identifier: str | None, expected: str
) -> None:
    assert rejection_reason(id=identifier) == expected


@pytest.mark.parametrize("nom", [None, "", " \n "])
def test_a_row_with_an_empty_name_is_rejected(nom: str | None) -> None:
    assert rejection_reason(nom=nom) == "nom vide"


def test_a_row_with_an_unknown_activity_code_is_kept() -> None:
    assert rejection_reason(nace_code="ZZ") is None


def test_a_row_with_two_faults_has_only_the_first_reason() -> None:
    assert rejection_reason(id=None, nom=None) == "identifiant vide"
    assert rejection_reason(id="x" * 65, nom=None) == "identifiant trop long"


def test_rejected_rows_are_written_whole_with_their_reason(tmp_path: Path) -> None:
    marked = (
        companies_frame(
            company("EE", "2", None, ville="Õismäe"),
            company("EE", "1", "Ä"),
            company("EE", None, "Ö"),
        )
        .pipe(personal_data.clear_personal_texts, {})
        .pipe(rejections.add_reasons)
    )
    path = tmp_path / "rejected" / "EE.parquet"

    rejections.write(marked, ["iso2", "id", "nom", "ville"], path, tmp_path)

    assert pl.read_parquet(path).rows() == [
        ("nom vide", "EE", "2", None, "Õismäe"),
        ("identifiant vide", "EE", None, "Ö", None),
    ]
    assert rejections.count_reasons(marked) == {"identifiant vide": 1, "nom vide": 1}


def test_without_rejected_rows_the_earlier_file_of_them_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "EE.parquet"
    path.write_bytes(b"old")

    marked = (
        companies_frame(company("EE", "1", "Ä"))
        .pipe(personal_data.clear_personal_texts, {})
        .pipe(rejections.add_reasons)
    )
    rejections.write(marked, ["id", "nom"], path, tmp_path)

    assert not path.exists()


def test_over_the_threshold_the_country_the_share_and_three_reasons_are_named() -> None:
    count_by_reason = {
        "nom vide": 2,
        "identifiant trop long": 5,
        "identifiant vide": 3,
        "identifiant non imprimable": 1,
    }

    with pytest.raises(BuildError) as caught:
        rejections.refuse_too_many(
            "EE", "rows", 1000, count_by_reason, 0.01, Path("rejected/EE.parquet")
        )

    assert str(caught.value) == (
        "EE: 11 of 1000 rows rejected (1.1%, at most 1.0%): identifier too long (5), "
        "empty identifier (3), empty name (2); look into rejected/EE.parquet and mend the input, "
        "or raise --max-rejected"
    )


def test_rejected_rows_up_to_the_threshold_do_not_stop_the_build() -> None:
    rejections.refuse_too_many(
        "EE", "rows", read=1000, reasons={"nom vide": 10}, most=0.01, where=""
    )
    rejections.refuse_too_many("EE", "rows", read=0, reasons={}, most=0.0, where="")
