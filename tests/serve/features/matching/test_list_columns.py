"""Headings of a list in the words of people, and dates that their column explains."""

import pytest

from serve.features.matching import list_file, table_lines
from serve.features.matching.line_list import ListedLine
from serve.features.matching.list_file import ListFile
from tests.serve.asking import NAMES


def read_list(text: str) -> ListFile:
    return list_file.read(text.encode())


def _lines(cells: tuple[str, ...]) -> tuple[ListedLine, ...]:
    """The lines of a list with these dates of creation."""
    rows = "".join(f"Siemens AG;{cell}\n" for cell in cells)
    return table_lines.lines(read_list(f"nom;date de création\n{rows}"), NAMES, 3).lines


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("N° registre", "id"), ("Registre n°", "id"), ("nº SIREN", "id"), ("No. SIREN", "id"),
        ("num siren", "id"), ("N° de SIREN", "id"), ("KRS nr", "id"), ("HRB-Nr.", "id"),
        ("Numéro d'entreprise", "id"), ("n° entreprise", "id"), ("N° TVA", "tva"),
        ("Adresse", "adresse"), ("Straße", "adresse"), ("Branche", "activite"),
        ("Site web", "site_web"), ("E-mail", "email"),
    ],
)  # fmt: skip
def test_a_heading_means_its_field(heading: str, field: str) -> None:
    table = read_list(f"Raison sociale;{heading}\nSiemens AG;1")

    assert table.columns == {"nom": 0, field: 1}


@pytest.mark.parametrize("heading", ["N° client", "N°", "Customer number", "Lieferant Nr."])
def test_a_number_is_no_name(heading: str) -> None:
    """The number of a customer was searched for as a name, where the name had no known heading"""
    table = read_list(f"{heading};Raison sociale\n17;Siemens AG")

    assert table.columns == {"nom": 1}
    assert table.unused_headings == (heading,)


@pytest.mark.parametrize(
    ("cells", "dates"),
    [
        (("13/12/1968", "03/04/2010"), ("1968-12-13", "2010-04-03")),
        (("12/13/1968", "03/04/2010"), ("1968-12-13", "2010-03-04")),
        (("03.04.2010", "2010-04-03 00:00:00"), ("2010-04-03", "2010-04-03")),
    ],
)
def test_the_other_dates_of_a_column_tell_which_day_a_date_means(
    cells: tuple[str, ...], dates: tuple[str, ...]
) -> None:
    lines = _lines(cells)

    assert [one.line.date_creation for one in lines if one.line] == list(dates)


@pytest.mark.parametrize("cells", [("03/04/2010",), ("13/12/1968", "12/13/1968", "03/04/2010")])
def test_a_date_that_nothing_explains_counts_by_its_year(cells: tuple[str, ...]) -> None:
    """X19"""
    last = _lines(cells)[-1].line

    assert last is not None
    assert (last.date_creation, last.illisibles) == ("2010", ("date_ambigue",))
