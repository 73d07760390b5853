"""The memory that is available to a process: free memory of the machine, within the limits of its control groups.

This number is the plan of a build, the limit of an import, and the limit to which a server reads shards ahead. A
container or a systemd unit has a control group; its limits apply, and also the limits of all groups above it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MACHINE: Final = Path("/proc/meminfo")
_OWN_GROUP: Final = Path("/proc/self/cgroup")  # names the control group of this process
_GROUPS: Final = Path("/sys/fs/cgroup")  # has a folder for each control group
_LIMITS: Final = ("memory.max", "memory.high")  # "max", or bytes


def available_bytes(unstated: int = 0) -> int:
    """Available bytes of memory, page cache included.

    Args:
        unstated: the result for a machine that does not state its memory, such as a machine without /proc.
    """
    machine = re.search(r"MemAvailable:\s+(\d+) kB", _file_text(_MACHINE))
    return min([int(machine[1]) << 10 if machine else unstated, *_memory_limits()])


def _memory_limits() -> Iterator[int]:
    """The memory limits, in bytes, of the control group of this process and of the groups above it."""
    # The line of the second version of control groups is `0::/path/of/the/group`.
    own_group = re.search(r"^0::/?(.*)$", _file_text(_OWN_GROUP), re.MULTILINE)
    group = _GROUPS / (own_group[1] if own_group else "")
    for folder in (group, *group.parents):
        if folder.is_relative_to(_GROUPS):
            texts = [_file_text(folder / name).strip() for name in _LIMITS]
            yield from (int(text) for text in texts if text.isdigit())


def _file_text(path: Path) -> str:
    """The text of a file, empty if the file cannot be read."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
