"""The download of one file: resumed, bounded, verified, and renamed only when it is correct."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shards.mirror.blobs import Downloader
from shards.mirror.download import TRIES
from shards.mirror.source import FaultError, RangeError
from tests.shards.mirror.sources import (
    MemorySource,
    Transfer,
    eager_downloader,
    manifest_file,
    send_rest,
)

CONTENT = bytes(range(256)) * 2_000
FILE = manifest_file(CONTENT)


def send_part(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send 100 000 bytes and break off."""
    return start, iter([content[start : start + 100_000]])


def send_from_start(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Ignore the requested range: send the complete file."""
    return 0, iter([content])


def send_wrong_byte(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send the requested bytes, the last one wrong."""
    return start, iter([content[start:-1] + b"?"])


def send_too_much(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send the requested bytes and another million."""
    return start, iter([content[start:], *[b"x" * 100_000] * 10])


def send_from_one_before(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send the requested bytes, and say falsely that they start one byte earlier."""
    return max(start - 1, 0), iter([content[start:]])


def refuse_range(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Refuse a start after 0; send the first 10 000 bytes otherwise."""
    if start:
        raise RangeError("no bytes")
    return 0, iter([content[:10_000]])


def send_nothing(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    """Send no bytes."""
    return start, iter([])


def _fetch(tmp_path: Path, *transfers: Transfer) -> tuple[MemorySource, Downloader, Path]:
    """Fetch FILE by these transfers; return its source, its downloader and its path."""
    source = MemorySource({"g/EE.shard": CONTENT}, *transfers)
    downloader, blob = eager_downloader(source), tmp_path / FILE.blake3
    downloader.fetch("g/EE.shard", FILE, blob)
    return source, downloader, blob


@pytest.mark.parametrize(
    "transfers",
    [
        (send_rest,), (send_part, send_part, send_rest), (send_part, send_from_start, send_rest),
        (send_wrong_byte, send_rest), (send_too_much, send_rest),
        (send_part, send_from_one_before, send_rest), (send_part, refuse_range, send_rest),
        (send_nothing, send_part, send_wrong_byte, send_part, send_from_start, send_part, send_too_much,
         send_from_one_before, send_part, send_rest),
    ],
)  # fmt: skip
def test_the_file_is_correct_after_any_faults_of_the_transfer(
    tmp_path: Path, transfers: tuple[Transfer, ...]
) -> None:
    _, _, blob = _fetch(tmp_path, *transfers)

    assert blob.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [FILE.blake3]


def test_an_interrupted_file_continues_at_its_last_byte(tmp_path: Path) -> None:
    source, downloader, _ = _fetch(tmp_path, send_part, send_part, send_rest)

    assert [start for _, start in source.requests] == [0, 100_000, 200_000]
    assert downloader.read == len(CONTENT)


def test_a_large_file_may_be_interrupted_any_number_of_times(tmp_path: Path) -> None:
    content = CONTENT * 8
    file = manifest_file(content)

    eager_downloader(MemorySource({"g": content}, send_part)).fetch(
        "g", file, tmp_path / file.blake3
    )

    assert len(content) > 4 * TRIES * 100_000  # so each transfer of 100 000 bytes was a try
    assert (tmp_path / file.blake3).read_bytes() == content


def test_a_file_starts_again_within_the_response_if_the_source_ignores_ranges(
    tmp_path: Path,
) -> None:
    def send_all_in_pieces(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        """Ignore the requested range: send the complete file in pieces of 1 000 bytes."""
        return 0, iter(
            [content[position : position + 1_000] for position in range(0, len(content), 1_000)]
        )

    source, downloader, _ = _fetch(tmp_path, send_part, send_all_in_pieces)

    assert [start for _, start in source.requests] == [0, 100_000]
    assert downloader.wrong == 0


def test_a_part_of_an_earlier_round_is_used(tmp_path: Path) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT[:300_000])

    source, downloader, blob = _fetch(tmp_path)

    assert source.requests == [("g/EE.shard", 300_000)]
    assert downloader.resumed == 300_000
    assert blob.read_bytes() == CONTENT


def test_a_complete_part_is_not_requested_again(tmp_path: Path) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT)

    source, _, blob = _fetch(tmp_path)

    assert source.requests == []
    assert blob.read_bytes() == CONTENT


def test_a_part_that_is_too_long_or_wrong_is_replaced(tmp_path: Path) -> None:
    part = tmp_path / f"{FILE.blake3}.part"
    for wrong in (CONTENT + b"!", b"x" * len(CONTENT), b"x" * 100):
        part.write_bytes(wrong)

        _, _, blob = _fetch(tmp_path)

        assert blob.read_bytes() == CONTENT
        blob.unlink()


def test_bytes_over_the_size_of_the_file_are_not_written(tmp_path: Path) -> None:
    sizes = []

    def send_and_measure(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        """Send more bytes than the file has, from byte 0 on, and note the size of the files on the disk meanwhile."""

        def pieces() -> Iterator[bytes]:
            yield content
            for _ in range(10):
                sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
                yield b"x" * 100_000

        return 0, pieces()

    with pytest.raises(FaultError, match=f"has more than the {len(CONTENT):,} bytes announced"):
        _fetch(tmp_path, send_and_measure)

    assert max(sizes) <= len(CONTENT)
    assert len(sizes) == TRIES


def test_a_file_with_a_wrong_digest_is_refused_after_five_downloads(tmp_path: Path) -> None:
    with pytest.raises(
        FaultError, match="was fetched 5 times with other bytes than in its manifest"
    ):
        _fetch(tmp_path, send_wrong_byte)

    assert list(tmp_path.iterdir()) == []


def test_a_source_that_sends_no_bytes_fails_after_some_tries_and_the_part_stays(
    tmp_path: Path,
) -> None:
    with pytest.raises(FaultError, match=r"g/EE.shard ends at byte 100,000 of 512,000"):
        _fetch(tmp_path, send_part, send_nothing)

    assert (tmp_path / f"{FILE.blake3}.part").read_bytes() == CONTENT[:100_000]


def test_a_body_that_is_too_slow_is_closed(tmp_path: Path) -> None:
    now = [0.0]

    def send_slowly(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        """A transfer from `start` on that moves the clock `now` by a second for each 100 bytes."""

        def pieces() -> Iterator[bytes]:
            for position in range(start, len(content), 100):
                now[0] += 1.0
                yield content[position : position + 100]

        return start, pieces()

    source = MemorySource({"g": CONTENT}, send_slowly)
    downloader = Downloader(source, chance=lambda: 0.0, clock=lambda: now[0])

    with pytest.raises(FaultError, match="bytes a second, less than 1,024"):
        downloader.fetch("g", FILE, tmp_path / FILE.blake3)

    assert now[0] < 31 * (TRIES + 1)  # seconds: a try ends after half a minute


def test_the_progress_bar_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    """Bytes of faulty transfers that are discarded are subtracted again."""
    source = MemorySource(
        {"g": CONTENT},
        send_part,
        send_wrong_byte,
        send_part,
        send_from_start,
        send_too_much,
        send_rest,
    )
    downloader, received_bytes = eager_downloader(source), [0]

    def add_received(size: int) -> None:
        """Count the bytes of the progress bar, negative if bytes are discarded."""
        received_bytes[0] += size

    downloader.on_bytes = add_received
    downloader.fetch("g", FILE, tmp_path / FILE.blake3)

    assert received_bytes[0] == len(CONTENT)


def test_an_empty_file_is_downloaded(tmp_path: Path) -> None:
    empty = manifest_file(b"")

    eager_downloader(MemorySource({"g": b""})).fetch("g", empty, tmp_path / empty.blake3)

    assert (tmp_path / empty.blake3).read_bytes() == b""
