"""The numbers of the kernel: codes of its records, and limits; `headers.py` makes a C `enum` of them."""

from typing import Final

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
REMEMBERED: Final = (
    512  # words of which it is known whether they end with the first word of `q`; a power of 2
)
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
