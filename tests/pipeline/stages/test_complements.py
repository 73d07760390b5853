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
from tests.pipeline.rows import Row, company, write

SCHEMA: Final = COMPANIES
# Columns that are filled together, and those of them that say whether there is something.
TOGETHER: Final = {
    "ca_eur ca_last ca_mult ca_devise ca_year": "ca_eur ca_last",
    "capital_social capital_devise": "capital_social",
    "total_actif_last exercice_actif devise unite_mult": "total_actif_last",
    "nace_code nace_version nace_secondaires": "nace_code nace_secondaires",
    "effectif tranche_effectif": "effectif tranche_effectif",
    "adresse code_postal ville region": "adresse code_postal ville",
    "site_web domaine": "site_web domaine",
}
NEVER: Final = ("iso2", "id", "nom", "date_source")

VALUES: Final[dict[pl.DataType, st.SearchStrategy[Any]]] = {
    pl.String(): st.sampled_from(["Łódź", "é", "2.1"]),
    pl.Int64(): st.integers(-1, 3),
    pl.Float64(): st.sampled_from([0.0, -1.0, 0.5]),
    pl.Boolean(): st.booleans(),
    pl.List(pl.String()): st.lists(st.sampled_from(["Ä", "ß"]), max_size=2),
}


@st.composite
def sources(draw: st.DrawFn) -> list[Row]:
    """Rows of one source: some of a few companies, in any order, each once."""
    found = []
    for identifier in draw(st.permutations("12345"))[: draw(st.integers(0, 5))]:
        fields = {name: draw(st.none() | VALUES[dtype]) for name, dtype in SCHEMA.items()}
        found.append({**fields, "iso2": "EE", "id": identifier, "nom": f"Õ{identifier}"})
    return found


def merged(register: list[Row], others: dict[str, list[Row]]) -> tuple[list[Row], Counter[str]]:
    """The rows of `register`, filled, and how many rows each source met and each field got."""
    counts = Counter[str]()
    rows = []
    for row in (dict(one) for one in register):
        for source, theirs in others.items():
            for other in theirs:
                if other["id"] == row["id"]:
                    counts[source] += 1
                    counts.update(f"{source} {name}" for name in take(row, other))
        rows.append(row)
    return rows, counts


def take(row: Row, other: Row) -> list[str]:
    """Fill `row` from `other`; the names of the columns that got a value."""
    alone = set(SCHEMA) - set(NEVER) - {name for names in TOGETHER for name in names.split()}
    filled = []
    for names, telling in {**TOGETHER, **{name: name for name in alone}}.items():
        told = telling.split()
        if all(row[name] is None for name in told) and any(
            other[name] is not None for name in told
        ):
            row.update({name: other[name] for name in names.split()})
            filled += [name for name in names.split() if other[name] is not None]
    return filled


@given(register=sources(), first=sources(), second=sources())
def test_a_fill_is_that_of_plain_python(
    register: list[Row], first: list[Row], second: list[Row]
) -> None:
    found = pl.DataFrame(register, schema=SCHEMA)
    for name, rows in (("a", first), ("b", second)):
        found = complements.fill(found, pl.LazyFrame(rows, schema=SCHEMA), name)

    expected, counts = merged(register, {"a": first, "b": second})
    met, filled = complements.count(found)
    assert found.drop(complements.COMPLETED).to_dicts() == expected
    assert {**met, **filled} == counts
    assert met.keys() <= {"a", "b"}


def test_figures_of_two_sources_are_never_mixed() -> None:
    row = company("EE", "1", "Õ", ca_last=5.0, ca_devise="EUR", ville="Tartu", capital_devise="EUR")
    other = company(
        "EE", "1", "Ä", ca_last=7.0, ca_year=2020, ca_mult=1000, ville="Tallinn", adresse="Pikk 1",
        capital_social=2500.0, capital_devise="EEK", effectif=3,
    )  # fmt: skip

    found = complements.fill(
        pl.DataFrame([row], schema=dict(COMPANIES)),
        pl.LazyFrame([other], schema=dict(COMPANIES)),
        "gleif",
    )

    assert found.drop(complements.COMPLETED).to_dicts() == [
        {**row, "capital_social": 2500.0, "capital_devise": "EEK", "effectif": 3}
    ]
    assert complements.count(found) == (
        {"gleif": 1},
        {"gleif capital_devise": 1, "gleif capital_social": 1, "gleif effectif": 1},
    )


def test_a_frame_that_no_complement_met_has_nothing_to_count() -> None:
    assert complements.count(pl.DataFrame([company("EE", "1", "Õ")])) == ({}, {})


GLEIF: Final = Origin("gleif", ("*",))
RNE: Final = Origin("fr-rne", ("FR",))
SIRENE: Final = Origin("fr-sirene")


@pytest.mark.parametrize(
    ("origins", "register", "expected"),
    [
        ([GLEIF, SIRENE, RNE], ["fr-sirene"], ["fr-rne", "gleif"]),
        ([GLEIF, RNE], ["fr-rne"], ["gleif"]),
        ([GLEIF], ["gleif"], []),
        ([GLEIF, None, SIRENE], ["fr-sirene", "none"], ["gleif"]),
        ([Origin("ch", ("CH",)), GLEIF], ["ch"], ["gleif"]),
        ([Origin(None, ("FR",)), SIRENE], ["fr-sirene"], ["none"]),
    ],
)
def test_the_register_of_a_country_comes_first_then_the_complement_of_fewest_countries(
    tmp_path: Path, origins: list[Origin | None], register: list[str], expected: list[str]
) -> None:
    for origin in origins:
        name = (origin and origin.source) or "none"
        write(tmp_path, [company("FR", "1", "É")], name=name, origin=origin)
    survey = input_files.survey([tmp_path], "companies")

    found = complements.of_country(input_files.parts_of_country(survey, "FR"), "FR")

    assert [part.path.stem for part in found.register] == register
    assert [source.name for source in found.complements] == expected
