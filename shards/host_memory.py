"""The memory that a process may still take: of the machine, within the limits of its control groups.

A build plans with it, an import is limited by it, and a server reads its shards ahead as far as it goes. A container
or a unit of systemd has a control group, whose limits and those of the groups above it hold all at once.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MACHINE: Final = Path("/proc/meminfo")
_OWN_GROUP: Final = Path("/proc/self/cgroup")
_GROUPS: Final = Path("/sys/fs/cgroup")
_LIMITS: Final = ("memory.max", "memory.high")  # "max", or bytes


def available_bytes(unstated: int = 0) -> int:
    """Available bytes of memory, page cache included.

    Args:
        unstated: the bytes of a machine that does not state them, such as one without /proc.
    """
    machine = re.search(r"MemAvailable:\s+(\d+) kB", _text(_MACHINE))
    return min([int(machine[1]) << 10 if machine else unstated, *_limits()])


def _limits() -> Iterator[int]:
    """The limits of the control group of this process, and of those above it."""
    own = re.search(r"^0::/?(.*)$", _text(_OWN_GROUP), re.MULTILINE)
    group = _GROUPS / (own[1] if own else "")
    for folder in (group, *group.parents):
        if folder.is_relative_to(_GROUPS):
            texts = [_text(folder / name).strip() for name in _LIMITS]
            yield from (int(text) for text in texts if text.isdigit())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
