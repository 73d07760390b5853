"""Cells and scopes, compared with the rows that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from shards.codec import cells
from shards.codec.cells import Cell

LAYOUT = (
    Cell("47", "47.1", 0, 1, 3, 2),
    Cell("47", "47.2", 3, 3, 4, 0),
    Cell("62", "47.2", 4, 7, 7, 1),
    Cell("62", None, 7, 8, 9, 1),
    Cell(None, None, 9, 9, 12, 0),
)
DIVISIONS = st.sets(st.sampled_from(("01", "47", "62"))).map(sorted)
GROUPS = st.none() | st.sets(st.sampled_from(("47.1", "47.2", "62.0"))).map(sorted)


def test_cells_come_back_as_they_were() -> None:
    layout = (
        Cell("62", "62.0", 0, 2, 5, 4),
        Cell("62", None, 5, 5, 6, 0),
        Cell(None, None, 6, 7, 9, 1),
    )

    assert cells.load(cells.dump(layout)) == layout
    assert [cell.place for cell in layout] == ["62/62.0", "62/-", "-/-"]


@given(DIVISIONS, GROUPS)
def test_a_scope_is_the_cells_of_its_sectors_and_sub_sectors(
    divisions: list[str], groups: list[str] | None
) -> None:
    """B10: a sub-sector may be in several sectors"""
    chosen = [
        cell
        for cell in LAYOUT
        if (not divisions or cell.secteur in divisions)
        and (groups is None or cell.sous_secteur in groups)
    ]

    scope = cells.layout(LAYOUT).scope(divisions, groups)

    rows = [row for cell in chosen for row in range(cell.start, cell.stop)]
    assert [row for span in scope.spans() for row in range(*span)] == rows
    assert scope.size == len(rows)
    assert [LAYOUT[index] for index in scope.cells()] == chosen
    assert scope.with_ca == sum(cell.with_ca - cell.start for cell in chosen)
    assert scope.with_site == sum(cell.with_site for cell in chosen)
    assert scope.mask(len(LAYOUT)).tolist() == [cell in chosen for cell in LAYOUT]


def test_neighbouring_cells_are_one_span() -> None:
    spans = cells.layout(LAYOUT).scope(["47", "62"], None).spans()

    assert spans == [(0, 9)]
