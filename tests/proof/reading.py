"""Readers of a server: connections that send requests in a loop and check every response."""

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

# The status and the headers of a response.
_HEAD: Final = re.compile(rb"HTTP/1.1 (\d+) [^\r]*\r\n(.*)\r\n\r\n", re.DOTALL)
_SECONDS: Final = 240.0  # the longest wait for a response
# Connections stop at this number, so that a server that has ended does not fill the memory with faults.
_MOST_FAULTS: Final = 1_000


class Response(NamedTuple):
    """A response; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Readers:
    """Connections to a server, and the results of their requests.

    Attributes:
        trusted: the TLS context with the trusted certificate, for an https address.
        judge: a function that returns the fault of a response, or None.
        answers: the number of responses so far.
        faults: the faults so far; a request without a response is a fault.
    """

    address: str
    paths: Iterable[str]
    judge: Callable[[Response], str | None]
    answers: int = 0
    faults: list[str] = field(default_factory=list)
    trusted: ssl.SSLContext | None = None
    _stopped: bool = False

    async def run(self, connections: int) -> None:
        """Send requests until `stop`; half of the readers open a new connection for each request."""
        await asyncio.gather(
            *(self._send_requests(bool(number % 2)) for number in range(connections))
        )

    def stop(self) -> None:
        """Let each reader end after its current request."""
        self._stopped = True

    async def _send_requests(self, keep_alive: bool) -> None:
        """Send requests one after another, until `stop`; without `keep_alive` each on a new connection.

        Counts `answers`, and adds lost requests and the objections of `judge` to `faults`.
        """
        target = urlsplit(self.address)
        paths = list(self.paths)
        writer: asyncio.StreamWriter | None = None
        while not self._stopped and len(self.faults) < _MOST_FAULTS:
            path = paths[self.answers % len(paths)]
            try:
                async with asyncio.timeout(_SECONDS):
                    if writer is None:
                        reader, writer = await asyncio.open_connection(
                            target.hostname, target.port, ssl=self.trusted
                        )
                    sent = f"GET {path} HTTP/1.1\r\nHost: {target.netloc}\r\n\r\n"
                    writer.write(sent.encode())
                    response = await _read_response(reader)
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                self.faults.append(f"{path}: {error!r}")
                writer = None
                continue
            self.answers += 1
            if fault := self.judge(response):
                self.faults.append(f"{path}: {fault}")
            if not keep_alive or response.headers.get("connection") == "close":
                writer.close()
                writer = None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _read_response(reader: asyncio.StreamReader) -> Response:
    """Read a response with a Content-Length; ValueError if it is not HTTP."""
    head = _HEAD.fullmatch(await reader.readuntil(b"\r\n\r\n"))
    if head is None:
        raise ValueError("not an HTTP response")
    lines = (line.split(": ", 1) for line in head[2].decode("latin-1").split("\r\n"))
    headers = {name.lower(): value for name, value in lines}
    body = await reader.readexactly(int(headers["content-length"]))
    return Response(int(head[1]), headers, body)
