"""The memory of a build and of an import: the default limits, and the needs of a country.

The figures below are measured peaks of proportional memory (PSS), rounded up: 1 137 MiB for 2.75
million companies in one process, 310 MiB for 305 069. They decide how many countries run at once
and how many companies are rows in memory at a time. A country that does not fit into the limit is
refused by name before it begins.
"""

from typing import Final

from shards import host_memory

MIB: Final = 1 << 20
GIB: Final = 1 << 30
# Bytes of a process before its first row: the interpreter, Polars, NumPy.
PROCESS: Final = 200 << 20
# Bytes per company for the whole country: its columns, keys, orders and words.
COMPANY: Final = 400
# Bytes per company while it is a row of a frame.
ROW: Final = 2_500
MOST_ROWS: Final = 1 << 16
FEWEST_ROWS: Final = 1 << 12
# A process gives 1/_PART of its share of the memory to rows, the rest to the whole country.
_PART: Final = 8
# The default limit, as a share of the memory available when a build begins.
_SHARE: Final = 0.5
# The default limit of one call in a process of its own, likewise, and its least.
_CALL_SHARE: Final = 0.75
_LEAST_CALL: Final = 2 * GIB
_WITHOUT_PROC: Final = 4 * GIB  # taken as available on a system without /proc


def default_limit() -> int:
    """Half of the available memory, in bytes."""
    return int(_SHARE * host_memory.available_bytes(_WITHOUT_PROC))


def call_limit() -> int:
    """Three quarters of the available memory, in bytes; 2 GiB at least."""
    return max(_LEAST_CALL, int(_CALL_SHARE * host_memory.available_bytes(_WITHOUT_PROC)))


def batch_rows(share: int) -> int:
    """The number of companies that are rows at once in a process with `share` bytes."""
    rows = share // _PART // ROW
    return max(FEWEST_ROWS, min(MOST_ROWS, rows))


def needed_bytes(companies: int, batch: int) -> int:
    """Bytes for a country of `companies` companies in a process of its own."""
    return PROCESS + companies * COMPANY + min(companies, batch) * ROW


def format_size(size: int) -> str:
    """An amount of memory as text.

    >>> format_size(1 << 20), format_size(3 << 29)
    ('1 MiB', '1.5 GiB')
    """
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{-(-size // MIB)} MiB"
