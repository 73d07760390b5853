"""The records that one search works on: shards, parts of a shard, the question, working memory; and their constants.

Compiled modules use C structs of the same names, fields and order, which `headers.py` writes from this file.
Interpreted ones use these classes, with `memoryview`s for arrays, so that an index outside an array raises.
`memory.py` copies a record into a struct.

Lengths and positions are counted in elements of their array unless stated otherwise.
"""

from collections.abc import Callable
from math import inf
from math import log as log
from typing import Annotated, Any, Final, TypeVar

# -- constants: codes of the records, and limits; `headers.py` makes a C `enum` of them ---------------

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
# In `KernelQuery.census`, above the bits of the kinds: leave every match listed.
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

# What the join of records returns that needs more room than there is.
NO_ROOM: Final = -2

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
ALL_MET: Final = 0x0101010101010101  # eight bytes of a mask
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
# Rows that weigh so much less than the best one lack a rare word: of these only the first few are compared.
BEHIND: Final = 12
FIRST: Final = 8
KEPT: Final = 48  # rows that are compared
SOUGHT: Final = 256  # words of a shard that are sought for a line
RARE: Final = 2000  # a word that one name in so many has is no typing error
LEAST_COMPANIES: Final = 100000  # a shard counts as so many: in a small one no word would be rare
NOT_LOOKED_UP: Final = -2  # for the number of a word
LIGHTEST: Final = -1_000_000  # less than any name weighs
NEAR_SCANNED: Final = 20000  # words of a range that are compared with a misspelt one
NEAR_ENDINGS: Final = 4096  # words with the same end that are compared with a misspelt one
NEAREST_HALF: Final = 1  # letters before that end, at least
WORD_END: Final = 10  # FORMAT.md §8: END
POOLED: Final = 30000  # rows that are weighed for a line in a shard
SUFFIXES_AHEAD: Final = 8  # endings of words that are fetched before they are looked at
WEIGHING: Final = 10  # steps through two lists of rows that take as long as weighing a row
PAIRED: Final = 10  # and to begin with them
AHEAD: Final = 6  # rows of a word whose names are fetched before they are weighed
FAR_AHEAD: Final = 16  # and those whose places are
COMMON: Final = (
    128  # one row in so many is found: all that are found are marked, and counted by their marks
)
RANKED: Final = 2  # places of an order are counted as fast as one row in so many by its place there
NEXT_STEP: Final = 128  # added to the number of a shard
TURNOVERS_AHEAD: Final = 24  # turnovers of a shard that are asked for before they are needed
SUMMED: Final = 1024  # figures that are summed together
ONE_BYTE: Final = 128  # letters of one byte
FEW_SLOTS: Final = 32  # slots of a kind of which several tables are kept
FEW: Final = 10  # rows of 32 that are taken one by one
WIDESPREAD: Final = 256  # a word is widespread that more than one name in so many has

# -- types of fields ---------------------------------------------------------------------------------

# Scalars.
i64 = Annotated[int, "long long"]
u8 = Annotated[int, "unsigned char"]  # sixteen rows are tested in one instruction
u16 = Annotated[int, "unsigned short"]
u32 = Annotated[int, "unsigned int"]
u64 = Annotated[int, "unsigned long long"]
f64 = Annotated[float, "double"]
Address = Annotated[object, "size_t"]  # passed to a compiled function
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


def lowest_bit(word: int) -> int:
    """The place of the lowest bit of a number above 0 that is one."""
    return (word & -word).bit_length() - 1


Element = TypeVar("Element")
# Values that lie side by side in their record.
PerColumn = Annotated[list[Element], COLUMNS]
PerKind = Annotated[list[Element], KINDS]  # of a census
PerOrder = Annotated[list[Element], 7]


class ShardArrays:
    """One country: its arrays, as FORMAT.md describes them, and their lengths."""

    rows: i64
    cell_count: i64
    first_part: i64  # in `Table.parts`: of cell 0, the others follow
    with_site: i64
    known: i64  # rows with a turnover
    longest: i64  # rows of the most frequent turnover
    site_bit: i64
    wide: i64  # 1 where facts are of 32 bits
    cell_marks: u16s  # the cell of every 64th row
    cell_stops: u32s  # where each cell ends
    facts: u16s
    wide_facts: u32s
    turnover_facts: u16s
    wide_turnover_facts: u32s
    sites_turnover: u32s
    sites_turnover_count: i64
    sites_headcount: u32s
    sites_headcount_count: i64
    small: PerColumn[u8s]  # one of these three, as `code_width` says
    half: PerColumn[u16s]
    broad: PerColumn[u32s]
    code_width: PerColumn[i64]  # bytes
    code_count: PerColumn[i64]  # codes, with that of null
    code_ends: PerColumn[u32s]  # rows with a lower code
    code_texts: PerColumn[u8s]  # what the codes 1, 2, … stand for
    code_sizes: PerColumn[i64]
    code_starts: PerColumn[u32s]
    pair_cells: u32s  # where the codes of activities of each cell begin in the next two
    pair_codes: u32s
    pair_ends: u32s  # rows before those of this one
    pair_count: i64
    quantiles: u32s  # codes of total assets at even places
    quantile_count: i64
    assets: i64  # rows with total assets
    run_ends: PerKind[u32s]  # rows before slot i, one entry more
    run_marks: PerKind[u16s]  # of orders, the slot of every 64th place
    run_count: PerKind[i64]  # slots
    order: PerOrder[u32s]
    order_size: PerOrder[i64]
    rank: PerOrder[u32s]  # that of `ca_asc` is the one of `ca_desc`
    steps: PerOrder[u32s]
    step_count: PerOrder[i64]  # distinct keys
    turnover_keys: f64s
    capital_keys: f64s
    headcount_keys: i32s
    date_keys: i32s
    score_keys: i16s
    words: u8s
    words_size: i64
    word_starts: u32s
    word_count: i64
    beginnings: Words  # the first word of two letters of one byte; written by the first question about near words
    owners: u32s
    suffixes: u32s
    suffix_count: i64
    suffix_keys: u64s
    posting_starts: u32s
    postings: u32s
    posting_count: i64
    tokens: u32s
    token_count: i64
    token_starts: u32s
    ids: u8s
    ids_size: i64
    id_width: i64  # bytes from one identifier to the next, 0 where they differ
    id_starts: u32s
    id_keys: u64s
    id_rows: u32s
    top: u32s  # the lists of first rows
    top_size: i64
    sets: u32s  # the row sets; the indexes below hold places in it, in units of 8 bytes
    sets_size: i64
    heavy_keys: u64s
    heavy_places: u32s
    heavy_count: i64
    prefix_keys: u64s
    prefix_places: u32s
    prefix_count: i64
    junction_keys: u64s
    junction_places: u32s
    junction_count: i64
    phrases: u8s
    phrases_size: i64
    phrase_starts: u32s
    phrase_places: u32s
    phrase_count: i64
    record_starts: u32s  # where the record of a row begins in its chunk
    record_chunks: u64s  # addresses
    record_sizes: u64s
    dictionary: Pointer  # what libzstd has made of the dictionary of records
    first_mark: i64  # in `Scratch.marks`
    first_cell: i64  # in `Scratch.cells`
    first_code: PerColumn[i64]  # in `Scratch.allowed`
    first_count: PerKind[i64]  # in `Scratch.counts`


class Part:
    """A sector or a cell of one shard: neighbouring rows, with its sums."""

    start: i64
    stop: i64
    first: i64  # cell
    end: i64
    with_ca: i64  # rows with a turnover
    sites: i64  # rows with a website
    known_stop: i64  # of a cell: where its rows with a turnover end
    listed: i64  # rows of each list of its first rows; 0: there are none
    top: i64  # position of the first list in `ShardArrays.top`; the others follow


class Table:
    """A generation: all shards in the order of their countries."""

    shards: list[ShardArrays]
    shard_count: i64
    parts: list[Part]
    sector_parts: Ints  # shard × sector: a part, or -1
    sector_count: i64
    cell_parts: Ints  # shard × cell: a part, or -1
    cell_count: i64


class KernelQuery:
    """One search, the same for every shard: first what changes, then constants and arrays."""

    tri: i64
    offset: i64
    limit: i64
    shard_count: i64
    scope: i64
    scope_count: i64
    website: i64
    has_turnover: i64
    any_turnover: i64
    turnover_low: f64
    turnover_high: f64
    has_headcount: i64
    headcount_low: i64
    headcount_high: i64
    word_count: i64  # of the folded `q`; 0: there is no `q`
    text_size: i64
    single_characters: i64  # 1 where `q` is two characters around a blank
    suffix_low: u64
    suffix_high: u64
    ending_low: u64
    ending_high: u64
    prefix_size: i64
    prefix_low: u64
    prefix_high: u64
    columns: i64  # a bit a column of codes that has a condition
    states: i64  # a bit a state
    value_count: i64  # texts of forms, towns, postcodes, activities
    given: i64  # 1 where there are `ids`
    census: i64  # a bit a kind: count the matches in each of its slots, too
    budget: f64  # nanoseconds, by estimate, after which the search is given up
    head_rows: i64  # rows of a head
    top_rows: i64  # rows of a list of `top`
    room: i64  # rows that are listed while they are counted
    spare: (
        i64  # rows that a shard is asked for at first, beside `shares` times its part of the page
    )
    shares: i64
    span_cost: f64  # nanoseconds: a range of rows
    along_cost: f64  # a row tested beside its neighbours
    code_cost: f64  # a byte of a code tested beside its neighbours
    listed_cost: f64  # a row tested by its number
    start_cost: f64  # a walk, or a list of rows to rank
    sparse: f64  # share of rows up to which codes list them while they are counted
    shards: Ints
    scope_codes: Ints  # sectors or cells, by their place in the table
    word_starts: Ints  # one more than there are words; word i ends one byte before the next one
    junctions: Keys  # of each blank the characters around it
    value_columns: Ints
    value_starts: Ints  # in `values`, one more than there are
    least_keys: Ints  # by column of codes that is an order
    greatest_keys: Ints
    assets_low: Ints  # by shard: codes
    assets_high: Ints
    given_starts: Ints  # by shard, in `given_rows`; one more than there are shards
    given_rows: Ints
    text: u8s  # the folded `q`, words separated by one blank
    endings: u8s  # the first word and the end of a word
    prefix: u8s  # `q` as the beginning of an identifier
    values: u8s  # texts, one after the other; a whole one ends with 0A


class ShardSearch:
    """What is known of one shard during a search."""

    shard: i64
    total: i64
    need: i64
    turnover_first: i64  # places in `ca_desc`
    turnover_end: i64
    headcount_first: i64  # places in `effectif_desc`; -1: no bound
    headcount_end: i64
    fact_mask: i64
    fact_low: i64
    fact_high: i64
    part_first: i64  # in `Scratch.selected`
    part_count: i64
    size: i64  # sums over these parts, or over the shard
    cell_count: i64
    with_ca: i64
    sites: i64
    generator: i64
    site_first: i64
    site_end: i64
    cost: f64
    listed: i64  # 1 where the matches stand in `Scratch.rows`
    list_first: i64
    list_count: i64
    names: i64  # how names are found: NOTHING, STORED, WORDS or PHRASE
    name_set: i64  # 0: none
    suffix_first: i64
    suffix_end: i64
    ids: i64  # how identifiers are found: NOTHING, STORED or IDENTIFIERS
    id_set: i64
    id_first: i64
    id_end: i64
    name_first: i64  # rows of `q` in `Scratch.rows` that are in neither of the sets of bits
    name_count: i64
    bits: i64  # position in `ShardArrays.sets` of the bits of a set; 0: none
    more_bits: i64
    headed: i64  # UNKNOWN, TOGETHER or ALONE
    heads: i64  # position in `ShardArrays.sets`; 0: none
    more_heads: i64
    phrase_low: i64  # the words that the last part of a phrase begins
    phrase_high: i64
    phrase_bits: i64  # position of the bits of a pair of characters around a blank; 0: none
    waiting: i64  # rows of a phrase that are still to be looked at
    scoped: i64  # 1 where `Scratch.cells` is set
    columns: i64  # a bit a column of codes that rows must be tested for
    tables: i64  # a bit a column whose codes are marked in `Scratch.allowed`
    code_low: PerColumn[i64]  # codes [low, high) are allowed,
    code_high: PerColumn[i64]
    code_table: PerColumn[i64]  # of them those marked from here on in `Scratch.allowed`; -1: all
    code_share: f64  # of the rows, by estimate
    activities: i64  # rows of the scope with an activity that is asked for
    given_first: i64  # rows of `ids` in `Scratch.rows`
    given_count: i64
    asked: i64  # rows of the head
    position: i64  # of the next row in the head; -1: none
    sort_key: f64
    name_key: u64


class Scratch:
    """Working memory of one thread."""

    spent: f64  # of the budget
    rows: Words
    rows_size: i64
    marks: Words  # a bit a row of each shard; zero between searches
    cells: Words  # a number a cell of each shard; zero between searches
    selected: Ints
    block: Ints
    mask: Bytes  # a byte a row
    mask_words: Keys  # the same, eight bytes at a time
    allowed: Bytes  # a byte a code of each column of each shard; zero between searches
    heap: Ints
    heads: Ints  # source × width
    width: i64
    sources: list[ShardSearch]
    found_shard: Ints
    found_row: Ints
    found_tie: Ints  # 1 where the folded name equals that of the row before
    found_size: i64
    result: (
        Ints  # 2: how many rows were found, and whether those of the page have equal folded names
    )
    page: Ints  # the rows of the page: pairs of a shard and a row
    counts: Ints  # of a census: a number a slot of each kind of each shard
    used: i64  # of `rows`
    near_shard: i64  # of near words: the shard that is looked at
    near_size: i64  # letters of the text
    near_half: i64  # of them those of the first half
    near_most: i64  # errors


class Pool:
    """Working memory of candidates: spellings of a line, their words in shards, the best rows of one shard and of all.

    Spellings and words with the same group stand for the same word of the line.
    """

    near: i64  # 1 where words with a typing error are sought, too
    spelling_count: i64
    group_count: i64
    allowed: i64  # rows of whole groups
    penalty: f64  # for each word of a name that is not in the line
    near_weight: f64  # how much a word with a typing error weighs
    room: i64  # of `rows` and `scores`
    # By spelling.
    text_starts: Ints  # and where the last one ends
    text_places: Ints  # in the table of the words that were looked up
    spelling_groups: Ints
    shares: Reals  # of its weight that a word has
    units: Ints  # the most bytes of a letter; 0 where no near word is sought
    # By shard, SOUGHT words each.
    words: Ints
    groups: Ints
    weights: Reals
    ends: Ints  # by shard: where its words end
    most: Reals  # by shard: no row of it weighs more
    number: i64  # the shard that is looked at, and where its words are
    first: i64
    end: i64
    sizes: Ints  # by group: rows
    heaviest: Reals  # by group: the most that a word weighs
    chosen: Ints  # FREQUENT_GROUPS
    rows: Ints  # of the shard, best first; also near words
    scores: Reals
    count: i64  # of `rows`
    weighed: i64
    # The best rows of all shards, KEPT at most: by score, shard and row.
    best_shards: Ints
    best_rows: Ints
    best_scores: Reals
    best_count: i64


class MarketArrays:
    """All rows that a search found, and what is made of them."""

    bits: Words  # a bit a row of each shard, placed by `ShardArrays.first_mark`
    sequence: u8s  # the shard of each turnover of a half; NEXT_STEP is added where it is the first of its step
    sequence_size: i64
    cursors: Ints  # by shard: the step and the place in `order` from which the half goes on
    chosen: Ints  # by shard: above 0 where rows are marked
    counts: Ints  # a number a slot of each kind of each shard, as of a census
    figures: Reals
