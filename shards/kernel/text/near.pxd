# The C header of near.py: its signatures, and what it imports.
from shards.kernel.find cimport (
    damaged, first_suffix, last_suffix, owner_of,
)
from shards.kernel.text.candidates cimport suffix_key
from shards.kernel.types cimport (
    Address, Int, Ints, Key, NEAREST_HALF, NEAR_ENDINGS, Question, SUFFIX_BYTES, Scratch,
    ShardArrays, Table, WORD_END,
)

cdef Int letter_size(Int first) noexcept nogil
cdef Int letter(ShardArrays shard, Int word, Int at) except? -1 nogil
cdef Int letter_place(ShardArrays shard, Int low, Int high, Int at, Int least) except? -1 nogil
cdef Int fill_row(
    Scratch scratch, Int size, Int half, Int most, Int depth, Int code, Int before
) noexcept nogil
cdef Int walk(
    ShardArrays shard, Scratch scratch, Int number, Int size, Int half, Int most, Int low,
    Int high, Int depth, Int at, Int before, Int left
) except? -1 nogil
cdef Int descend(
    ShardArrays shard, Scratch scratch, Int number, Int size, Int half, Int most, Int low,
    Int high, Int depth, Int at, Int before, Int code
) except? -1 nogil
cdef Int add(Scratch scratch, Int number, Int word, Int distance) noexcept nogil
cdef Int distance_of(
    ShardArrays shard, Scratch scratch, Int word, Int size, Int most
) except? -1 nogil
cdef Int letters_before(ShardArrays shard, Int place, Int most) noexcept nogil
cdef Int add_endings(
    ShardArrays shard, Scratch scratch, Int number, Int size, Int half, Int most, Int first,
    Int end
) except? -1 nogil
cdef Int near_in_shard(
    ShardArrays shard, Question question, Scratch scratch, Int number, Int size, Int most
) except? -1 nogil
cdef Int near_words(Table table, Question question, Scratch scratch, Int most) except? -1 nogil
