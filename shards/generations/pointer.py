"""DATA/CURRENT: which generation is published, and which are kept behind it.

One line of JSON, replaced by one rename. It alone says when something was published: nothing that
is built knows the time.
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

_NAME: Final = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The published generation, the one before it, when (ISO 8601, UTC).

    Attributes:
        older: others that are kept, the newest first.
    """

    generation: str
    previous: str | None
    published: str
    older: tuple[str, ...] = ()

    @property
    def kept(self) -> tuple[str, ...]:
        """Every generation that is kept, the published one first."""
        return (self.generation, *([self.previous] if self.previous else ()), *self.older)


def read(data: Path) -> Pointer | None:
    """What CURRENT says, or None where nothing has been published.

    Raises:
        CorruptError: if CURRENT cannot be understood.
    """
    try:
        packed = (data / CURRENT).read_bytes()
    except FileNotFoundError:
        return None
    try:
        document = orjson.loads(packed)
        known = Pointer(**{**document, "older": tuple(document.get("older", ()))})
        if not all(is_name(name) for name in known.kept):
            raise ValueError("a generation is 16 hexadecimal digits")
        return known
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptError(
            f"{data / CURRENT} cannot be understood ({error}); "
            "`python -m shards rollback --to GENERATION` writes it anew"
        ) from error


def require(data: Path) -> Pointer:
    """What CURRENT says.

    Raises:
        CorruptError: if CURRENT cannot be understood.
        GenerationError: if nothing has been published.
    """
    known = read(data)
    if known is None:
        raise GenerationError(f"{data} has nothing published; `python -m pipeline build` does")
    return known


def is_name(name: object) -> TypeGuard[str]:
    """Can it be the name of a generation (FORMAT.md §2)? A path cannot."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def check_name(text: str) -> str:
    """`text`, if it can be the name of a generation.

    Raises:
        GenerationError: it cannot.
    """
    if not is_name(text):
        raise GenerationError(
            f"{text!r} is no name of a generation: 16 hexadecimal digits, as "
            "`python -m shards list` writes them"
        )
    return text


def current(data: Path) -> str | None:
    """The published generation, or None."""
    known = read(data)
    return known.generation if known else None


def point_to(data: Path, generation: str, behind: Sequence[str] = ()) -> Pointer:
    """Make `generation` the published one, in one step.

    Args:
        behind: what is kept behind it, the previous one first; itself is left out.
    """
    others = tuple(dict.fromkeys(name for name in behind if name != generation))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    known = Pointer(generation, others[0] if others else None, now, others[1:])
    _write(data, known)
    return known


def forget(data: Path, known: Pointer, kept: Collection[str]) -> None:
    """Leave the generations out that are no longer kept."""
    _write(data, replace(known, older=tuple(name for name in known.older if name in kept)))


def _write(data: Path, known: Pointer) -> None:
    atomic_files.write(data / CURRENT, orjson.dumps(asdict(known)) + b"\n")
