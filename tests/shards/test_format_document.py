"""The worked examples of FORMAT.md, decoded by hand as the document says, and compared with the code."""

import re
from pathlib import Path
from typing import Final

import numpy as np
import zstandard

import shards
from shards import format
from shards.codec import record
from shards.codec.row_sets import Packing
from shards.query import ORDERS
from shards.ratios.accounts import LastYearRatios
from shards.ratios.ratio_table import stored_codes
from tests.shards.set_decoder import unpack

DOCUMENT: Final = (Path(shards.__file__).parent / "FORMAT.md").read_text()
ROWS: Final = 100_000
COMPANY: Final = {"iso2": "EE", "id": "1", "nom": "Ä", "email": "a@b.ee"}


def section(start: str, end: str) -> str:
    """The text between two headings or phrases, each of which occurs once."""
    assert DOCUMENT.count(start) == DOCUMENT.count(end) == 1
    return DOCUMENT.split(start)[1].split(end)[0]


def byte_table_rows(text: str) -> list[tuple[int, bytes, bytes]]:
    """The rows of a table of bytes: offset, first bytes, and last bytes if some are left out."""
    result = re.findall(
        r"^\| (\d+) \| `([0-9a-f ]+)`(?: …(?: `([0-9a-f ]+)`)?)? \|", text, re.MULTILINE
    )
    return [
        (int(offset), bytes.fromhex(first), bytes.fromhex(last)) for offset, first, last in result
    ]


def assert_bytes_of_table(packed: bytes, text: str) -> None:
    """`packed` has the bytes of the table in `text`, each row from its offset to the next."""
    table_rows = byte_table_rows(text)
    ends = [offset for offset, _, _ in table_rows[1:]]
    for (offset, first, last), end in zip(table_rows, [*ends, len(packed)], strict=True):
        row_bytes = packed[offset:end]
        assert row_bytes.startswith(first)
        assert row_bytes.endswith(last)


def row_order_packing() -> Packing:
    """The packing of a country where every order is that of the rows, except `ca_asc`."""
    ascending = np.arange(ROWS, dtype=np.uint32)
    return Packing(
        ROWS, [ascending[::-1].copy() if tri == "ca_asc" else ascending for tri in ORDERS]
    )


def test_the_record_of_the_document_is_decoded_by_hand_to_what_the_code_encodes() -> None:
    text = section("The example has 352 stored bytes:", "Statements are a Zstandard frame")
    block = re.search(r"(?:^    [0-9a-f ]+\n)+", text, re.MULTILINE)
    document = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert block
    assert document
    stored = bytes.fromhex(block[0])
    lines = document[1].splitlines()

    # The stored bytes are a Zstandard frame without its magic number. The content has two sizes, then three parts.
    frame = bytes.fromhex("28 b5 2f fd") + stored
    content = zstandard.ZstdDecompressor().decompress(frame)

    head, contacts = (
        int.from_bytes(content[position : position + 4], "little") for position in (0, 4)
    )
    parts = [
        content[8 : 8 + head],
        content[8 + head : 8 + head + contacts],
        content[8 + head + contacts :],
    ]
    assert len(stored) == 352
    # The fields before the contacts, the contacts (one line of the document), and the fields after them.
    (contact_line,) = [number for number, line in enumerate(lines) if line.startswith('"site_web"')]
    texts = ("".join(lines[:contact_line]), lines[contact_line], "".join(lines[contact_line + 1 :]))
    assert parts == [part.encode() for part in texts]
    assert f"`{content[:8].hex(' ')}`: a head of {head} bytes and contacts of {contacts}" in text
    assert content == record.encode(COMPANY)


def test_the_orders_of_ratios_of_the_document_are_the_stored_orders() -> None:
    text = section("If, of three companies, the last two", "## 7 Keys")
    numbers, zero_end, last_end = (
        bytes.fromhex(digits) for digits in re.findall(r"`((?:[0-9a-f]{2} ?)+)`", text)
    )
    unknown = np.full(3, np.nan)
    ratios = dict.fromkeys(stored_codes(), unknown) | {"z_altman": np.array([np.nan, 2.5, 1.0])}

    orders = LastYearRatios(ratios).orders()

    assert orders["orders"].tobytes() == numbers
    assert orders["order_ends"].tobytes() == 20 * zero_end + last_end


def test_the_frame_of_the_document_is_annotated_as_the_rfc_says() -> None:
    """RFC 8878 §3.1.1"""
    text = section("The example has 352 stored bytes:", "Statements are a Zstandard frame")
    block = re.search(r"(?:^    [0-9a-f ]+\n)+", text, re.MULTILINE)
    assert block
    stored = bytes.fromhex(block[0])

    assert_bytes_of_table(stored, text)
    assert stored[0] == 0b01_1_00_0_00  # content size in 2 bytes, single segment, nothing else
    size = int.from_bytes(stored[1:3], "little") + 256
    header = int.from_bytes(stored[3:6], "little")
    assert (header & 1, header >> 1 & 3, header >> 3) == (1, 2, 346)
    assert len(stored) == 6 + 346
    assert f"{size} bytes" in text
    assert size == len(record.encode(COMPANY))


def test_the_set_with_heads_of_the_document_has_the_bytes_of_the_code() -> None:
    result = np.arange(0, ROWS, 20, dtype=np.uint32)
    text = section("the reverse (6,408 bytes):", "Example of kind 7")

    packed = row_order_packing().pack_rows(result)

    assert len(packed) == 6_408
    assert len(byte_table_rows(text)) == 2 + len(ORDERS) + 1
    assert_bytes_of_table(packed, text)
    assert packed[0] == format.GAPS + format.HEADED
    assert unpack(packed).rows == result.tolist()
    for place, tri in enumerate(ORDERS):  # each row of the table names its order
        offset = 8 + 4 * format.HEAD_ROWS * place
        assert re.search(rf"^\| {offset} \|.*\| head of `{tri}`", text, re.MULTILINE)


def test_the_set_of_kind_7_of_the_document_has_the_bytes_of_the_code() -> None:
    result = np.arange(0, ROWS, 80, dtype=np.uint32)
    text = section("of the country of the last example (1,408 bytes):", "### Stored sets")

    packed = row_order_packing().pack_count(result)

    assert len(packed) == 1_408
    assert len(byte_table_rows(text)) == 4
    # The table of the document shows the first 8 bytes and two of the seven heads.
    assert_bytes_of_table(packed[: 8 + 2 * 4 * format.HEAD_ROWS], text)
    unpacked = unpack(packed)
    assert (unpacked.size, unpacked.rows) == (len(result), None)
    assert unpacked.heads is not None
    assert unpacked.heads[0] == result[: format.HEAD_ROWS].tolist()


def test_no_line_of_the_document_is_longer_than_120_characters() -> None:
    assert [line for line in DOCUMENT.splitlines() if len(line) > 120] == []
