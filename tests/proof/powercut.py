"""Power cuts, simulated from the system calls of a real writer.

`strace` records every write to the store's file, every sync and every acknowledgement, in order. A
power cut leaves all that was synced before it. Of the bytes written since, each block of 4 KiB may
have reached the disk, or not, or only some of its sectors of 512 bytes. This module makes the
images of the file that a machine could find after such a cut.

Modelled: one file; blocks that are kept, dropped or torn independently; a disk that honours
`fdatasync` and O_DSYNC. Not modelled: a disk that reports a sync before it is done.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

BLOCK: Final = 4_096
SECTOR: Final = 512

ARGUMENTS: Final = (
    "-f", "-y", "-xx", "-s", "100000000", "-e",
    "trace=openat,lseek,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,link,linkat",
)  # fmt: skip

_CALL: Final = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
_UNFINISHED: Final = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED: Final = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)")
_FD: Final = re.compile(r"^(\d+)<((?:\\x[0-9a-f]{2})*)>")
_STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes written to the file; `durable` if the call returned only when they were on disk."""

    offset: int
    data: bytes
    durable: bool


@dataclass(frozen=True, slots=True)
class Sync:
    """The sync that puts all earlier writes on disk."""


@dataclass(frozen=True, slots=True)
class Ack:
    """The writer's acknowledgement of a charge, on standard output."""

    text: str


@dataclass(frozen=True, slots=True)
class Named:
    """The link that gives the file its name; a cut before it leaves no file."""


Event = Write | Sync | Ack | Named


def events(log: Path, file: Path) -> list[Event]:
    """The events of `file` and the acknowledgements on standard output, in order.

    The writer creates the file as `file.<random name>.partial` and then links it to its name.
    """
    ours = re.compile(rb"%s(\.[0-9a-f]{16}\.partial)?" % re.escape(str(file).encode()))
    found: list[Event] = []
    position: dict[int, int] = {}
    synchronous: set[int] = set()
    for name, text, result in _calls(log):
        fd = _FD.match(text)
        if name == "openat":
            if "O_DSYNC" in text and ours.fullmatch(_text(_STRING.search(text))):
                synchronous.add(result)
            else:
                synchronous.discard(result)  # the descriptor number is used again
        elif name.startswith("link"):
            found.append(Named())
        elif fd and int(fd[1]) == 1 and name == "write":
            found.append(Ack(_strings(text).decode().strip()))
        elif fd and ours.fullmatch(bytes.fromhex(fd[2].replace("\\x", ""))):
            number = int(fd[1])
            if name == "lseek":
                position[number] = result
            elif name in ("fsync", "fdatasync"):
                found.append(Sync())
            elif name == "ftruncate":
                raise AssertionError("the model has no truncated files")
            else:
                data = _strings(text)[:result]
                start = position.get(number, 0)
                if name.startswith("p"):
                    start = int(text.rsplit(", ", 1)[1])
                else:
                    position[number] = start + len(data)
                found.append(Write(start, data, number in synchronous))
    return found


@dataclass
class Disk:
    """The synced content of a file, and the writes since the last sync."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        if isinstance(event, Sync):
            for write in self.pending:
                _put(self.content, write.offset, write.data)
            self.pending.clear()
        elif isinstance(event, Write):
            if event.durable:
                _put(self.content, event.offset, event.data)
            else:
                self.pending.append(event)

    def cut(self, chance: random.Random, under_way: Event | None = None) -> bytes:
        """A random image that a power cut may leave now; of the event `under_way`, any part."""
        image = bytearray(self.content)
        writes = [*self.pending, *([under_way] if isinstance(under_way, Write) else [])]
        # Cuts that keep nearly all blocks, or nearly none, are as likely as those in between.
        keep = chance.random()
        for write in writes:
            for offset, piece in _pieces(write):
                if chance.random() < keep:
                    _put(image, offset, piece)
                elif chance.random() < 0.2:
                    _tear(image, offset, piece, chance)
        return bytes(image)


def _tear(image: bytearray, offset: int, piece: bytes, chance: random.Random) -> None:
    """Write a random selection of the sectors of a block."""
    for start in range(0, len(piece), SECTOR):
        if chance.random() < 0.5:
            _put(image, offset + start, piece[start : start + SECTOR])


def _pieces(write: Write) -> Iterator[tuple[int, bytes]]:
    """The blocks of a write, with their offsets."""
    start = 0
    while start < len(write.data):
        end = start + BLOCK - (write.offset + start) % BLOCK
        yield write.offset + start, write.data[start:end]
        start = end


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset + len(data):
        content.extend(bytes(offset + len(data) - len(content)))
    content[offset : offset + len(data)] = data


def _calls(log: Path) -> Iterator[tuple[str, str, int]]:
    """Name, arguments and result of each finished call that did not fail."""
    begun: dict[str, tuple[str, str]] = {}
    with log.open() as lines:
        for line in lines:
            if call := _CALL.match(line):
                name, text, result = call[2], call[3], int(call[4])
            elif unfinished := _UNFINISHED.match(line):
                begun[unfinished[1]] = (unfinished[2], unfinished[3])
                continue
            elif resumed := _RESUMED.match(line):
                name, text = begun.pop(resumed[1])
                text, result = text + resumed[3], int(resumed[4])
            else:
                continue
            if result >= 0:
                yield name, text, result


def _strings(text: str) -> bytes:
    return b"".join(bytes.fromhex(found.replace("\\x", "")) for found in _STRING.findall(text))


def _text(found: re.Match[str] | None) -> bytes:
    return bytes.fromhex(found[1].replace("\\x", "")) if found else b""
