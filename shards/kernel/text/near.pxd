# The C header of near.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    damaged,
)
from shards.kernel.types cimport (
    Address, Int, Ints, Question, Scratch, ShardArrays, Table,
)

cdef Int letter_size(Int first) noexcept nogil
cdef Int letter(ShardArrays shard, Int word, Int at) except? -1 nogil
cdef Int letter_place(ShardArrays shard, Int low, Int high, Int at, Int least) except? -1 nogil
cdef Int fill_row(Scratch scratch, Int size, Int depth, Int code, Int before) noexcept nogil
cdef Int walk(
    ShardArrays shard, Scratch scratch, Int number, Int size, Int most, Int low, Int high,
    Int depth, Int at, Int before, Int least
) except? -1 nogil
cdef Int descend(
    ShardArrays shard, Scratch scratch, Int number, Int size, Int most, Int low, Int high,
    Int depth, Int at, Int before, Int code
) except? -1 nogil
cdef Int near_words(Table table, Question question, Scratch scratch, Int most) except? -1 nogil
