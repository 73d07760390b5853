# The C header of head.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    ascending_place, damaged, lower,
)
from shards.kernel.generate cimport (
    choose, generate, span_bound,
)
from shards.kernel.rows cimport (
    keep, list_facts, replace, take,
)
from shards.kernel.types cimport (
    ALONE, BLOCK, CA_ASC, CA_DESC, CODES, CREATION, EFFECTIF, FACTS, GIVEN, Int, Ints, NAME, Part,
    Question, RECENT, Real, SCOPE,
    Scratch, ShardArrays, Source, TOO_DEAR, TURNOVER, Table, U4,
)

cdef Int sink(Ints heap, Int place, Int size) noexcept nogil
cdef Int push(Ints heap, Int size, Int most, Int value) noexcept nogil
cdef Int push_row(ShardArrays shard, Int tri, Ints heap, Int size, Int most, Int row) except? -1 nogil
cdef Int push_rows(
    ShardArrays shard, Int tri, Ints heap, Int size, Int most, U4 numbers, Int first, Int end
) except? -1 nogil
cdef Int drain(Scratch scratch, Int size, Int start, Int most) noexcept nogil
cdef Int copy(
    ShardArrays shard, Scratch scratch, U4 numbers, Int size, Int first, Int count, Int start
) except? -1 nogil
cdef Int copy_sites(
    ShardArrays shard, Scratch scratch, U4 places, Int size, Int tri, Int first, Int count, Int start
) except? -1 nogil
cdef Int stored_heads(
    ShardArrays shard, Question question, Source source, Scratch scratch, Int count, Int start
) except? -1 nogil
cdef Int listed_parts(
    Table table, Question question, Source source, Scratch scratch, Int count, Int start
) except? -1 nogil
cdef Int cell_fronts(
    Table table, Question question, Source source, Scratch scratch, Int count, Int start
) except? -1 nogil
cdef Int read(
    Table table, Question question, Source source, Scratch scratch, Int count, Int start
) except? -1 nogil
cdef Int walk(
    ShardArrays shard, Source source, Scratch scratch, Int tri, Int first, Int end, Int count, Int start
) except? -1 nogil
cdef Int head(
    Table table, Question question, Source source, Scratch scratch, Int count, Int start
) except? -1 nogil
