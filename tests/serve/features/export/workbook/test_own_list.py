"""The sheet Ma liste has the columns and rows of a list that a user sent, in their order."""

from pathlib import Path

import orjson

from serve.contract.files import OwnLine, OwnList
from shards.query import Query
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import make_workbook

# Headings that are equal but for case, empty, like a formula, with a character that no cell can have, or too long.
HEADINGS = (
    "Nom",
    "nom",
    "NOM",
    "",
    "=1+1",
    "a\x00b\nc",
    "verdict",
    "x" * 400,
    *map(str, range(12)),
)
# Cells that look like formulas, markup or numbers, or that no cell can hold.
TEXTS = ("=cmd|x", "+33", "-1", "@a", "a\x00b\x1b", "y" * 40_000, "<r>b</r>", "_x0041_", "007", "^")


def own_list(companies: list[tuple[str, str] | None]) -> OwnList:
    """A list with a line per company, or None for a line without one; all lines have the same cells."""
    cells = list((TEXTS * 2)[: len(HEADINGS)])
    lines = [OwnLine(cells, "sur", 0.5, "", company, "") for company in companies]
    return OwnList("x", HEADINGS, orjson.dumps([tuple(line) for line in lines]))


def test_any_text_of_a_list_is_a_text_cell_under_a_unique_heading(
    tmp_path: Path,
) -> None:
    sheet = make_workbook(tmp_path, own=own_list([None])).sheets["Ma liste"]

    head, row = ([cell for cell in line] for line in sheet.iter_rows())
    titles = [str(cell.value) for cell in head]
    assert len({title.casefold() for title in titles}) == len(titles)
    assert titles[:5] == ["Nom", "nom (2)", "NOM (3)", "Colonne 4", "=1+1"]
    (table,) = sheet.tables.values()
    assert [column.name for column in table.tableColumns] == titles
    assert {cell.data_type for cell in [*head, *row[: len(HEADINGS)]]} == {"s"}
    values = [row[column].value for column in (0, 1, 4, 8)]
    assert values == ["=cmd|x", "+33", "a b ", "007"]
    assert all(row[column].quotePrefix for column in range(4))


def test_companies_have_the_order_of_the_list_and_the_first_are_in_the_file(
    tmp_path: Path,
) -> None:
    """Six companies, the first of them twice, and a line without a company; the limit is four"""
    companies = [(str(company["iso2"]), str(company["id"])) for company in world.COMPANIES][::-1][
        :6
    ]
    user_list = own_list([companies[0], None, *companies])

    file = make_workbook(
        tmp_path, own=user_list, query=Query(ids=tuple(sorted(companies))), limit=4
    ).sheets

    listed = [row[:2] for row in file["Liste"].iter_rows(min_row=2, values_only=True)]
    # Added are four columns about the match, then the country, the identifier and the name of the company.
    first_added_column = len(HEADINGS) + 4
    added_cells = [
        row[first_added_column : first_added_column + 3]
        for row in file["Ma liste"].iter_rows(2, values_only=True)
    ]
    assert listed == companies[:4]
    assert [row[:2] for row in added_cells] == [companies[0], (None, None), *companies]
    # Names are only those of the four companies in the file, of which the first has two lines.
    assert [row[2] is None for row in added_cells] == [False, True, *[False] * 4, True, True]


def test_a_workbook_of_a_part_of_a_list_says_which_companies_it_leaves_out_and_why(
    tmp_path: Path,
) -> None:
    companies = [(str(company["iso2"]), str(company["id"])) for company in world.COMPANIES][:5]
    user_list = own_list([companies[0], ("FR", "000000000"), None, *companies])
    query = Query(ids=tuple(sorted([*companies, ("FR", "000000000")])))

    cut_file = make_workbook(
        tmp_path, own=user_list, query=query, limit=3, ids_inconnus=("FR:000000000",)
    ).sheets
    full_file = make_workbook(
        tmp_path, own=own_list([*companies]), query=Query(ids=tuple(sorted(companies)))
    ).sheets

    head, *list_rows = cut_file["Ma liste"].iter_rows(values_only=True)
    column = head.index("Remarque")
    not_described = "au-delà des sociétés que ce classeur décrit"
    assert [row[column] for row in list_rows] == [
        None, "n'est plus dans les registres publiés", None, None, None, None, not_described, not_described
    ]  # fmt: skip
    (notice,) = (
        str(row[0]) for row in cut_file["Intro"].values if "La feuille Ma liste" in str(row[0])
    )
    assert "nomme 6 sociétés, ce classeur en décrit 3 : 2 sont au-delà" in notice
    assert "1 ne sont plus dans les registres" in notice
    assert not any("La feuille Ma liste" in str(row[0]) for row in full_file["Intro"].values)
