"""The layout of a shard, in constants and pure functions. FORMAT.md specifies the same in words.

Everything that the writer and the reader must agree on is defined here, once. A change of this module that changes
bytes on disk is a change of FORMAT_VERSION.
"""

import struct
from typing import Final, NamedTuple

from shards.errors import WrongFormatError
from shards.query import DEEPEST

MAGIC: Final = b"societes-shard"
FORMAT_VERSION: Final = 10

# The tables of a shard (FORMAT.md §3).
META: Final = b"meta"  # header, cells, places of values
KEY: Final = b"key"  # the distinct keys of an order
STEP: Final = b"step"  # the place in the order where each of these keys begins
COLUMN: Final = b"column"  # facts and codes, one value per row
CODE: Final = b"code"  # what the codes stand for
ORDER: Final = b"order"  # rows in the order of a `tri`
RANK: Final = b"rank"  # the inverse of an order: the place of each row
SORTED: Final = b"sorted"  # facts along an order
WEBSITE: Final = b"website"  # places in an order of the rows with a website
TOP: Final = b"top"  # the first rows of each order in a sector or a cell
NAME: Final = b"name"  # folded names as numbers of words, by row
WORD: Final = b"word"  # the words of the folded names, with the rows of each
SET: Final = b"set"  # all row sets of the four tables that follow
HEAVY: Final = b"heavy"  # rows of the word parts that are too frequent to unite during a search
JUNCTION: Final = b"junction"  # rows by the two characters on either side of a blank
PHRASE: Final = b"phrase"  # rows of frequent texts with a blank
PREFIX: Final = b"prefix"  # rows of frequent identifier prefixes
IDENT: Final = b"ident"  # folded identifiers, sorted, and their rows
ALIAS: Final = b"alias"  # hashes of LEI and VAT numbers, and their rows
RECORD: Final = b"record"  # the companies, compressed, by row, and their dictionary
COMPTES: Final = b"comptes"  # row -> its statement lines, compressed
RATIO: Final = b"ratio"  # ratios of the last year, one value per company with statements
TABLES: Final = (
    META, KEY, STEP, COLUMN, CODE, ORDER, RANK, SORTED, WEBSITE, TOP, NAME, WORD, SET, HEAVY, JUNCTION,
    PHRASE, PREFIX, IDENT, ALIAS, RECORD, COMPTES, RATIO,
)  # fmt: skip

# Keys in these tables.
HEADER: Final = b"header"
CELLS: Final = b"cells"
LONGEST: Final = b"longest"
PLACES: Final = b"places"  # where in the file the values of all other tables lie
ROWS: Final = b"rows"  # in `top` and `set`
STARTS: Final = b"starts"  # in `record` and `comptes`, beside the chunks
DICTIONARY: Final = b"dictionary"  # in `record`
FACTS: Final = b"facts"
YEARS: Final = b"exercice"  # in `ratio`, beside the codes of ratios
# In `ratio`: the companies that have a ratio, ascending by it, ratio by ratio; and where those of each end.
RATIO_ORDERS: Final = ("orders", "order_ends")

# So many records, or statements, are one value.
CHUNK_ROWS: Final = 1 << 16
# The sets in `set` begin at multiples of so many bytes.
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
# The values of a null headcount and a null date, before they are negated.
EFFECTIF_NULL: Final = -(2**31)
DATE_NULL: Final = 0

# Lists of `top`, and orders after their last row that is not null, end where the deepest page ends. Sectors and cells
# of fewer rows than TOP_LEAST have no lists; they are sorted during a search.
TOP_ROWS: Final = DEEPEST
TOP_LEAST: Final = 4 * TOP_ROWS
# Of total assets: how many codes at even places are stored, from which a search estimates.
QUANTILES: Final = 257
# Suffixes of words are sorted by this many bytes; a longer `q` is looked up by its first ones.
SUFFIX_BYTES: Final = 24
# The first 8 bytes of every SAMPLED-th suffix and identifier are stored as a number, so that a place among millions
# is found without reading the texts.
SAMPLED: Final = 16
# A token that is no word: in the tokens of a row it precedes each former name.
FORMER_NAME: Final = 2**32 - 1
# The number of the word is stored for every OWNED-th byte of the words.
OWNED: Final = 16

# The kinds of a row set (FORMAT.md §8): row numbers, one bit per row, or the gaps between rows.
LIST: Final = 0
BITS: Final = 1
GAPS: Final = 2
FURTHER: Final = 255  # a gap byte that adds to the next one and is no row itself
# The build unites and stores the rows of a text with more rows than a share of all rows, and than a minimum.
HEAVY_SHARE: Final = 64
PHRASE_SHARE: Final = 32
HEAVY_LEAST: Final = 1_024
# Added to the kind of a set of more rows than `headed_size`: the first rows of the set in each order precede it, so
# that the first page of a frequent `q` is read, not searched.
HEADED: Final = 4
HEAD_ROWS: Final = 50
HEADED_LEAST: Final = 4_096
# The kind of a set without its rows: only its size and heads, for texts that are frequent but not heavy.
COUNTED: Final = 7
COUNTED_SHARE: Final = 256
COUNTED_LEAST: Final = 1_024

# Of statements.
ZSTD_LEVEL: Final = 3
# Of records: a tenth to a fifth smaller than at level 3. With a window of 2^14 bytes zstd looks for 2^RECORD_SEARCH
# matches along a chain of equal hashes; with more it takes rows of hashes, which cost more where a record is short:
# 5.7 µs a record instead of 4.9.
RECORD_LEVEL: Final = 5
RECORD_MATCH: Final = 5
RECORD_WINDOW: Final = 14
RECORD_SEARCH: Final = 4
# The most bytes of a record and of the statements of a company, unpacked: a reader refuses a frame that claims more. A
# record has some 1 200, and texts are cut long before; statements have some 10 000.
MOST_RECORD: Final = 1 << 20
MOST_STATEMENTS: Final = 1 << 24
# The first bytes of every zstd frame (RFC 8878 §3.1.1); stored records omit them.
ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")

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
        WrongFormatError: the bytes are no header, or one of another format version.
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
    """Whether a value holds frames, which are read one by one.

    >>> is_chunk(COMPTES, chunk_key(7)), is_chunk(COMPTES, b"rows"), is_chunk(META, chunk_key(7))
    (True, False, False)
    """
    return table in (RECORD, COMPTES) and key.startswith(b"\0")


def heavy_size(rows: int) -> int:
    """The build stores the rows of a part of a word, or of an identifier prefix, if they are more than this."""
    return max(HEAVY_LEAST, rows // HEAVY_SHARE)


def counted_size(rows: int) -> int:
    """The build stores size and heads of the rows of a part of a word or of a text with a blank, if more than this."""
    return min(heavy_size(rows), max(COUNTED_LEAST, rows // COUNTED_SHARE))


def headed_size(rows: int) -> int:
    """A row set of more rows than this is stored with its heads."""
    return max(HEADED_LEAST, rows // HEAVY_SHARE)


def phrase_size(rows: int) -> int:
    """The build stores the rows of a text with a blank, if they are more than this."""
    return max(HEAVY_LEAST, rows // PHRASE_SHARE)


def facts_type(headcounts: int) -> str:
    """The type of `facts` in a country with so many distinct headcounts.

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
