"""Load on a server by `wrk`, and its cost in processor time.

Requests per second depend on the other load of the machine; processor time per request hardly does. Both are measured,
also for a bare aiohttp handler a few seconds before.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")  # per second, in the times of /proc
_UNITS: Final = {"us": 1e-3, "ms": 1.0, "s": 1e3}  # the units of wrk, in milliseconds

# wrk sends prepared requests one after another; all connections share the list.
_SCRIPT: Final = """
local prepared, last = {}, 0
function init()
  local requests = %s
  for index, item in ipairs(requests) do
    prepared[index] = wrk.format(item[3] and "POST" or "GET", item[1], item[2], item[3])
  end
end
function request()
  last = last %% #prepared + 1
  return prepared[last]
end
"""
# The bare server, with which ours is compared: an ordinary aiohttp application that sends fixed bytes.
_BARE: Final = """
import sys
from aiohttp import web
body = b"x" * int(sys.argv[1])
async def answer(request): return web.Response(body=body, content_type="application/json")
app = web.Application()
app.router.add_get("/", answer)
web.run_app(app, port=0, host="127.0.0.1", print=lambda text: print(text, flush=True),
            access_log=None)
"""
# Built like serve/ without its work: aiohttp's low-level server on the same event loop.
_IDLE: Final = """
import asyncio, sys
import uvloop
from aiohttp import web
body = b"x" * int(sys.argv[1])
async def answer(request): return web.Response(body=body, content_type="application/json")
async def main():
    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("http://127.0.0.1:%d" % runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
uvloop.run(main())
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A GET of a path, with headers, or the POST of a body (ASCII)."""

    path: str
    headers: Mapping[str, str]
    body: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests per second, their p99 in milliseconds, processor µs per request."""

    each_second: float
    p99: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `ready`: seconds from its start to the line with its address."""

    address: str
    pid: int
    ready: float

    def pids(self) -> list[int]:
        """The process ids of the workers, or of the server if it has no workers."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        names = {int(pid): Path(f"/proc/{pid}/cmdline").read_text() for pid in children}
        return [pid for pid, name in names.items() if "spawn_main" in name] or [self.pid]

    def private(self) -> float:
        """Private memory of the largest process in MiB, without pages of files."""
        return max(_private_kib(pid) for pid in self.pids()) / 1024


@contextmanager
def running(command: Sequence[str]) -> Iterator[Server]:
    """Run the server of `command`, which prints its address when it is ready, until the end of the block."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        match = None
        while not match:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{' '.join(command)} ended before it was ready")
            match = re.search(r"http://[\d.]+:\d+", line)
        try:
            yield Server(match[0], process.pid, time.perf_counter() - start)
        finally:
            process.terminate()


def bare_command(size: int) -> list[str]:
    """The command of an aiohttp server that sends `size` bytes."""
    return [sys.executable, "-u", "-c", _BARE, str(size)]


def idle_command(size: int) -> list[str]:
    """The command of a server built like ours whose handler only sends `size` bytes."""
    return [sys.executable, "-u", "-c", _IDLE, str(size)]


def measure(
    server: Server, requests: Sequence[Request], *, seconds: int, connections: int = 64
) -> Rate:
    """Send `requests` one after another, again and again, for `seconds`.

    Raises:
        SystemExit: a status is not 2xx, and no request has `If-None-Match`.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_SCRIPT % _lua(requests))
        script.flush()
        seconds_before = processor_seconds(server)
        report = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--latency", "-s", script.name,
             server.address],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        processor_time = processor_seconds(server) - seconds_before
    if "Non-2xx" in report and not any("If-None-Match" in request.headers for request in requests):
        raise SystemExit(f"{requests[0].path}: {report}")
    request_count = int(_required_match(r"(\d+) requests in", report)[1])
    p99 = _required_match(r"99%\s+([\d.]+)(us|ms|s)\b", report)
    return Rate(
        float(_required_match(r"Requests/sec: +([\d.]+)", report)[1]),
        float(p99[1]) * _UNITS[p99[2]],
        processor_time / max(1, request_count) * 1e6,
    )


def _lua(requests: Sequence[Request]) -> str:
    """The requests as a Lua table for `_SCRIPT`: path, headers, and the body of a POST."""

    def header_fields(headers: Mapping[str, str]) -> str:
        """The fields of a Lua table of headers."""
        return ",".join(
            f"[{json.dumps(name)}]={json.dumps(text)}" for name, text in headers.items()
        )

    def body_item(request: Request) -> str:
        """The body as a further item, if there is one."""
        return f",{json.dumps(request.body)}" if request.body else ""

    items = (
        f"{{{json.dumps(request.path)},{{{header_fields(request.headers)}}}{body_item(request)}}}"
        for request in requests
    )
    return f"{{{','.join(items)}}}"


def _required_match(pattern: str, text: str) -> re.Match[str]:
    """The first match of a pattern, which the text must have."""
    match = re.search(pattern, text)
    assert match, text
    return match


def processor_seconds(server: Server) -> float:
    """Seconds of processor time that the processes of a server have used."""
    ticks = 0
    for pid in server.pids():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        # Times of the process in user and in kernel mode: utime and stime of proc(5), counted after the name.
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS


def _private_kib(pid: int) -> int:
    """KiB of private memory that no file backs."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(_required_match(r"Private_Dirty: +(\d+)", text)[1])
