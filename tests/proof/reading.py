"""Many readers of one server: connections that ask, again and again, and look at every answer."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_HEAD: Final = re.compile(rb"HTTP/1.1 (\d+) [^\r]*\r\n(.*)\r\n\r\n", re.DOTALL)
_SECONDS: Final = 60.0


class Told(NamedTuple):
    """An answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Readers:
    """What many connections have been told.

    Attributes:
        judge: says what is wrong with an answer, None if nothing is.
        faults: what was wrong, and every request that got no answer.
    """

    address: str
    paths: Iterable[str]
    judge: Callable[[Told], str | None]
    answers: int = 0
    faults: list[str] = field(default_factory=list)
    _stopped: bool = False

    async def run(self, connections: int) -> None:
        """Ask until `stop`; every second connection is a new one for each request."""
        await asyncio.gather(*(self._ask(bool(number % 2)) for number in range(connections)))

    def stop(self) -> None:
        self._stopped = True

    async def _ask(self, kept: bool) -> None:
        target = urlsplit(self.address)
        paths = list(self.paths)
        writer: asyncio.StreamWriter | None = None
        while not self._stopped:
            path = paths[self.answers % len(paths)]
            try:
                async with asyncio.timeout(_SECONDS):
                    if writer is None:
                        reader, writer = await asyncio.open_connection(target.hostname, target.port)
                    sent = f"GET {path} HTTP/1.1\r\nHost: {target.netloc}\r\n\r\n"
                    writer.write(sent.encode())
                    told = await _answer(reader)
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                self.faults.append(f"{path}: {error!r}")
                writer = None
                continue
            self.answers += 1
            if fault := self.judge(told):
                self.faults.append(f"{path}: {fault}")
            if not kept or told.headers.get("connection") == "close":
                writer.close()
                writer = None
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> Told:
    head = _HEAD.fullmatch(await reader.readuntil(b"\r\n\r\n"))
    if head is None:
        raise ValueError("that is no answer")
    lines = (line.split(": ", 1) for line in head[2].decode("latin-1").split("\r\n"))
    headers = {name.lower(): value for name, value in lines}
    body = await reader.readexactly(int(headers["content-length"]))
    return Told(int(head[1]), headers, body)
