"""The documents agree with the code: tables of the format, example bytes, limits, counts."""

import re
from pathlib import Path

import numpy as np

from pipeline.registers import REGISTERS
from serve.app import PRODUCT
from serve.contract import seed_tables
from serve.surfaces.mcp.tool_list import tools
from shards import format
from shards.codec import cells, row_sets
from shards.codec.cells import Cell
from shards.format import Header
from shards.query import ORDERS

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ROOT = Path(__file__).parents[1]
FORMAT_MD = (ROOT / "shards" / "FORMAT.md").read_text()


def test_every_table_is_in_the_format_specification() -> None:
    section = FORMAT_MD.split("## 4 ")[0].split("## 3 ")[1]

    assert re.findall(r"^\| `(\w+)` ", section, re.MULTILINE) == [
        table.decode() for table in format.TABLES
    ]


def test_every_key_is_in_the_format_specification() -> None:
    section = FORMAT_MD.split("### Codes")[0].split("## 7 ")[1]
    types = {"<f8": "f64", "<i4": "i32", "<i2": "i16"}

    documented = re.findall(r"^\| `(\w+)` \| (\w+) ", section, re.MULTILINE)

    assert documented == [(name, types[dtype]) for name, dtype in format.KEYS.items()]


def test_the_format_specification_has_the_version_that_the_code_writes() -> None:
    assert FORMAT_MD.startswith(f"# Shard format {format.FORMAT_VERSION}\n")
    assert f"\n- {format.FORMAT_VERSION}: " in FORMAT_MD


def test_the_example_bytes_in_the_format_specification_are_those_of_the_code() -> None:
    layout = (Cell("62", "62.0", 0, 1, 2, 1), Cell(None, None, 2, 2, 3, 0))

    assert f"`{format.pack_header(Header('EE', 305_069)).hex(' ')}`" in FORMAT_MD
    assert f"`{cells.dump(layout).hex(' ')}`" in FORMAT_MD
    assert f"`{row_sets.pack(np.array([1, 300], dtype=np.uint32), 100_000).hex(' ')}`" in FORMAT_MD


def test_the_limits_in_the_format_specification_are_those_of_the_code() -> None:
    text = " ".join(FORMAT_MD.split())  # without line breaks

    assert f"first {format.TOP_ROWS:,} rows".replace(",", " ") in text
    assert (
        f"a {format.HEAVY_SHARE}th of the rows of the shard and more than {format.HEAVY_LEAST:,}"
        in text
    )
    assert f"than a {format.COUNTED_SHARE}th, and more than {format.COUNTED_LEAST:,}" in text
    assert f"first four bytes, which are always `{format.ZSTD_MAGIC.hex(' ')}`" in text
    assert f"than a {format.PHRASE_SHARE}nd of the rows" in text
    assert (
        f"a {format.HEAVY_SHARE}th of the rows of the shard, and of more than "
        f"{format.HEADED_LEAST:,}" in text
    )
    assert f"its first {format.HEAD_ROWS} rows in each of the orders `{' '.join(ORDERS)}`" in text
    assert f"of {format.TOP_LEAST:,} rows or more".replace(",", " ") in text
    assert f"every {format.SAMPLED}th suffix" in text
    assert f"every {format.OWNED}th byte" in text
    assert f"by the {format.SUFFIX_BYTES} bytes at their offset" in text


def test_the_counts_in_the_documents_are_those_of_the_code() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    architecture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    countries, sectors = len(seed_tables.rows("pays.csv")), len(seed_tables.rows("secteurs.csv"))
    with_register = {
        country
        for register in REGISTERS.values()
        if register.table == "companies" and not register.complement
        for country in [register.source.partition("-")[0]]
        if len(country) == 2
    }

    assert re.findall(r"(\d+) read-only tools", readme) == [str(len(tools(PRODUCT)))]
    assert re.findall(r"the (\d+) sectors", readme) == [str(sectors)]
    assert f"company registers of {len(with_register)} countries, and GLEIF" in readme
    assert f"for the other {WORDS[countries - len(with_register)]}." in readme
    assert re.findall(r"companies of (\d+) countries", architecture) == [str(countries)]
    assert re.findall(r"rows of (\w+) orders", architecture) == [WORDS[len(ORDERS)]]
