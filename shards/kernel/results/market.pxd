# The C header of market.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    damaged,
)
from shards.kernel.types cimport (
    Address, COLUMNS, F8, Int, Ints, MarketArrays, Real, Reals, ShardArrays, Table, U4, Wide,
)

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void*) noexcept nogil

cdef Int mark_rows(ShardArrays shard, MarketArrays market, Int first, Int count) except? -1 nogil
cdef Int count_marked(
    ShardArrays shard, MarketArrays market, U4 order, Int first, Int end
) except? -1 nogil
cdef Int count_bands(ShardArrays shard, MarketArrays market, Int kind, Int marked) except? -1 nogil
cdef Int count_codes(ShardArrays shard, MarketArrays market, Int kind) except? -1 nogil
cdef Int write_turnovers(Table table, MarketArrays market) except? -1 nogil
cdef Int write_step(ShardArrays shard, MarketArrays market, Int step, Int used) except? -1 nogil
cdef Int gather_known(
    F8 source, Int size, Ints numbers, Int count, Reals target
) except? -1 nogil
