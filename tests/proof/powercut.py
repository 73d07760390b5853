"""Power cuts, simulated from the system calls of a real writer.

`strace` records every write to the store's file, every sync and every acknowledgement, in order. A power cut preserves
the synced writes. Each block of 4 KiB that was written after the last sync may be on the disk, or not, or only some of
its sectors of 512 bytes. This module makes the images of the file that a machine could have after such a cut.

The model has one file, blocks that are written, lost or torn independently, and a disk that honours `fdatasync` and
O_DSYNC. The model has no disk that reports a sync too early.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

BLOCK: Final = 4_096  # bytes
SECTOR: Final = 512  # bytes

# Options of strace: all processes, descriptors with paths, texts in hexadecimal and uncut, only these calls.
ARGUMENTS: Final = (
    "-f", "-y", "-xx", "-s", "100000000", "-e",
    "trace=openat,lseek,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,link,linkat",
)  # fmt: skip

# Lines of the log of strace: a call, the beginning and the end of a call that another process interrupted.
_CALL: Final = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
_UNFINISHED: Final = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED: Final = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)")
# A descriptor with its path, in hexadecimal.
_FD: Final = re.compile(r"^(\d+)<((?:\\x[0-9a-f]{2})*)>")
_STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')  # a text, in hexadecimal


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes written to the file; `durable` if the call returned after they were on disk."""

    offset: int
    data: bytes
    durable: bool


@dataclass(frozen=True, slots=True)
class Sync:
    """A sync, after which all earlier writes are on disk."""


@dataclass(frozen=True, slots=True)
class Ack:
    """An acknowledgement of a charge, on the standard output of the writer."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """The link that gives the file its name; a cut before it leaves no file."""


Event = Write | Sync | Ack | Link


def events(log: Path, file: Path) -> list[Event]:
    """The events of `file` and the acknowledgements on standard output, in order.

    The writer creates the file as `file.<random name>.partial` and then links it to its name.
    """
    file_names = re.compile(rb"%s(\.[0-9a-f]{16}\.partial)?" % re.escape(str(file).encode()))
    history: list[Event] = []
    positions: dict[int, int] = {}
    synchronous_fds: set[int] = set()
    for name, text, result in _calls(log):
        fd = _FD.match(text)
        if name == "openat":
            if "O_DSYNC" in text and file_names.fullmatch(_decode_match(_STRING.search(text))):
                synchronous_fds.add(result)
            else:
                # A closed descriptor's number can be used again, for a file without O_DSYNC.
                synchronous_fds.discard(result)
        elif name.startswith("link"):
            history.append(Link())
        elif fd and int(fd[1]) == 1 and name == "write":
            history.append(Ack(_written_bytes(text).decode().strip()))
        elif fd and file_names.fullmatch(bytes.fromhex(fd[2].replace("\\x", ""))):
            number = int(fd[1])
            if name == "lseek":
                positions[number] = result
            elif name in ("fsync", "fdatasync"):
                history.append(Sync())
            elif name == "ftruncate":
                raise AssertionError("the model does not support ftruncate")
            else:
                data = _written_bytes(text)[:result]
                start = positions.get(number, 0)
                if name.startswith("p"):  # pwrite64, pwritev: the offset is the last argument
                    start = int(text.rsplit(", ", 1)[1])
                else:
                    positions[number] = start + len(data)
                history.append(Write(start, data, number in synchronous_fds))
    return history


@dataclass
class Disk:
    """The synced content of a file, and the later writes."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        """Apply an event that ends before the power is cut: a sync moves the pending writes to `content`."""
        if isinstance(event, Sync):
            for write in self.pending:
                _write_at(self.content, write.offset, write.data)
            self.pending.clear()
        elif isinstance(event, Write):
            if event.durable:
                _write_at(self.content, event.offset, event.data)
            else:
                self.pending.append(event)

    def cut(self, chance: random.Random, under_way: Event | None = None) -> bytes:
        """Draw an image that a power cut may leave now; any part of the event `under_way` may be in it."""
        image = bytearray(self.content)
        writes = [*self.pending, *([under_way] if isinstance(under_way, Write) else [])]
        # A uniform share: images with nearly all blocks, or nearly none, are as likely as the others.
        written_share = chance.random()
        for write in writes:
            for offset, block in _blocks(write):
                if chance.random() < written_share:
                    _write_at(image, offset, block)
                elif chance.random() < 0.2:
                    _tear(image, offset, block, chance)
        return bytes(image)


def _tear(image: bytearray, offset: int, block: bytes, chance: random.Random) -> None:
    """Write a random selection of the sectors of a block."""
    for start in range(0, len(block), SECTOR):
        if chance.random() < 0.5:
            _write_at(image, offset + start, block[start : start + SECTOR])


def _blocks(write: Write) -> Iterator[tuple[int, bytes]]:
    """The blocks of a write, with their offsets."""
    start = 0
    while start < len(write.data):
        end = start + BLOCK - (write.offset + start) % BLOCK
        yield write.offset + start, write.data[start:end]
        start = end


def _write_at(content: bytearray, offset: int, data: bytes) -> None:
    """Write bytes at an offset; a gap before them is filled with zeros."""
    if len(content) < offset + len(data):
        content.extend(bytes(offset + len(data) - len(content)))
    content[offset : offset + len(data)] = data


def _calls(log: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the name, arguments and result of each system call of the log of strace that succeeded.

    The two lines of an interrupted call are joined.
    """
    unfinished_calls: dict[str, tuple[str, str]] = {}
    with log.open() as lines:
        for line in lines:
            if call := _CALL.match(line):
                name, text, result = call[2], call[3], int(call[4])
            elif unfinished := _UNFINISHED.match(line):
                unfinished_calls[unfinished[1]] = (unfinished[2], unfinished[3])
                continue
            elif resumed := _RESUMED.match(line):
                name, text = unfinished_calls.pop(resumed[1])
                text, result = text + resumed[3], int(resumed[4])
            else:
                continue
            if result >= 0:
                yield name, text, result


def _written_bytes(text: str) -> bytes:
    """The bytes of all texts in the arguments of a call, which strace writes as `\\x..` for each byte."""
    return b"".join(bytes.fromhex(literal.replace("\\x", "")) for literal in _STRING.findall(text))


def _decode_match(match: re.Match[str] | None) -> bytes:
    """The bytes of a hexadecimal text of strace."""
    return bytes.fromhex(match[1].replace("\\x", "")) if match else b""
