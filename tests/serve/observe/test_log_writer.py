"""A log that cannot be written: the server still answers, its memory is bounded, and lost lines are counted."""

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
from tests.serve.processes import read_line, server_process

pytestmark = pytest.mark.slow

LINE = b"x" * 299 + b"\n"
FLOOD_LINES = 20_000  # more lines than the buffer can hold


def make_writer(descriptor: int) -> LogWriter:
    """A writer to a file descriptor, whose notice of lost lines is `N lost`."""
    return LogWriter(descriptor, lambda lines: b"%d lost\n" % lines)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The descriptors of a pipe: for reading, and for writing."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test has closed it
            os.close(end)


def flood(log: LogWriter) -> list[int]:
    """Write FLOOD_LINES lines as a server does; return a list with an item per lost line."""
    losses: list[int] = []
    log.on_loss = lambda: losses.append(1)

    async def write_lines() -> None:
        """Write FLOOD_LINES lines; every 100 lines, let the event loop run, as requests do."""
        for number in range(FLOOD_LINES):
            log.write_soon(LINE)
            if number % 100 == 0:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(write_lines(), 20))
    return losses


def test_lines_of_one_iteration_of_the_loop_are_written_in_order_and_in_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """G11: as many lines as fit into 4 096 bytes are one write; a longer line is a write too"""
    lines = [b"%d%s\n" % (number, b"x" * size) for number, size in enumerate((10, 4_080, 5_000, 9))]
    pages: list[bytes] = []

    def note_page(_: int, page: bytes) -> int:
        """Note a page of lines instead of writing it; return its length, as os.write does."""
        pages.append(page)
        return len(page)

    monkeypatch.setattr("os.write", note_page)

    async def write_in_two_iterations(log: LogWriter) -> None:
        """Write three lines in one iteration of the loop, and the fourth line in the next iteration."""
        for line in lines[:3]:
            log.write_soon(line)
        assert not pages
        await asyncio.sleep(0)
        log.write_soon(lines[3])
        await asyncio.sleep(0)

    with (tmp_path / "log").open("wb") as file:
        asyncio.run(write_in_two_iterations(make_writer(file.fileno())))

    assert pages == [lines[0] + lines[1], lines[2], lines[3]]


def test_lines_for_a_full_disk_are_bounded_and_counted() -> None:
    """The writer keeps LIMIT bytes of lines, and counts each further line as lost"""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    log = make_writer(descriptor)
    losses = flood(log)
    os.close(descriptor)

    assert FLOOD_LINES - len(losses) == LIMIT // len(LINE)
    assert log.flush() is False


def test_lines_for_a_closed_pipe_are_bounded_and_counted(pipe: tuple[int, int]) -> None:
    readable, writable = pipe
    os.close(readable)

    assert FLOOD_LINES - len(flood(make_writer(writable))) == LIMIT // len(LINE)


def test_a_slow_reader_gets_all_buffered_lines_and_the_number_of_lost_lines(
    pipe: tuple[int, int],
) -> None:
    """The mode of the pipe does not change, since other processes share it"""
    readable, writable = pipe
    log = make_writer(writable)

    losses = flood(log)
    assert os.get_blocking(writable)
    os.set_blocking(readable, False)
    received = bytearray(os.read(readable, 1 << 20))
    while not log.flush():
        received += os.read(readable, 1 << 20)
    log.write("again\n")
    received += os.read(readable, 1 << 20)

    *lines, notice, next_line = bytes(received).splitlines(keepends=True)
    assert set(lines) == {LINE}
    assert len(lines) + len(losses) == FLOOD_LINES
    assert (notice, next_line) == (b"%d lost\n" % len(losses), b"again\n")


def test_a_page_that_was_written_in_part_is_completed_before_the_next_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each write takes only seven bytes"""
    written = bytearray()

    def write_seven_bytes(_: int, page: bytes) -> int:
        """Write only the beginning of a page, as os.write may."""
        written.extend(page[:7])
        return len(page[:7])

    monkeypatch.setattr("os.write", write_seven_bytes)
    with (tmp_path / "log").open("wb") as file:
        log = make_writer(file.fileno())
        log.write("the first line\n")
        log.write("the second\n")

    assert written == b"the first line\nthe second\n"


def test_a_socket_that_nobody_reads_does_not_block_the_writer() -> None:
    """Such as the socket of the journal of systemd"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        log = make_writer(ours.fileno())
        assert flood(log)
        assert theirs.recv(300) == LINE
        log.end()


def test_a_failed_write_is_repeated_without_another_line(pipe: tuple[int, int]) -> None:
    """The pipe is full before all lines are written; the writer tries again after RETRY_SECONDS"""
    readable, writable = pipe

    async def fill_pipe_and_read_later() -> bytes:
        """Fill the pipe, read it, wait for the next try of the writer; return all bytes that were read."""
        log = make_writer(writable)
        for _ in range(400):  # 120 000 bytes; the pipe holds 65 536
            log.write_soon(LINE)
        await asyncio.sleep(0)
        received = os.read(readable, 1 << 20)
        await asyncio.sleep(2 * RETRY_SECONDS)
        return received + os.read(readable, 1 << 20)

    assert asyncio.run(fill_pipe_and_read_later()) == LINE * 400


def test_a_server_whose_log_nobody_reads_still_answers_and_counts_the_loss(tmp_path: Path) -> None:
    """stderr is a FIFO that is open and not read: a blocking `write` would stop the event loop"""
    world.publish(tmp_path / "data")
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with fifo.open("wb") as log, server_process(tmp_path / "data", stderr=log) as process:
        host = read_line(process).removeprefix("http://")
        with closing(HTTPConnection(host, timeout=120)) as connection:
            for _ in range(6_000):  # their log lines exceed the pipe and LIMIT together
                connection.request("GET", "/healthz")
                assert connection.getresponse().read()
            connection.request("GET", "/metrics")
            metrics = connection.getresponse().read().decode()
        process.terminate()
        assert process.wait(120) == 0
    os.close(reader)

    lost_lines = re.search(r"^societes_log_lines_lost_total (\d+)", metrics, re.MULTILINE)
    assert lost_lines
    assert int(lost_lines[1]) > 1_000
