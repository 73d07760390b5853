"""The layout of a shard, in constants and pure functions; FORMAT.md specifies the same layout in prose.

The writer and the reader share these definitions. A change of this module that changes bytes on disk needs a new
FORMAT_VERSION.
"""

import struct
from typing import Final, NamedTuple

from shards.errors import WrongFormatError
from shards.query import DEEPEST

MAGIC: Final = b"societes-shard"
FORMAT_VERSION: Final = 10

# The tables of a shard (FORMAT.md §3).
META: Final = b"meta"  # header, cells, and where the values of all other tables are in the file
KEY: Final = b"key"  # the distinct sort keys of each order, ascending
STEP: Final = b"step"  # the index in the order of the first row with each key
COLUMN: Final = b"column"  # facts (headcount and website) and codes, one value per row
CODE: Final = b"code"  # the text or amount that each code stands for
ORDER: Final = b"order"  # the rows in each order of `tri`
RANK: Final = b"rank"  # the index of each row in each order: the inverse of `order`
SORTED: Final = b"sorted"  # the facts of the rows with a turnover, in the order `ca_desc`
WEBSITE: Final = b"website"  # the indexes in an order of the rows with a website
TOP: Final = b"top"  # the first rows of each large sector or cell in each order
NAME: Final = b"name"  # the folded names of each row, as numbers of words
WORD: Final = b"word"  # the words of the folded names, with the rows of each
SET: Final = b"set"  # the row sets to which the next four tables refer
# Sets of the rows of word parts that are too frequent to collect during a search.
HEAVY: Final = b"heavy"
# Sets of the rows whose names have the same two characters around a blank.
JUNCTION: Final = b"junction"
PHRASE: Final = b"phrase"  # sets of the rows of frequent texts with a blank
PREFIX: Final = b"prefix"  # sets of the rows of frequent identifier prefixes
IDENT: Final = b"ident"  # folded identifiers, sorted, and their rows
ALIAS: Final = b"alias"  # hashes of LEI and VAT numbers, and their rows
RECORD: Final = b"record"  # the record of each row, compressed, and the dictionary for compression
COMPTES: Final = b"comptes"  # the statement lines of each row with statements, compressed
RATIO: Final = b"ratio"  # ratios of the last year, one value per company with statements
TABLES: Final = (
    META, KEY, STEP, COLUMN, CODE, ORDER, RANK, SORTED, WEBSITE, TOP, NAME, WORD, SET, HEAVY, JUNCTION,
    PHRASE, PREFIX, IDENT, ALIAS, RECORD, COMPTES, RATIO,
)  # fmt: skip

# Keys in these tables, each with the tables that have it.
HEADER: Final = b"header"  # in `meta`
CELLS: Final = b"cells"  # in `meta`
LONGEST: Final = b"longest"  # in `meta`: the number of rows with the most frequent turnover
PLACES: Final = b"places"  # in `meta`: start and size in the file of each value of the other tables
ROWS: Final = b"rows"  # in `top`, `set` and `comptes`: the row numbers
STARTS: Final = b"starts"  # in `record` and `comptes`: the start of each frame in its chunk
DICTIONARY: Final = b"dictionary"  # in `record`: the zstd dictionary of all records
FACTS: Final = b"facts"  # in `sorted`
# In `ratio`, in addition to a key for each ratio: the year of the statements.
YEARS: Final = b"exercice"
# In `ratio`: the companies with each ratio, ascending by value, ratio by ratio; and the end of each ratio.
RATIO_ORDERS: Final = ("orders", "order_ends")

# The number of records, or of companies with statements, in one value.
CHUNK_ROWS: Final = 1 << 16
# The sets in `set` begin at multiples of this many bytes.
SET_ALIGNMENT: Final = 8

# Types of arrays as NumPy dtype strings: little-endian, so that common machines read them in place.
U4: Final = "<u4"
U8: Final = "<u8"
F8: Final = "<f8"
U2: Final = "<u2"
# Keys ascend in their order, so a key is the negated value; the key of null is NaN or the greatest integer.
# `ca_asc` compares the negated key of `ca_desc`, and `nom` compares texts: neither has a stored key.
KEYS: Final = {
    "ca_desc": "<f8",  # euros
    "capital_desc": "<f8",  # euros
    "effectif_desc": "<i4",  # persons
    "recent": "<i4",  # yyyymmdd, with 00 for an unknown month or day
    "score": "<i2",  # 0 to 100, never null
}
# The values of a null headcount and a null date, before negation.
EFFECTIF_NULL: Final = -(2**31)
DATE_NULL: Final = 0

# The most rows of a list in `top`, and the most null rows that an order contains: no page goes deeper. Sectors and
# cells with fewer rows than TOP_LEAST have no lists; a search sorts their rows.
TOP_ROWS: Final = DEEPEST
TOP_LEAST: Final = 4 * TOP_ROWS
# The number of stored quantiles of the codes of total assets; from them a search estimates how many rows match.
QUANTILES: Final = 257
# Suffixes of words are sorted by this many bytes; a longer `q` is looked up by its first SUFFIX_BYTES bytes.
SUFFIX_BYTES: Final = 24
# The first 8 bytes of every SAMPLED-th suffix and identifier are stored as a number, so that most steps of a binary
# search read no texts.
SAMPLED: Final = 16
# The token before each former name in the tokens of a row; it is not the number of a word.
FORMER_NAME: Final = 2**32 - 1
# For every OWNED-th byte of the words, the number of its word is stored; a search counts on from there to other bytes.
OWNED: Final = 16

# The kinds of a row set (FORMAT.md §8): row numbers, one bit per row, or the gaps between rows.
LIST: Final = 0
BITS: Final = 1
GAPS: Final = 2
FURTHER: Final = 255  # a gap byte that is added to the next gap byte, without a row
# The build stores the row set of a text if the set has more than 1/HEAVY_SHARE of all rows (1/PHRASE_SHARE for a text
# with a blank), and more than HEAVY_LEAST rows.
HEAVY_SHARE: Final = 64
PHRASE_SHARE: Final = 32
HEAVY_LEAST: Final = 1_024
# Added to the kind of a set with more rows than `headed_size`. The heads of the set, HEAD_ROWS rows in each order, are
# stored before its rows, so the first page of a frequent `q` is read, not searched.
HEADED: Final = 4
HEAD_ROWS: Final = 50
HEADED_LEAST: Final = 4_096  # no set with at most this many rows has heads
# The kind of a set stored without its rows, with only its size and heads: for texts with more than 1/COUNTED_SHARE of
# all rows, and more than COUNTED_LEAST rows, but too few for a stored row set.
COUNTED: Final = 7
COUNTED_SHARE: Final = 256
COUNTED_LEAST: Final = 1_024

# The zstd compression level of statements.
ZSTD_LEVEL: Final = 3
# The zstd parameters of records. At level 5 records are a tenth to a fifth smaller than at level 3. With a window of
# 2^14 bytes (RECORD_WINDOW) zstd tries 2^RECORD_SEARCH matches along a chain of equal hashes. With a larger window zstd
# uses rows of hashes, which take longer for short records: 5.7 µs per record instead of 4.9 µs.
RECORD_LEVEL: Final = 5
RECORD_MATCH: Final = 5  # the least bytes of a match
RECORD_WINDOW: Final = 14  # the power of 2
RECORD_SEARCH: Final = 4  # the power of 2
# The most uncompressed bytes of a record and of the statements of a company: a reader refuses a frame that declares
# more. A record has some 1 200 bytes, and its texts are cut much earlier; statements have some 10 000.
MOST_RECORD: Final = 1 << 20
MOST_STATEMENTS: Final = 1 << 24
# The first bytes of every zstd frame (RFC 8878 §3.1.1); stored records omit them.
ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")

# The bytes that `pack_header` returns.
_HEADER: Final = struct.Struct(">14sH2sQ")


class Header(NamedTuple):
    """The country and the number of rows of a shard."""

    iso2: str
    rows: int


def pack_header(header: Header) -> bytes:
    """The 26 bytes of a header (FORMAT.md §4): MAGIC, version (2 bytes), country (2), rows (8); big-endian."""
    return _HEADER.pack(MAGIC, FORMAT_VERSION, header.iso2.encode(), header.rows)


def unpack_header(packed: bytes) -> Header:
    """The header that these bytes encode.

    Raises:
        WrongFormatError: the bytes are no header, or a header of another format version.
    """
    if len(packed) != _HEADER.size or not packed.startswith(MAGIC):
        raise WrongFormatError("this is not a shard; `python -m pipeline build` writes them")
    _, version, iso2, rows = _HEADER.unpack(packed)
    if version != FORMAT_VERSION:
        raise WrongFormatError(
            f"the shard has format {version}, this code reads {FORMAT_VERSION}; rebuild it"
        )
    return Header(iso2.decode("ascii", "replace"), rows)


def chunk_key(number: int) -> bytes:
    """The key of a chunk in `record` and `comptes`: 4 bytes, big-endian, so that keys sort like numbers."""
    return number.to_bytes(4, "big")


def is_chunk(table: bytes, key: bytes) -> bool:
    """Whether a value is a chunk of frames (records or statements), which are read one by one.

    >>> is_chunk(COMPTES, chunk_key(7)), is_chunk(COMPTES, b"rows"), is_chunk(META, chunk_key(7))
    (True, False, False)
    """
    return table in (RECORD, COMPTES) and key.startswith(b"\0")


def heavy_size(rows: int) -> int:
    """The most rows that a word part, or an identifier prefix, can have without a stored row set."""
    return max(HEAVY_LEAST, rows // HEAVY_SHARE)


def counted_size(rows: int) -> int:
    """The most rows that a word part, or a text with a blank, can have without a stored size and heads of its rows."""
    return min(heavy_size(rows), max(COUNTED_LEAST, rows // COUNTED_SHARE))


def headed_size(rows: int) -> int:
    """The most rows of a row set that is stored without heads."""
    return max(HEADED_LEAST, rows // HEAVY_SHARE)


def phrase_size(rows: int) -> int:
    """The most rows that a text with a blank can have without a stored row set."""
    return max(HEAVY_LEAST, rows // PHRASE_SHARE)


def facts_type(headcounts: int) -> str:
    """The NumPy type of `facts` in a country with this many distinct headcounts.

    >>> facts_type(300), facts_type(40_000)
    ('<u2', '<u4')
    """
    return "<u2" if headcounts < 1 << 15 else "<u4"


def website_bit(facts: str) -> int:
    """The bit for a website in facts of this type, the highest one.

    >>> hex(website_bit("<u2"))
    '0x8000'
    """
    return 1 << (8 * int(facts[2]) - 1)
