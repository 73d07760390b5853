"""The shards that this process has open, each file once.

A country that did not change is one file in two generations, and LMDB refuses to open a file that
the process has open already. So generations that are open side by side share the shard; it is
closed when the last of them gives it back. A file is known by its inode.
"""

from pathlib import Path
from threading import Lock
from typing import Final

from shards.reader import Shard

Inode = tuple[int, int]

_lock: Final = Lock()
_open: Final[dict[Inode, tuple[Shard, int]]] = {}
_inodes: Final[dict[int, Inode]] = {}


def open_shard(path: Path) -> Shard:
    """The open shard at `path`, to be given back once.

    Raises:
        FileNotFoundError
        WrongFormatError: it is no shard, or one of another format version.
    """
    inode = inode_of(path)
    with _lock:
        found, users = _open.get(inode) or (Shard(path), 0)
        _open[inode] = (found, users + 1)
        _inodes[id(found)] = inode
        return found


def inode_of(path: Path) -> Inode:
    """What a file is known by, whatever its names."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def give_back(shard: Shard) -> None:
    """Say that one of those who asked for `open_shard` is done with it."""
    with _lock:
        inode = _inodes[id(shard)]
        _, users = _open[inode]
        if users > 1:
            _open[inode] = (shard, users - 1)
            return
        del _open[inode], _inodes[id(shard)]
        shard.close()
