"""Runs: the companies of a country as lines of JSON on disk, to be read side by side.

A country is finished in pieces that fit into memory, and each piece is sorted and written by itself
as a run. All runs are then read at once, in layout order, a block of each at a time: a merge sort
whose last step costs no file. Blocks are compressed lightly: a run is read twice and thrown away.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import zstandard
from numpy.typing import NDArray

BLOCK: Final = 1_024  # lines of a block, but for the last of a run: some 1 MB before compression
_END: Final = ord("\n")
_LEVEL: Final = 1


@dataclass(frozen=True, slots=True)
class Run:
    """A file of lines, numbered from `start` on among those of all runs of the country.

    Block i is the bytes [offsets[i], offsets[i + 1]) of the file; `lengths` are of the lines, their
    ends included.
    """

    path: Path
    start: int
    offsets: Sequence[int]
    lengths: NDArray[np.uint32]

    @property
    def stop(self) -> int:
        return self.start + len(self.lengths)


def write(path: Path, start: int, blocks: Iterable[bytes]) -> Run:
    """Write a run, of which each of `blocks` holds BLOCK lines, and the last one what is left."""
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
    """The lines of these numbers, in their order and without their ends.

    Fast where the numbers within each run ascend.
    """
    starts = np.array([run.start for run in runs])
    files: list[BinaryIO] = []
    try:
        files += [run.path.open("rb") for run in runs]
        held = [_OpenRun(-1, b"", [])] * len(runs)
        for first in range(0, len(numbers), BLOCK):
            some = numbers[first : first + BLOCK].astype(np.int64)
            of = np.searchsorted(starts, some, side="right") - 1
            blocks, places = np.divmod(some - starts[of], BLOCK)
            asked = zip(of.tolist(), blocks.tolist(), places.tolist(), strict=True)
            for run, block, place in asked:
                if held[run].block != block:
                    held[run] = _block(runs[run], files[run], block)
                found = held[run]
                yield found.lines[found.ends[place] : found.ends[place + 1] - 1]
    finally:
        for file in files:
            file.close()


@dataclass(frozen=True, slots=True)
class _OpenRun:
    """A block that was read: line i is lines[ends[i] : ends[i + 1]]."""

    block: int
    lines: bytes
    ends: Sequence[int]


def _block(run: Run, file: BinaryIO, block: int) -> _OpenRun:
    file.seek(run.offsets[block])
    packed = file.read(run.offsets[block + 1] - run.offsets[block])
    lengths = run.lengths[block * BLOCK : (block + 1) * BLOCK]
    ends = [0, *accumulate(lengths.tolist())]
    return _OpenRun(block, zstandard.decompress(packed, max_output_size=ends[-1]), ends)
