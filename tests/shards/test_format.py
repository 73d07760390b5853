"""Bytes that are promised: a reader of next year must read the shard of today."""

import orjson
import pytest

from shards import format
from shards.codec import cells, record
from shards.codec.cells import Cell
from shards.errors import WrongFormatError
from shards.format import Header

GOLDEN_HEADER = b"societes-shard" + b"\x00\x05" + b"EE" + b"\x00\x00\x00\x00\x00\x04\xa7\xad"


def test_header_bytes_have_not_changed_since_format_5() -> None:
    assert format.pack_header(Header("EE", 305_069)) == GOLDEN_HEADER
    assert format.unpack_header(GOLDEN_HEADER) == Header("EE", 305_069)


def test_a_header_of_another_version_names_both_versions() -> None:
    older = GOLDEN_HEADER.replace(b"\x00\x05", b"\x00\x01", 1)

    with pytest.raises(WrongFormatError, match="format 1, this code reads 5"):
        format.unpack_header(older)


@pytest.mark.parametrize("packed", [b"", b"PK\x03\x04" * 7, GOLDEN_HEADER[:-1]])
def test_what_is_no_header_is_refused(packed: bytes) -> None:
    with pytest.raises(WrongFormatError, match="not a shard"):
        format.unpack_header(packed)


def test_keys_of_rows_sort_as_rows_do() -> None:
    rows = [0, 1, 255, 256, 65_536, 2**31]

    assert sorted(map(format.row_key, rows)) == [format.row_key(row) for row in rows]


def test_cells_come_back_as_they_were() -> None:
    layout = (
        Cell("62", "62.0", 0, 2, 5, 4),
        Cell("62", None, 5, 5, 6, 0),
        Cell(None, None, 6, 7, 9, 1),
    )

    assert cells.load(cells.dump(layout)) == layout
    assert [cell.place for cell in layout] == ["62/62.0", "62/-", "-/-"]


def test_record_bytes_have_not_changed_since_format_1() -> None:
    stored = record.encode({"iso2": "EE", "id": "1", "nom": "Ä", "email": "a@b.ee"})

    head = bytes.fromhex("37020000 40000000") + '{"iso2":"EE","id":"1","nom":"Ä"'.encode()
    assert stored.startswith(head)


def test_a_contact_is_null_without_the_right_and_nothing_else_changes() -> None:
    """§2.1"""
    stored = record.encode({"iso2": "EE", "id": "1", "email": "a@b.ee", "score": 7})
    public = record.decode(stored, coordonnees=False)
    full = record.decode(stored, coordonnees=True)

    assert b'"email":null' in public
    assert full.replace(b'"a@b.ee"', b"null") == public


def test_every_field_of_the_specification_is_always_there_in_its_order() -> None:
    """C6"""
    assert tuple(orjson.loads(record.decode(record.encode({}), coordonnees=False))) == record.FIELDS
