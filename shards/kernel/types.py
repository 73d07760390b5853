"""The records that one search works on: shards, parts of a shard, the question, working memory.

Compiled modules use C structs of the same names, fields and order, which `headers.py` writes from this file.
Interpreted ones use these classes, with `memoryview`s for arrays, so that an index outside an array raises.
`memory.py` copies a record into a struct.

Lengths and positions are counted in elements of their array unless stated otherwise.
"""

from collections.abc import Callable
from math import inf
from typing import Annotated, Any, Final, TypeVar

# Scalars.
Int = Annotated[int, "long long"]
Small = Annotated[int, "unsigned char"]  # sixteen rows are tested in one instruction
Half = Annotated[int, "unsigned short"]
Wide = Annotated[int, "unsigned int"]
Key = Annotated[int, "unsigned long long"]
Real = Annotated[float, "double"]
Address = Annotated[object, "size_t"]  # passed to a compiled function
# Read-only arrays of a shard, by element type.
U1 = Annotated[memoryview | bytes, "const unsigned char*"]
U2 = Annotated[memoryview, "const unsigned short*"]
U4 = Annotated[memoryview, "const unsigned int*"]
U8 = Annotated[memoryview, "const unsigned long long*"]
I2 = Annotated[memoryview, "const short*"]
I4 = Annotated[memoryview, "const int*"]
F8 = Annotated[memoryview, "const double*"]
# Arrays that a search writes.
Words = Annotated[memoryview, "unsigned int*"]
Ints = Annotated[memoryview, "long long*"]
Keys = Annotated[memoryview, "unsigned long long*"]
Reals = Annotated[Any, "double*"]
Bytes = Annotated[Any, "unsigned char*"]
# What only compiled modules use: a pointer, and the function of libzstd that decompresses.
Pointer = Annotated[Any, "void*"]
Decompress = Annotated[
    Callable[..., int],
    "long long (*)(Pointer, Pointer, size_t, const void*, size_t, const void*) noexcept nogil",
]
# Of the C library: `headers.py` says where they are declared.
INFINITY: Final = inf
memcpy: Any = None
prefetch: Any = None

# The seven orders, by their place in `query.ORDERS`.
CA_DESC: Final = 0
CA_ASC: Final = 1
NOM: Final = 2
EFFECTIF: Final = 3
RECENT: Final = 4
CAPITAL: Final = 5
SCORE: Final = 6

# Conditions that a row must still be tested for.
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
COMPTES: Final = 4  # whether there are statements: the column of `etat`
ACTIF: Final = 5
CREATION: Final = 6  # the places in `recent`
NACE: Final = 7  # numbered within each cell
TRANCHE: Final = 8  # bands of headcount: counted, never a condition
COLUMNS: Final = 9
STATES: Final = 4  # a code of `etat` is so much greater where there are statements

# Kinds of a census: a column of codes, COLUMNS + an order in bands of its values, or cells.
BY_CELL: Final = 16
KINDS: Final = 17
# In `Question.census`, above the bits of the kinds: leave every match listed.
LISTED: Final = 131072

# Generators: the ways to enumerate the rows that may match.
SPANS: Final = 0  # ranges of neighbouring rows
BY_TURNOVER: Final = 1  # a stretch of `ca_desc`
BY_HEADCOUNT: Final = 2  # a stretch of `effectif_desc`
SITES_BY_TURNOVER: Final = 3  # the websites in a stretch of `ca_desc`
SITES_BY_HEADCOUNT: Final = 4  # the websites in a stretch of `effectif_desc`
BY_NAME: Final = 5  # the rows listed for `q`
BY_CREATION: Final = 6  # a stretch of `recent`
BY_ID: Final = 7  # the rows of `ids`

# Kinds of a row set (FORMAT.md §8).
LIST: Final = 0
BITS: Final = 1
GAPS: Final = 2
HEADED: Final = 4
COUNTED: Final = 7

# What the parameter `q` needs of an index: nothing, a stored row set, words, identifiers, a phrase.
NOTHING: Final = 0
STORED: Final = 1
WORDS: Final = 2
IDENTIFIERS: Final = 3
PHRASE: Final = 4

# How far the heads of row sets lead: not, together with the list of `q`, alone.
UNKNOWN: Final = 0
TOGETHER: Final = 1
ALONE: Final = 2

# What a search returns that would cost more than its budget.
TOO_DEAR: Final = -2

# What the join of records returns that needs more room than there is; what libzstd returns then.
NO_ROOM: Final = -2
TOO_SMALL: Final = -70

# A suffix, with the rows of its word, costs as much as so many rows.
UNITED: Final = 30

# What `suggest.run` finds.
COMPANIES: Final = 0
WORD_RANGES: Final = 1
WORD_TOTAL: Final = 2

# Scopes of a question.
EVERYWHERE: Final = 0
SECTORS: Final = 1
CELLS: Final = 2

HALVES: Final = 32768  # rows that are counted in 16 bits
MASKED: Final = 1024  # neighbouring rows that are tested together
BLOCK: Final = 256  # rows that are tested together: they stay in the processor's nearest cache
SAMPLED: Final = 16  # FORMAT.md §8: one text in so many has its first 8 bytes in an array
OWNED: Final = 16
SUFFIX_BYTES: Final = 24
FORMER_NAME: Final = 4294967295  # FORMAT.md §8: a token that is no word
FURTHER: Final = 255
MOST_ROWS: Final = (1 << 28) - 1  # of a shard: the size of a row set has 28 bits (row_sets.py)
CHUNK_ROWS: Final = 65536  # FORMAT.md §6: rows whose records are one value
FREQUENT_GROUPS: Final = 3  # frequent words of a line whose common rows are candidates, two by two
LIGHTEST: Final = -1_000_000  # less than any name weighs
NEAR_SCANNED: Final = 20000  # words of a range that are compared with a misspelt one
NEAR_ENDINGS: Final = 4096  # words with the same end that are compared with a misspelt one
NEAREST_HALF: Final = 1  # letters before that end, at least
WORD_END: Final = 10  # FORMAT.md §8: END
POOLED: Final = 30000  # rows that are weighed for a line in a shard
WIDESPREAD: Final = 256  # a word is widespread that more than one name in so many has


Element = TypeVar("Element")
# Values that lie side by side in their record.
PerColumn = Annotated[list[Element], COLUMNS]
PerKind = Annotated[list[Element], KINDS]  # of a census
PerOrder = Annotated[list[Element], 7]


class ShardArrays:
    """One country: its arrays, as FORMAT.md describes them, and their lengths."""

    rows: Int
    cell_count: Int
    first_part: Int  # in `Table.parts`: of cell 0, the others follow
    with_site: Int
    known: Int  # rows with a turnover
    longest: Int  # rows of the most frequent turnover
    site_bit: Int
    wide: Int  # 1 where facts are of 32 bits
    cell_marks: U2  # the cell of every 64th row
    cell_stops: U4  # where each cell ends
    facts: U2
    wide_facts: U4
    turnover_facts: U2
    wide_turnover_facts: U4
    sites_turnover: U4
    sites_turnover_count: Int
    sites_headcount: U4
    sites_headcount_count: Int
    small: PerColumn[U1]  # one of these three, as `code_width` says
    half: PerColumn[U2]
    broad: PerColumn[U4]
    code_width: PerColumn[Int]  # bytes
    code_count: PerColumn[Int]  # codes, with that of null
    code_ends: PerColumn[U4]  # rows with a lower code
    code_texts: PerColumn[U1]  # what the codes 1, 2, … stand for
    code_sizes: PerColumn[Int]
    code_starts: PerColumn[U4]
    pair_cells: U4  # where the codes of activities of each cell begin in the next two
    pair_codes: U4
    pair_ends: U4  # rows before those of this one
    pair_count: Int
    quantiles: U4  # codes of total assets at even places
    quantile_count: Int
    assets: Int  # rows with total assets
    run_ends: PerKind[U4]  # rows before slot i, one entry more
    run_marks: PerKind[U2]  # of orders, the slot of every 64th place
    run_count: PerKind[Int]  # slots
    order: PerOrder[U4]
    order_size: PerOrder[Int]
    rank: PerOrder[U4]  # that of `ca_asc` is the one of `ca_desc`
    steps: PerOrder[U4]
    step_count: PerOrder[Int]  # distinct keys
    turnover_keys: F8
    capital_keys: F8
    headcount_keys: I4
    date_keys: I4
    score_keys: I2
    words: U1
    words_size: Int
    word_starts: U4
    word_count: Int
    owners: U4
    suffixes: U4
    suffix_count: Int
    suffix_keys: U8
    posting_starts: U4
    postings: U4
    posting_count: Int
    tokens: U4
    token_count: Int
    token_starts: U4
    ids: U1
    ids_size: Int
    id_width: Int  # bytes from one identifier to the next, 0 where they differ
    id_starts: U4
    id_keys: U8
    id_rows: U4
    top: U4  # the lists of first rows
    top_size: Int
    sets: U4  # the row sets; the indexes below hold places in it, in units of 8 bytes
    sets_size: Int
    heavy_keys: U8
    heavy_places: U4
    heavy_count: Int
    prefix_keys: U8
    prefix_places: U4
    prefix_count: Int
    junction_keys: U8
    junction_places: U4
    junction_count: Int
    phrases: U1
    phrases_size: Int
    phrase_starts: U4
    phrase_places: U4
    phrase_count: Int
    record_starts: U4  # where the record of a row begins in its chunk
    record_chunks: U8  # addresses
    record_sizes: U8
    dictionary: Pointer  # what libzstd has made of the dictionary of records
    first_mark: Int  # in `Scratch.marks`
    first_cell: Int  # in `Scratch.cells`
    first_code: PerColumn[Int]  # in `Scratch.allowed`
    first_count: PerKind[Int]  # in `Scratch.counts`


class Part:
    """A sector or a cell of one shard: neighbouring rows, with its sums."""

    start: Int
    stop: Int
    first: Int  # cell
    end: Int
    with_ca: Int  # rows with a turnover
    sites: Int  # rows with a website
    known_stop: Int  # of a cell: where its rows with a turnover end
    listed: Int  # rows of each list of its first rows; 0: there are none
    top: Int  # position of the first list in `ShardArrays.top`; the others follow


class Table:
    """A generation: all shards in the order of their countries."""

    shards: list[ShardArrays]
    shard_count: Int
    parts: list[Part]
    sector_parts: Ints  # shard × sector: a part, or -1
    sector_count: Int
    cell_parts: Ints  # shard × cell: a part, or -1
    cell_count: Int


class Question:
    """One search, the same for every shard: first what changes, then constants and arrays."""

    tri: Int
    offset: Int
    limit: Int
    shard_count: Int
    scope: Int
    scope_count: Int
    website: Int
    has_turnover: Int
    any_turnover: Int
    turnover_low: Real
    turnover_high: Real
    has_headcount: Int
    headcount_low: Int
    headcount_high: Int
    word_count: Int  # of the folded `q`; 0: there is no `q`
    text_size: Int
    single_characters: Int  # 1 where `q` is two characters around a blank
    suffix_low: Key
    suffix_high: Key
    ending_low: Key
    ending_high: Key
    prefix_size: Int
    prefix_low: Key
    prefix_high: Key
    columns: Int  # a bit a column of codes that has a condition
    states: Int  # a bit a state
    date_low: Int  # keys of `recent`
    date_high: Int
    value_count: Int  # texts of forms, towns, postcodes, activities
    given: Int  # 1 where there are `ids`
    census: Int  # a bit a kind: count the matches in each of its slots, too
    budget: Real  # nanoseconds, by estimate, after which the search is given up
    head_rows: Int  # rows of a head
    top_rows: Int  # rows of a list of `top`
    room: Int  # rows that are listed while they are counted
    spare: (
        Int  # rows that a shard is asked for at first, beside `shares` times its part of the page
    )
    shares: Int
    span_cost: Real  # nanoseconds: a range of rows
    along_cost: Real  # a row tested beside its neighbours
    code_cost: Real  # a byte of a code tested beside its neighbours
    listed_cost: Real  # a row tested by its number
    start_cost: Real  # a walk, or a list of rows to rank
    sparse: Real  # share of rows up to which codes list them while they are counted
    shards: Ints
    scope_codes: Ints  # sectors or cells, by their place in the table
    word_starts: Ints  # one more than there are words; word i ends one byte before the next one
    junctions: Keys  # of each blank the characters around it
    value_columns: Ints
    value_starts: Ints  # in `values`, one more than there are
    assets_low: Ints  # by shard: codes
    assets_high: Ints
    given_starts: Ints  # by shard, in `given_rows`; one more than there are shards
    given_rows: Ints
    text: U1  # the folded `q`, words separated by one blank
    endings: U1  # the first word and the end of a word
    prefix: U1  # `q` as the beginning of an identifier
    values: U1  # texts, one after the other; a whole one ends with 0A


class Source:
    """What is known of one shard during a search."""

    shard: Int
    total: Int
    need: Int
    turnover_first: Int  # places in `ca_desc`
    turnover_end: Int
    headcount_first: Int  # places in `effectif_desc`; -1: no bound
    headcount_end: Int
    fact_mask: Int
    fact_low: Int
    fact_high: Int
    part_first: Int  # in `Scratch.selected`
    part_count: Int
    size: Int  # sums over these parts, or over the shard
    cell_count: Int
    with_ca: Int
    sites: Int
    generator: Int
    site_first: Int
    site_end: Int
    cost: Real
    listed: Int  # 1 where the matches stand in `Scratch.rows`
    list_first: Int
    list_count: Int
    name_first: Int  # rows of `q` in `Scratch.rows` that are in neither of the sets of bits
    name_count: Int
    bits: Int  # position in `ShardArrays.sets` of the bits of a set; 0: none
    more_bits: Int
    headed: Int  # UNKNOWN, TOGETHER or ALONE
    heads: Int  # position in `ShardArrays.sets`; 0: none
    more_heads: Int
    phrase_low: Int  # the words that the last part of a phrase begins
    phrase_high: Int
    phrase_bits: Int  # position of the bits of a pair of characters around a blank; 0: none
    scoped: Int  # 1 where `Scratch.cells` is set
    columns: Int  # a bit a column of codes that rows must be tested for
    tables: Int  # a bit a column whose codes are marked in `Scratch.allowed`
    code_low: PerColumn[Int]  # codes [low, high) are allowed,
    code_high: PerColumn[Int]
    code_table: PerColumn[Int]  # of them those marked from here on in `Scratch.allowed`; -1: all
    code_share: Real  # of the rows, by estimate
    activities: Int  # rows of the scope with an activity that is asked for
    given_first: Int  # rows of `ids` in `Scratch.rows`
    given_count: Int
    asked: Int  # rows of the head
    position: Int  # of the next row in the head; -1: none
    sort_key: Real
    name_key: Key


class Scratch:
    """Working memory of one thread."""

    spent: Real  # of the budget
    rows: Words
    rows_size: Int
    marks: Words  # a bit a row of each shard; zero between searches
    cells: Words  # a number a cell of each shard; zero between searches
    selected: Ints
    block: Ints
    mask: Bytes  # a byte a row
    mask_words: Keys  # the same, eight bytes at a time
    allowed: Bytes  # a byte a code of each column of each shard; zero between searches
    heap: Ints
    heads: Ints  # source × width
    width: Int
    sources: list[Source]
    found_shard: Ints
    found_row: Ints
    found_tie: Ints  # 1 where the folded name equals that of the row before
    found_size: Int
    result: Ints  # 1: how many rows were found
    counts: Ints  # of a census: a number a slot of each kind of each shard
    used: Int  # of `rows`


class Pool:
    """Working memory of candidates: the words of a line in one shard, and the best rows, best first.

    Words with the same group stand for the same word of the line.
    """

    word_count: Int
    group_count: Int
    allowed: Int  # rows of whole groups
    penalty: Real  # for each word of a name that is not in the line
    room: Int  # of `rows` and `scores`
    words: Ints
    groups: Ints
    weights: Reals
    sizes: Ints  # by group: rows
    chosen: Ints  # FREQUENT_GROUPS
    rows: Ints  # also near words
    scores: Reals
    count: Int  # of `rows`
    weighed: Int


class MarketArrays:
    """All rows that a search found, and what is made of them."""

    rows: Words  # row numbers, of one shard after the other
    bits: Words  # a bit a row of each shard, placed by `ShardArrays.first_mark`
    sequence: U1  # the shards of all distinct turnovers of the table, ascending
    sequence_size: Int
    cursors: Ints  # by shard: distinct turnovers that are still to come
    chosen: Ints  # by shard: 1 where rows are marked
    counts: Ints  # a number a slot of each kind of each shard, as of a census
    figures: Reals
    room: Int  # of `figures`
