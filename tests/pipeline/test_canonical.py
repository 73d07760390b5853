"""The door between registers and builds: what is let in, and what is named and refused."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import canonical
from pipeline.canonical import COMPANIES, COMPTES, InputError

ORLEANS: dict[str, object] = {"iso2": "FR", "id": "552059024", "nom": "Société d'Orléans"}
LINE: dict[str, object] = {
    "iso2": "UK",
    "id": "09753294",
    "exercice": 2017,
    "etat": "compte_resultat",
    "code": "ProfitLoss",
    "libelle": "Résultat de l'exercice",
    "valeur": -9712.0,
}


def _companies(folder: Path, *rows: dict[str, object], name: str = "a") -> Path:
    path = folder / "companies" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(list(rows)).write_parquet(path)
    return folder


def _comptes(folder: Path, row: dict[str, object]) -> Path:
    (folder / "comptes").mkdir(parents=True)
    pl.DataFrame([row]).write_parquet(folder / "comptes" / "a.parquet")
    return folder


def test_a_missing_optional_column_is_a_null_of_its_type(tmp_path: Path) -> None:
    found = canonical.scan_companies(_companies(tmp_path, ORLEANS)).collect()

    expected = pl.DataFrame([ORLEANS], schema=dict(COMPANIES))
    assert_frame_equal(found, expected)


def test_an_unknown_column_stops_and_is_named(tmp_path: Path) -> None:
    folder = _companies(tmp_path, ORLEANS | {"chiffre": 1})

    with pytest.raises(InputError, match=r"a\.parquet: unknown column chiffre"):
        canonical.scan_companies(folder)


@pytest.mark.parametrize("column", ["iso2", "id", "nom"])
def test_a_missing_required_column_stops_and_is_named(tmp_path: Path, column: str) -> None:
    folder = _companies(tmp_path, {k: v for k, v in ORLEANS.items() if k != column})

    with pytest.raises(InputError, match=f"required column {column} is missing"):
        canonical.scan_companies(folder)


@pytest.mark.parametrize("given", ["1987-03-01", date(1987, 3, 1)])
def test_a_date_may_come_as_text_or_as_a_date(tmp_path: Path, given: object) -> None:
    folder = _companies(tmp_path, ORLEANS | {"date_creation": given})

    found = canonical.scan_companies(folder).collect()

    assert found["date_creation"].to_list() == ["1987-03-01"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("capital_social", "37 000"), ("effectif", 1.5), ("est_cotee", 1), ("ville", 45)],
)
def test_a_value_of_another_type_is_refused_and_not_cast(
    tmp_path: Path, column: str, value: object
) -> None:
    folder = _companies(tmp_path, ORLEANS | {column: value})

    with pytest.raises(InputError, match=f"{column} is "):
        canonical.scan_companies(folder)


def test_files_of_different_columns_are_read_as_one_table_in_the_order_of_their_names(
    tmp_path: Path,
) -> None:
    _companies(tmp_path, ORLEANS | {"effectif": 12}, name="z")
    _companies(tmp_path, ORLEANS | {"id": "1", "capital_social": 100}, name="b/c")

    found = canonical.scan_companies(tmp_path).collect()

    assert found.select("id", "effectif", "capital_social").rows() == [
        ("1", None, 100.0),
        ("552059024", 12, None),
    ]


def test_an_input_without_companies_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="python -m pipeline import"):
        canonical.scan_companies(tmp_path)


def test_an_input_without_statements_has_no_lines(tmp_path: Path) -> None:
    found = canonical.scan_comptes(tmp_path).collect()

    assert_frame_equal(found, pl.DataFrame(schema=dict(COMPTES)))


def test_a_statement_line_may_have_no_currency_but_must_have_a_value(tmp_path: Path) -> None:
    found = canonical.scan_comptes(_comptes(tmp_path / "a", LINE)).collect()
    without = {k: v for k, v in LINE.items() if k != "valeur"}

    assert_frame_equal(found, pl.DataFrame([LINE], schema=dict(COMPTES)))
    with pytest.raises(InputError, match="required column valeur is missing"):
        canonical.scan_comptes(_comptes(tmp_path / "b", without))
