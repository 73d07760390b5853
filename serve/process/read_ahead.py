"""Reading shards into memory after a start, and comparing them with their digests, by another process (`file_reader`).

A search needs single pages all over a shard, so shards are mapped without read-ahead. If nothing has read the files
since the machine started, each of the first searches therefore waits for the disk some hundred times. So the arrays
that searches read come first, then the records, as far as memory holds them, while requests are already answered. Then
each file is compared with the digest of the manifest: a shard that was damaged since it was written is reported, and
served no longer than this takes. Later generations are compared before they are served.

Of several workers, the process of one reads. Where memory holds all shards, each worker then takes back the advice that
they are read at random, since Linux drops the pages of such files first.
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

_PROGRAM: Final = Path(__file__).with_name("file_reader.py")
# The files may take this share of the available memory, which includes what they occupy already.
_SHARE: Final = 0.8
_MIB: Final = 1 << 20
_PATIENCE_S: Final = 1.0

_log: Final = logging.getLogger("serve.process.read_ahead")

_Range = tuple[str, int, int]


async def read(
    opened: Generation, ready: Callable[[], None], damaged: Callable[[Path], None]
) -> None:
    """Read an open generation into memory and compare it; when cancelled, end at once.

    Args:
        ready: called once what searches need is in memory, or cannot be; the comparison comes afterwards.
        damaged: called for each shard that has another digest.
    """
    shards = opened.shard_files
    digests = {path: opened.manifest.files[path.name].blake3 for path in shards}
    arrays = [
        (str(path), start, stop)
        for path, shard in shards.items()
        for start, stop in shard.file.arrays()
    ]
    whole, free, began = _size(shards), _free_bytes(), time.monotonic()
    holds_all = whole <= free
    holds_arrays = sum(stop - start for _, start, stop in arrays) <= free
    ranges = arrays if holds_arrays else []
    if holds_all:
        ranges = [*arrays, *((str(path), 0, path.stat().st_size) for path in shards)]
    else:
        _log.warning(
            "the shards (%d MiB) are compared, but %s: %d MiB of memory may be taken for them; "
            "searches wait for the disk", whole // _MIB,
            "of them the records are not kept in memory" if holds_arrays else "not kept in memory", free // _MIB,
        )  # fmt: skip

    async def heed(message: Mapping[str, Any]) -> None:
        if "ready" in message:
            if holds_all:
                keep(opened)
            ready()
        elif "damaged" in message:
            _log.error("%s is damaged; build or fetch the generation again", message["damaged"])
            damaged(Path(message["damaged"]))
        elif "compared" in message:
            done, seconds = message["compared"] // _MIB, time.monotonic() - began
            _log.info("the shards are read ahead: %d MiB in %.1f s", done, seconds)

    try:
        turn = opened.folder / generation_files.MANIFEST
        await _run(turn, ranges, digests, each=False, keep=holds_all, heed=heed)
    except OSError as error:
        _log.warning("the shards are not read ahead, so first searches are slower: %s", error)
    finally:
        ready()


async def compare(digests: Mapping[Path, str]) -> list[Path]:
    """The files that have other digests than these; of several workers one compares at a time.

    Raises:
        OSError: one cannot be read, or the process ended early.
    """
    damaged: list[Path] = []
    ended = False

    async def heed(message: Mapping[str, Any]) -> None:
        nonlocal ended
        ended = ended or "compared" in message
        if "damaged" in message:
            damaged.append(Path(message["damaged"]))

    await _run(min(digests), (), digests, each=True, keep=fits(digests), heed=heed)
    if not ended:
        raise OSError("the process that compares files has ended early; see the limits of the host")
    return damaged


async def _run(
    turn: Path,
    ranges: Sequence[_Range],
    digests: Mapping[Path, str],
    *,
    each: bool,
    keep: bool,
    heed: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Have a process read, and heed each of its messages.

    Raises:
        OSError: a file cannot be read, or the process cannot be started.
    """
    request = {
        "turn": str(turn),
        "each": each,
        "ranges": ranges,
        "files": {str(path): digest for path, digest in digests.items()},
        "keep": keep,
    }
    # -P: the folder of the program is none of modules.
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
            await heed(message)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with suppress(
            TimeoutError
        ):  # a disk that does not answer must not prevent the end of the server
            await asyncio.wait_for(process.wait(), _PATIENCE_S)


def keep(opened: Generation) -> None:
    """Have the system keep the pages of shards as those of any file, once memory holds all of them (decision 322)."""
    for shard in opened.shard_files.values():
        shard.file.expect_scans(frames=True)


def fits(files: Collection[Path]) -> bool:
    """Whether memory holds files, without pushing out others."""
    return _size(files) <= _free_bytes()


def _size(files: Collection[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _free_bytes() -> int:
    return int(_SHARE * host_memory.available_bytes())
