"""Reading shards into memory after a start, and comparing them with their digests, in another process (`file_reader`).

A search needs scattered pages of a shard, so shards are mapped without read-ahead. After a start of the machine, each
of the first searches would wait for the disk about a hundred times. So a process reads the arrays of searches first,
then the records, if memory holds them, while requests are already answered. Then this process compares each file with
the digest of the manifest; a damaged shard is reported and no longer served. Later generations are compared before they
are served.

If there are several workers, the process of one of them reads. If memory holds all shards, each worker then withdraws
its advice to Linux that the shards are read at random, since Linux drops the pages of such files first.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from shards import host_memory
from shards.generations import generation_files
from shards.generations.generation_files import Generation

# The program of the reading process.
_PROGRAM: Final = Path(__file__).with_name("file_reader.py")
# The files may take this share of the available memory, which includes the pages that they already occupy.
_MEMORY_SHARE: Final = 0.8
_MIB: Final = 1 << 20
_PATIENCE_S: Final = 1.0  # seconds to wait for the end of the killed process

_log: Final = logging.getLogger("serve.process.read_ahead")

_Range = tuple[str, int, int]  # the path of a file, the first byte, the end


async def read(
    opened: Generation, ready: Callable[[], None], damaged: Callable[[Path], None]
) -> None:
    """Read an open generation into memory and compare it; end at once when cancelled.

    Args:
        ready: called when the arrays of searches are in memory, or cannot be; the comparison comes afterwards.
        damaged: called for each shard with a wrong digest.
    """
    shards = opened.shard_files
    digests = {path: opened.manifest.files[path.name].blake3 for path in shards}
    arrays = [
        (str(path), start, stop)
        for path, shard in shards.items()
        for start, stop in shard.file.array_ranges()
    ]
    shards_bytes, free_bytes, started_at = _total_bytes(shards), _free_bytes(), time.monotonic()
    holds_all = shards_bytes <= free_bytes
    holds_arrays = sum(stop - start for _, start, stop in arrays) <= free_bytes
    ranges = arrays if holds_arrays else []
    if holds_all:
        ranges = [*arrays, *((str(path), 0, path.stat().st_size) for path in shards)]
    else:
        _log.warning(
            "the shards (%d MiB) are compared, but %s: %d MiB of memory may be used for them; "
            "searches wait for the disk", shards_bytes // _MIB,
            "of them the records are not kept in memory" if holds_arrays else "not kept in memory", free_bytes // _MIB,
        )  # fmt: skip

    async def handle(message: Mapping[str, Any]) -> None:
        """React to a message of the reading process; `file_reader.py` describes the messages."""
        if "ready" in message:
            if holds_all:
                keep_in_memory(opened)
            ready()
        elif "damaged" in message:
            _log.error("%s is damaged; build or fetch the generation again", message["damaged"])
            damaged(Path(message["damaged"]))
        elif "compared" in message:
            compared_mib, seconds = message["compared"] // _MIB, time.monotonic() - started_at
            _log.info("the shards are read ahead: %d MiB in %.1f s", compared_mib, seconds)

    try:
        # All workers lock this file, so that one of them reads.
        lock_file = opened.folder / generation_files.MANIFEST
        await _run_reader(lock_file, ranges, digests, all_read=False, keep=holds_all, handle=handle)
    except OSError as error:
        _log.warning("the shards are not read ahead, so first searches are slower: %s", error)
    finally:
        ready()


async def compare(digests: Mapping[Path, str]) -> list[Path]:
    """The files with other digests than expected. If there are several workers, one compares at a time.

    Raises:
        OSError: a file cannot be read, or the process ended early.
    """
    damaged: list[Path] = []
    has_compared_all = False

    async def handle(message: Mapping[str, Any]) -> None:
        """Note a damaged file, and the end of the comparison."""
        nonlocal has_compared_all
        has_compared_all = has_compared_all or "compared" in message
        if "damaged" in message:
            damaged.append(Path(message["damaged"]))

    await _run_reader(
        min(digests), (), digests, all_read=True, keep=fit_in_memory(digests), handle=handle
    )
    if not has_compared_all:
        raise OSError("the process that compares files has ended early; see the limits of the host")
    return damaged


async def _run_reader(
    lock_file: Path,
    ranges: Sequence[_Range],
    digests: Mapping[Path, str],
    *,
    all_read: bool,
    keep: bool,
    handle: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Start the reading process, and call `handle` with each of its messages.

    All other arguments are the request to the process, which `file_reader.py` describes; `all_read` is its `each`.

    Raises:
        OSError: a file cannot be read, or the process cannot be started.
    """
    request = {
        "turn": str(lock_file),
        "each": all_read,
        "ranges": ranges,
        "files": {str(path): digest for path, digest in digests.items()},
        "keep": keep,
    }
    # -P: do not import modules from the folder of the program.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(_PROGRAM),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin and process.stdout
    try:
        with suppress(ConnectionError):  # it has ended already
            process.stdin.write(orjson.dumps(request) + b"\n")
            await process.stdin.drain()
        while line := await process.stdout.readline():
            message = orjson.loads(line)
            if "fault" in message:
                raise OSError(message["fault"])
            await handle(message)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        # A disk that does not answer must not prevent the end of the server.
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _PATIENCE_S)


def keep_in_memory(opened: Generation) -> None:
    """Withdraw the advice that shards are read at random: Linux drops pages of such files first (decision 322)."""
    for shard in opened.shard_files.values():
        shard.file.expect_scans(frames=True)  # with the records and statements


def fit_in_memory(files: Collection[Path]) -> bool:
    """Whether memory has room for the files."""
    return _total_bytes(files) <= _free_bytes()


def _total_bytes(files: Collection[Path]) -> int:
    """The bytes of the files."""
    return sum(path.stat().st_size for path in files)


def _free_bytes() -> int:
    """The bytes of memory that the files may take."""
    return int(_MEMORY_SHARE * host_memory.available_bytes())
