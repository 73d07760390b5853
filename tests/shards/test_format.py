"""Header and keys, byte by byte: a reader of next year must read the shard of today."""

import pytest

from shards import format
from shards.errors import WrongFormatError
from shards.format import Header

# Name, version (10), country, number of companies (305 069).
GOLDEN_HEADER = b"societes-shard" + b"\x00\x0a" + b"EE" + b"\x00\x00\x00\x00\x00\x04\xa7\xad"


def test_header_bytes_have_not_changed_since_format_10() -> None:
    assert format.pack_header(Header("EE", 305_069)) == GOLDEN_HEADER
    assert format.unpack_header(GOLDEN_HEADER) == Header("EE", 305_069)


def test_a_header_of_another_version_names_both_versions() -> None:
    older = GOLDEN_HEADER.replace(b"\x00\x0a", b"\x00\x01", 1)

    with pytest.raises(WrongFormatError, match="format 1, this code reads 10"):
        format.unpack_header(older)


@pytest.mark.parametrize("packed", [b"", b"PK\x03\x04" * 7, GOLDEN_HEADER[:-1]])
def test_a_malformed_header_is_refused(packed: bytes) -> None:
    with pytest.raises(WrongFormatError, match="not a shard"):
        format.unpack_header(packed)


def test_keys_of_chunks_sort_as_chunks_do() -> None:
    rows = [0, 1, 255, 256, 65_536, 2**31]

    assert sorted(map(format.chunk_key, rows)) == [format.chunk_key(row) for row in rows]
