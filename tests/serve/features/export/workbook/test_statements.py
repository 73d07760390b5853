"""The statement sheets: a column per fiscal year; no value is lost or added to another (§4.6, E5)."""

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.statement_table import rows_by_section
from shards.codec.record import ETATS
from tests.serve.features.export.workbook.workbooks import WorkbookFile, make_workbook, sheet_rows
from tests.serve.world import WITH_STATEMENTS


def statement_line(
    etat: str, code: str | None, exercice: int, valeur: float, **fields: Any
) -> dict[str, Any]:
    """A statement line in euros, whose label is its code."""
    return {"etat": etat, "code": code, "libelle": code, "valeur": valeur, "devise": "EUR",
            "exercice": exercice, "ordre": 1, **fields}  # fmt: skip


# Up to 30 lines; several may have the same section, code and year.
statement_line_lists = st.lists(
    st.builds(
        statement_line,
        st.sampled_from(ETATS),
        st.sampled_from("ABC"),
        st.integers(2020, 2024),
        st.floats(allow_nan=False, allow_infinity=False),
        ordre=st.integers(1, 9),
    ),
    max_size=30,
)


@given(statement_line_lists)
def test_every_value_is_only_in_its_section_and_year(records: list[Any]) -> None:
    placed = Counter(
        (etat, row.code, year, value)
        for etat, section in rows_by_section(records).items()
        for row in section
        for year, value in row.values.items()
    )

    assert placed == Counter((r["etat"], r["code"], r["exercice"], r["valeur"]) for r in records)


def statement_rows(file: WorkbookFile) -> list[tuple[Any, ...]]:
    """The label and the first two years of each row of a statement sheet, up to the rows in euros or of ratios."""
    sheet = file.sheets["FR 552100554"]
    # The headings are in row 6; a blank row precedes the rows in euros.
    rows = [tuple(values[:3]) for values in sheet.iter_rows(min_row=6, values_only=True)]
    ends = [
        index for index, row in enumerate(rows) if str(row[0]).startswith(("En euros", "Ratios"))
    ]
    return rows[: ends[0] - 1] if ends else rows[:-1]


def make_workbook_of(folder: Path, records: list[dict[str, Any]]) -> WorkbookFile:
    """A workbook of the HTTP tests' companies, one of which has these statement lines."""
    return make_workbook(folder, comptes={WITH_STATEMENTS: records})


def test_lines_without_a_label_or_a_code_have_their_rows(tmp_path: Path) -> None:
    """The canonical schema allows a line without a label or without a code, and older data have such lines."""
    records = [
        statement_line("bilan_actif", "TotalAssets", 2023, 5.0, libelle=None),
        statement_line("bilan_actif", "K17", 2023, 4.0, libelle=None, ordre=2),
        *(
            statement_line("annexe", None, year, value, libelle=label, ordre=order)
            for year, value, label, order in (
                (2023, 1.0, "Salariés", 1), (2023, 2.0, "Bureaux", 2), (2022, 3.0, "Bureaux", 1),
            )
        ),
    ]  # fmt: skip

    file = make_workbook_of(tmp_path, records)
    table = statement_rows(file)
    english_workbook = make_workbook(tmp_path, comptes={WITH_STATEMENTS: records}, lang="en")

    assert ("Total de l'actif", 5, None) in table
    assert ("K17", 4, None) in table
    assert table[-2:] == [("Salariés", 1, None), ("Bureaux", 2, 3)]
    assert "Total assets" in [
        row[0].value for row in english_workbook.sheets["FR 552100554"].iter_rows()
    ]
    assert {"K17", "Total de l'actif"} <= {
        row["Poste"] for row in sheet_rows(file.sheets["Comptes (lignes)"])
    }


def test_the_newest_year_comes_first_and_sections_in_their_order(tmp_path: Path) -> None:
    records = [
        statement_line("annexe", "Effectif", 2023, 12.0, devise=None),
        statement_line("compte_resultat", "Ventes", 2022, -0.5),
        statement_line("bilan_passif", "Equity", 2023, 3.0, ordre=9),
        statement_line("bilan_passif", "Capital", 2022, 2.5, ordre=1),
        statement_line("bilan_actif", "TotalAssets", 2022, 4.0),
        statement_line("bilan_actif", "TotalAssets", 2023, 5.0, libelle="=Total"),
    ]

    assert statement_rows(make_workbook_of(tmp_path, records)) == [
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
    """Total assets, and a line whose label begins with Total, are aggregates"""
    records = [
        statement_line("bilan_actif", "TotalAssets", 2023, 5.0, libelle="Actif"),
        statement_line("bilan_actif", "X", 2023, 5.0, libelle="Total des créances", ordre=2),
        statement_line("bilan_actif", "Debtors", 2023, 5.0, libelle="Créances", ordre=3),
        statement_line("bilan_actif", "Y", 2023, 5.0, libelle="dont clients", ordre=4),
    ]
    sheet = make_workbook_of(tmp_path, records).sheets["FR 552100554"]

    # Below the headings in row 6 and the name of the section.
    bold = {row[0].value: (row[0].font.b, row[1].font.b) for row in sheet["A8:B11"]}

    assert bold == {
        "Actif": (True, True),
        "Total des créances": (True, True),
        "Créances": (False, False),
        "dont clients": (False, False),
    }


def test_the_currency_is_stated_for_each_year_where_it_changes(tmp_path: Path) -> None:
    records = [
        statement_line("annexe", "A", 2011, 1.0),
        statement_line("annexe", "A", 2010, 15.0, devise="EEK"),
    ]
    sheet = make_workbook_of(tmp_path, records).sheets["FR 552100554"]

    assert "EEK, EUR" in sheet["A3"].value
    assert [cell.value for cell in sheet[7]][:3] == ["Devise", "EUR", "EEK"]


def test_the_sheet_and_the_list_link_to_each_other(tmp_path: Path) -> None:
    book = make_workbook_of(tmp_path, [statement_line("annexe", "A", 2011, 1.0)]).sheets

    assert book["Liste"]["C2"].hyperlink.location == "'FR 552100554'!A1"
    assert book["FR 552100554"]["A4"].hyperlink.location == "'Liste'!A1"
    assert book["FR 552100554"]["B4"].hyperlink.location == "'Index des comptes'!A1"
    assert book["Index des comptes"]["C2"].hyperlink.location == "'FR 552100554'!A1"
    assert book["FR 552100554"]["A1"].value == "Société Générale d'Orléans"
