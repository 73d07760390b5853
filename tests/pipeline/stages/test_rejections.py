"""Rejected rows: each reason, the order of reasons, the threshold."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.errors import BuildError
from pipeline.stages import personal_data, rejections, text_cleaning
from pipeline.stages.rejections import REASON
from tests.pipeline.rows import companies, company


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
def test_a_bad_identifier_is_a_reason(identifier: str | None, expected: str) -> None:
    assert reason(id=identifier) == expected


@pytest.mark.parametrize("nom", [None, "", " \n "])
def test_an_empty_name_is_a_reason(nom: str | None) -> None:
    assert reason(nom=nom) == "nom vide"


def test_an_unknown_activity_code_is_no_reason() -> None:
    assert reason(nace_code="ZZ") is None


def test_a_row_has_one_reason_the_first_so_that_counts_add_up() -> None:
    assert reason(id=None, nom=None) == "identifiant vide"
    assert reason(id="x" * 65, nom=None) == "identifiant trop long"


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
    found = {
        "nom vide": 2,
        "identifiant trop long": 5,
        "identifiant vide": 3,
        "identifiant non imprimable": 1,
    }

    with pytest.raises(BuildError) as caught:
        rejections.refuse_too_many("EE", "rows", 1000, found, 0.01, Path("rejected/EE.parquet"))

    assert str(caught.value) == (
        "EE: 11 of 1000 rows rejected (1.1%, at most 1.0%): identifier too long (5), "
        "empty identifier (3), empty name (2); look into rejected/EE.parquet and mend the input, "
        "or raise --max-rejected"
    )


def test_at_the_threshold_the_build_goes_on() -> None:
    rejections.refuse_too_many("EE", "rows", 1000, {"nom vide": 10}, 0.01, "")
    rejections.refuse_too_many("EE", "rows", 0, {}, 0.0, "")
