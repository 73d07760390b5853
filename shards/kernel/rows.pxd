# The C header of rows.py: its signatures, and what it imports.
from shards.kernel.codes cimport (
    keep_codes,
)
from shards.kernel.find cimport (
    cell_of, damaged,
)
from shards.kernel.types cimport (
    CODES, FACTS, Int, NAME, SCOPE, Scratch, ShardArrays, Half, HALVES, Source, TURNOVER, U4,
)

cdef Int count_facts(ShardArrays shard, Source source, Int sorted_, Int first, Int end) noexcept nogil
cdef Int list_facts(
    ShardArrays shard, Source source, Scratch scratch, Int sorted_, Int first, Int end
) noexcept nogil
cdef Int take(ShardArrays shard, Scratch scratch, U4 numbers, Int first, Int count) except? -1 nogil
cdef Int replace(ShardArrays shard, Scratch scratch, U4 numbers, Int size, Int count) except? -1 nogil
cdef Int keep(ShardArrays shard, Source source, Scratch scratch, Int need, Int count) except? -1 nogil
cdef Int emit(Scratch scratch, Int count, Int room) noexcept nogil
