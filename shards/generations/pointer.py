"""The file DATA/CURRENT: the published generation, and older generations that are kept.

The file is one line of JSON and is replaced by one rename. It is the only place with the time of publication, because
generations contain no time. A mirror also notes the last time at which it was equal to its source, in DATA/.mirrored.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeGuard

import orjson

from shards.errors import CorruptError, GenerationError
from shards.generations import atomic_files

CURRENT: Final = "CURRENT"
# The file with the last time at which a mirror was equal to its source.
MIRRORED: Final = ".mirrored"

_NAME: Final = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The content of CURRENT.

    Attributes:
        generation: the published generation.
        previous: the generation before it, the default of a rollback.
        published: the time of publication (ISO 8601, UTC).
        older: further generations that are kept, the newest first.
    """

    generation: str
    previous: str | None
    published: str
    older: tuple[str, ...] = ()

    @property
    def generations(self) -> tuple[str, ...]:
        """All generations that are kept, the published one first."""
        return (self.generation, *([self.previous] if self.previous else ()), *self.older)


def read(data: Path) -> Pointer | None:
    """The content of CURRENT, None if nothing has been published.

    Raises:
        CorruptError: CURRENT cannot be parsed.
    """
    try:
        packed = (data / CURRENT).read_bytes()
    except FileNotFoundError:
        return None
    try:
        document = orjson.loads(packed)
        pointer = Pointer(**{**document, "older": tuple(document.get("older", ()))})
        if not all(is_name(name) for name in pointer.generations):
            raise ValueError("a generation is 16 hexadecimal digits")
        return pointer
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptError(
            f"{data / CURRENT} cannot be understood ({error}); "
            "`python -m shards rollback --to GENERATION` writes it anew"
        ) from error


def require(data: Path) -> Pointer:
    """The content of CURRENT, which must exist.

    Raises:
        CorruptError: CURRENT cannot be parsed.
        GenerationError: nothing has been published.
    """
    pointer = read(data)
    if pointer is None:
        if not data.exists():
            raise GenerationError(f"there is no folder {data}; name one that has a generation")
        raise GenerationError(
            f"{data} has nothing published; `python -m pipeline build` publishes there"
        )
    return pointer


def is_name(name: object) -> TypeGuard[str]:
    """Whether `name` can be the name of a generation (FORMAT.md §2); a path cannot."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def check_name(text: str) -> str:
    """Return `text` if it can be the name of a generation.

    Raises:
        GenerationError: it cannot be one.
    """
    if not is_name(text):
        raise GenerationError(
            f"{text!r} is not a name of a generation: 16 hexadecimal digits, as "
            "`python -m shards list` writes them"
        )
    return text


def current_name(data: Path) -> str | None:
    """The name of the published generation, or None."""
    pointer = read(data)
    return pointer.generation if pointer else None


def point_to(data: Path, generation: str, older: Sequence[str] = ()) -> Pointer:
    """Publish `generation` by one rename of CURRENT; return the new content of CURRENT.

    Args:
        older: the generations to keep, the previous generation first; `generation` itself is left out.
    """
    older_names = tuple(dict.fromkeys(name for name in older if name != generation))
    published = datetime.now(UTC).isoformat(timespec="seconds")
    pointer = Pointer(
        generation, older_names[0] if older_names else None, published, older_names[1:]
    )
    _write(data, pointer)
    return pointer


def forget(data: Path, pointer: Pointer, remaining: Collection[str]) -> None:
    """Rewrite CURRENT without the older generations that are not in `remaining`."""
    names = [name for name in pointer.generations[1:] if name in remaining]
    previous, older = names[0] if names else None, tuple(names[1:])
    _write(data, replace(pointer, previous=previous, older=older))


def note_mirrored(data: Path, now: datetime) -> None:
    """Note that the mirror `data` has the generation that its source publishes.

    Raises:
        OSError: the disk failed.
    """
    atomic_files.write(data / MIRRORED, f"{now.isoformat(timespec='seconds')}\n".encode())


def last_mirror_time(data: Path) -> datetime | None:
    """The last time at which the mirror `data` had the generation of its source; None if unknown."""
    try:
        mirrored = datetime.fromisoformat((data / MIRRORED).read_text(encoding="utf-8").strip())
    except (OSError, ValueError):  # absent or damaged: the next round writes it again
        return None
    return mirrored if mirrored.tzinfo else None


def _write(data: Path, pointer: Pointer) -> None:
    """Replace CURRENT."""
    atomic_files.write(data / CURRENT, orjson.dumps(asdict(pointer)) + b"\n")
