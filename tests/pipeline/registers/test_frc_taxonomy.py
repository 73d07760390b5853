"""The mapping of concepts to statement lines."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers import frc_taxonomy
from seeds import TABLES

TAXONOMY = frc_taxonomy.load()


# -- the mapping -----------------------------------------------------------------------------------


def test_every_role_of_a_uk_code_is_a_line_of_the_mapping() -> None:
    roles = pl.read_csv(TABLES / "roles.csv")
    lines = {(line.etat, line.code) for line in TAXONOMY.lines.values()}

    named = {role for role, etat, code in roles.rows() if (etat, code) in lines}
    assert named == {"chiffre_affaires", "effectif", "capital_social", "total_actif"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Équité,bilan,Equity,Capitaux propres,1,60,", "etat 'bilan'"),
        ("Équité,annexe,Equity,Capitaux propres,2,60,", "signe '2'"),
        ("Equity,bilan_passif,Equity,Capitaux propres,1,60,", "Equity is there twice"),
        ("Funds,bilan_passif,Equity,Fonds propres,1,60,", "two etats, labels or places"),
        ("Funds,bilan_passif,Funds,Fonds propres,1,60,", "two codes at place 60"),
    ],
)
def test_a_mapping_told_in_two_ways_is_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "frc.csv"
    head = "concept,etat,code,libelle,signe,ordre,motif\n"
    path.write_text(f"{head}Equity,bilan_passif,Equity,Capitaux propres,1,60,\n{row}\n")

    with pytest.raises(InputError, match=message):
        frc_taxonomy.load(path)
