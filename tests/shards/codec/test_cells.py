"""Cells and sectors, compared with their rows."""

from shards.codec import cells
from shards.codec.cells import Cell

# Each cell: sector, sub-sector, first row, end of the rows with a turnover, end, number of websites.
LAYOUT = (
    Cell("47", "47.1", 0, 1, 3, 2),
    Cell("47", "47.2", 3, 3, 4, 0),
    Cell("62", "47.2", 4, 7, 7, 1),
    Cell("62", None, 7, 8, 9, 1),
    Cell(None, None, 9, 9, 12, 0),
)


def test_cells_are_unchanged_by_dump_and_load() -> None:
    layout = (
        Cell("62", "62.0", 0, 2, 5, 4),
        Cell("62", None, 5, 5, 6, 0),
        Cell(None, None, 6, 7, 9, 1),
    )

    assert cells.load(cells.dump(layout)) == layout
    assert [cell.place for cell in layout] == ["62/62.0", "62/-", "-/-"]


def test_a_sector_is_the_sum_of_its_cells() -> None:
    """B10: a sub-sector may be in several sectors"""
    layout = cells.layout(LAYOUT)

    # Name, range of cells, range of rows, rows with a turnover, rows with a website.
    assert layout.sectors["47"] == ("47", 0, 2, 0, 4, 1, 2)
    assert layout.sectors["62"] == ("62", 2, 4, 4, 9, 4, 2)
    assert [part.place for part in layout.parts] == ["47", "62", "-"]
    assert [part.place for part in layout.single] == [
        "47/47.1",
        "47/47.2",
        "62/47.2",
        "62/-",
        "-/-",
    ]
