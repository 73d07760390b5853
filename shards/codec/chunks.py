"""Frames that are read by their number: so many of them are one value (FORMAT.md §6); and unpacking a frame."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import zstandard
from numpy.typing import NDArray

from shards import format


@dataclass(frozen=True, slots=True)
class Chunks:
    """The frames of a table.

    Attributes:
        starts: where each frame begins in its chunk; it ends where the next one begins, or with the chunk.
        chunks: the frames of CHUNK_ROWS numbers each, the last chunk excepted.
    """

    starts: NDArray[np.uint32]
    chunks: Sequence[memoryview]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> memoryview:
        """A frame.

        Raises:
            IndexError: there is no such frame.
        """
        chunk, place = divmod(number, format.CHUNK_ROWS)
        held = self.chunks[chunk]
        last = place == format.CHUNK_ROWS - 1 or number == len(self.starts) - 1
        end = len(held) if last else int(self.starts[number + 1])
        return held[int(self.starts[number]) : end]

    def out_of_order(self) -> int | None:
        """The first chunk whose frames do not follow each other from its first byte to its last."""
        for chunk, held in enumerate(self.chunks):
            inside = self.starts[chunk * format.CHUNK_ROWS :][: format.CHUNK_ROWS].astype(np.int64)
            if inside[0] or not (np.diff(inside, append=len(held)) > 0).all():
                return chunk
        return None


def decompress(frame: bytes, most: int, decompressor: zstandard.ZstdDecompressor) -> bytes:
    """The content of a zstd frame, which has at most `most` bytes.

    The decompressor takes the memory that a frame claims, so the claim is compared first.

    Raises:
        ValueError: the frame claims more, or does not say.
        ZstdError: it is damaged.
    """
    size = zstandard.frame_content_size(frame)
    if not 0 <= size <= most:
        raise ValueError(f"a frame of {size} bytes, and {most} are the most")
    return bytes(decompressor.decompress(frame))
