# The C header of row_sets.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    compare, damaged, owner_of,
)
from shards.kernel.types cimport (
    BITS, COUNTED, FURTHER, GAPS, HEADED, Int, Question, SUFFIX_BYTES, Scratch, Shard, Source, U1,
    U4,
)

cdef Int kind_of(Shard shard, Int position) noexcept nogil
cdef Int size_of(Shard shard, Int position) noexcept nogil
cdef Int heads_of(Shard shard, Int position) noexcept nogil
cdef Int rows_of(Shard shard, Int position, Int head_rows) noexcept nogil
cdef Int has_bit(U4 sets, Int position, Int row) noexcept nogil
cdef Int is_listed(Shard shard, Scratch scratch, Int row) noexcept nogil
cdef Int add(Shard shard, Source source, Scratch scratch, Int row) except? -1 nogil
cdef Int add_rows(
    Shard shard, Source source, Scratch scratch, U4 rows, Int first, Int end
) except? -1 nogil
cdef Int add_gaps(Shard shard, Source source, Scratch scratch, Int first, Int size) except? -1 nogil
cdef Int add_set(
    Shard shard, Source source, Scratch scratch, Int position, Int head_rows
) except? -1 nogil
cdef Int add_postings(Shard shard, Source source, Scratch scratch, Int word) except? -1 nogil
cdef Int add_words(
    Shard shard, Source source, Scratch scratch, Int first, Int end, Question question
) except? -1 nogil
cdef Int clear_marks(Shard shard, Source source, Scratch scratch) noexcept nogil
cdef Int popcount(Int word) noexcept nogil
cdef Int count_common(Shard shard, Int one, Int other) noexcept nogil
cdef Int count_bits(Shard shard, Source source, Int first, Int end) noexcept nogil
