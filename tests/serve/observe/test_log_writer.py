"""A log that cannot be written: the server answers on, its memory stays, and the loss is counted."""

import asyncio
import os
import re
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from serve.observe.log import LIMIT, RETRY_SECONDS, LogWriter
from tests.serve import world
from tests.serve.processes import line_of, started

pytestmark = pytest.mark.slow

LINE = b"x" * 299 + b"\n"
SOME = 20_000  # lines, more than may wait


def writer(descriptor: int) -> LogWriter:
    return LogWriter(descriptor, lambda lines: b"%d lost\n" % lines)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test closed it
            os.close(end)


def flood(log: LogWriter) -> list[int]:
    """Write `SOME` lines as a server does; the drops as they were counted."""
    lost: list[int] = []
    log.on_loss = lambda: lost.append(1)

    async def turns() -> None:
        for number in range(SOME):
            log.write_soon(LINE)
            if number % 100 == 0:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(turns(), 20))
    return lost


def test_the_lines_of_a_turn_are_written_in_order_a_page_at_most_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """G11"""
    lines = [b"%d%s\n" % (number, b"x" * size) for number, size in enumerate((10, 4_080, 5_000, 9))]
    pages: list[bytes] = []

    def taken(_: int, page: bytes) -> int:
        pages.append(page)
        return len(page)

    monkeypatch.setattr("os.write", taken)

    async def turn(log: LogWriter) -> None:
        for line in lines[:3]:
            log.write_soon(line)
        assert not pages
        await asyncio.sleep(0)
        log.write_soon(lines[3])
        await asyncio.sleep(0)

    with (tmp_path / "log").open("wb") as file:
        asyncio.run(turn(writer(file.fileno())))

    assert pages == [lines[0] + lines[1], lines[2], lines[3]]


def test_a_full_disk_is_bounded_and_counted() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    log = writer(descriptor)
    lost = flood(log)
    os.close(descriptor)

    assert SOME - len(lost) == LIMIT // len(LINE)
    assert log.flush() is False


def test_a_pipe_that_was_closed_is_bounded_and_counted(pipe: tuple[int, int]) -> None:
    readable, writable = pipe
    os.close(readable)

    assert SOME - len(flood(writer(writable))) == LIMIT // len(LINE)


def test_a_reader_that_is_stuck_gets_everything_that_waited_and_the_number_of_the_rest(
    pipe: tuple[int, int],
) -> None:
    """The mode of the pipe stays, since others share it"""
    readable, writable = pipe
    log = writer(writable)

    lost = flood(log)
    assert os.get_blocking(writable)
    os.set_blocking(readable, False)
    received = bytearray(os.read(readable, 1 << 20))
    while not log.flush():
        received += os.read(readable, 1 << 20)
    log.write("again\n")
    received += os.read(readable, 1 << 20)

    *lines, notice, last = bytes(received).splitlines(keepends=True)
    assert set(lines) == {LINE}
    assert len(lines) + len(lost) == SOME
    assert (notice, last) == (b"%d lost\n" % len(lost), b"again\n")


def test_what_a_nearly_full_disk_did_not_take_of_a_page_follows_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taken = bytearray()

    def short(_: int, page: bytes) -> int:
        taken.extend(page[:7])
        return len(page[:7])

    monkeypatch.setattr("os.write", short)
    with (tmp_path / "log").open("wb") as file:
        log = writer(file.fileno())
        log.write("the first line\n")
        log.write("the second\n")

    assert taken == b"the first line\nthe second\n"


def test_a_socket_that_nobody_reads_does_not_stop_it() -> None:
    """The journal of systemd"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        log = writer(ours.fileno())
        assert flood(log)
        assert theirs.recv(300) == LINE
        log.end()


def test_a_failed_write_is_tried_again_without_a_further_line(pipe: tuple[int, int]) -> None:
    readable, writable = pipe

    async def scenario() -> bytes:
        log = writer(writable)
        for _ in range(400):  # 120 000 bytes; the pipe holds 65 536
            log.write_soon(LINE)
        await asyncio.sleep(0)
        received = os.read(readable, 1 << 20)
        await asyncio.sleep(2 * RETRY_SECONDS)
        return received + os.read(readable, 1 << 20)

    assert asyncio.run(scenario()) == LINE * 400


def test_a_server_whose_log_nobody_reads_answers_on_and_counts_the_loss(tmp_path: Path) -> None:
    """A FIFO on stderr that is open and not read; before, the event loop sat in `write`"""
    world.publish(tmp_path / "data")
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with fifo.open("wb") as stuck, started(tmp_path / "data", stderr=stuck) as process:
        host = line_of(process).removeprefix("http://")
        with closing(HTTPConnection(host, timeout=10)) as connection:
            for _ in range(6_000):
                connection.request("GET", "/healthz")
                assert connection.getresponse().read()
            connection.request("GET", "/metrics")
            metrics = connection.getresponse().read().decode()
        process.terminate()
        assert process.wait(20) == 0
    os.close(reader)

    lost = re.search(r"^societes_log_lines_lost_total (\d+)", metrics, re.MULTILINE)
    assert lost
    assert int(lost[1]) > 1_000
