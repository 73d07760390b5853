"""The mapping of concepts to statement lines."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.accounts import chart
from seeds import TABLES

TAXONOMY = chart.load_elements("uk-accounts")


def test_the_british_mapping_has_lines_for_four_roles() -> None:
    roles = pl.read_csv(TABLES / "roles.csv")
    lines = {(item.line.etat, item.line.code) for item in TAXONOMY.lines.values()}

    mapped_roles = {role for role, etat, code in roles.rows() if (etat, code) in lines}
    assert mapped_roles == {"chiffre_affaires", "effectif", "capital_social", "total_actif"}


HEADER = "source,element,code,signe,motif\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("fr,Équité,Fonds,1,", "fr Équité: code 'Fonds'"),
        ("fr,Équité,Equity,2,", "signe '2'"),
        ("fr,Equity,Equity,1,", "element Equity is there twice"),
    ],
)
def test_a_contradictory_mapping_is_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(f"{HEADER}fr,Equity,Equity,1,\n{row}\n")

    with pytest.raises(InputError, match=message):
        chart.load_elements("fr", path)


def test_each_source_has_its_own_elements(tmp_path: Path) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(f"{HEADER}fr,CO,TotalAssets,1,\nno,CO,Equity,1,\nno,X*,,,sans objet\n")

    assert {
        element: item.line.code for element, item in chart.load_elements("fr", path).lines.items()
    } == {"CO": "TotalAssets"}
    assert chart.load_elements("no", path).reason("X1") == "sans objet"
    with pytest.raises(InputError, match="no element of se; add its rows"):
        chart.load_elements("se", path)


def test_every_source_of_the_table_has_elements_with_lines_of_the_chart() -> None:
    sources = pl.read_csv(chart.ELEMENTS, infer_schema=False)["source"].unique()

    assert all(chart.load_elements(source).lines for source in sources)
