"""The statement sheets: one column per fiscal year, nothing lost, nothing added up (§4.6, E5)."""

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.statement_table import rows_by_section
from shards.codec.record import ETATS
from tests.serve.features.export.workbook.workbooks import File, of_world, rows
from tests.serve.world import WITH_STATEMENTS


def line(etat: str, code: str | None, exercice: int, valeur: float, **more: Any) -> dict[str, Any]:
    return {"etat": etat, "code": code, "libelle": code, "valeur": valeur, "devise": "EUR",
            "exercice": exercice, "ordre": 1, **more}  # fmt: skip


lines = st.lists(
    st.builds(
        line,
        st.sampled_from(ETATS),
        st.sampled_from("ABC"),
        st.integers(2020, 2024),
        st.floats(allow_nan=False, allow_infinity=False),
        ordre=st.integers(1, 9),
    ),
    max_size=30,
)


@given(lines)
def test_every_value_stands_in_its_section_and_year_and_no_other(found: list[Any]) -> None:
    placed = Counter(
        (etat, row.code, year, value)
        for etat, section in rows_by_section(found).items()
        for row in section
        for year, value in row.values.items()
    )

    assert placed == Counter((r["etat"], r["code"], r["exercice"], r["valeur"]) for r in found)


def statements(file: File) -> list[tuple[Any, ...]]:
    sheet = file.sheets["FR 552100554"]
    rows = [tuple(values[:3]) for values in sheet.iter_rows(min_row=6, values_only=True)]
    ends = [at for at, row in enumerate(rows) if str(row[0]).startswith(("En euros", "Ratios"))]
    return rows[: ends[0] - 1] if ends else rows[:-1]


def made(folder: Path, found: list[dict[str, Any]]) -> File:
    return of_world(folder, comptes={WITH_STATEMENTS: found})


def test_lines_without_a_label_or_a_code_have_their_rows(tmp_path: Path) -> None:
    """The canonical schema allows one of both to be null; older data have such lines"""
    found = [
        line("bilan_actif", "TotalAssets", 2023, 5.0, libelle=None),
        line("bilan_actif", "K17", 2023, 4.0, libelle=None, ordre=2),
        *(
            line("annexe", None, year, value, libelle=label, ordre=order)
            for year, value, label, order in (
                (2023, 1.0, "Salariés", 1), (2023, 2.0, "Bureaux", 2), (2022, 3.0, "Bureaux", 1),
            )
        ),
    ]  # fmt: skip

    file = made(tmp_path, found)
    told = statements(file)
    english = of_world(tmp_path, comptes={WITH_STATEMENTS: found}, lang="en")

    assert ("Total de l'actif", 5, None) in told
    assert ("K17", 4, None) in told
    assert told[-2:] == [("Salariés", 1, None), ("Bureaux", 2, 3)]
    assert "Total assets" in [row[0].value for row in english.sheets["FR 552100554"].iter_rows()]
    assert {"K17", "Total de l'actif"} <= {
        row["Poste"] for row in rows(file.sheets["Comptes (lignes)"])
    }


def test_the_newest_year_comes_first_and_sections_in_their_order(tmp_path: Path) -> None:
    found = [
        line("annexe", "Effectif", 2023, 12.0, devise=None),
        line("compte_resultat", "Ventes", 2022, -0.5),
        line("bilan_passif", "Equity", 2023, 3.0, ordre=9),
        line("bilan_passif", "Capital", 2022, 2.5, ordre=1),
        line("bilan_actif", "TotalAssets", 2022, 4.0),
        line("bilan_actif", "TotalAssets", 2023, 5.0, libelle="=Total"),
    ]

    assert statements(made(tmp_path, found)) == [
        ("Poste", 2023, 2022),
        ("Bilan : actif", None, None),
        ("=Total", 5, 4),
        (None, None, None),
        ("Bilan : passif", None, None),
        ("Capital", None, 2.5),
        ("Equity", 3, None),
        (None, None, None),
        ("Compte de résultat", None, None),
        ("Ventes", None, -0.5),
        (None, None, None),
        ("Annexe", None, None),
        ("Effectif", 12, None),
    ]


def test_aggregates_are_bold_and_details_are_not(tmp_path: Path) -> None:
    found = [
        line("bilan_actif", "TotalAssets", 2023, 5.0, libelle="Actif"),
        line("bilan_actif", "X", 2023, 5.0, libelle="Total des créances", ordre=2),
        line("bilan_actif", "Debtors", 2023, 5.0, libelle="Créances", ordre=3),
        line("bilan_actif", "Y", 2023, 5.0, libelle="dont clients", ordre=4),
    ]
    sheet = made(tmp_path, found).sheets["FR 552100554"]

    bold = {row[0].value: (row[0].font.b, row[1].font.b) for row in sheet["A8:B11"]}

    assert bold == {
        "Actif": (True, True),
        "Total des créances": (True, True),
        "Créances": (False, False),
        "dont clients": (False, False),
    }


def test_the_currency_is_stated_for_each_year_where_it_changes(tmp_path: Path) -> None:
    found = [line("annexe", "A", 2011, 1.0), line("annexe", "A", 2010, 15.0, devise="EEK")]
    sheet = made(tmp_path, found).sheets["FR 552100554"]

    assert "EEK, EUR" in sheet["A3"].value
    assert [cell.value for cell in sheet[7]][:3] == ["Devise", "EUR", "EEK"]


def test_the_sheet_and_the_list_lead_to_each_other(tmp_path: Path) -> None:
    book = made(tmp_path, [line("annexe", "A", 2011, 1.0)]).sheets

    assert book["Liste"]["C2"].hyperlink.location == "'FR 552100554'!A1"
    assert book["FR 552100554"]["A4"].hyperlink.location == "'Liste'!A1"
    assert book["FR 552100554"]["B4"].hyperlink.location == "'Index des comptes'!A1"
    assert book["Index des comptes"]["C2"].hyperlink.location == "'FR 552100554'!A1"
    assert book["FR 552100554"]["A1"].value == "Société Générale d'Orléans"
