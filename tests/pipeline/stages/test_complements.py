"""Complements of a register, compared with a merge in plain Python."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.canonical import COMPANIES, Origin
from pipeline.stages import complements, input_files
from tests.pipeline.rows import Row, company, write_input

SCHEMA: Final = COMPANIES
# Groups of columns that are filled together, if all columns on the right are null in the register.
FILLED_TOGETHER: Final = {
    "ca_eur ca_last ca_mult ca_devise ca_year": "ca_eur ca_last",
    "capital_social capital_devise": "capital_social",
    "total_actif_last exercice_actif devise unite_mult": "total_actif_last",
    "nace_code nace_version nace_secondaires": "nace_code nace_secondaires",
    "effectif tranche_effectif": "effectif tranche_effectif",
    "adresse code_postal ville region": "adresse code_postal ville",
    "site_web domaine": "site_web domaine",
}
# Columns that a complement does not fill.
NEVER_FILLED: Final = ("iso2", "id", "nom", "date_source")

# Hypothesis strategies for the values of a column, by the type of the column.
VALUES: Final[dict[pl.DataType, st.SearchStrategy[Any]]] = {
    pl.String(): st.sampled_from(["Łódź", "é", "2.1"]),
    pl.Int64(): st.integers(-1, 3),
    pl.Float64(): st.sampled_from([0.0, -1.0, 0.5]),
    pl.Boolean(): st.booleans(),
    pl.List(pl.String()): st.lists(st.sampled_from(["Ä", "ß"]), max_size=2),
}


@st.composite
def source_rows(draw: st.DrawFn) -> list[Row]:
    """Rows of one source: up to five companies in any order, each at most once, with any values."""
    rows = []
    for identifier in draw(st.permutations("12345"))[: draw(st.integers(0, 5))]:
        fields = {name: draw(st.none() | VALUES[dtype]) for name, dtype in SCHEMA.items()}
        rows.append({**fields, "iso2": "EE", "id": identifier, "nom": f"Õ{identifier}"})
    return rows


def merge_by_hand(
    register: list[Row], complements_by_source: dict[str, list[Row]]
) -> tuple[list[Row], Counter[str]]:
    """The rows of `register` filled in plain Python, and the counts of companies and fields by source."""
    counts = Counter[str]()
    rows = []
    for row in (dict(entry) for entry in register):
        for source, source_rows in complements_by_source.items():
            for source_row in source_rows:
                if source_row["id"] == row["id"]:
                    counts[source] += 1
                    counts.update(f"{source} {name}" for name in fill_row(row, source_row))
        rows.append(row)
    return rows, counts


def fill_row(row: Row, source_row: Row) -> list[str]:
    """Fill the null columns of `row` from `source_row`, as a complement does; return the names of the filled columns.

    Columns of FILLED_TOGETHER, such as an amount and its currency, are filled together if the deciding ones are null.
    """
    single_columns = (
        set(SCHEMA)
        - set(NEVER_FILLED)
        - {name for names in FILLED_TOGETHER for name in names.split()}
    )
    filled = []
    for names, deciding_names in {
        **FILLED_TOGETHER,
        **{name: name for name in single_columns},
    }.items():
        deciding_columns = deciding_names.split()
        if all(row[name] is None for name in deciding_columns) and any(
            source_row[name] is not None for name in deciding_columns
        ):
            row.update({name: source_row[name] for name in names.split()})
            filled += [name for name in names.split() if source_row[name] is not None]
    return filled


@given(register=source_rows(), first=source_rows(), second=source_rows())
def test_a_fill_agrees_with_plain_python(
    register: list[Row], first: list[Row], second: list[Row]
) -> None:
    frame = pl.DataFrame(register, schema=SCHEMA)
    for name, rows in (("a", first), ("b", second)):
        frame = complements.fill(frame, pl.LazyFrame(rows, schema=SCHEMA), name)

    expected, counts = merge_by_hand(register, {"a": first, "b": second})
    companies_met, fields_filled = complements.count(frame)
    assert frame.drop(complements.COMPLETED).to_dicts() == expected
    assert {**companies_met, **fields_filled} == counts
    assert companies_met.keys() <= {"a", "b"}


def test_figures_of_two_sources_are_never_mixed() -> None:
    row = company("EE", "1", "Õ", ca_last=5.0, ca_devise="EUR", ville="Tartu", capital_devise="EUR")
    complement = company(
        "EE", "1", "Ä", ca_last=7.0, ca_year=2020, ca_mult=1000, ville="Tallinn", adresse="Pikk 1",
        capital_social=2500.0, capital_devise="EEK", effectif=3,
    )  # fmt: skip

    rows = complements.fill(
        pl.DataFrame([row], schema=dict(COMPANIES)),
        pl.LazyFrame([complement], schema=dict(COMPANIES)),
        "gleif",
    )

    assert rows.drop(complements.COMPLETED).to_dicts() == [
        {**row, "capital_social": 2500.0, "capital_devise": "EEK", "effectif": 3}
    ]
    assert complements.count(rows) == (
        {"gleif": 1},
        {"gleif capital_devise": 1, "gleif capital_social": 1, "gleif effectif": 1},
    )


def test_a_frame_without_complements_has_no_counts() -> None:
    assert complements.count(pl.DataFrame([company("EE", "1", "Õ")])) == ({}, {})


# The names of three sources, and the countries for which they are complements (* is all).
GLEIF: Final = Origin("gleif", ("*",))
RNE: Final = Origin("fr-rne", ("FR",))
SIRENE: Final = Origin("fr-sirene")


@pytest.mark.parametrize(
    ("origins", "register", "expected"),
    [
        ([GLEIF, SIRENE, RNE], ["fr-sirene"], ["fr-rne", "gleif"]),
        # Without a register, the complement of fewest countries takes its place.
        ([GLEIF, RNE], ["fr-rne"], ["gleif"]),
        ([GLEIF], ["gleif"], []),
        # A file without an origin is a register.
        ([GLEIF, None, SIRENE], ["fr-sirene", "none"], ["gleif"]),
        # The first source is a register in France, because it is a complement only of CH.
        ([Origin("ch", ("CH",)), GLEIF], ["ch"], ["gleif"]),
        ([Origin(None, ("FR",)), SIRENE], ["fr-sirene"], ["none"]),
    ],
)
def test_the_register_of_a_country_comes_first_then_the_complement_of_fewest_countries(
    tmp_path: Path, origins: list[Origin | None], register: list[str], expected: list[str]
) -> None:
    for origin in origins:
        name = (origin and origin.source) or "none"
        write_input(tmp_path, [company("FR", "1", "É")], name=name, origin=origin)
    survey = input_files.survey([tmp_path], "companies")

    result = complements.country_sources(input_files.parts_of_country(survey, "FR"), "FR")

    assert [part.path.stem for part in result.register] == register
    assert [source.name for source in result.complements] == expected
