"""Records of a page: decompressed where they lie, contacts nulled, joined by commas: ready to send.

Only the compiled module decompresses: by libzstd, whose functions come as addresses. Where that library is missing,
and in interpreted tests, `Shard.records` does the same one by one.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from shards.kernel.find import raise_damaged
    from shards.kernel.types import *


def first_byte(shard: ShardArrays, row: i64, start: i64) -> u8s:
    """The record of a row that begins at `start` in its chunk; it has `length_of` bytes."""
    chunk: i64 = row // CHUNK_ROWS
    frame: u8s = cython.cast(u8s, shard.record_chunks[chunk]) + start
    return frame


def length_of(shard: ShardArrays, row: i64, start: i64) -> i64:
    """The number of bytes of a record that begins at `start`; none of them is outside the chunk."""
    chunk: i64 = row // CHUNK_ROWS
    size: i64 = shard.record_sizes[chunk]
    end: i64 = size
    if row + 1 < shard.rows and (row + 1) % CHUNK_ROWS:
        end = shard.record_starts[row + 1]
    if start >= end or end > size:
        raise_damaged()
    return end - start


def join(
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
    """Write the records of `count` pairs of shard and row to `out`; returns how many bytes, or NO_ROOM.

    With `nulls` they stand for the contacts of every record. A record is copied to where its text will be, then
    decompressed: libzstd reads some bytes twice, so they must not change.
    """
    used: i64 = 0
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
        length = length_of(shard, row, start)
        if used + length > out_size:
            return NO_ROOM
        memcpy(out + used, first_byte(shard, row, start), length)
        made: i64 = decompress(context, work, work_size, out + used, length, shard.dictionary)
        if (
            made < 0
        ):  # an error of libzstd, a negative number as it is; `work` has room for the largest record
            raise_damaged()
        if used + made + null_size > out_size:
            return NO_ROOM
        used += piece(work, made, nulls, null_size, out, used)
    return used


def piece(work: Bytes, made: i64, nulls: u8s, null_size: i64, out: Bytes, used: i64) -> i64:
    """Write one record (FORMAT.md §6) and the comma before it; returns how many bytes."""
    head: i64 = length_field(work)
    contacts: i64 = length_field(work + 4)
    first: i64 = used
    if 8 + head + contacts > made:
        raise_damaged()
    if used:
        out[used] = 44
        used += 1
    if null_size == 0:
        memcpy(out + used, work + 8, made - 8)
        return used + made - 8 - first
    memcpy(out + used, work + 8, head)
    used += head
    memcpy(out + used, nulls, null_size)
    used += null_size
    memcpy(out + used, work + 8 + head + contacts, made - 8 - head - contacts)
    return used + made - 8 - head - contacts - first


def length_field(at: Bytes) -> i64:
    """The length that four bytes hold, the lowest first; never negative, whatever they are."""
    low: i64 = at[0] | at[1] << 8 | at[2] << 16
    high: i64 = at[3]  # as 64 bits: C shifts a byte as an int, of which bit 31 is the sign
    return low | high << 24


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
    """`join` for Python: functions and memory by address; frees Python's lock.

    `places` are pairs of a shard and a row, two numbers of 8 bytes.

    Raises:
        CorruptError: a record is damaged.
    """
    made: i64 = 0
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
        made = join(
            generation, rows, number, text, size, function, state, scratch, room, target, out_room
        )
    return made  # noqa: RET504 (with the lock, into a Python number)
