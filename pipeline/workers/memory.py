"""How much memory a build may take, and what follows from it.

The figures below were measured, as the peak of proportional memory (PSS), and rounded up: 2.75
million companies 1 137 MiB in one process, 305 069 of them 310 MiB. They decide how many countries
run side by side and how many companies are held as rows at a time; a country that cannot be built
within the limit is refused before it begins, by name.
"""

import re
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
GIB: Final = 1 << 30
# What a process takes before its first row: the interpreter, Polars, NumPy.
PROCESS: Final = 200 << 20
# Bytes a company that last as long as its country: its columns, keys, orders and words.
COMPANY: Final = 400
# Bytes a company while it is a row of a frame: read, cleaned, finished, sorted, rendered.
ROW: Final = 2_500
MOST_ROWS: Final = 1 << 16
FEWEST_ROWS: Final = 1 << 12
# Of its share of the memory a process gives this part to rows, the rest lasts for the country.
_PART: Final = 8
# Of the memory that is available when a build begins it takes this share, unless told otherwise.
_SHARE: Final = 0.5
_MACHINE: Final = Path("/proc/meminfo")
_CONTAINER: Final = Path("/sys/fs/cgroup/memory.max")  # "max", or bytes
_WITHOUT_PROC: Final = 4 * GIB  # what is taken for available where nobody says


def default_limit() -> int:
    """Half of what is available, in bytes."""
    machine = re.search(r"MemAvailable:\s+(\d+) kB", _read(_MACHINE))
    container = re.match(r"\d+", _read(_CONTAINER))
    available = int(machine[1]) << 10 if machine else _WITHOUT_PROC
    return int(_SHARE * min(available, int(container[0]) if container else available))


def batch_rows(share: int) -> int:
    """How many companies a process holds as rows whose share of the memory is so many bytes."""
    rows = share // _PART // ROW
    return max(FEWEST_ROWS, min(MOST_ROWS, rows))


def needed_bytes(companies: int, batch: int) -> int:
    """Bytes that a country of so many companies takes in a process of its own."""
    return PROCESS + companies * COMPANY + min(companies, batch) * ROW


def format_size(size: int) -> str:
    """An amount of memory, in words.

    >>> format_size(1 << 20), format_size(3 << 29)
    ('1 MiB', '1.5 GiB')
    """
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{-(-size // MIB)} MiB"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
