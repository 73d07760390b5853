# The C header of phrases.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    compare, damaged, first_suffix, first_word, last_suffix, lower, owner_of,
)
from shards.kernel.row_sets cimport (
    add, has_bit, is_listed, kind_of, set_at, set_of, rows_of, size_of,
)
from shards.kernel.types cimport (
    BITS, FORMER_NAME, FURTHER, GAPS, Int, Key, Question, SUFFIX_BYTES, Scratch, ShardArrays, Source, U4,
)

cdef Int find_phrase(ShardArrays shard, Question question) except? -1 nogil
cdef Int phrase_set(ShardArrays shard, Question question) except? -1 nogil
cdef Int junction_set(ShardArrays shard, Question question, Int i) except? -1 nogil
cdef Int add_phrase(ShardArrays shard, Question question, Source source, Scratch scratch) except? -1 nogil
cdef Int phrase_cost(ShardArrays shard, Question question) except? -1 nogil
cdef Int ending_suffix(ShardArrays shard, Question question, Int first, Int after) noexcept nogil
cdef Int exact_word(ShardArrays shard, Question question, Int index) noexcept nogil
cdef Int add_holding(
    ShardArrays shard, Question question, Source source, Scratch scratch, Int word, Int word_end
) except? -1 nogil
cdef Int add_pair(
    ShardArrays shard, Question question, Source source, Scratch scratch, Int pair
) except? -1 nogil
cdef Int add_if_holding(
    ShardArrays shard, Question question, Source source, Scratch scratch, Int row
) except? -1 nogil
cdef Int ends_with(ShardArrays shard, Int word, Question question) except? -1 nogil
