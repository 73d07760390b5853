"""The records of a page as JSON: decompressed, contact fields set to null, joined by commas.

Only the compiled module decompresses, with functions of libzstd that are passed by address. Without that library,
and in interpreted tests, `Shard.records` decompresses the records one by one.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged
    from shards.kernel.types import *


def record_address(shard: ShardArrays, row: i64, start: i64) -> u8s:
    """The address of the compressed record of a row, which begins at `start` in its chunk."""
    chunk: i64 = row // CHUNK_ROWS
    frame: u8s = cython.cast(u8s, shard.record_chunks[chunk]) + start
    return frame


def record_length(shard: ShardArrays, row: i64, start: i64) -> i64:
    """The bytes of the compressed record that begins at `start`; raises if the record ends outside its chunk."""
    chunk: i64 = row // CHUNK_ROWS
    size: i64 = shard.record_sizes[chunk]
    end: i64 = size
    if row + 1 < shard.rows and (row + 1) % CHUNK_ROWS:
        end = shard.record_starts[row + 1]
    if start >= end or end > size:
        raise_damaged()
    return end - start


def join_rows(
    table: Table,
    places: Ints,
    count: i64,
    nulls: u8s,
    null_size: i64,
    decompress: Decompress,
    context: Pointer,
    work: Bytes,
    work_size: i64,
    out: Bytes,
    out_size: i64,
) -> i64:
    """Write the records of `count` pairs of shard and row to `out`; returns the number of bytes, or NO_ROOM.

    If `nulls` is not empty, `nulls` replaces the contacts of every record. Each record is copied before decompression,
    because libzstd reads some bytes twice, and the mapped file may change. The copy is at the place of `out` where the
    decompressed text will be written.
    """
    written: i64 = 0
    start: i64
    length: i64
    row: i64
    shard: ShardArrays
    for i in range(count):
        shard = table.shards[places[2 * i]]
        row = places[2 * i + 1]
        if row >= shard.rows:
            raise_damaged()
        start = shard.record_starts[row]
        length = record_length(shard, row, start)
        if written + length > out_size:
            return NO_ROOM
        memcpy(out + written, record_address(shard, row, start), length)
        size: i64 = decompress(context, work, work_size, out + written, length, shard.dictionary)
        # A negative number is an error of libzstd; `work` has room for the largest record.
        if size < 0:
            raise_damaged()
        if written + size + null_size > out_size:
            return NO_ROOM
        written += write_record(work, size, nulls, null_size, out, written)
    return written


def write_record(work: Bytes, size: i64, nulls: u8s, null_size: i64, out: Bytes, used: i64) -> i64:
    """Write one record (FORMAT.md §6) from `work` to out[used:], and a comma before it if it is not the first.

    Returns the number of written bytes.
    """
    # `work` begins with the sizes of the head and of the contacts, 4 bytes each.
    head_size: i64 = length_field(work)
    contact_size: i64 = length_field(work + 4)
    start: i64 = used
    if 8 + head_size + contact_size > size:
        raise_damaged()
    if used:
        out[used] = 44  # the comma
        used += 1
    if null_size == 0:
        memcpy(out + used, work + 8, size - 8)
        return used + size - 8 - start
    memcpy(out + used, work + 8, head_size)
    used += head_size
    memcpy(out + used, nulls, null_size)
    used += null_size
    memcpy(out + used, work + 8 + head_size + contact_size, size - 8 - head_size - contact_size)
    return used + size - 8 - head_size - contact_size - start


def length_field(field: Bytes) -> i64:
    """The length in four little-endian bytes; never negative."""
    low_bits: i64 = field[0] | field[1] << 8 | field[2] << 16
    high_byte: i64 = field[3]  # 64 bits: C would shift the byte as an int, whose bit 31 is the sign
    return low_bits | high_byte << 24


def run(
    table: Address,
    places: bytes,
    nulls: bytes,
    decompress: Address,
    context: Address,
    work: Address,
    work_size: int,
    out: Address,
    out_size: int,
) -> int:
    """`join_rows` for Python: functions and memory are given by address; releases Python's lock.

    Returns the number of bytes of the joined records in `out`; NO_ROOM if `out` is too short for them.

    Args:
        table: the address of the record of the generation, with the arrays of all shards (`GenerationArrays.address`).
        places: pairs of a shard number and a row, two numbers of 8 bytes.
        nulls: replaces the contacts of each record; empty to keep the contacts.
        decompress, context: a function of libzstd, and its state.
        work: memory for one decompressed record, of `work_size` bytes.
        out: memory for the joined records, of `out_size` bytes.

    Raises:
        CorruptError: a record is damaged.
    """
    written: i64 = 0
    size: i64 = len(nulls)
    number: i64 = len(places) // 16
    pairs: u8s = places
    room: i64 = work_size
    out_room: i64 = out_size
    text: u8s = nulls
    generation: Table = cython.cast(Table, table)
    rows: Ints = cython.cast(Ints, pairs)
    function: Decompress = cython.cast(Decompress, decompress)
    state: Pointer = cython.cast(Pointer, context)
    scratch: Bytes = cython.cast(Bytes, work)
    target: Bytes = cython.cast(Bytes, out)
    with cython.nogil:
        written = join_rows(
            generation, rows, number, text, size, function, state, scratch, room, target, out_room
        )
    return written  # noqa: RET504 (with the lock, into a Python number)
