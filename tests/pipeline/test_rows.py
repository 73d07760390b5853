"""From a finished frame to what a shard stores."""

import math

import orjson
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline import rows
from pipeline.money import CAPITAL
from pipeline.sectors import DIVISION, GROUP
from shards import record
from shards.format import EFFECTIF_NULL
from tests.pipeline.inputs import comptes, line

FRAME = pl.concat(
    [
        rows.EMPTY,
        pl.DataFrame(
            {
                "id": ["é", "1", "2"],
                "nom": ["Été", "Ä", "Ψ"],
                DIVISION: ["62", "62", None],
                GROUP: ["62.0", None, None],
                "ca_eur": [0.5, None, 0.0],
                CAPITAL: [None, -1.0, 2.0],
                "effectif": [0, None, 7],
                "score": [100, 0, 3],
                "site_web": ["https://exemple.ee", None, None],
            }
        ),
    ],
    how="diagonal",
)


def test_columns_have_the_nulls_of_the_format() -> None:
    columns = rows.columns(FRAME)

    assert (columns.ids, columns.noms) == (["é", "1", "2"], ["Été", "Ä", "Ψ"])
    assert (columns.secteurs, columns.sous_secteurs) == (["62", "62", None], ["62.0", None, None])
    assert columns.ca_eur[0] == 0.5
    assert math.isnan(columns.ca_eur[1])
    assert math.isnan(columns.capital_eur[0])
    assert columns.effectif.tolist() == [0, EFFECTIF_NULL, 7]
    assert columns.score.tolist() == [100, 0, 3]
    assert columns.site_web.tolist() == [True, False, False]
    assert columns.dates == [None, None, None]


@pytest.mark.parametrize("batch", [1, 2, 4_096])
@pytest.mark.parametrize("wanted", [range(3), range(0, 3, 2), range(1, 3), range(0)])
def test_records_are_those_of_the_rows_asked_for(
    wanted: range, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_BATCH", batch)

    found = [orjson.loads(record.decode(r, coordonnees=True)) for r in rows.records(FRAME)(wanted)]

    assert [company["id"] for company in found] == [FRAME["id"][row] for row in wanted]
    assert all(tuple(company) == record.FIELDS for company in found)


def test_layout_order_is_one_whatever_the_order_before() -> None:
    ordered = rows.in_layout(FRAME.lazy()).collect()

    assert ordered["id"].to_list() == ["é", "1", "2"]
    assert_frame_equal(rows.in_layout(FRAME.reverse().lazy()).collect(), ordered)


def test_statements_are_given_by_row_for_those_that_have_some() -> None:
    lines = comptes(line("EE", "2", 2020), line("EE", "é", 2020), line("EE", "é", 2021))

    found = [(row, orjson.loads(packed)) for row, packed in rows.statements(FRAME, lines)]

    assert [row for row, _ in found] == [0, 2]
    assert [entry["exercice"] for entry in found[0][1]] == [2021, 2020]
    assert tuple(found[1][1][0]) == rows.LINE
