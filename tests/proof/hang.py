"""A report on a server that hangs: the process that has the connection, and the system call of each thread.

The report comes from /proc alone and is part of the failure message, because nobody can attach a debugger to a run in
CI. A thread in `futex_do_wait` whose argument is an address in a mapped file waits for a lock of LMDB.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

ESTABLISHED = "01"  # the state of a connection in /proc/net/tcp


def report(server: int, workers: Iterable[int], port: int, client: int) -> str:
    """The connection from the port `client` to the server's `port`, and all threads, as lines of text."""
    socket = _socket_name(port, client)
    lines = [f"the connection from port {client} to {port} is {socket or 'gone'} of the server"]
    for pid in (server, *workers):
        has = " has the connection" if socket in _open_files(pid) else ""
        lines += [f"process {pid}{has}", *_thread_lines(pid)]
    return "\n".join(lines)


def _socket_name(port: int, client: int) -> str:
    """The server's socket as /proc/PID/fd shows it, or ""; a socket that no process has is not accepted yet."""
    for row in _read_text("/proc/net/tcp").splitlines()[1:]:
        _, local, remote, state, *other_fields = row.split()
        if (local[-4:], remote[-4:], state) == (f"{port:04X}", f"{client:04X}", ESTABLISHED):
            return f"socket:[{other_fields[5]}]"  # its inode
    return ""


def _open_files(pid: int) -> set[str]:
    """The targets of the links in /proc/PID/fd."""
    links = set()
    for link in _entries(Path(f"/proc/{pid}/fd")):
        try:
            links.add(str(link.readlink()))
        except OSError:  # closed meanwhile
            continue
    return links - {""}


def _thread_lines(pid: int) -> Iterator[str]:
    """A line per thread: its name, the kernel function in which it waits, its system call."""
    for thread in _entries(Path(f"/proc/{pid}/task")):
        name, wait, call = (
            _read_text(thread / file_name).strip() for file_name in ("comm", "wchan", "syscall")
        )
        address = call.split()[1] if call.count(" ") > 1 else "0x0"
        yield f"  {thread.name} {name}: {wait}, {call} {_mapped_file(pid, int(address, 16))}".rstrip()


def _mapped_file(pid: int, address: int) -> str:
    """The mapped file that contains an address, or ""."""
    for row in _read_text(f"/proc/{pid}/maps").splitlines():
        start, _, end = row.split()[0].partition("-")
        if int(start, 16) <= address < int(end, 16):
            return row.partition("/")[2] and "/" + row.partition("/")[2]
    return ""


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder of /proc; none if the process has ended."""
    try:
        return sorted(folder.iterdir())
    except OSError:  # the process has ended
        return []


def _read_text(path: str | Path) -> str:
    """The text of a file, or nothing if it cannot be read: the process may have ended."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""
