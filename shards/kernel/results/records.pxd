# The C header of records.py: its signatures, and what it imports.
from libc.string cimport memcpy
from shards.kernel.find cimport (
    damaged,
)
from shards.kernel.types cimport (
    Address, Bytes, CHUNK_ROWS, Decompress, Int, Ints, NO_ROOM, Pointer, ShardArrays, TOO_SMALL,
    Table, U1,
)

cdef U1 first_byte(ShardArrays shard, Int row, Int start) noexcept nogil
cdef Int length_of(ShardArrays shard, Int row, Int start) except? -1 nogil
cdef Int join(
    Table table, Ints places, Int count, U1 nulls, Int null_size, Decompress decompress,
    Pointer context, Bytes work, Int work_size, Bytes out, Int out_size
) except? -1 nogil
cdef Int piece(Bytes work, Int made, U1 nulls, Int null_size, Bytes out, Int used) except? -1 nogil
cdef Int length_field(Bytes at) noexcept nogil
