"""Load on a server by `wrk`, and its cost in processor time.

Requests per second depend on the other load of the machine, processor time per request hardly does.
So both are measured, beside a bare aiohttp handler in the same seconds.
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

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_UNITS: Final = {"us": 1e-3, "ms": 1.0, "s": 1e3}

# wrk sends prepared requests one after another; all connections share the list.
_SCRIPT: Final = """
local prepared, last = {}, 0
function init()
  local asked = %s
  for place, one in ipairs(asked) do
    prepared[place] = wrk.format(one[3] and "POST" or "GET", one[1], one[2], one[3])
  end
end
function request()
  last = last %% #prepared + 1
  return prepared[last]
end
"""
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
        """The ids of the workers, or of the server itself if it has none."""
        found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        names = {int(pid): Path(f"/proc/{pid}/cmdline").read_text() for pid in found}
        return [pid for pid, name in names.items() if "spawn_main" in name] or [self.pid]

    def private(self) -> float:
        """Private memory of the largest process in MiB, without pages of files."""
        return max(_dirty(pid) for pid in self.pids()) / 1024


@contextmanager
def running(command: Sequence[str]) -> Iterator[Server]:
    """Run a server that prints its address when it is ready."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        found = None
        while not found:
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"{' '.join(command)} ended before it was ready")
            found = re.search(r"http://[\d.]+:\d+", line)
        try:
            yield Server(found[0], process.pid, time.perf_counter() - start)
        finally:
            process.terminate()


def bare(size: int) -> list[str]:
    """The command of an aiohttp server that sends `size` bytes."""
    return [sys.executable, "-u", "-c", _BARE, str(size)]


def idle(size: int) -> list[str]:
    """The command of a server built like ours whose handler only sends `size` bytes."""
    return [sys.executable, "-u", "-c", _IDLE, str(size)]


def measure(
    server: Server, requests: Sequence[Request], *, seconds: int, connections: int = 64
) -> Rate:
    """Send `requests` in turn.

    Raises:
        SystemExit: a status was neither 2xx nor 304.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_SCRIPT % _lua(requests))
        script.flush()
        before = processor_seconds(server)
        done = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "--latency", "-s", script.name,
             server.address],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        spent = processor_seconds(server) - before
    if "Non-2xx" in done and not any("If-None-Match" in one.headers for one in requests):
        raise SystemExit(f"{requests[0].path}: {done}")
    number = int(_found(r"(\d+) requests in", done)[1])
    p99 = _found(r"99%\s+([\d.]+)(us|ms|s)\b", done)
    return Rate(
        float(_found(r"Requests/sec: +([\d.]+)", done)[1]),
        float(p99[1]) * _UNITS[p99[2]],
        spent / max(1, number) * 1e6,
    )


def _lua(requests: Sequence[Request]) -> str:
    def table(headers: Mapping[str, str]) -> str:
        return ",".join(
            f"[{json.dumps(name)}]={json.dumps(text)}" for name, text in headers.items()
        )

    def body(one: Request) -> str:
        return f",{json.dumps(one.body)}" if one.body else ""

    asked = (f"{{{json.dumps(one.path)},{{{table(one.headers)}}}{body(one)}}}" for one in requests)
    return f"{{{','.join(asked)}}}"


def _found(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    assert found, text
    return found


def processor_seconds(server: Server) -> float:
    """Seconds of processor time that the processes of a server have used."""
    spent = 0
    for pid in server.pids():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / _TICKS


def _dirty(pid: int) -> int:
    """KiB of private memory that no file backs."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(_found(r"Private_Dirty: +(\d+)", text)[1])
