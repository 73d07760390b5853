"""The input of the shard writer: columns, records, statement arrays."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.publishing import shard_input
from pipeline.publishing.shard_input import HAS_SITE
from pipeline.stages.money import ASSETS, CAPITAL
from pipeline.stages.sectors import DIVISION, GROUP
from shards.codec import record, sort_keys, strings
from shards.format import DATE_NULL, EFFECTIF_NULL
from tests.pipeline.rows import statement_line, statements_frame

FRAME = pl.DataFrame(
    {
        "id": ["é", "1", "2"],
        "nom": ["Été", "Ä", "Ψ"],
        "noms_anterieurs": [["Ève", "Ü"], None, ["Œ"]],
        DIVISION: ["62", "62", None],
        GROUP: ["62.0", None, None],
        "ca_eur": [0.5, None, 0.0],
        "effectif": [0, None, 7],
        "date_creation": ["2024-02-29", "1999", None],
        CAPITAL: [None, -1.0, 2.0],
        "score": [100, 0, 3],
        HAS_SITE: [True, False, False],
        "etat": ["cessee", "inconnu", "active"],
        "forme": ["OÜ", None, "OÜ"],
        "nace_code": ["62.01", None, "62.02"],
        "ville": [None, "Tartu", "Tartu"],
        "code_postal": ["1", "2", "1"],
        "tranche_effectif": ["00", "6-9", None],
        ASSETS: [0.5, None, -2.25],
        "lei": [None, None, "549300LKH2ZT2UYX8L57"],
        "tva": ["EE100366327", None, None],
    }
)


def test_columns_have_the_nulls_of_the_format() -> None:
    """The format has NaN for an unknown amount, and EFFECTIF_NULL and DATE_NULL for a headcount and a date."""
    columns = shard_input.columns(FRAME)

    assert sorted(columns.numbers) == [(0, "EE100366327"), (2, "549300LKH2ZT2UYX8L57")]
    assert [columns.ids[row].decode() for row in range(3)] == ["é", "1", "2"]
    assert [columns.noms[row].decode() for row in range(3)] == ["Été", "Ä", "Ψ"]
    assert [columns.former.noms[row].decode() for row in range(3)] == ["Ève", "Ü", "Œ"]
    assert columns.former.rows.tolist() == [0, 0, 2]
    assert columns.cells == (("62", "62.0", 1), ("62", None, 1), (None, None, 1))
    assert columns.ca_eur[0] == 0.5
    assert math.isnan(columns.ca_eur[1])
    assert math.isnan(columns.capital_eur[0])
    assert columns.effectif.tolist() == [0, EFFECTIF_NULL, 7]
    assert [columns.tranche.values[row] for row in columns.tranche.numbers] == ["00", "6-9", None]
    assert columns.score.tolist() == [100, 0, 3]
    assert columns.site_web.tolist() == [True, False, False]
    assert columns.dates.tolist() == [20240229, 19990000, DATE_NULL]


def test_columns_of_no_company_are_empty() -> None:
    columns = shard_input.columns(shard_input.NO_COMPANIES)

    assert (len(columns.ids), len(columns.noms), columns.cells) == (0, 0, ())
    assert len(columns.ca_eur) == len(columns.dates) == len(columns.site_web) == 0


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]))))
def test_texts_are_packed_as_shards_packs_them(values: list[str]) -> None:
    packed, expected = shard_input.texts(pl.Series(values, dtype=pl.String)), strings.pack(values)

    assert bytes(packed.data) == expected.data
    assert packed.starts.tolist() == expected.starts.tolist()
    assert packed.starts.dtype == expected.starts.dtype


@given(
    st.lists(
        st.dates().map(str).flatmap(lambda date: st.sampled_from([date, date[:7], date[:4], None]))
    )
)
def test_dates_become_the_sort_keys_of_dates(values: list[str | None]) -> None:
    keys = shard_input.dates(pl.Series(values, dtype=pl.String))

    assert keys.to_list() == [sort_keys.date_key(value) for value in values]


# -- records -------------------------------------------------------------------------

# The polars type of each field of a record.
TYPES: dict[str, Any] = {
    name: pl.String for name in record.FIELDS
} | {
    "effectif": pl.Int64, "ca_mult": pl.Int64, "score": pl.Int64, "est_cotee": pl.Boolean,
    "ca_eur": pl.Float64, "capital_social": pl.Float64, "total_actif_last": pl.Float64,
    "noms_anterieurs": pl.List(pl.String), "nace_secondaires": pl.List(pl.String),
}  # fmt: skip
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ANY_VALUE = {
    pl.String: st.none() | ANY_TEXT,
    pl.List(pl.String): st.none() | st.lists(ANY_TEXT, max_size=2),
    pl.Int64: st.none() | st.integers(-(2**63), 2**63 - 1),
    pl.Boolean: st.none() | st.booleans(),
    pl.Float64: st.none() | st.floats(allow_nan=False, allow_infinity=False),
}
ANY_RECORD = st.fixed_dictionaries({name: ANY_VALUE[kind] for name, kind in TYPES.items()})


@given(st.lists(ANY_RECORD, max_size=3))
def test_records_are_to_the_byte_those_of_the_record_encoder(
    companies: list[dict[str, Any]],
) -> None:
    blocks = list(shard_input.json_lines(pl.DataFrame(companies, schema=TYPES)))

    lines = b"".join(blocks).split(b"\n")[:-1]
    assert list(map(record.encode_json, lines)) == [record.encode(company) for company in companies]


@pytest.mark.parametrize("block", [1, 2, 1_024])
def test_records_are_read_for_any_rows_in_any_blocks(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_input, "BLOCK", block)
    frame = FRAME.with_columns(
        pl.lit(None).alias(name) for name in record.FIELDS if name not in FRAME.columns
    )
    run = shard_input.write_run(tmp_path / "run", 0, shard_input.json_lines(frame))
    order = np.array([2, 0, 1], dtype=np.uint32)

    read_records = shard_input.records([run], order)

    for rows in (range(3), range(0, 3, 2), range(1, 3), range(0)):
        companies = [
            orjson.loads(record.decode(record_bytes, coordonnees=True))
            for record_bytes in read_records(rows)
        ]
        assert [company["id"] for company in companies] == [["2", "é", "1"][row] for row in rows]
        assert all(tuple(company) == record.FIELDS for company in companies)


# -- statements ----------------------------------------------------------------------


def test_statements_are_given_by_row_for_companies_that_have_some() -> None:
    lines = statements_frame(
        statement_line("EE", "2", 2020),
        statement_line("EE", "é", 2020),
        statement_line("EE", "é", 2021),
    )

    statements = [
        (row, orjson.loads(packed))
        for row, packed in shard_input.statements(shard_input.sort_lines(FRAME["id"], lines), {})
    ]

    assert [row for row, _ in statements] == [0, 2]
    assert [entry["exercice"] for entry in statements[0][1]] == [2021, 2020]
    assert tuple(statements[1][1][0]) == record.LINE


# A statement line as it is stored.
_ANY_LINE = st.fixed_dictionaries(
    {
        "etat": st.sampled_from(record.ETATS),
        "code": st.text(max_size=8),
        "libelle": st.none() | st.text(max_size=8),
        "valeur": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "devise": st.none() | st.sampled_from(["EUR", "CZK"]),
        "exercice": st.integers(1900, 2100),
        "ordre": st.none() | st.integers(0, 99),
    }
)
# The types of the columns of statement lines; the columns that are not here are texts.
_LINE_TYPES = {"valeur": pl.Float64, "exercice": pl.Int32, "ordre": pl.Int32}


@given(
    st.dictionaries(st.integers(0, 2**32 - 1), st.lists(_ANY_LINE, min_size=1, max_size=4)),
    st.integers(1, 6),
)
def test_statements_are_the_json_of_their_lines_however_many_are_written_at_once(
    lines_by_row: dict[int, list[dict[str, Any]]], lines_at_once: int
) -> None:
    """FORMAT.md §6: the bytes are those that orjson makes of each company alone."""
    types = {"row": pl.UInt32} | {name: _LINE_TYPES.get(name, pl.String) for name in record.LINE}
    rows = [{"row": row} | line for row in sorted(lines_by_row) for line in lines_by_row[row]]
    withheld = {row: {"2024": ["é"]} for row in list(lines_by_row)[::2]}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_input, "_LEAST_LINES", lines_at_once)
        statements = list(shard_input.statements(pl.DataFrame(rows, schema=types), withheld))

    expected = {
        row: orjson.dumps(
            [{name: line[name] for name in record.LINE} for line in lines_by_row[row]]
        )
        for row in sorted(lines_by_row)
    }
    for row, codes in withheld.items():
        expected[row] += b"\n" + orjson.dumps(codes)
    assert statements == list(expected.items())
