"""The health check of the image, for a server or a mirror: `python -m serve.process.health`.

The command line of the container's first process shows whether a server or a mirror runs. A server is healthy if it
answers /healthz. A mirror has no port: it is healthy if it has reached its source, or received a file, in the last ten
minutes or three rounds, whichever is longer. Otherwise it may hang, and its data are getting old.
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
# The longest time without activity of a mirror: after the last byte, files are checked and synced before publication.
_SILENCE: Final = timedelta(minutes=10)
_ROUNDS: Final = 3  # the longest time without activity, in intervals of `--follow`
# The folder in DATA with the files that a mirror is fetching (FORMAT.md §1).
_FETCHED: Final = ".mirror"

# The options of `shards sync` without a value. `serve` needs no list: it has no positional arguments.
_SWITCHES: Final = ("--accept-old",)
# Addresses that a server can listen on but a client cannot connect to.
_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Arguments(NamedTuple):
    """The arguments of a command: `plain` arguments without a name, and the options by name."""

    plain: Sequence[str]
    options: Mapping[str, str]


def main(init: Path = Path("/proc/1/cmdline")) -> int:
    """Check the program of this container; the exit code is 0 if it is healthy.

    Args:
        init: the command line of the first process (proc(5)).
    """
    words = init.read_text(encoding="utf-8").split("\0")
    fault = find_fault(words, os.environ, datetime.now(UTC))
    print(fault or "healthy", file=sys.stderr if fault else sys.stdout)
    return 1 if fault else 0


def find_fault(words: Sequence[str], environment: Mapping[str, str], now: datetime) -> str:
    """The fault of the program with this command line; "" if it is healthy."""
    if "sync" in words:
        arguments = read_arguments(words[words.index("sync") + 1 :])
        # The plain arguments of `shards sync` are SOURCE and DATA.
        follow = timedelta(seconds=float(arguments.options.get("--follow", 0)))
        return _fault_of_mirror(Path(arguments.plain[1]), max(_SILENCE, _ROUNDS * follow), now)
    options = read_arguments(words).options
    host = options.get("--host") or environment.get("SOCIETES_HOST", "127.0.0.1")
    port = options.get("--port") or environment.get("SOCIETES_PORT", "8080")
    return _fault_of_server(_LOOPBACK.get(host, host), int(port))


def read_arguments(words: Sequence[str]) -> Arguments:
    """Split the words of a command into arguments; options are `--name value` or `--name=value`."""
    plain, options = [], {}
    remaining = [word for word in words if word]
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        if not name.startswith("--"):
            plain.append(name + equals + value)
        elif equals or name in _SWITCHES or not remaining or remaining[0].startswith("--"):
            options[name] = value
        else:
            options[name] = remaining.pop(0)
    return Arguments(plain, options)


def _fault_of_server(host: str, port: int) -> str:
    """The fault of a server that does not answer /healthz with 200; "" if it is healthy."""
    try:
        with closing(http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{port} does not answer: {error}"
    return "" if status == 200 else f"{host}:{port} answers {status} to /healthz"


def _fault_of_mirror(data: Path, silence: timedelta, now: datetime) -> str:
    """The fault of a mirror without a sign of its source for `silence`; "" if it is healthy."""
    write_times = [_write_time(path) for path in (data / _FETCHED, *(data / _FETCHED).glob("*"))]
    latest = max(
        (time for time in (pointer.last_mirror_time(data), *write_times) if time), default=None
    )
    if latest is None:
        return f"{data}: the source was never found"
    if now - latest > silence:
        return f"{data}: the last sign of the source is of {latest.isoformat(timespec='seconds')}"
    return ""


def _write_time(path: Path) -> datetime | None:
    """The time of the last write to a file; None if the file is absent."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:  # absent, or moved to its place since the listing
        return None


if __name__ == "__main__":
    sys.exit(main())
