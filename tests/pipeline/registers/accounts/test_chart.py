"""The chart of statement lines, and its refusals."""

from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.registers.accounts import chart

HEADER = "code,etat,parent,ordre,libelle_fr,libelle_en,somme,genre\n"
DEBTS_ROW = "Debts,bilan_passif,,10,Dettes,Debts,,montant\n"


def test_every_line_has_a_french_and_an_english_label_and_a_part_names_its_whole() -> None:
    lines = chart.load_lines()

    assert all(line.libelle_fr and line.libelle_en for line in lines.values())
    assert lines["TaxationIncludingDeferredTaxation"].parent == "ProvisionsForLiabilities"
    assert lines["RecoverableValue-addedTax"].label_below_parent == "dont TVA à récupérer"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Loans,bilan,,20,Emprunts,Loans,,montant", "etat 'bilan'"),
        ("Debts,bilan_passif,,20,Emprunts,Loans,,montant", "Debts has the code or place"),
        ("Loans,bilan_passif,,10,Emprunts,Loans,,montant", "place of Debts"),
        ("Loans,bilan_passif,,1000,Emprunts,Loans,,montant", "are for group accounts"),
        ("DebtsConsolidated,bilan_passif,,20,Emprunts,Loans,,montant", "are for group accounts"),
        ("Loans,bilan_passif,Debt,20,Emprunts,Loans,,montant", "Loans cannot be a part of 'Debt'"),
        ("Loans,bilan_actif,Debts,20,Emprunts,Loans,,montant", "Loans cannot be a part of 'Debts'"),
        ("Loans,bilan_passif,Debts,9,Emprunts,Loans,,montant", "Loans cannot be a part of 'Debts'"),
        (
            "Loans,bilan_passif,Loans,20,Emprunts,Loans,,montant",
            "Loans cannot be a part of 'Loans'",
        ),
        (
            "Tax,bilan_passif,,20,Impôts,Tax,,montant\nLoans,bilan_passif,Debts,30,Emprunts,Loans,,montant",
            "Tax is between Loans and Debts",
        ),
    ],
)
def test_a_chart_whose_rows_contradict_each_other_or_its_rules_is_refused(
    tmp_path: Path, row: str, message: str
) -> None:
    path = tmp_path / "postes.csv"
    path.write_text(f"{HEADER}{DEBTS_ROW}{row}\n")

    with pytest.raises(InputError, match=message):
        chart.load_lines(path)
