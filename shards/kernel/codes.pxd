# The C header of codes.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    cell_of, compare, date_place, lower,
)
from shards.kernel.types cimport (
    ACTIF, COLUMNS, COMPTES, CREATION, ETAT, FACTS, Half, Int, Key, NACE, Question, Real, SCOPE, STATES,
    Scratch, ShardArrays, Small, Source, Table, U1, U4, Wide,
)

cdef Int text_place(
    U1 data, Int size, U4 starts, Int count, U1 text, Int start, Int length, Int after
) noexcept nogil
cdef Int allow(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int first, Int end
) noexcept nogil
cdef Int clear_codes(ShardArrays shard, Source source, Scratch scratch) noexcept nogil
cdef Int allowed_rows(ShardArrays shard, Source source, Scratch scratch, Int column) noexcept nogil
cdef Int set_codes(
    ShardArrays shard, Question question, Source source, Scratch scratch
) except? -1 nogil
cdef Int find_value(
    ShardArrays shard, Question question, Int value, Int column, Int after
) noexcept nogil
cdef Int narrow_scope(
    Table table, ShardArrays shard, Question question, Source source, Scratch scratch
) noexcept nogil
cdef Int rows_within(ShardArrays shard, Scratch scratch, Int cell) noexcept nogil
cdef Int enter_cell(ShardArrays shard, Source source, Scratch scratch, Int cell) noexcept nogil
cdef Int mask_rows(
    ShardArrays shard, Source source, Scratch scratch, Int left, Int first, Int end
) noexcept nogil
cdef Int count_mask(Scratch scratch, Int count) noexcept nogil
cdef Int mask_facts(
    ShardArrays shard, Source source, Scratch scratch, Int first, Int count
) noexcept nogil
cdef Int mask_small(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int first, Int count
) noexcept nogil
cdef Int mask_half(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int first, Int count
) noexcept nogil
cdef Int mask_wide(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int first, Int count
) noexcept nogil
cdef Int mask_states(
    ShardArrays shard, Source source, Scratch scratch, Int first, Int count
) noexcept nogil
cdef Int mask_table(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int first, Int count
) noexcept nogil
cdef Int list_mask(Scratch scratch, Int first, Int count) noexcept nogil
cdef Int code_at(ShardArrays shard, Int column, Int row) noexcept nogil
cdef Int passes(
    ShardArrays shard, Source source, Scratch scratch, Int column, Int row
) noexcept nogil
cdef Int keep_codes(
    ShardArrays shard, Source source, Scratch scratch, Int count
) noexcept nogil
