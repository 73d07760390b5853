"""The sheet Ma liste holds whatever a reader sends, in the order in which it was sent."""

from pathlib import Path

import orjson

from serve.contract.files import OwnLine, OwnList
from shards.query import Query
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import of_world

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
TEXTS = ("=cmd|x", "+33", "-1", "@a", "a\x00b\x1b", "y" * 40_000, "<r>b</r>", "_x0041_", "007", "^")


def own(companies: list[tuple[str, str] | None]) -> OwnList:
    cells = list((TEXTS * 2)[: len(HEADINGS)])
    lines = [OwnLine(cells, "sur", 0.5, "", company, "") for company in companies]
    return OwnList("x", HEADINGS, orjson.dumps([tuple(line) for line in lines]))


def test_any_text_of_a_list_is_a_text_of_its_sheet_under_a_heading_of_its_own(
    tmp_path: Path,
) -> None:
    sheet = of_world(tmp_path, own=own([None])).sheets["Ma liste"]

    head, row = ([cell for cell in line] for line in sheet.iter_rows())
    titles = [str(cell.value) for cell in head]
    assert len({title.casefold() for title in titles}) == len(titles)
    assert titles[:5] == ["Nom", "nom (2)", "NOM (3)", "Colonne 4", "=1+1"]
    (table,) = sheet.tables.values()
    assert [column.name for column in table.tableColumns] == titles
    assert {cell.data_type for cell in [*head, *row[: len(HEADINGS)]]} == {"s"}
    values = [row[place].value for place in (0, 1, 4, 8)]
    assert values == ["=cmd|x", "+33", "a b ", "007"]
    assert all(row[place].quotePrefix for place in range(4))


def test_the_companies_of_a_list_come_in_its_order_and_the_first_ones_are_in_the_file(
    tmp_path: Path,
) -> None:
    companies = [(str(one["iso2"]), str(one["id"])) for one in world.COMPANIES][::-1][:6]
    asked = own([companies[0], None, *companies])

    file = of_world(tmp_path, own=asked, query=Query(ids=tuple(sorted(companies))), limit=4).sheets

    listed = [row[:2] for row in file["Liste"].iter_rows(min_row=2, values_only=True)]
    first = len(HEADINGS) + 4
    mine = [row[first : first + 3] for row in file["Ma liste"].iter_rows(2, values_only=True)]
    assert listed == companies[:4]
    assert [row[:2] for row in mine] == [companies[0], (None, None), *companies]
    assert [row[2] is None for row in mine] == [False, True, *[False] * 4, True, True]


def test_a_workbook_of_a_part_of_a_list_says_which_companies_it_leaves_out_and_why(
    tmp_path: Path,
) -> None:
    companies = [(str(one["iso2"]), str(one["id"])) for one in world.COMPANIES][:5]
    asked = own([companies[0], ("FR", "000000000"), None, *companies])
    named = Query(ids=tuple(sorted([*companies, ("FR", "000000000")])))

    part = of_world(
        tmp_path, own=asked, query=named, limit=3, ids_inconnus=("FR:000000000",)
    ).sheets
    whole = of_world(
        tmp_path, own=own([*companies]), query=Query(ids=tuple(sorted(companies)))
    ).sheets

    head, *mine = part["Ma liste"].iter_rows(values_only=True)
    place = head.index("Remarque")
    beyond = "au-delà des sociétés que ce classeur décrit"
    assert [row[place] for row in mine] == [
        None, "n'est plus dans les registres publiés", None, None, None, None, beyond, beyond
    ]  # fmt: skip
    (notice,) = (
        str(row[0]) for row in part["Intro"].values if "La feuille Ma liste" in str(row[0])
    )
    assert "nomme 6 sociétés, ce classeur en décrit 3 : 2 sont au-delà" in notice
    assert "1 ne sont plus dans les registres" in notice
    assert not any("La feuille Ma liste" in str(row[0]) for row in whole["Intro"].values)
