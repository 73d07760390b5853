# The C header of candidates.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    compare, damaged, first_suffix, first_word, last_suffix, lower, owner_of,
)
from shards.kernel.types cimport (
    Address, FORMER_NAME, FREQUENT_GROUPS, Int, Ints, Key, LIGHTEST, NEAR_SCANNED, POOLED, Pool, Real, ShardArrays,
    Table, U1, U4, WIDESPREAD,
)

cdef Int word_of(ShardArrays shard, U1 text, Int start, Int length) noexcept nogil
cdef Int is_near(
    U1 data, Int place, Int size, U1 text, Int start, Int length, Int unit
) noexcept nogil
cdef Int add_near(
    ShardArrays shard, Int word, U1 text, Int start, Int length, Int unit, Pool pool
) except? -1 nogil
cdef Key suffix_key(U1 text, Int start, Int length) noexcept nogil
cdef Int near_words(
    ShardArrays shard, U1 text, Int start, Int length, Int unit, Pool pool
) except? -1 nogil
cdef Int postings_of(ShardArrays shard, Int word) except? -1 nogil
cdef Int postings_end(ShardArrays shard, Int word, Int first) except? -1 nogil
cdef Int place_of(Pool pool, Int word) noexcept nogil
cdef Real penalty_of(ShardArrays shard, Pool pool, Int word) except? -1 nogil
cdef Real weigh_name(ShardArrays shard, Pool pool, Int first, Int end, Real least) except? -1 nogil
cdef Int consider(ShardArrays shard, Pool pool, Int row) except? -1 nogil
cdef Int consider_all(ShardArrays shard, Pool pool, Int word) except? -1 nogil
cdef Int place_after(U4 numbers, Int first, Int end, Int least) noexcept nogil
cdef Int consider_both(ShardArrays shard, Pool pool, Int one, Int other) except? -1 nogil
cdef Int group_size(ShardArrays shard, Pool pool, Int group) except? -1 nogil
cdef Int gather_rows(ShardArrays shard, Pool pool) except? -1 nogil
