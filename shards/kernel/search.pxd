# The C header of search.py: its signatures, and what it imports.
from shards.kernel.codes cimport (
    clear_codes,
)
from shards.kernel.conditions cimport (
    count_matches, reset, set_cells, take_census,
)
from shards.kernel.head cimport (
    head,
)
from shards.kernel.merge cimport (
    merge,
)
from shards.kernel.row_sets cimport (
    clear_marks,
)
from shards.kernel.types cimport (
    Address, Int, LISTED, Question, Scratch, Source, TOO_DEAR, Table,
)

cdef Int search(Table table, Question question, Scratch scratch) except? -1 nogil
cdef Int copy_head(Source source, Scratch scratch, Int count) noexcept nogil
cdef Int clear(Table table, Scratch scratch, Source source) noexcept nogil
