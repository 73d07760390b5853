"""Sources in memory with scripted transfers."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256

from blake3 import blake3

from shards.generations.manifest import File
from shards.mirror.blobs import Downloader
from shards.mirror.source import AbsentError, Body, MirrorSource

# From a file and the first requested byte: the position of the first byte that is sent, and the pieces.
Transfer = Callable[[bytes, int], tuple[int, Iterator[bytes]]]


def send_rest(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send the bytes from `start` on, as requested."""
    return start, iter([content[start:]])


class MemorySource:
    """Files in memory. Each request uses the next transfer; the last transfer is repeated."""

    name = "memory"

    def __init__(self, files: dict[str, bytes], *transfers: Transfer) -> None:
        self.files = files
        self.transfers = list(transfers) or [send_rest]
        self.requests: list[tuple[str, int]] = []

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        """Note a request, and answer it by the next of `transfers`, of which the last is repeated."""
        self.requests.append((path, start))
        if path not in self.files:
            raise AbsentError(f"{self.name}/{path} is not there")
        transfer = self.transfers.pop(0) if len(self.transfers) > 1 else self.transfers[0]
        position, pieces = transfer(self.files[path], start)
        yield Body(position, iterate(pieces))


async def iterate(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces as an asynchronous iterator."""
    for piece in pieces:
        yield piece


def eager_downloader(source: MirrorSource) -> Downloader:
    """A downloader that does not wait between tries."""
    return Downloader(source, chance=lambda: 0.0)


def manifest_file(content: bytes) -> File:
    """The entry of a manifest for a file with this content."""
    return File(len(content), blake3(content).hexdigest(), sha256(content).hexdigest())
