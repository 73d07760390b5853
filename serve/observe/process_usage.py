"""The memory of processes, and their time on a processor (proc(5)).

The memory is the anonymous one, in use or swapped out. Mapped shards are not in it: they are the page cache, which all
workers share and the system takes back. Both figures are counters that Linux keeps anyway, so reading them costs
microseconds, whatever the size of the process.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

# The kinds of processes of a server: those that answer requests, and those that make their exports.
WORKER: Final = "worker"
EXPORT: Final = "export"

_MEMORY: Final = ("RssAnon:", "VmSwap:")
_KIBIBYTE: Final = 1_024
_PROCESSOR: Final = slice(11, 13)  # utime and stime, counted from the field after the name


class ProcessUsage(NamedTuple):
    """What the processes of one kind take: bytes, and seconds since they were started."""

    memory: int
    processor: float


def measure(exporters: Iterable[int]) -> dict[str, ProcessUsage]:
    """What this process takes, and the processes that it has started for exports.

    Args:
        exporters: the ids of those that run; what ended ones took of the processor still counts.
    """
    times = os.times()
    memory, processor = 0, times.children_user + times.children_system  # of those that have ended
    for pid in exporters:
        with suppress(OSError):
            memory += _memory(str(pid))
            processor += _processor(str(pid))
    own = 0
    with suppress(OSError):  # no /proc
        own = _memory("self")
    return {
        WORKER: ProcessUsage(own, times.user + times.system),
        EXPORT: ProcessUsage(memory, processor),
    }


def _memory(pid: str) -> int:
    lines = Path("/proc", pid, "status").read_text(encoding="utf-8").splitlines()
    return _KIBIBYTE * sum(int(line.split()[1]) for line in lines if line.startswith(_MEMORY))


def _processor(pid: str) -> float:
    """The seconds of a process; its name, in brackets, may contain anything."""
    fields = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[_PROCESSOR])) / os.sysconf("SC_CLK_TCK")
