"""The mapping of concepts to statement lines."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.accounts import chart
from seeds import TABLES

TAXONOMY = chart.load_elements("uk-accounts")


# -- the mapping -----------------------------------------------------------------------------------


def test_every_role_of_a_uk_code_is_a_line_of_the_mapping() -> None:
    roles = pl.read_csv(TABLES / "roles.csv")
    lines = {(found.line.etat, found.line.code) for found in TAXONOMY.lines.values()}

    named = {role for role, etat, code in roles.rows() if (etat, code) in lines}
    assert named == {"chiffre_affaires", "effectif", "capital_social", "total_actif"}


HEAD = "source,element,code,signe,motif\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("fr,Équité,Fonds,1,", "fr Équité: code 'Fonds'"),
        ("fr,Équité,Equity,2,", "signe '2'"),
        ("fr,Equity,Equity,1,", "element Equity is there twice"),
    ],
)
def test_a_mapping_told_in_two_ways_is_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(f"{HEAD}fr,Equity,Equity,1,\n{row}\n")

    with pytest.raises(InputError, match=message):
        chart.load_elements("fr", path)


def test_the_elements_of_one_source_are_not_those_of_another(tmp_path: Path) -> None:
    path = tmp_path / "elements.csv"
    path.write_text(f"{HEAD}fr,CO,TotalAssets,1,\nno,CO,Equity,1,\nno,X*,,,sans objet\n")

    assert {e: found.line.code for e, found in chart.load_elements("fr", path).lines.items()} == {
        "CO": "TotalAssets"
    }
    assert chart.load_elements("no", path).reason("X1") == "sans objet"
    with pytest.raises(InputError, match="no element of se; add its rows"):
        chart.load_elements("se", path)


def test_every_element_of_the_table_is_on_the_chart() -> None:
    sources = pl.read_csv(chart.ELEMENTS, infer_schema=False)["source"].unique()

    assert all(chart.load_elements(source).lines for source in sources)
