"""The download of one file: resumed, bounded, verified, and renamed only when it is correct."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shards.mirror.blobs import Downloader
from shards.mirror.download import TRIES
from shards.mirror.source import FaultError
from tests.shards.mirror.sources import Memory, Way, eager, file_of, honest

CONTENT = bytes(range(256)) * 2_000
FILE = file_of(CONTENT)


def cut(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return start, iter([content[start : start + 100_000]])


def whole(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return 0, iter([content])


def flipped(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return start, iter([content[start:-1] + b"?"])


def longer(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return start, iter([content[start:], *[b"x" * 100_000] * 10])


def shifted(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return max(start - 1, 0), iter([content[start:]])


def ended(content: bytes, start: int) -> tuple[int | None, Iterator[bytes]]:
    return None if start else 0, iter([content[:10_000]])


def nothing(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
    return start, iter([])


def _fetched(tmp_path: Path, *ways: Way) -> tuple[Memory, Downloader, Path]:
    source = Memory({"g/EE.shard": CONTENT}, *ways)
    fetcher, blob = eager(source), tmp_path / FILE.blake3
    fetcher.fetch("g/EE.shard", FILE, blob)
    return source, fetcher, blob


@pytest.mark.parametrize(
    "ways",
    [
        (honest,), (cut, cut, honest), (cut, whole, honest), (flipped, honest), (longer, honest),
        (cut, shifted, honest), (cut, ended, honest),
        (nothing, cut, flipped, cut, whole, cut, longer, shifted, cut, honest),
    ],
)  # fmt: skip
def test_whatever_happens_on_the_way_the_file_is_that_file(
    tmp_path: Path, ways: tuple[Way, ...]
) -> None:
    _, _, blob = _fetched(tmp_path, *ways)

    assert blob.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [FILE.blake3]


def test_a_file_that_was_cut_goes_on_where_it_ended(tmp_path: Path) -> None:
    source, fetcher, _ = _fetched(tmp_path, cut, cut, honest)

    assert [start for _, start in source.asked] == [0, 100_000, 200_000]
    assert fetcher.read == len(CONTENT)


def test_a_large_file_may_be_cut_any_number_of_times(tmp_path: Path) -> None:
    content = CONTENT * 8
    file = file_of(content)

    eager(Memory({"g": content}, cut)).fetch("g", file, tmp_path / file.blake3)

    assert len(content) > 4 * TRIES * 100_000
    assert (tmp_path / file.blake3).read_bytes() == content


def test_a_source_that_ignores_ranges_is_begun_anew_with_at_once(tmp_path: Path) -> None:
    def all_of_it(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        return 0, iter([content[at : at + 1_000] for at in range(0, len(content), 1_000)])

    source, fetcher, _ = _fetched(tmp_path, cut, all_of_it)

    assert [start for _, start in source.asked] == [0, 100_000]
    assert fetcher.wrong == 0


def test_a_part_of_an_earlier_round_is_used(tmp_path: Path) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT[:300_000])

    source, fetcher, blob = _fetched(tmp_path)

    assert source.asked == [("g/EE.shard", 300_000)]
    assert fetcher.resumed == 300_000
    assert blob.read_bytes() == CONTENT


def test_a_part_that_is_complete_is_not_asked_for_again(tmp_path: Path) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT)

    source, _, blob = _fetched(tmp_path)

    assert source.asked == []
    assert blob.read_bytes() == CONTENT


def test_a_part_that_is_too_long_or_wrong_is_begun_anew(tmp_path: Path) -> None:
    part = tmp_path / f"{FILE.blake3}.part"
    for wrong in (CONTENT + b"!", b"x" * len(CONTENT), b"x" * 100):
        part.write_bytes(wrong)

        _, _, blob = _fetched(tmp_path)

        assert blob.read_bytes() == CONTENT
        blob.unlink()


def test_a_source_that_sends_too_much_never_has_it_written(tmp_path: Path) -> None:
    sizes = []

    def watched(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        def pieces() -> Iterator[bytes]:
            yield content
            for _ in range(10):
                sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))
                yield b"x" * 100_000

        return 0, pieces()

    with pytest.raises(FaultError, match=f"has more than the {len(CONTENT):,} bytes announced"):
        _fetched(tmp_path, watched)

    assert max(sizes) <= len(CONTENT)
    assert len(sizes) == TRIES


def test_a_file_that_is_always_another_is_refused_after_some_times(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match="came 5 times with other bytes than its manifest says"):
        _fetched(tmp_path, flipped)

    assert list(tmp_path.iterdir()) == []


def test_a_source_that_brings_nothing_is_left_after_some_tries_and_what_came_is_kept(
    tmp_path: Path,
) -> None:
    with pytest.raises(FaultError, match=r"g/EE.shard ends at byte 100,000 of 512,000"):
        _fetched(tmp_path, cut, nothing)

    assert (tmp_path / f"{FILE.blake3}.part").read_bytes() == CONTENT[:100_000]


def test_a_body_that_dribbles_is_cut(tmp_path: Path) -> None:
    now = [0.0]

    def dribble(content: bytes, start: int) -> tuple[int, Iterator[bytes]]:
        def pieces() -> Iterator[bytes]:
            for at in range(start, len(content), 100):
                now[0] += 1.0
                yield content[at : at + 100]

        return start, pieces()

    source = Memory({"g": CONTENT}, dribble)
    fetcher = Downloader(source, chance=lambda: 0.0, clock=lambda: now[0])

    with pytest.raises(FaultError, match="comes too slowly"):
        fetcher.fetch("g", FILE, tmp_path / FILE.blake3)

    assert now[0] < 31 * (TRIES + 1)


def test_the_bar_ends_at_the_bytes_that_are_here(tmp_path: Path) -> None:
    source = Memory({"g": CONTENT}, cut, flipped, cut, whole, longer, honest)
    fetcher, told = eager(source), [0]

    def came(size: int) -> None:
        told[0] += size

    fetcher.came = came
    fetcher.fetch("g", FILE, tmp_path / FILE.blake3)

    assert told[0] == len(CONTENT)


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    empty = file_of(b"")

    eager(Memory({"g": b""})).fetch("g", empty, tmp_path / empty.blake3)

    assert (tmp_path / empty.blake3).read_bytes() == b""
