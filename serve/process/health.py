"""The health check of the image, for the server and for the mirror: `python -m serve.process.health`.

The first process of the container says which of the two runs. A server is healthy while it answers /healthz. A mirror
listens nowhere: it is healthy while it finds its source, or while files come from there. One that is told of neither
for ten minutes, or three of its rounds, is not: it may hang, and what it serves is growing old in any case.
"""

import http.client
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from shards.generations import pointer

# Seconds for the answer of a server; the container waits for five.
_ANSWER_SECONDS: Final = 4
# Without a sign of life of a mirror. Between the last byte and publication its files are checked and synced.
_SILENCE: Final = timedelta(minutes=10)
_ROUNDS: Final = 3
# The files that a mirror fetches (FORMAT.md §1).
_FETCHED: Final = ".mirror"

# The options of `shards sync` that have no value. Those of `serve` need no list: it has no other arguments.
_SWITCHES: Final = ("--accept-old",)
# An address to listen on that is none to ask.
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Arguments(NamedTuple):
    """The arguments of a command: those without a name, and the options by name."""

    plain: Sequence[str]
    options: Mapping[str, str]


def main(init: Path = Path("/proc/1/cmdline")) -> int:
    """Check what runs in this container; the exit code is 0 if it is healthy.

    Args:
        init: the command line of the first process (proc(5)).
    """
    words = init.read_text(encoding="utf-8").split("\0")
    fault = find_fault(words, os.environ, datetime.now(UTC))
    print(fault or "healthy", file=sys.stderr if fault else sys.stdout)
    return 1 if fault else 0


def find_fault(words: Sequence[str], environment: Mapping[str, str], now: datetime) -> str:
    """What is wrong with the program that was started with these words, "" if nothing is."""
    if "sync" in words:
        arguments = read_arguments(words[words.index("sync") + 1 :])
        follow = timedelta(seconds=float(arguments.options.get("--follow", 0)))
        return _fault_of_mirror(Path(arguments.plain[1]), max(_SILENCE, _ROUNDS * follow), now)
    options = read_arguments(words).options
    host = options.get("--host") or environment.get("SOCIETES_HOST", "127.0.0.1")
    port = options.get("--port") or environment.get("SOCIETES_PORT", "8080")
    return _fault_of_server(_LOOPBACK.get(host, host), int(port))


def read_arguments(words: Sequence[str]) -> Arguments:
    """The arguments in the words of a command, whose options are `--name value` or `--name=value`."""
    plain, options = [], {}
    given = [word for word in words if word]
    while given:
        name, equals, value = given.pop(0).partition("=")
        if not name.startswith("--"):
            plain.append(name + equals + value)
        elif equals or name in _SWITCHES or not given or given[0].startswith("--"):
            options[name] = value
        else:
            options[name] = given.pop(0)
    return Arguments(plain, options)


def _fault_of_server(host: str, port: int) -> str:
    try:
        with closing(http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{port} does not answer: {error}"
    return "" if status == 200 else f"{host}:{port} answers {status} to /healthz"


def _fault_of_mirror(data: Path, silence: timedelta, now: datetime) -> str:
    signs = [_written_at(path) for path in (data / _FETCHED, *(data / _FETCHED).glob("*"))]
    latest = max((sign for sign in (pointer.mirrored_at(data), *signs) if sign), default=None)
    if latest is None:
        return f"{data}: the source was never found"
    if now - latest > silence:
        return f"{data}: the last sign of the source is of {latest.isoformat(timespec='seconds')}"
    return ""


def _written_at(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:  # absent, or published meanwhile
        return None


if __name__ == "__main__":
    sys.exit(main())
