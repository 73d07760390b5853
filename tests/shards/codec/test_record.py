"""Stored records: the fields of the specification, with the contact fields stored separately."""

import orjson
import pytest
import zstandard

from shards.codec import record


def test_record_bytes_have_not_changed_since_format_1() -> None:
    stored = record.encode({"iso2": "EE", "id": "1", "nom": "Ä", "email": "a@b.ee"})

    # The sizes of the head (0x237) and of the contacts (0x40), then the first fields.
    head = bytes.fromhex("37020000 40000000") + '{"iso2":"EE","id":"1","nom":"Ä"'.encode()
    assert stored.startswith(head)


def test_a_contact_is_null_without_the_right_and_nothing_else_changes() -> None:
    """§2.1: the public form of a record has null in place of each contact"""
    stored = record.encode({"iso2": "EE", "id": "1", "email": "a@b.ee", "score": 7})
    public = record.decode(stored, coordonnees=False)
    full = record.decode(stored, coordonnees=True)

    assert b'"email":null' in public
    assert full.replace(b'"a@b.ee"', b"null") == public


def test_every_field_of_the_specification_is_always_there_in_its_order() -> None:
    """C6"""
    assert tuple(orjson.loads(record.decode(record.encode({}), coordonnees=False))) == record.FIELDS


@pytest.mark.parametrize(("size", "limit"), [(0, 0), (7, 7)])
def test_a_frame_over_its_limit_of_bytes_is_refused(size: int, limit: int) -> None:
    frame, decompressor = zstandard.compress(b"a" * size), zstandard.ZstdDecompressor()

    assert record.decompress(frame, limit, decompressor) == b"a" * size
    with pytest.raises(ValueError, match="the most is"):
        record.decompress(zstandard.compress(b"a" * (limit + 1)), limit, decompressor)
