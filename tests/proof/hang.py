"""A report on a server that hangs: the process that holds the connection, and the wait of each thread.

It is read from /proc alone and goes into the failure message, because nobody can attach a debugger
to a run in CI. A thread in `futex_do_wait` whose argument lies in a mapped file waits for a lock of
LMDB.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

ESTABLISHED = "01"


def report(server: int, workers: Iterable[int], port: int, client: int) -> str:
    """Lines about the connection from the port `client` to the server's `port`, and all threads."""
    socket = _socket(port, client)
    lines = [f"the connection from port {client} to {port} is {socket or 'gone'} of the server"]
    for pid in (server, *workers):
        has = " has the connection" if socket in _open(pid) else ""
        lines += [f"process {pid}{has}", *_threads(pid)]
    return "\n".join(lines)


def _socket(port: int, client: int) -> str:
    """The server's end, as /proc/PID/fd shows it; a socket in no process is not accepted yet."""
    for row in _text("/proc/net/tcp").splitlines()[1:]:
        _, local, remote, state, *rest = row.split()
        if (local[-4:], remote[-4:], state) == (f"{port:04X}", f"{client:04X}", ESTABLISHED):
            return f"socket:[{rest[5]}]"
    return ""


def _open(pid: int) -> set[str]:
    found = set()
    for link in _entries(Path(f"/proc/{pid}/fd")):
        try:
            found.add(str(link.readlink()))
        except OSError:  # closed meanwhile
            continue
    return found - {""}


def _threads(pid: int) -> Iterator[str]:
    for thread in _entries(Path(f"/proc/{pid}/task")):
        name, where, call = (_text(thread / part).strip() for part in ("comm", "wchan", "syscall"))
        first = call.split()[1] if call.count(" ") > 1 else "0x0"
        yield f"  {thread.name} {name}: {where}, {call} {_mapped(pid, int(first, 16))}".rstrip()


def _mapped(pid: int, address: int) -> str:
    """The file in which an address lies."""
    for row in _text(f"/proc/{pid}/maps").splitlines():
        first, _, last = row.split()[0].partition("-")
        if int(first, 16) <= address < int(last, 16):
            return row.partition("/")[2] and "/" + row.partition("/")[2]
    return ""


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # the process has ended
        return []


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
