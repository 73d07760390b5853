# The C header of generate.py: its signatures, and what it imports.
from shards.kernel.codes cimport (
    enter_cell, list_mask, mask_rows,
)
from shards.kernel.find cimport (
    damaged, lower,
)
from shards.kernel.row_sets cimport (
    count_bits,
)
from shards.kernel.rows cimport (
    count_facts, emit, keep, list_facts, replace, take,
)
from shards.kernel.types cimport (
    BLOCK, BY_CREATION, BY_HEADCOUNT, BY_ID, BY_NAME, BY_TURNOVER, CODES, COLUMNS, CREATION,
    EFFECTIF, FACTS, GIVEN, Int, MASKED, NACE, NAME, Question, RECENT, Real, SCOPE,
    SITES_BY_HEADCOUNT, SITES_BY_TURNOVER, SPANS, Scratch, ShardArrays, Source, TURNOVER, Table, U4,
)

cdef Int choose(Table table, Question question, Source source) noexcept nogil
cdef Real choose_sites(
    Question question, Source source, Int generator, Real best, U4 places, Int size, Int first, Int end
) noexcept nogil
cdef Int generate(
    Table table, Question question, Source source, Scratch scratch, Int room
) except? -1 nogil
cdef Int span_bound(ShardArrays shard, Int first, Int end, Int place) noexcept nogil
cdef Int spans(Table table, Source source, Scratch scratch, Int room) except? -1 nogil
cdef Int span(
    ShardArrays shard, Source source, Scratch scratch, Int left, Int first, Int stop, Int room
) except? -1 nogil
cdef Int coded_span(
    ShardArrays shard, Source source, Scratch scratch, Int left, Int first, Int stop, Int room
) except? -1 nogil
cdef Int along_turnover(ShardArrays shard, Source source, Scratch scratch, Int room) except? -1 nogil
cdef Int along(
    ShardArrays shard, Source source, Scratch scratch, Int room, Int left, U4 numbers, Int size, Int first, Int end
) except? -1 nogil
cdef Int along_sites(
    ShardArrays shard, Source source, Scratch scratch, Int room, Int left, U4 order, Int size, U4 places
) except? -1 nogil
