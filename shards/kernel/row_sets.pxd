# The C header of row_sets.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    compare, damaged, lower_key, owner_of,
)
from shards.kernel.types cimport (
    BITS, COUNTED, FURTHER, GAPS, HEADED, Int, Key, LIST, Question, SUFFIX_BYTES, Scratch, ShardArrays,
    Source, U1, U4, U8,
)

cdef Int kind_of(Int found) noexcept nogil
cdef Int size_of(Int found) noexcept nogil
cdef Int heads_of(Int found) noexcept nogil
cdef Int rows_of(Int found, Int head_rows) noexcept nogil
cdef Int set_of(
    ShardArrays shard, U8 keys, U4 places, Int count, Key key, Int head_rows
) except? -1 nogil
cdef Int set_at(ShardArrays shard, Int place, Int head_rows) except? -1 nogil
cdef Int has_bit(U4 sets, Int position, Int row) noexcept nogil
cdef Int is_listed(ShardArrays shard, Scratch scratch, Int row) noexcept nogil
cdef Int add(ShardArrays shard, Source source, Scratch scratch, Int row) except? -1 nogil
cdef Int add_rows(
    ShardArrays shard, Source source, Scratch scratch, U4 rows, Int first, Int end
) except? -1 nogil
cdef Int add_gaps(ShardArrays shard, Source source, Scratch scratch, Int first, Int size) except? -1 nogil
cdef Int add_set(
    ShardArrays shard, Source source, Scratch scratch, Int found, Int head_rows
) except? -1 nogil
cdef Int add_postings(ShardArrays shard, Source source, Scratch scratch, Int word) except? -1 nogil
cdef Int add_words(
    ShardArrays shard, Source source, Scratch scratch, Int first, Int end, Question question
) except? -1 nogil
cdef Int clear_marks(ShardArrays shard, Source source, Scratch scratch) noexcept nogil
cdef Int popcount(Int word) noexcept nogil
cdef Int count_common(ShardArrays shard, Int one, Int other) noexcept nogil
cdef Int count_bits(ShardArrays shard, Source source, Int first, Int end) noexcept nogil
