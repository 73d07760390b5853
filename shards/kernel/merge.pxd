# The C header of merge.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    damaged, sort_key,
)
from shards.kernel.head cimport (
    head,
)
from shards.kernel.types cimport (
    FORMER_NAME, Int, Key, NOM, Question, Scratch, ShardArrays, Source, TOO_DEAR, Table,
)

cdef Int name_end(ShardArrays shard, Int row, Int token) noexcept nogil
cdef Key name_key(ShardArrays shard, Int row) noexcept nogil
cdef Int compare_names(ShardArrays one, Int row, ShardArrays other, Int other_row) noexcept nogil
cdef Int set_key(
    Table table, Question question, Source source, Scratch scratch, Int start
) except? -1 nogil
cdef Int comes_before(
    Table table, Question question, Scratch scratch, Int one, Int other
) noexcept nogil
cdef Int advance(
    Table table, Question question, Scratch scratch, Int number, Int count
) except? -1 nogil
cdef Int merge(
    Table table, Question question, Scratch scratch, Int source_count, Int total, Int count
) except? -1 nogil
