"""Activity codes: every notation, both revisions, codes without a sector."""

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.stages import sectors
from pipeline.stages.sectors import DIVISION, GROUP, GUESSED, OUTSIDE
from tests.pipeline.rows import companies_frame, company

SEEDS = seeds.read()
LOOKUP = sectors.lookup(SEEDS)
# The classes of Rev. 2 by code.
CLASSES = {row["code"]: row for row in SEEDS.tables["nace_classes"]}


def add_sector(code: str | None, version: str | None = None, iso2: str = "UK") -> dict[str, Any]:
    """A company with this activity code and the columns that the stage adds; OUTSIDE is the reason without a sector."""
    frame = companies_frame(company(iso2, "1", "Żabka", nace_code=code, nace_version=version))
    result = sectors.add_sectors(frame, LOOKUP, sectors.codes_outside_nace(SEEDS, iso2))
    return result.collect().row(0, named=True)


@pytest.mark.parametrize(
    ("published", "expected"),
    [
        ("01", "01"),
        ("01.1", "01.1"),
        ("01.11", "01.11"),
        ("0111", "01.11"),
        ("01.11Z", "01.11"),
        ("0111Z", "01.11"),
        ("01110", "01.11"),
        ("01.110", "01.11"),
        (" 62.01z ", "62.01"),
        ("82990", "82.99"),
    ],
)
def test_a_code_is_shown_as_nace_writes_it(published: str, expected: str) -> None:
    row = add_sector(published)

    assert row["nace_code"] == expected
    assert row[DIVISION] == expected[:2]
    assert row[GROUP] == (expected[:4] if len(expected) > 2 else None)
    assert row["secteur"] is not None
    assert row[OUTSIDE] is None


def test_a_class_gives_its_label_sector_section_and_group() -> None:
    row = add_sector("62.01")

    assert row["nace_libelle"] == "Programmation informatique"
    assert row["secteur"] == "Programmation, conseil et autres activités informatiques"
    assert row["grand_secteur"] == "Information et communication"
    assert row["sous_secteur"] == "Programmation, conseil et autres activités informatiques"
    assert (row[DIVISION], row[GROUP]) == ("62", "62.0")


def test_a_division_has_a_sector_and_no_sub_sector() -> None:
    row = add_sector("62")

    assert row["secteur"] is not None
    assert row["sous_secteur"] is None


@pytest.mark.parametrize("division", ["84", "97", "98", "99"])
def test_four_divisions_have_no_sector_and_keep_their_code_and_label(division: str) -> None:
    row = add_sector(division)

    assert row["nace_code"] == division
    assert row["nace_libelle"]
    assert row["secteur"] is row[DIVISION] is row["grand_secteur"] is None
    assert row[OUTSIDE] == f"division {division} hors des secteurs"


@pytest.mark.parametrize("code", ["98000", "99999", "74990", "7499", "9999", "None Supplied"])
def test_a_code_outside_nace_has_no_sector_and_the_reason_of_the_table(code: str) -> None:
    row = add_sector(code)

    assert row["secteur"] is row["nace_code"] is row["nace_libelle"] is None
    assert row[OUTSIDE] in [line["raison"] for line in SEEDS.tables["nace_hors"]]


def test_a_code_that_only_british_companies_have_is_unknown_in_estonia() -> None:
    assert add_sector("99999", iso2="EE")[OUTSIDE] == sectors.UNKNOWN


@pytest.mark.parametrize(
    "code", ["62.99", "00.00", "6", "620", "62.01.1.1", "ZZ", "６２.01", "621"]
)
def test_an_unknown_code_keeps_the_row_without_a_sector(code: str) -> None:
    row = add_sector(code)

    assert row["secteur"] is row["nace_code"] is None
    assert row[OUTSIDE] == sectors.UNKNOWN
    assert row[sectors.PUBLISHED] == code


def test_a_company_without_a_code_has_the_reason_of_an_absent_code() -> None:
    assert add_sector(None)[OUTSIDE] == sectors.ABSENT


# -- codes of Rev. 2.1 ---------------------------------------------------------------


def test_a_code_of_the_second_revision_keeps_its_own_label() -> None:
    """47.81 is retail of motor vehicles in Rev. 2.1; in Rev. 2 it was stalls, cars were 45.1."""
    row = add_sector("47.81", "2.1")

    assert row["nace_code"] == "47.81"
    assert "véhicules" in row["nace_libelle"]
    assert (row[DIVISION], row[GROUP]) == ("45", "45.1")
    assert add_sector("47.81", "2")[GROUP] == "47.8"


def test_of_several_candidates_the_same_code_is_chosen() -> None:
    """10.71 of Rev. 2.1 shares activities with 10.71 and 10.86 of Rev. 2."""
    row = add_sector("10.71", "2.1")

    assert (row[GROUP], row[GUESSED]) == ("10.7", False)


def test_candidates_in_different_groups_of_one_division_give_a_sector_without_a_sub_sector() -> (
    None
):
    row = add_sector("14.10", "2.1")

    assert (row[DIVISION], row[GROUP], row[GUESSED]) == ("14", None, False)


def test_candidates_of_several_divisions_give_a_guess_in_the_division_of_the_same_number() -> None:
    row = add_sector("31.00", "2.1")

    assert (row[DIVISION], row[GROUP], row[GUESSED]) == ("31", "31.0", True)


def test_a_class_without_a_candidate_follows_its_group() -> None:
    """46.89 is in no row of the published correspondence."""
    assert add_sector("46.89", "2.1")[DIVISION] == "46"


def test_74990_is_a_class_of_the_second_revision_and_a_code_outside_the_first() -> None:
    """With Rev. 2, Companies House uses 74990 for companies without activity."""
    assert add_sector("74990", "2.1")["nace_code"] == "74.99"
    assert add_sector("74990", "2")["nace_code"] is None


def test_every_code_of_both_revisions_has_a_division_or_a_reason() -> None:
    assert LOOKUP.select("revision", "code").is_unique().all()
    without_division = LOOKUP.filter(pl.col(DIVISION).is_null() & pl.col(OUTSIDE).is_null())
    assert without_division.is_empty()
    assert LOOKUP.filter(pl.col("secteur").is_not_null())["secteur"].n_unique() == 84
    in_other_division = LOOKUP.filter(
        pl.col(GROUP).is_not_null() & (pl.col(GROUP).str.head(2) != pl.col(DIVISION))
    )
    assert in_other_division.is_empty()


# -- all notations of codes --------------------------------------------------------------


def normalised(code: str) -> str | None:
    """The code as NACE writes it, in plain Python; None if it is not a NACE code."""
    text = code.strip().upper()
    if re.fullmatch(r"[0-9]{2}", text):
        return text
    if re.fullmatch(r"[0-9]{2}\.[0-9]", text):
        return text
    if re.fullmatch(r"[0-9]{2}\.?[0-9]{2}[0-9A-Z]?", text):
        digits = text.replace(".", "")
        return f"{digits[:2]}.{digits[2:4]}"
    return None


# Texts that look like NACE codes, and any short texts.
code_texts = st.from_regex(r"[0-9]{1,3}\.?[0-9A-Za-z]{0,4} ?", fullmatch=True) | st.text(max_size=6)


@given(st.lists(code_texts, max_size=30))
def test_normalisation_agrees_with_plain_python(published: list[str]) -> None:
    frame = pl.DataFrame({"code": published}, schema={"code": pl.String})

    rows = frame.select(sectors.normalise(pl.col("code"))).to_series().to_list()

    assert rows == [normalised(code) for code in published]


@given(st.sampled_from(sorted(CLASSES)), st.sampled_from(["{}", "{}Z", "{}0"]), st.booleans())
def test_a_class_is_found_however_it_is_written(code: str, template: str, has_dot: bool) -> None:
    published = template.format(code if has_dot else code.replace(".", ""))

    row = add_sector(published, "2")

    assert row["nace_code"] == code
    assert row["nace_libelle"] == CLASSES[code]["label_fr"]


def test_secondary_codes_are_written_as_nace_and_unknown_secondary_codes_are_counted() -> None:
    # 74990 is a code of Rev. 2.1 alone, 62.01 of Rev. 2 alone; 9999 and zz are codes of no revision.
    secondary_codes = ["62012", "56.10Z", "9999", "74990", "6201", "zz"]
    frame = companies_frame(
        company("UK", "1", "Żabka", nace_code="62.01", nace_secondaires=secondary_codes),
        company("UK", "2", "Żabka", nace_secondaires=["9999"]),
        company("UK", "3", "Żabka"),
        company("UK", "4", "Żabka", nace_version="2.1", nace_secondaires=["74990", "62.01"]),
    )

    rows = (
        sectors.add_sectors(frame, LOOKUP, sectors.codes_outside_nace(SEEDS, "UK"))
        .sort("id")
        .collect()
    )

    assert rows["nace_secondaires"].to_list() == [["62.01", "56.10"], None, None, ["74.99"]]
    assert rows[sectors.UNKNOWN_SECONDARY].to_list() == [3, 1, 0, 1]
