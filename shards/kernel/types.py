"""The records of one search: shards, parts of a shard, the query, working memory; and their constants.

Compiled modules use C structs of the same names, fields and order, which `headers.py` writes from this file.
Interpreted modules use these classes with `memoryview`s for arrays, so that an index outside an array raises.
`memory.py` copies a record into a struct.

A length or a position counts elements of its array unless stated otherwise. A place is an index in an order of rows.
"""

from collections.abc import Callable
from math import inf
from math import log as log
from typing import Annotated, Any, Final, TypeVar

# -- constants: codes of the records, and limits; `headers.py` makes a C `enum` of them ---------------

# The seven orders, by position in `query.ORDERS`.
CA_DESC: Final = 0
CA_ASC: Final = 1
NOM: Final = 2
EFFECTIF: Final = 3
RECENT: Final = 4
CAPITAL: Final = 5
SCORE: Final = 6

# Conditions that rows must still be tested for: the bits of `ShardSearch.need`.
FACTS: Final = 1  # headcount and website
TURNOVER: Final = 2
SCOPE: Final = 4  # sectors or sub-sectors
NAME: Final = 8  # `q`
CODES: Final = 16  # columns of codes
GIVEN: Final = 32  # `ids`

# Columns of codes.
ETAT: Final = 0
FORME: Final = 1
VILLE: Final = 2
CODE_POSTAL: Final = 3
COMPTES: Final = 4  # whether there are statements; a bit of the column `etat`
ACTIF: Final = 5
CREATION: Final = 6  # the places in `recent`
NACE: Final = 7  # numbered within each cell
TRANCHE: Final = 8  # bands of headcount: counted, never a condition
COLUMNS: Final = 9
# The number of states; also added to the code in the column if there are statements.
STATES: Final = 4

# A census counts the matches in slots. A kind of slots is a column of codes (its number above), the bands of an order
# (COLUMNS + the number of the order), or the cells.
BY_CELL: Final = 16
KINDS: Final = 17
# The bit of `KernelQuery.census` after the bits of the kinds: leave all matches in `Scratch.rows` after the search.
LISTED: Final = 131072

# Generators: the ways to enumerate the rows that may match.
SPANS: Final = 0  # ranges of adjacent row numbers
BY_TURNOVER: Final = 1  # a range of places in `ca_desc`
BY_HEADCOUNT: Final = 2  # a range of places in `effectif_desc`
SITES_BY_TURNOVER: Final = 3  # the rows with a website in a range of places in `ca_desc`
SITES_BY_HEADCOUNT: Final = 4  # the rows with a website in a range of places in `effectif_desc`
BY_NAME: Final = 5  # the rows listed for `q`
BY_CREATION: Final = 6  # a range of places in `recent`
BY_ID: Final = 7  # the rows of `ids`

# Kinds of a row set (FORMAT.md §8).
LIST: Final = 0  # row numbers
BITS: Final = 1  # one bit per row
GAPS: Final = 2  # the gaps between rows
HEADED: Final = 4  # added to LIST, BITS or GAPS if the set has heads
COUNTED: Final = 7  # a set that stores only the number of its rows, and heads

# Where the rows of `q` are found: nowhere, in a stored row set, by words, by identifiers, or by a phrase.
NOTHING: Final = 0
STORED: Final = 1
WORDS: Final = 2
IDENTIFIERS: Final = 3
PHRASE: Final = 4

# How the stored heads give the first rows of a page: not at all, merged with the list of `q`, or alone.
UNKNOWN: Final = 0
TOGETHER: Final = 1
ALONE: Final = 2

# The result of a search that would cost more than its budget.
TOO_DEAR: Final = -2

# The result of a join of records that needs more room.
NO_ROOM: Final = -2

# In estimates of cost: collecting the rows of the word of one suffix takes as long as testing this many rows.
SUFFIX_STEPS: Final = 30

# The tasks of `shards/suggest/completion.py`: list companies, list ranges of words, or count the rows of a word.
COMPANIES: Final = 0
WORD_RANGES: Final = 1
WORD_TOTAL: Final = 2

# Scopes of a query.
EVERYWHERE: Final = 0
SECTORS: Final = 1
CELLS: Final = 2

MOST_U16_ROWS: Final = 32768  # the most rows whose matches are counted in a 16-bit number
# Eight bytes of a mask that are 1: eight rows meet the conditions.
ALL_MET: Final = 0x0101010101010101
MASKED: Final = 1024  # the most adjacent rows that one mask tests, so that `count_mask` adds bytes without overflow
# The most row numbers that are tested together: they stay in the processor's nearest cache.
BLOCK: Final = 256
SAMPLED: Final = 16  # FORMAT.md §8: the first 8 bytes of every 16th text are in an array
OWNED: Final = 16  # FORMAT.md §8: the number of the word is stored for every 16th byte of the words
SUFFIX_BYTES: Final = 24  # FORMAT.md §8: suffixes are sorted by this many bytes
FORMER_NAME: Final = 4294967295  # FORMAT.md §8: the token before each former name, which is no word
FURTHER: Final = 255  # FORMAT.md §8: a gap byte that is added to the next gap byte, without a row
MOST_ROWS: Final = (1 << 28) - 1  # of a shard: the size of a row set has 28 bits (row_sets.py)
CHUNK_ROWS: Final = 65536  # FORMAT.md §6: rows whose records form one value
# The most groups of frequent words of a line of which pairs are tried: rows that two groups share are candidates.
MOST_FREQUENT_GROUPS: Final = 3
# In nats: a row whose weight is below the best weight by more than MOST_WEIGHT_GAP lacks a rare word, and is a
# candidate only if there are fewer than ALWAYS_COMPARED better rows.
MOST_WEIGHT_GAP: Final = 12
ALWAYS_COMPARED: Final = 8
MOST_CANDIDATES: Final = 48  # the most candidates of a line that are compared
# The most spellings of a line, and the most words of a shard that are looked up for it.
MOST_SPELLINGS: Final = 256
# A word that more than one company in this many has is not looked up with typing errors.
TYPO_RARITY: Final = 2000
# Weights assume at least this many companies in a shard; otherwise no word of a small shard would be rare.
LEAST_COMPANIES: Final = 100000
NOT_LOOKED_UP: Final = -2  # in the table of look-ups, in place of the number of a word
LIGHTEST: Final = -1_000_000  # a weight below the weight of any name
NEAR_SCANNED: Final = 20000  # the most words of a range that are compared with a misspelt word
# The most words with the same last letters that are compared with a misspelt word.
NEAR_ENDINGS: Final = 4096
LEAST_FIRST_HALF: Final = (
    1  # the fewest letters of the misspelt word before its shared last letters
)
WORD_END: Final = 10  # FORMAT.md §8: the byte END (newline) after each word
MOST_WEIGHED: Final = 30000  # the most rows of a shard that are weighed for a line
SUFFIXES_AHEAD: Final = 8  # the text of a suffix is prefetched this many suffixes before its use
# In estimates of cost: weighing a row, or starting a pass through two lists of rows, takes as long as this many steps
# of such a pass.
WEIGHING_STEPS: Final = 10
PAIR_STEPS: Final = 10
TOKENS_AHEAD: Final = 6  # the tokens of a name are prefetched this many rows before their use
STARTS_AHEAD: Final = 16  # the start of the tokens of a name is prefetched this many rows before
# If more than one row in 128 matches, the matches are marked, and counted by their marks.
MARKED_FROM: Final = 128
# In estimates of cost: looking up the place of a row in an order takes as long as passing this many places.
LOOKUP_PLACES: Final = 2
# `MarketArrays.sequence` has a byte per turnover: the number of its shard. Equal turnovers of one shard are a step; one
# byte of each step has this added, so that a pass through all shards knows when a shard has its next turnover.
NEXT_STEP: Final = 128
TURNOVERS_AHEAD: Final = 24  # the keys of turnovers are prefetched this many steps before their use
# The most figures that one partial sum adds, because short sums lose less precision.
PARTIAL_SUM: Final = 1024
ONE_BYTE: Final = 128  # the number of characters that are one byte in UTF-8
FEW_SLOTS: Final = 32  # the most slots of a column that `count_few` counts in four tables
# If more than this many of 32 rows are marked on average, a loop without branches reads the marks faster.
FEW_MARKS: Final = 10
WIDESPREAD: Final = 256  # a word is widespread if more than one name in 256 has it

# -- types of fields ---------------------------------------------------------------------------------

# Scalars.
i64 = Annotated[int, "long long"]
u8 = Annotated[int, "unsigned char"]  # so narrow that one instruction tests sixteen rows
u16 = Annotated[int, "unsigned short"]
u32 = Annotated[int, "unsigned int"]
u64 = Annotated[int, "unsigned long long"]
f64 = Annotated[float, "double"]
Address = Annotated[object, "size_t"]  # of a record or an array; an argument of a compiled function
# Read-only arrays of a shard, by element type.
u8s = Annotated[memoryview | bytes, "const unsigned char*"]
u16s = Annotated[memoryview, "const unsigned short*"]
u32s = Annotated[memoryview, "const unsigned int*"]
u64s = Annotated[memoryview, "const unsigned long long*"]
i16s = Annotated[memoryview, "const short*"]
i32s = Annotated[memoryview, "const int*"]
f64s = Annotated[memoryview, "const double*"]
# Arrays that a search writes.
Words = Annotated[memoryview, "unsigned int*"]
Ints = Annotated[memoryview, "long long*"]
Keys = Annotated[memoryview, "unsigned long long*"]
Reals = Annotated[Any, "double*"]
Bytes = Annotated[Any, "unsigned char*"]
# Types of compiled modules only: a pointer, and the decompression function of libzstd.
Pointer = Annotated[Any, "void*"]
Decompress = Annotated[
    Callable[..., int],
    "long long (*)(Pointer, Pointer, size_t, const void*, size_t, const void*) noexcept nogil",
]
# Names of the C library, which `headers.py` declares.
INFINITY: Final = inf
memcpy: Any = None
prefetch: Any = None


def lowest_bit(word: int) -> int:
    """The position of the lowest bit that is 1, of a number above 0."""
    return (word & -word).bit_length() - 1


Element = TypeVar("Element")
# Arrays inside a record.
PerColumn = Annotated[list[Element], COLUMNS]
PerKind = Annotated[list[Element], KINDS]  # an element per kind of value that a search counts
PerOrder = Annotated[list[Element], 7]


class ShardArrays:
    """The arrays of one country, as in FORMAT.md, and their lengths."""

    rows: i64
    cell_count: i64
    first_part: i64  # index of cell 0 in `Table.parts`; the parts of the other cells follow
    with_site: i64
    turnover_count: i64  # rows with a turnover
    longest: i64  # the number of rows with the most frequent turnover
    site_bit: i64  # the bit of a website in facts
    wide: i64  # 1 if facts (headcount code and website bit of a row) have 32 bits, 0 if 16 bits
    cell_marks: u16s  # the cell of every 64th row
    cell_stops: u32s  # where each cell ends
    facts: u16s  # by row; if `wide`, `wide_facts` instead
    wide_facts: u32s
    turnover_facts: u16s  # by place in `ca_desc`; if `wide`, `wide_turnover_facts` instead
    wide_turnover_facts: u32s
    sites_turnover: u32s  # places in `ca_desc` of the rows with a website
    sites_turnover_count: i64
    sites_headcount: u32s  # places in `effectif_desc` of the rows with a website
    sites_headcount_count: i64
    # The codes of a column by row, in the array whose elements have `code_width` bytes.
    small: PerColumn[u8s]
    half: PerColumn[u16s]
    broad: PerColumn[u32s]
    code_width: PerColumn[i64]  # bytes of a code: 1 (in `small`), 2 (`half`) or 4 (`broad`)
    code_count: PerColumn[i64]  # codes, including the code of null
    code_ends: PerColumn[u32s]  # by code: the number of rows with a lower code
    code_texts: PerColumn[u8s]  # the texts of the codes 1, 2, …
    code_sizes: PerColumn[i64]  # bytes of the texts
    code_starts: PerColumn[u32s]  # where each of these texts begins
    # A pair is a cell and one of its activities.
    pair_cells: u32s  # by cell: its first pair in the next two arrays
    pair_codes: u32s  # by pair: the code of the activity
    pair_ends: u32s  # by pair: the number of rows before its rows
    pair_count: i64
    quantiles: u32s  # codes of total assets at evenly spaced ranks, for estimates
    quantile_count: i64
    assets: i64  # number of rows with total assets
    # By slot: the number of rows in the slots before; one more entry than slots.
    run_ends: PerKind[u32s]
    run_marks: PerKind[u16s]  # for orders: the slot of every 64th place
    run_count: PerKind[i64]  # slots
    order: PerOrder[u32s]  # by place: the row
    order_size: PerOrder[i64]
    rank: PerOrder[u32s]  # by row: the place; `ca_asc` has the rank of `ca_desc`
    steps: PerOrder[u32s]  # by distinct key: the place where it begins; one more entry than keys
    step_count: PerOrder[i64]  # distinct keys
    turnover_keys: f64s  # distinct keys of an order, ascending; also the next four arrays
    capital_keys: f64s
    headcount_keys: i32s
    date_keys: i32s
    score_keys: i16s
    words: u8s  # the texts of the distinct words, sorted, each followed by WORD_END
    words_size: i64
    word_starts: u32s  # one more entry than words
    word_count: i64
    beginnings: (
        Words  # by two one-byte letters: the first word from them on; written at the first use
    )
    owners: u32s  # the word that contains byte OWNED × i of `words`
    suffixes: u32s  # positions in `words`, sorted by the text from there on
    suffix_count: i64
    suffix_keys: u64s  # the first 8 bytes of every SAMPLED-th suffix
    posting_starts: u32s  # by word: its first row in `postings`
    postings: u32s  # the rows of each word, ascending
    posting_count: i64
    tokens: u32s  # the words of the names of each row, and FORMER_NAME before each former name
    token_count: i64
    token_starts: u32s  # by row: its first token
    ids: u8s  # the texts of the folded identifiers, sorted
    ids_size: i64
    id_width: i64  # bytes from one identifier to the next; 0 if they differ
    id_starts: u32s
    id_keys: u64s  # the first 8 bytes of every SAMPLED-th identifier
    id_rows: u32s  # the row of each identifier
    top: u32s  # the lists of the first rows of large parts, in each order
    top_size: i64
    sets: u32s  # the row sets; the `places` in the four indexes below count units of 8 bytes
    sets_size: i64
    # Indexes of row sets (FORMAT.md §8): keys, ascending, and the place of the set of each key.
    heavy_keys: u64s
    heavy_places: u32s
    heavy_count: i64
    prefix_keys: u64s
    prefix_places: u32s
    prefix_count: i64
    junction_keys: u64s
    junction_places: u32s
    junction_count: i64
    phrases: u8s  # the index of phrases: sorted texts, and the place of the set of each text
    phrases_size: i64
    phrase_starts: u32s
    phrase_places: u32s
    phrase_count: i64
    record_starts: u32s  # where the record of a row begins in its chunk
    record_chunks: u64s  # the address of each chunk
    record_sizes: u64s  # the bytes of each chunk
    dictionary: Pointer  # the dictionary of records, prepared by libzstd
    # Where the working memory of this shard begins.
    first_mark: i64  # in `Scratch.marks`
    first_cell: i64  # in `Scratch.cells`
    first_code: PerColumn[i64]  # in `Scratch.allowed`
    first_count: PerKind[i64]  # in `Scratch.counts`


class Part:
    """A sector or a cell of one shard: the rows [start, stop) of the cells [first_cell, end_cell), with their sums."""

    start: i64
    stop: i64
    first_cell: i64
    end_cell: i64
    with_ca: i64  # rows with a turnover
    sites: i64  # rows with a website
    known_stop: i64  # for a cell: the end of its rows with a turnover
    listed: i64  # the length of each list of first rows; 0 if the part has no lists
    top: i64  # position of the first of seven lists in `ShardArrays.top`, one list for each order


class Table:
    """A generation: all shards in the order of their countries."""

    shards: list[ShardArrays]
    shard_count: i64
    parts: list[Part]
    sector_parts: Ints  # shard × sector: the index of the part in `parts`, or -1
    sector_count: i64
    cell_parts: Ints  # shard × cell: the index of the part in `parts`, or -1
    cell_count: i64


class KernelQuery:
    """One search, the same for every shard: first the fields that change by search, then constants and arrays."""

    tri: i64  # the number of the order
    offset: i64
    limit: i64
    shard_count: i64
    scope: i64  # EVERYWHERE, SECTORS or CELLS
    scope_count: i64
    website: i64  # 1 if a match must have a website
    has_turnover: i64  # 1 if a match must have a turnover
    any_turnover: i64  # 1 if any turnover matches, because there are no bounds
    turnover_low: f64  # bounds as keys of `ca_desc`, inclusive
    turnover_high: f64
    has_headcount: i64  # 1 if a match must have a headcount within bounds
    headcount_low: i64  # bounds as keys of `effectif_desc`, inclusive
    headcount_high: i64
    word_count: i64  # of the folded `q`; 0: there is no `q`
    text_size: i64  # bytes of `text`
    single_characters: i64  # 1 if `q` is two characters around a blank
    # Bounds [low, high) of the first 8 bytes, as a number, of texts that begin with `text`, `endings` or `prefix`.
    suffix_low: u64
    suffix_high: u64
    ending_low: u64
    ending_high: u64
    prefix_size: i64
    prefix_low: u64
    prefix_high: u64
    columns: i64  # one bit per column of codes with a condition
    states: i64  # one bit per state
    value_count: i64  # texts of forms, towns, postcodes, activities
    has_ids: i64  # 1 if the query has `ids`
    census: i64  # one bit per kind of slots in which the matches are also counted, and LISTED
    budget: f64  # the most estimated nanoseconds of the search
    head_rows: i64  # rows of a head
    top_rows: i64  # rows of a list of `top`
    room: i64  # the most rows that are listed while they are counted
    # The first head of a shard has `spare` rows, and `shares` times the rows that the page is expected to have of it.
    spare: i64
    shares: i64
    # Estimated nanoseconds (`shards/search/kernel_query.py`).
    span_cost: f64
    adjacent_cost: f64
    code_cost: f64
    listed_cost: f64
    start_cost: f64
    sparse: f64  # the share of rows below which rows with a code are listed while they are counted
    shards: Ints  # the numbers of the shards to search
    scope_codes: Ints  # sectors or cells, by number in the generation
    word_starts: Ints  # one more entry than words; word i ends one byte before word i + 1
    junctions: Keys  # the characters around each blank
    value_columns: Ints  # the column of each text in `values`
    value_starts: Ints  # in `values`; one more entry than texts
    least_keys: Ints  # by column of codes that is an order: bounds as keys, inclusive
    greatest_keys: Ints
    assets_low: Ints  # by shard: the codes [low, high) of total assets within the bounds
    assets_high: Ints
    given_starts: Ints  # by shard, in `given_rows`; one more entry than shards
    given_rows: Ints  # the rows of the companies in `ids`
    text: u8s  # the folded `q`, words separated by one blank
    endings: u8s  # the first word of `q`, followed by WORD_END
    prefix: u8s  # `q` as the beginning of an identifier
    values: u8s  # texts, one after the other; a text that is no prefix ends with 0A


class ShardSearch:
    """The state of one shard during a search."""

    shard: i64
    total: i64  # matches
    need: i64  # the bits of the conditions that rows must still be tested for
    turnover_first: i64  # places in `ca_desc` within the bounds
    turnover_end: i64
    headcount_first: i64  # places in `effectif_desc` within the bounds; -1: no bounds
    headcount_end: i64
    # A row passes if the bits of its facts in `fact_mask` are in [fact_low, fact_high).
    fact_mask: i64
    fact_low: i64
    fact_high: i64
    part_first: i64  # position of the parts of the scope in `Scratch.selected`
    part_count: i64
    # Sums over the parts of the scope; over the complete shard if the query names no sector.
    size: i64  # rows
    cell_count: i64  # cells
    with_ca: i64  # rows with a turnover
    sites: i64  # rows with a website
    generator: i64  # the cheapest way to enumerate the rows that may match
    site_first: i64  # for the generators of websites: positions in the list of places
    site_end: i64
    cost: f64  # estimated nanoseconds of the generator
    listed: i64  # 1 if the matches are in `Scratch.rows`
    list_first: i64  # position of the matches in `Scratch.rows`
    list_count: i64
    names: i64  # the way to find names: NOTHING, STORED, WORDS or PHRASE
    name_set: i64  # the number of the set (`row_sets.py`); 0: no set
    suffix_first: i64  # positions in `ShardArrays.suffixes`
    suffix_end: i64
    ids: i64  # the way to find identifiers: NOTHING, STORED or IDENTIFIERS
    id_set: i64  # the number of the set; 0: no set
    id_first: i64  # positions in the sorted identifiers
    id_end: i64
    name_first: i64  # rows of `q` in `Scratch.rows`, without rows in a set of bits
    name_count: i64
    bits: i64  # position in `ShardArrays.sets` of the bits of a set; 0: no set
    more_bits: i64  # of a second set of bits: the rows of `q` are in either set, or in the list
    headed: i64  # how stored heads give the first rows: UNKNOWN, TOGETHER or ALONE
    heads: i64  # position in `ShardArrays.sets` of the heads of the first set; 0: no heads
    more_heads: i64  # position of the heads of the second set; 0: no heads
    phrase_low: i64  # the words [phrase_low, phrase_high) begin with the last word of a phrase
    phrase_high: i64
    phrase_bits: i64  # position of the bits of a pair of characters around a blank; 0: no set
    waiting: i64  # rows in `Scratch.heap` whose names are not yet compared with the phrase
    scoped: i64  # 1 if `Scratch.cells` is set
    columns: i64  # one bit per column of codes that rows must be tested for
    tables: i64  # one bit per column whose codes are marked in `Scratch.allowed`
    code_low: PerColumn[i64]  # the allowed codes are in the range [low, high)
    code_high: PerColumn[i64]
    # The marks of the allowed codes begin at this position in `Scratch.allowed`; -1: the complete range is allowed.
    code_table: PerColumn[i64]
    code_share: f64  # the estimated share of rows that meet the conditions on codes
    activities: i64  # rows of the scope with an activity of the query
    given_first: i64  # rows of `ids` in `Scratch.rows`
    given_count: i64
    head_count: i64  # rows of the current head
    position: i64  # the next row in the head; -1: no more rows
    sort_key: f64  # of the next row, for merging; in the order `nom` its `name_key`
    name_key: u64


class Scratch:
    """Working memory of one thread."""

    spent: f64  # estimated nanoseconds of the search so far
    rows: Words  # lists of row numbers, one list after the other
    rows_size: i64
    marks: Words  # one bit per row of each shard; zero between searches
    cells: Words  # one number per cell of each shard; zero between searches
    selected: Ints  # the parts in the scope of each source
    # The row numbers that are tested together, at most BLOCK, then tables of counts; near words: letters of the text.
    block: Ints
    mask: Bytes  # one byte per tested row: 1 if it meets the conditions
    mask_words: Keys  # the same memory as `mask`, as numbers of eight bytes
    allowed: Bytes  # one byte per code of each column of each shard; zero between searches
    # The rows of one shard that are ranked, or that wait for a comparison with a phrase; near words: distance table.
    heap: Ints
    heads: Ints  # source × width: the first matches of each source
    width: i64  # the most rows of a head
    sources: list[ShardSearch]
    found_shard: Ints  # the first matches of all shards
    found_row: Ints
    # 1 if the folded name equals the folded name of the previous row. With LISTED, the number of matches; in
    # `shards/suggest`, the key of a company, the end of a range of words, or the distance of a near word.
    found_tie: Ints
    found_size: i64
    result: Ints  # two numbers: the number of found rows, and whether any rows of the page have equal folded names
    page: Ints  # the rows of the page: pairs of a shard and a row
    counts: Ints  # an element per kind of value that a search counts: one number per slot of each kind of each shard
    used: i64  # entries of `rows` in use
    near_shard: i64  # near words: the current shard
    near_size: i64  # near words: letters of the text
    near_half: i64  # near words: letters of its first half
    near_most: i64  # near words: the most errors


class Pool:
    """Working memory of candidates: spellings of a line, their words in shards, the best rows of one shard and of all.

    Spellings and words of the same group come from the same word of the line.
    """

    near: i64  # 1 if words with a typing error are also looked up
    spelling_count: i64
    group_count: i64
    allowed: i64  # the most rows of groups that are weighed completely
    penalty: f64  # subtracted for each word of a name that is not in the line
    near_weight: f64  # the weight of a word with a typing error
    room: i64  # the length of `rows` and `scores`
    # By spelling.
    text_starts: Ints  # one more entry than spellings: the end of the last text
    text_places: Ints  # in the table of looked-up words
    spelling_groups: Ints
    shares: Reals  # the factor of the weight of the word
    units: Ints  # the most bytes of a letter; 0 if no near word is looked up
    # By shard, MOST_SPELLINGS words each.
    words: Ints  # the numbers of the words in the shard
    groups: Ints
    weights: Reals
    ends: Ints  # by shard: the end of its words
    most: Reals  # by shard: the greatest weight that one of its rows can have
    number: i64  # the current shard; its words are [first, end)
    first: i64
    end: i64
    sizes: Ints  # by group of spellings: its number of rows, negative until `gather_rows` takes it
    heaviest: Reals  # by group: the greatest weight of a word
    chosen: Ints  # the frequent groups of which pairs are tried, at most MOST_FREQUENT_GROUPS
    rows: Ints  # rows of the shard, best first; also near words
    scores: Reals
    count: i64  # entries of `rows` in use
    weighed: i64  # rows of the current shard that were weighed
    # The best rows of all shards, MOST_CANDIDATES at most: by score, shard and row.
    best_shards: Ints
    best_rows: Ints
    best_scores: Reals
    best_count: i64


class MarketArrays:
    """The marks of all matches of a search, and the results that are computed from the marks."""

    bits: Words  # one bit per row of each shard, placed by `ShardArrays.first_mark`
    sequence: u8s  # the shard of each turnover of a half, in order; NEXT_STEP is added to one byte of each step
    sequence_size: i64
    cursors: Ints  # by shard: the current step, and the current place in `ca_desc`
    chosen: Ints  # by shard: the number of marked rows; `write_turnovers` only needs to know whether it is 0
    counts: Ints  # one number per slot of each kind of each shard, as in a census
    figures: Reals  # receives turnovers
