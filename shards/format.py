"""The layout of a shard, in constants and pure functions. FORMAT.md says the same in words.

Nothing here touches a file. Whatever both the writer and the reader must agree on stands here once;
a change to this module is a change of FORMAT_VERSION.
"""

import struct
from typing import Final, NamedTuple

from shards.errors import WrongFormatError
from shards.query import DEEPEST

MAGIC: Final = b"societes-shard"
FORMAT_VERSION: Final = 1

META: Final = b"meta"  # what the shard says of itself: header, cells, compression dictionary
COLUMN: Final = b"column"  # a value a row, by column name
ORDER: Final = b"order"  # rows in the order of a `tri`
RANK: Final = b"rank"  # the inverse of an order: the place of each row
TOP: Final = b"top"  # the first rows of each order in a sector or a cell
NAME: Final = b"name"  # folded names, by row
WORD: Final = b"word"  # the words of the folded names, and which rows hold them
HEAVY: Final = b"heavy"  # rows of the word parts that too many rows hold
IDENT: Final = b"ident"  # folded identifiers, sorted, and their rows
RECORD: Final = b"record"  # row -> one company, compressed
COMPTES: Final = b"comptes"  # row -> its statement lines, compressed
TABLES: Final = (META, COLUMN, ORDER, RANK, TOP, NAME, WORD, HEAVY, IDENT, RECORD, COMPTES)

HEADER: Final = b"header"
CELLS: Final = b"cells"
DICTIONARY: Final = b"dictionary"

# Little-endian: the machines this runs on read them in place (NumPy dtype strings).
U4: Final = "<u4"
COLUMNS: Final = {
    "ca_eur": "<f8",  # euros; NaN is null
    "capital_eur": "<f8",  # euros, for the order capital_desc only; NaN is null
    "effectif": "<i4",  # persons; EFFECTIF_NULL is null
    "date_creation": "<i4",  # yyyymmdd, 00 for what is not known; 0 is null
    "score": "<i2",  # 0 to 100
    "site_web": "|u1",  # 1: a website is declared
    "cell": "<u2",  # index in `cells`
}
EFFECTIF_NULL: Final = -(2**31)

# A list of `top` is never read past the deepest page; a longer one would be dead weight.
TOP_ROWS: Final = DEEPEST
# A `q` whose words occur more often than this in the shard has its rows listed in `heavy`.
HEAVY_POSTINGS: Final = 4_096
# Suffixes of words are sorted by this many bytes; a longer `q` is looked up by its first ones.
SUFFIX_BYTES: Final = 24

ZSTD_LEVEL: Final = 3

_HEADER: Final = struct.Struct(">14sH2sQ")


class Header(NamedTuple):
    iso2: str
    rows: int


def pack_header(header: Header) -> bytes:
    """MAGIC, the version (2 bytes), the country (2), the number of rows (8); big-endian."""
    return _HEADER.pack(MAGIC, FORMAT_VERSION, header.iso2.encode(), header.rows)


def unpack_header(packed: bytes) -> Header:
    """The header, once magic and version are known to be ours.

    Raises:
        WrongFormatError: if it is no header, or of another version.
    """
    if len(packed) != _HEADER.size or not packed.startswith(MAGIC):
        raise WrongFormatError("this is not a shard; `python -m pipeline build` writes them")
    _, version, iso2, rows = _HEADER.unpack(packed)
    if version != FORMAT_VERSION:
        raise WrongFormatError(
            f"the shard has format {version}, this code reads {FORMAT_VERSION}; rebuild it"
        )
    return Header(iso2.decode(), rows)


def row_key(row: int) -> bytes:
    """Key of a row in `record` and `comptes`: 4 bytes, big-endian, so that keys sort as rows do."""
    return row.to_bytes(4, "big")


def interval_key(first: int, end: int) -> bytes:
    """Key in `heavy` of the suffixes [first, end) of `word`: 4 + 4 bytes, big-endian."""
    return first.to_bytes(4, "big") + end.to_bytes(4, "big")


def top_key(place: str, tri: str) -> bytes:
    """Key in `top`: the sector or cell (`62`, `62/62.0`, `-`, `62/-`), a blank, the order.

    >>> top_key("62/62.0", "nom")
    b'62/62.0 nom'
    """
    return f"{place} {tri}".encode()
