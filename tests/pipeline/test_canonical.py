"""The canonical schema: accepted files, and refused ones with their message."""

from datetime import date
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import canonical
from pipeline.canonical import COMPANIES, COMPTES, InputError

ORLEANS: dict[str, object] = {"iso2": "FR", "id": "552059024", "nom": "Société d'Orléans"}
STATEMENT_LINE: dict[str, object] = {
    "iso2": "UK",
    "id": "09753294",
    "exercice": 2017,
    "etat": "compte_resultat",
    "code": "ProfitLoss",
    "libelle": "Résultat de l'exercice",
    "valeur": -9712.0,
}


def _write_parquet(folder: Path, *rows: dict[str, object]) -> Path:
    """A file of these rows, which may lack columns or have further columns."""
    path = folder / "companies.parquet"
    pl.DataFrame(list(rows)).write_parquet(path)
    return path


def test_a_missing_optional_column_is_a_null_of_its_type(tmp_path: Path) -> None:
    rows = canonical.scan(_write_parquet(tmp_path, ORLEANS), "companies").collect()

    expected = pl.DataFrame([ORLEANS], schema=dict(COMPANIES))
    assert_frame_equal(rows, expected)


def test_an_unknown_column_stops_and_is_named(tmp_path: Path) -> None:
    file = _write_parquet(tmp_path, ORLEANS | {"chiffre": 1})

    with pytest.raises(InputError, match=r"companies\.parquet: unknown column chiffre"):
        canonical.scan(file, "companies")


@pytest.mark.parametrize("column", ["iso2", "id", "nom"])
def test_a_missing_required_column_stops_and_is_named(tmp_path: Path, column: str) -> None:
    file = _write_parquet(
        tmp_path, {name: value for name, value in ORLEANS.items() if name != column}
    )

    with pytest.raises(InputError, match=f"required column {column} is missing"):
        canonical.scan(file, "companies")


@pytest.mark.parametrize("published", ["1987-03-01", date(1987, 3, 1)])
def test_a_date_may_come_as_text_or_as_a_date(tmp_path: Path, published: object) -> None:
    file = _write_parquet(
        tmp_path, ORLEANS | {"date_creation": published, "date_source": published}
    )

    rows = canonical.scan(file, "companies").collect()

    assert rows["date_creation"].to_list() == ["1987-03-01"]
    assert rows["date_source"].to_list() == ["1987-03-01"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("capital_social", "37 000"),
        ("effectif", "12"),
        ("est_cotee", 1),
        ("ville", 45),
        ("noms_anterieurs", "Œuvre SA"),
        ("nace_secondaires", [62]),
    ],
)
def test_a_value_of_another_type_is_refused_and_not_cast(
    tmp_path: Path, column: str, value: object
) -> None:
    file = _write_parquet(tmp_path, ORLEANS | {column: value})

    with pytest.raises(InputError, match=f"{column} is "):
        canonical.scan(file, "companies")


@pytest.mark.parametrize("published", [["Œuvre SA"], [], None])
def test_a_list_of_texts_may_be_empty_or_null(tmp_path: Path, published: list[str] | None) -> None:
    file = _write_parquet(tmp_path, ORLEANS | {"noms_anterieurs": published})

    names = canonical.scan(file, "companies").collect()["noms_anterieurs"]

    assert names.dtype == pl.List(pl.String)
    assert names.to_list() == [published]


def test_a_statement_line_may_have_no_currency_but_must_have_a_value(tmp_path: Path) -> None:
    file = _write_parquet(tmp_path, STATEMENT_LINE)

    rows = canonical.scan(file, "comptes").collect()

    assert_frame_equal(rows, pl.DataFrame([STATEMENT_LINE], schema=dict(COMPTES)))
    without_value = _write_parquet(
        tmp_path, {name: value for name, value in STATEMENT_LINE.items() if name != "valeur"}
    )
    with pytest.raises(InputError, match="required column valeur is missing"):
        canonical.scan(without_value, "comptes")


@pytest.mark.parametrize("fault", [pl.exceptions.ComputeError, pl.exceptions.PanicException])
def test_the_unreadable_file_among_several_is_named(
    tmp_path: Path, fault: type[BaseException]
) -> None:
    good, bad = tmp_path / "bon.parquet", tmp_path / "abîmé.parquet"
    pl.DataFrame([ORLEANS]).write_parquet(good)
    bad.write_bytes(good.read_bytes()[:-1])

    message = r"abîmé\.parquet cannot be read: .*; import it again"
    with pytest.raises(InputError, match=message), canonical.name_unreadable([good, bad]):
        raise fault("somewhere")


def test_an_error_is_unchanged_if_every_file_can_be_read(tmp_path: Path) -> None:
    good = tmp_path / "bon.parquet"
    pl.DataFrame([ORLEANS]).write_parquet(good)

    with (
        pytest.raises(pl.exceptions.ComputeError, match="another"),
        canonical.name_unreadable([good]),
    ):
        raise pl.exceptions.ComputeError("another reason")
