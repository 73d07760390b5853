"""The layout of a shard, in constants and pure functions. FORMAT.md says the same in words.

Nothing here touches a file. Whatever both the writer and the reader must agree on stands here once;
a change to this module is a change of FORMAT_VERSION.
"""

import struct
from typing import Final, NamedTuple

from shards.errors import WrongFormatError
from shards.query import DEEPEST

MAGIC: Final = b"societes-shard"
FORMAT_VERSION: Final = 5

META: Final = b"meta"  # what the shard says of itself: header, cells, compression dictionary
KEY: Final = b"key"  # the distinct values that an order compares
STEP: Final = b"step"  # where in the order each of them begins
COLUMN: Final = b"column"  # what conditions test, a value a row
ORDER: Final = b"order"  # rows in the order of a `tri`
RANK: Final = b"rank"  # the inverse of an order: the place of each row
SORTED: Final = b"sorted"  # facts along an order
WEBSITE: Final = b"website"  # places in an order of the rows with a website
TOP: Final = b"top"  # the first rows of each order in a sector or a cell
NAME: Final = b"name"  # folded names as numbers of words, by row
WORD: Final = b"word"  # the words of the folded names, and which rows hold them
HEAVY: Final = b"heavy"  # rows of the word parts that too many rows hold
JUNCTION: Final = b"junction"  # rows by the two characters on either side of a blank
PHRASE: Final = b"phrase"  # rows of the texts with a blank that too many rows hold
IDENT: Final = b"ident"  # folded identifiers, sorted, and their rows
PREFIX: Final = b"prefix"  # rows of the identifier prefixes that too many rows have
RECORD: Final = b"record"  # row -> one company, compressed
COMPTES: Final = b"comptes"  # row -> its statement lines, compressed
TABLES: Final = (
    META, KEY, STEP, COLUMN, ORDER, RANK, SORTED, WEBSITE, TOP, NAME, WORD, HEAVY, JUNCTION,
    PHRASE, IDENT, PREFIX, RECORD, COMPTES,
)  # fmt: skip

HEADER: Final = b"header"
CELLS: Final = b"cells"
DICTIONARY: Final = b"dictionary"
FACTS: Final = b"facts"
CELL: Final = b"cell"

# Little-endian: the machines this runs on read them in place (NumPy dtype strings).
U4: Final = "<u4"
U8: Final = "<u8"
CELL_TYPE: Final = "<u2"
# A key ascends in its order, so it is the negated value; a null is NaN or the greatest integer.
# `ca_asc` compares the negated key of `ca_desc`, `nom` compares texts: neither is stored.
KEYS: Final = {
    "ca_desc": "<f8",  # euros
    "capital_desc": "<f8",  # euros
    "effectif_desc": "<i4",  # persons
    "recent": "<i4",  # yyyymmdd, 00 for what is not known
    "score": "<i2",  # 0 to 100, never null
}
# What a headcount or a date is where it is null, before it is negated.
EFFECTIF_NULL: Final = -(2**31)
DATE_NULL: Final = 0

# What is never read past the deepest page goes no further: lists of `top`, and orders behind their
# last row that is not null. Sectors and cells of fewer rows than TOP_LEAST are sorted when asked.
TOP_ROWS: Final = DEEPEST
TOP_LEAST: Final = 4 * TOP_ROWS
# Suffixes of words are sorted by this many bytes; a longer `q` is looked up by its first ones.
SUFFIX_BYTES: Final = 24
# Of every so many suffixes and identifiers the first 8 bytes are kept as a number, to find a
# place among millions without touching them.
SAMPLED: Final = 16
# Of every so many bytes of the words, the number of the word that the first one belongs to is kept.
OWNED: Final = 16

# Row sets that are united by the build: those of more than a share of the rows.
HEAVY_SHARE: Final = 64
PHRASE_SHARE: Final = 32
HEAVY_LEAST: Final = 1_024
LIST: Final = 0  # kinds of a row set: row numbers, a bit a row, or the gaps between rows
BITS: Final = 1
GAPS: Final = 2
# Added to the kind of a set of more rows than `headed_size`: its first rows in each order stand
# before it, so that a page of what many names hold is read, not looked for.
HEADED: Final = 4
HEAD_ROWS: Final = 50
HEADED_LEAST: Final = 4_096
# What more hold than a further share of the rows, but not so many that it must be united by the
# build, has a set of its heads alone.
COUNTED: Final = 7
COUNTED_SHARE: Final = 256
COUNTED_LEAST: Final = 1_024
FURTHER: Final = 255  # a gap that is longer than a byte says: go on, no row is here

ZSTD_LEVEL: Final = 3
# What every frame begins with (RFC 8878 §3.1.1), which a record does without.
ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")

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


def heavy_size(rows: int) -> int:
    """The rows of a part of a word, or of an identifier, are united by the build if more."""
    return max(HEAVY_LEAST, rows // HEAVY_SHARE)


def counted_size(rows: int) -> int:
    """The rows of a part of a word are counted by the build if more."""
    return min(heavy_size(rows), max(COUNTED_LEAST, rows // COUNTED_SHARE))


def headed_size(rows: int) -> int:
    """A set of more rows than this has its first rows in each order with it."""
    return max(HEADED_LEAST, rows // HEAVY_SHARE)


def phrase_size(rows: int) -> int:
    """The rows of a text with a blank are listed by the build if more than this."""
    return max(HEAVY_LEAST, rows // PHRASE_SHARE)


def facts_type(headcounts: int) -> str:
    """The type of `facts` where so many distinct headcounts occur.

    >>> facts_type(300), facts_type(40_000)
    ('<u2', '<u4')
    """
    return "<u2" if headcounts < 1 << 15 else "<u4"


def website_bit(facts: str) -> int:
    """The bit of a website in facts of this type: the highest.

    >>> hex(website_bit("<u2"))
    '0x8000'
    """
    return 1 << (8 * int(facts[2]) - 1)
