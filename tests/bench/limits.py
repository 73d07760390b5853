"""`python -m tests.bench.limits DATA`: what this machine gives at most, beside what an answer needs of it.

A row names a bound: bytes that must be read, compressed or written, and what one thread (or two) does with them in a
second in this run. Their quotient is the least time that any program would take which has to do so much.
"""

import os
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import zstandard

from shards import format
from shards.generations import pointer
from shards.search.reader.shard import Shard
from tests.bench.cold import forget

ROUNDS: Final = 5
MIB: Final = 1 << 20
MEMORY: Final = 1024 * MIB  # more than any cache
WRITTEN: Final = 512 * MIB
READS: Final = 200  # of a page each, one after the other
RECORDS: Final = 20_000
DEFLATE_LEVEL: Final = 2  # of the workbook


def main(data: Path) -> None:
    """Print the table."""
    files = data.glob(f"{pointer.current_name(data)}/*.shard")
    largest = max(files, key=lambda path: path.stat().st_size)
    pages = _pages(largest)  # before it is mapped
    records = _records(largest)
    compressor = zstandard.ZstdCompressor(format.ZSTD_LEVEL)
    found: dict[str, str] = {
        "memory read by one thread": f"{_memory(1) / 1e9:.1f} GB",
        "by two": f"{_memory(2) / 1e9:.1f} GB",
        "eight bytes anywhere in memory": f"{_scattered() / 1e6:.0f} million",
        "a file written and synced": f"{_written(data) / 1e6:.0f} MB",
        "pages of a file that is not in memory, one after the other": f"{pages:,.0f}",
        f"deflate of records, level {DEFLATE_LEVEL}": _speed(
            records, lambda: zlib.compress(records, DEFLATE_LEVEL)
        ),
        f"zstd of records, level {format.ZSTD_LEVEL}": _speed(
            records, lambda: compressor.compress(records)
        ),
    }
    print("| what | a second |\n| --- | --: |")
    for what, each_second in found.items():
        print(f"| {what} | {each_second} |")


def _records(path: Path) -> bytes:
    shard = Shard(path)
    rows = range(min(RECORDS, shard.rows))
    found = b"".join(shard.record(row, coordonnees=True) for row in rows)
    shard.close()
    return found


def _speed(text: bytes, compress: Callable[[], object]) -> str:
    return f"{len(text) / _best(compress) / 1e6:.0f} MB"


def _best(call: Callable[[], object]) -> float:
    """The seconds of the fastest of some calls."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _memory(threads: int) -> float:
    parts = np.array_split(np.ones(MEMORY // 8, np.int64), threads)
    with ThreadPoolExecutor(threads) as pool:
        return MEMORY / _best(lambda: list(pool.map(np.sum, parts)))


def _scattered() -> float:
    values = np.ones(MEMORY // 8, np.int64)
    places = np.random.default_rng(1).integers(0, len(values), 4_000_000)
    return len(places) / _best(lambda: values.take(places))


def _written(data: Path) -> float:
    block = os.urandom(MIB)

    def write() -> None:
        with tempfile.TemporaryFile(dir=data) as file:
            for _ in range(WRITTEN // MIB):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())

    return WRITTEN / _best(write)


def _pages(path: Path) -> float:
    """Pages a second of a file that nobody else has open."""
    size = path.stat().st_size
    forget(path)
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        places = np.random.default_rng(1).integers(0, size // 4096, READS)
        start = time.perf_counter()
        for place in places.tolist():
            os.pread(file.fileno(), 4096, place * 4096)
        return READS / (time.perf_counter() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
