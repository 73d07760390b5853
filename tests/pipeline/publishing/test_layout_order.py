"""The layout order of companies, also when they come in several pieces."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.publishing import shard_input
from pipeline.stages.money import ASSETS, CAPITAL
from pipeline.stages.sectors import DIVISION, GROUP

FRAME = pl.DataFrame(
    {
        "id": ["é", "z", "c", "d", "e", "f", "a"],
        "nom": ["Été", "Ż", "Ç", "Ð", "É", "Ƒ", "Ä"],
        "noms_anterieurs": [["Œ", "Ü"], None, None, ["Ą"], None, None, None],
        "site_web": [None, "https://ż.pl", None, None, None, None, None],
        "date_creation": [None, "2024", None, None, None, None, None],
        DIVISION: [None, None, "62", "62", "62", "62", "01"],
        GROUP: [None, None, "62.0", "62.0", "62.0", None, "01.1"],
        "ca_eur": [None, None, None, -1.0, 5.0, 0.5, 0.0],
        CAPITAL: [None, 1.0, None, None, None, None, None],
        "effectif": [None, 0, 1, None, None, None, None],
        "score": [0, 1, 2, 3, 4, 5, 6],
        "etat": ["active"] * 7,
        "forme": [None, "OÜ", None, None, None, None, "SA"],
        "nace_code": [None, "84.11", "62.01", None, None, "62", "01.1"],
        "ville": ["Tartu", *[None] * 6],
        "code_postal": [None, "1 2", *[None] * 5],
        "tranche_effectif": ["12", None, "6-9", *[None] * 4],
        ASSETS: [0.5, *[None] * 6],
        "lei": ["L", *[None] * 6],
        "tva": [None, "PL1", *[None] * 5],
    },
)
# The identifiers in layout order.
ORDER = ["a", "e", "d", "c", "f", "z", "é"]  # z before é: by their bytes


def test_layout_order_does_not_depend_on_the_order_of_the_input() -> None:
    ordered = shard_input.sort_companies(FRAME.lazy()).collect()

    assert ordered["id"].to_list() == ORDER
    assert_frame_equal(shard_input.sort_companies(FRAME.reverse().lazy()).collect(), ordered)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_search_columns_of_pieces_are_merged_in_layout_order(size: int) -> None:
    columns, numbers = shard_input.merge_pieces(
        shard_input.search_columns(piece) for piece in FRAME.iter_slices(size)
    )

    assert_frame_equal(
        columns.drop(shard_input.HAS_SITE),
        shard_input.sort_companies(FRAME.lazy()).collect()[shard_input.SEARCH_COLUMNS],
    )
    assert columns[shard_input.HAS_SITE].to_list() == [False] * 5 + [True, False]
    assert [FRAME["id"][number] for number in numbers.tolist()] == ORDER


def test_the_empty_frame_has_the_columns_of_companies() -> None:
    assert shard_input.NO_COMPANIES.schema == shard_input.search_columns(FRAME).schema
