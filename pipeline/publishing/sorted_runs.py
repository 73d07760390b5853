"""Sorted runs: the companies of a country as lines of JSON on disk, for an external merge sort.

A country is processed in pieces that fit into memory; each piece is sorted and written as a run.
Then all runs are read together in layout order, one block of each in memory, so the merge writes no
file. Blocks are compressed lightly: a run is read twice and deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import zstandard
from numpy.typing import NDArray

BLOCK: Final = 1_024  # lines; the last block of a run has fewer. About 1 MB uncompressed
_END: Final = ord("\n")
_LEVEL: Final = 1


@dataclass(frozen=True, slots=True)
class Run:
    """A file of lines; `start` is the number of its first line among all runs of the country.

    Block i is the bytes [offsets[i], offsets[i + 1]) of the file. `lengths` are the bytes of the
    lines, line ends included.
    """

    path: Path
    start: int
    offsets: Sequence[int]
    lengths: NDArray[np.uint32]

    @property
    def stop(self) -> int:
        return self.start + len(self.lengths)


def write(path: Path, start: int, blocks: Iterable[bytes]) -> Run:
    """Write a run; each of `blocks` holds BLOCK lines, the last one the rest."""
    compress = zstandard.ZstdCompressor(level=_LEVEL).compress
    sizes: list[int] = []
    lengths = [np.empty(0, dtype=np.uint32)]
    with path.open("wb") as stream:
        for block in blocks:
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _END)
            lengths.append(np.diff(ends, prepend=-1).astype(np.uint32))
            sizes.append(stream.write(compress(block)))
    return Run(path, start, [0, *accumulate(sizes)], np.concatenate(lengths))


def read(runs: Sequence[Run], numbers: NDArray[np.uint32]) -> Iterator[bytes]:
    """The lines of these numbers, in their order, without line ends.

    Fast if the numbers within each run ascend.
    """
    starts = np.array([run.start for run in runs])
    files: list[BinaryIO] = []
    try:
        files += [run.path.open("rb") for run in runs]
        current = [_OpenBlock(-1, b"", [])] * len(runs)
        for first in range(0, len(numbers), BLOCK):
            some = numbers[first : first + BLOCK].astype(np.int64)
            of = np.searchsorted(starts, some, side="right") - 1
            blocks, places = np.divmod(some - starts[of], BLOCK)
            for run, block, place in zip(
                of.tolist(), blocks.tolist(), places.tolist(), strict=True
            ):
                if current[run].block != block:
                    current[run] = _read_block(runs[run], files[run], block)
                found = current[run]
                yield found.lines[found.ends[place] : found.ends[place + 1] - 1]
    finally:
        for file in files:
            file.close()


@dataclass(frozen=True, slots=True)
class _OpenBlock:
    """A decompressed block: line i is lines[ends[i] : ends[i + 1]]."""

    block: int
    lines: bytes
    ends: Sequence[int]


def _read_block(run: Run, file: BinaryIO, block: int) -> _OpenBlock:
    file.seek(run.offsets[block])
    packed = file.read(run.offsets[block + 1] - run.offsets[block])
    lengths = run.lengths[block * BLOCK : (block + 1) * BLOCK]
    ends = [0, *accumulate(lengths.tolist())]
    return _OpenBlock(block, zstandard.decompress(packed, max_output_size=ends[-1]), ends)
