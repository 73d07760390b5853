# The C twins of types.py: the same names, the same fields, in the same order.

ctypedef long long Int
ctypedef unsigned char Small
ctypedef unsigned short Half
ctypedef unsigned int Wide
ctypedef unsigned long long Key
ctypedef double Real
ctypedef size_t Address

ctypedef const unsigned char* U1
ctypedef const unsigned short* U2
ctypedef const unsigned int* U4
ctypedef const unsigned long long* U8
ctypedef const short* I2
ctypedef const int* I4
ctypedef const double* F8
ctypedef unsigned int* Words
ctypedef long long* Ints
ctypedef unsigned long long* Keys
ctypedef double* Reals
ctypedef unsigned char* Bytes
ctypedef void* Pointer
ctypedef long long (*Decompress)(
    Pointer, Pointer, size_t, const void*, size_t, const void*
) noexcept nogil

cdef enum:
    CA_DESC = 0
    CA_ASC = 1
    NOM = 2
    EFFECTIF = 3
    RECENT = 4
    CAPITAL = 5
    SCORE = 6
    FACTS = 1
    TURNOVER = 2
    SCOPE = 4
    NAME = 8
    CODES = 16
    GIVEN = 32
    ETAT = 0
    FORME = 1
    VILLE = 2
    CODE_POSTAL = 3
    COMPTES = 4
    ACTIF = 5
    CREATION = 6
    NACE = 7
    TRANCHE = 8
    COLUMNS = 9
    STATES = 4
    BY_CELL = 16
    KINDS = 17
    LISTED = 131072
    SPANS = 0
    BY_TURNOVER = 1
    BY_HEADCOUNT = 2
    SITES_BY_TURNOVER = 3
    SITES_BY_HEADCOUNT = 4
    BY_NAME = 5
    BY_CREATION = 6
    BY_ID = 7
    LIST = 0
    BITS = 1
    GAPS = 2
    HEADED = 4
    COUNTED = 7
    NOTHING = 0
    STORED = 1
    WORDS = 2
    IDENTIFIERS = 3
    PHRASE = 4
    UNKNOWN = 0
    TOGETHER = 1
    ALONE = 2
    TOO_DEAR = -2
    NO_ROOM = -2
    TOO_SMALL = -70
    UNITED = 30
    COMPANIES = 0
    WORD_RANGES = 1
    WORD_TOTAL = 2
    EVERYWHERE = 0
    SECTORS = 1
    CELLS = 2
    HALVES = 32768
    MASKED = 1024
    BLOCK = 256
    SAMPLED = 16
    OWNED = 16
    SUFFIX_BYTES = 24
    FORMER_NAME = 4294967295
    FURTHER = 255
    MOST_ROWS = 268435455
    CHUNK_ROWS = 65536
    FREQUENT_GROUPS = 3
    LIGHTEST = -1000000
    NEAR_SCANNED = 20000
    NEAR_ENDINGS = 4096
    NEAREST_HALF = 1
    WORD_END = 10
    POOLED = 30000
    WIDESPREAD = 256

cdef struct ShardArraysFields:
    Int rows
    Int cell_count
    Int first_part
    Int with_site
    Int known
    Int longest
    Int site_bit
    Int wide
    U2 cell_marks
    U4 cell_stops
    U2 facts
    U4 wide_facts
    U2 turnover_facts
    U4 wide_turnover_facts
    U4 sites_turnover
    Int sites_turnover_count
    U4 sites_headcount
    Int sites_headcount_count
    U1[9] small
    U2[9] half
    U4[9] broad
    Int[9] code_width
    Int[9] code_count
    U4[9] code_ends
    U1[9] code_texts
    Int[9] code_sizes
    U4[9] code_starts
    U4 pair_cells
    U4 pair_codes
    U4 pair_ends
    Int pair_count
    U4 quantiles
    Int quantile_count
    Int assets
    U4[17] run_ends
    U2[17] run_marks
    Int[17] run_count
    U4[7] order
    Int[7] order_size
    U4[7] rank
    U4[7] steps
    Int[7] step_count
    F8 turnover_keys
    F8 capital_keys
    I4 headcount_keys
    I4 date_keys
    I2 score_keys
    U1 words
    Int words_size
    U4 word_starts
    Int word_count
    U4 owners
    U4 suffixes
    Int suffix_count
    U8 suffix_keys
    U4 posting_starts
    U4 postings
    Int posting_count
    U4 tokens
    Int token_count
    U4 token_starts
    U1 ids
    Int ids_size
    Int id_width
    U4 id_starts
    U8 id_keys
    U4 id_rows
    U4 top
    Int top_size
    U4 sets
    Int sets_size
    U8 heavy_keys
    U4 heavy_places
    Int heavy_count
    U8 prefix_keys
    U4 prefix_places
    Int prefix_count
    U8 junction_keys
    U4 junction_places
    Int junction_count
    U1 phrases
    Int phrases_size
    U4 phrase_starts
    U4 phrase_places
    Int phrase_count
    U4 record_starts
    U8 record_chunks
    U8 record_sizes
    Pointer dictionary
    Int first_mark
    Int first_cell
    Int[9] first_code
    Int[17] first_count
ctypedef ShardArraysFields* ShardArrays

cdef struct PartFields:
    Int start
    Int stop
    Int first
    Int end
    Int with_ca
    Int sites
    Int known_stop
    Int listed
    Int top
ctypedef PartFields* Part

cdef struct TableFields:
    ShardArraysFields** shards
    Int shard_count
    PartFields** parts
    Ints sector_parts
    Int sector_count
    Ints cell_parts
    Int cell_count
ctypedef TableFields* Table

cdef struct QuestionFields:
    Int tri
    Int offset
    Int limit
    Int shard_count
    Int scope
    Int scope_count
    Int website
    Int has_turnover
    Int any_turnover
    Real turnover_low
    Real turnover_high
    Int has_headcount
    Int headcount_low
    Int headcount_high
    Int word_count
    Int text_size
    Int single_characters
    Key suffix_low
    Key suffix_high
    Key ending_low
    Key ending_high
    Int prefix_size
    Key prefix_low
    Key prefix_high
    Int columns
    Int states
    Int date_low
    Int date_high
    Int value_count
    Int given
    Int census
    Real budget
    Int head_rows
    Int top_rows
    Int room
    Int spare
    Int shares
    Real span_cost
    Real along_cost
    Real code_cost
    Real listed_cost
    Real start_cost
    Real sparse
    Ints shards
    Ints scope_codes
    Ints word_starts
    Keys junctions
    Ints value_columns
    Ints value_starts
    Ints assets_low
    Ints assets_high
    Ints given_starts
    Ints given_rows
    U1 text
    U1 endings
    U1 prefix
    U1 values
ctypedef QuestionFields* Question

cdef struct SourceFields:
    Int shard
    Int total
    Int need
    Int turnover_first
    Int turnover_end
    Int headcount_first
    Int headcount_end
    Int fact_mask
    Int fact_low
    Int fact_high
    Int part_first
    Int part_count
    Int size
    Int cell_count
    Int with_ca
    Int sites
    Int generator
    Int site_first
    Int site_end
    Real cost
    Int listed
    Int list_first
    Int list_count
    Int name_first
    Int name_count
    Int bits
    Int more_bits
    Int headed
    Int heads
    Int more_heads
    Int phrase_low
    Int phrase_high
    Int phrase_bits
    Int scoped
    Int columns
    Int tables
    Int[9] code_low
    Int[9] code_high
    Int[9] code_table
    Real code_share
    Int activities
    Int given_first
    Int given_count
    Int asked
    Int position
    Real sort_key
    Key name_key
ctypedef SourceFields* Source

cdef struct ScratchFields:
    Real spent
    Words rows
    Int rows_size
    Words marks
    Words cells
    Ints selected
    Ints block
    Bytes mask
    Keys mask_words
    Bytes allowed
    Ints heap
    Ints heads
    Int width
    SourceFields** sources
    Ints found_shard
    Ints found_row
    Ints found_tie
    Int found_size
    Ints result
    Ints counts
    Int used
ctypedef ScratchFields* Scratch

cdef struct PoolFields:
    Int word_count
    Int group_count
    Int allowed
    Real penalty
    Int room
    Ints words
    Ints groups
    Reals weights
    Ints sizes
    Ints chosen
    Ints rows
    Reals scores
    Int count
    Int weighed
ctypedef PoolFields* Pool

cdef struct MarketArraysFields:
    Words rows
    Words bits
    U1 sequence
    Int sequence_size
    Ints cursors
    Ints chosen
    Ints counts
    Reals figures
    Int room
ctypedef MarketArraysFields* MarketArrays
