# The C header of conditions.py: its signatures, and what it imports.
from shards.kernel.codes cimport (
    allowed_rows, code_at, narrow_scope, set_codes,
)
from shards.kernel.find cimport (
    cell_of, damaged, key_step, lower, turnover_place,
)
from shards.kernel.generate cimport (
    choose, generate,
)
from shards.kernel.text.names cimport (
    find_named,
)
from shards.kernel.rows cimport (
    take,
)
from shards.kernel.types cimport (
    ACTIF, BLOCK, BY_CELL, BY_TURNOVER, CELLS, CODES, COLUMNS,
    EFFECTIF, ETAT, EVERYWHERE, FACTS, GIVEN, Int, KINDS, LISTED, NACE, NAME, Question, SCOPE, SPANS, STATES, Scratch, ShardArrays, Source,
    TOO_DEAR, TURNOVER, Table, U4,
)

cdef Int reset(Source source, Int shard) noexcept nogil
cdef Int set_cells(Table table, Source source, Scratch scratch, Int value) noexcept nogil
cdef Int set_scope(
    Table table, Question question, Source source, Scratch scratch, Int part_first
) noexcept nogil
cdef Int set_bounds(ShardArrays shard, Question question, Source source) except? -1 nogil
cdef Int count_within(U4 places, Int size, Int first, Int end) noexcept nogil
cdef Int coded_total(ShardArrays shard, Source source, Scratch scratch) noexcept nogil
cdef Int known_total(
    ShardArrays shard, Question question, Source source, Scratch scratch
) noexcept nogil
cdef Int take_given(Question question, Source source, Scratch scratch) except? -1 nogil
cdef Int count_matches(
    Table table, Question question, Source source, Scratch scratch, Int part_first, Int count
) except? -1 nogil
cdef Int take_census(
    Table table, Question question, Source source, Scratch scratch
) except? -1 nogil
cdef Int count_runs(
    ShardArrays shard, Scratch scratch, Int kind, Int first, Int end
) noexcept nogil
cdef Int count_parts(Table table, Source source, Scratch scratch, Int kind) except? -1 nogil
cdef Int count_listed(
    ShardArrays shard, Source source, Scratch scratch, Int kind
) except? -1 nogil
cdef Int count_block(ShardArrays shard, Scratch scratch, Int kind, Int count) except? -1 nogil
cdef Int count_by_place(
    ShardArrays shard, Scratch scratch, Int kind, Int count
) except? -1 nogil
cdef Int count_by_cell(
    ShardArrays shard, Scratch scratch, Int kind, Int count
) except? -1 nogil
