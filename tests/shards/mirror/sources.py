"""Sources in memory with scripted answers."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256

from blake3 import blake3

from shards.generations.manifest import File
from shards.mirror.blobs import Downloader
from shards.mirror.source import AbsentError, Body, MirrorSource

# What comes of the bytes that were asked for: where they begin, and in which pieces.
Way = Callable[[bytes, int], tuple[int | None, Iterator[bytes]]]


def honest(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return start, iter([content[start:]])


class Memory:
    """Files in memory; each request goes one of `ways`, the last one for ever."""

    name = "memory"

    def __init__(self, files: dict[str, bytes], *ways: Way) -> None:
        self.files = files
        self.ways = list(ways) or [honest]
        self.asked: list[tuple[str, int]] = []

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        self.asked.append((path, start))
        if path not in self.files:
            raise AbsentError(f"{self.name}/{path} is not there")
        way = self.ways.pop(0) if len(self.ways) > 1 else self.ways[0]
        begins, pieces = way(self.files[path], start)
        yield Body(begins, as_they_come(pieces))


async def as_they_come(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def eager(source: MirrorSource) -> Downloader:
    """A fetcher that never waits."""
    return Downloader(source, chance=lambda: 0.0)


def file_of(content: bytes) -> File:
    return File(len(content), blake3(content).hexdigest(), sha256(content).hexdigest())
