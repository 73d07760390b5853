# The C header of suggest.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    damaged, first_word, step_at,
)
from shards.kernel.merge cimport (
    name_end,
)
from shards.kernel.text.phrases cimport (
    exact_word,
)
from shards.kernel.types cimport (
    Address, COMPANIES, FORMER_NAME, I2, Int, Ints, NOM, Question, SCORE, Scratch, ShardArrays,
    Table, U4, WORD_RANGES,
)

cdef Int compare_name(ShardArrays shard, Int row, Question question) noexcept nogil
cdef Int name_place(ShardArrays shard, Question question, Int after) noexcept nogil
cdef Int holds(ShardArrays shard, Question question, Scratch scratch, Int row) except? -1 nogil
cdef Int better(Scratch scratch, Int at, Int key, Int shard, Int place) noexcept nogil
cdef Int insert(
    Table table, Scratch scratch, Int first, Int found, Int count, Int number, Int row
) except? -1 nogil
cdef Int score_end(ShardArrays shard, Scratch scratch, Int found, Int count) noexcept nogil
cdef Int add_best(
    Table table, Question question, Scratch scratch, Int number, Int first, Int found, Int count,
    Int others
) except? -1 nogil
cdef Int find_words(ShardArrays shard, Question question, Scratch scratch) noexcept nogil
cdef Int companies(Table table, Question question, Scratch scratch) except? -1 nogil
cdef Int word_ranges(Table table, Question question, Scratch scratch) noexcept nogil
cdef Int word_total(Table table, Question question) noexcept nogil
