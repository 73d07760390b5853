# The C header of find.py: its signatures, and what it imports.
from libc.math cimport INFINITY
from shards.kernel.types cimport (
    CAPITAL, CA_ASC, EFFECTIF, F8, I2, I4, Int, Key, NOM, OWNED, RECENT, Real, SAMPLED, SCORE,
    ShardArrays, U1, U4, U8,
)

cdef Int damaged() except? -1 nogil
cdef Int lower(U4 numbers, Int first, Int end, Int least) noexcept nogil
cdef Int lower_key(U8 keys, Int end, Key least) noexcept nogil
cdef Int turnover_place(ShardArrays shard, Real key, Int after) except? -1 nogil
cdef Int key_step(I4 keys, Int end, Int key, Int after) noexcept nogil
cdef Int date_place(ShardArrays shard, Int key, Int after) except? -1 nogil
cdef Int cell_of(ShardArrays shard, Int row) noexcept nogil
cdef Int step_at(ShardArrays shard, Int tri, Int place) except? -1 nogil
cdef Int ascending_place(ShardArrays shard, Int place) except? -1 nogil
cdef Real sort_key(ShardArrays shard, Int tri, Int row) except? -1 nogil
cdef Int compare(U1 data, Int size, Int place, U1 text, Int start, Int length) noexcept nogil
cdef Int suffix_place(ShardArrays shard, Int index) noexcept nogil
cdef Int id_place(ShardArrays shard, Int index) noexcept nogil
cdef Int first_suffix(ShardArrays shard, Key low, U1 text, Int start, Int length) noexcept nogil
cdef Int last_suffix(
    ShardArrays shard, Int first, Key high, U1 text, Int start, Int length
) noexcept nogil
cdef Int first_id(ShardArrays shard, Key low, U1 text, Int length) noexcept nogil
cdef Int last_id(ShardArrays shard, Int first, Key high, U1 text, Int length) noexcept nogil
cdef Int first_word(ShardArrays shard, U1 text, Int start, Int length, Int after) noexcept nogil
cdef Int owner_of(ShardArrays shard, Int place) except? -1 nogil
