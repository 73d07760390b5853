"""Stored records: the fields of the specification, and the contact fields apart."""

import orjson
import pytest
import zstandard

from shards.codec import record


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


@pytest.mark.parametrize(("size", "most"), [(0, 0), (7, 7)])
def test_a_frame_has_as_many_bytes_as_it_may_have_and_no_more(size: int, most: int) -> None:
    frame, opened = zstandard.compress(b"a" * size), zstandard.ZstdDecompressor()

    assert record.decompress(frame, most, opened) == b"a" * size
    with pytest.raises(ValueError, match="are the most"):
        record.decompress(zstandard.compress(b"a" * (most + 1)), most, opened)
