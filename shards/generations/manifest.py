"""What a generation says of itself: its sources, its files with their digests, its counts.

The manifest holds no time and no path of a machine, and the name of a generation is the digest of
the rest: the same input gives the same generation, and a file that was changed is noticed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from blake3 import blake3

from shards.errors import CorruptError, WrongFormatError
from shards.format import FORMAT_VERSION

_CHUNK: Final = 1 << 20
_ID_DIGITS: Final = 16  # 64 bits of BLAKE3: two nights never share a name by chance


@dataclass(frozen=True, slots=True)
class InputSource:
    """An input file of the build: its name, size in bytes, BLAKE3 in hexadecimal."""

    path: str
    size: int
    blake3: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the generation: its size in bytes and two digests in hexadecimal.

    BLAKE3 is what is checked; SHA-256 is for people whose tools know no other.
    """

    size: int
    blake3: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`counts` are companies by country, `secteurs` by NACE division (`-`: without a sector)."""

    generation: str
    format: int
    sources: tuple[InputSource, ...]
    files: Mapping[str, File]
    total: int
    counts: Mapping[str, int]
    secteurs: Mapping[str, int]
    forced: str | None  # why the gates were overridden, if they were

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())


def make(
    files: Mapping[str, File],
    sources: Sequence[InputSource],
    counts: Mapping[str, int],
    secteurs: Mapping[str, int],
    forced: str | None = None,
) -> Manifest:
    """The manifest of these files, named by the digest of all it says."""
    nameless = Manifest(
        generation="",
        format=FORMAT_VERSION,
        sources=tuple(sorted(sources, key=lambda source: (source.path, source.blake3))),
        files=dict(sorted(files.items())),
        total=sum(counts.values()),
        counts=dict(sorted(counts.items())),
        secteurs=dict(sorted(secteurs.items())),
        forced=forced,
    )
    return Manifest(**{**_fields(nameless), "generation": _name(nameless)})


def dump(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`."""
    return orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes, where: Path) -> Manifest:
    """The manifest whose bytes these are; `where` it was found is for messages.

    Raises:
        WrongFormatError: if it is of another format.
        CorruptError: if it is no manifest, or was changed after it was named.
    """
    try:
        document: dict[str, Any] = orjson.loads(packed)
        version = document["format"]
        if version != FORMAT_VERSION:
            raise WrongFormatError(
                f"{where} has format {version}, this code reads {FORMAT_VERSION}; rebuild it"
            )
        document["sources"] = tuple(InputSource(**source) for source in document["sources"])
        document["files"] = {name: File(**file) for name, file in document["files"].items()}
        manifest = Manifest(**document)
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptError(
            f"{where} is not a manifest ({error}); build or fetch the generation again"
        ) from error
    if manifest.generation != _name(manifest):
        raise CorruptError(
            f"{where} does not say what its name {manifest.generation} stands for; "
            "build or fetch the generation again"
        )
    return manifest


def counts(packed: bytes) -> dict[str, int]:
    """The companies by country of a manifest of any format; empty where it cannot be understood."""
    try:
        return {str(iso2): int(number) for iso2, number in orjson.loads(packed)["counts"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


# -- files -------------------------------------------------------------------------


def digest(path: Path) -> File:
    """Size and digests of the file at `path`, read once in pieces."""
    first, second, size = blake3(), hashlib.sha256(), 0
    for piece in _pieces(path):
        first.update(piece)
        second.update(piece)
        size += len(piece)
    return File(size, first.hexdigest(), second.hexdigest())


def has_digest(path: Path, known: File) -> bool:
    """Are the bytes at `path` those of `known`? BLAKE3 alone tells, at the speed of the disk."""
    found = blake3()
    for piece in _pieces(path):
        found.update(piece)
    return bool(found.hexdigest() == known.blake3)


def check_sizes(folder: Path, files: Mapping[str, File]) -> None:
    """Look at every file of `files` without reading it.

    Raises:
        CorruptError: naming the first that is missing or of another size.
    """
    for name, file in files.items():
        try:
            size = (folder / name).stat().st_size
        except FileNotFoundError:
            raise CorruptError(
                f"{folder / name} is missing; build or fetch the generation again"
            ) from None
        if size != file.size:
            raise CorruptError(
                f"{folder / name} has {size} bytes, the manifest says {file.size}; "
                "build or fetch the generation again"
            )


def verify_files(folder: Path, files: Mapping[str, File], own: str) -> None:
    """Read every file of `folder`, whose manifest `own` names `files`.

    Raises:
        CorruptError: naming the first file that differs, is missing, or does not belong.
    """
    check_sizes(folder, files)
    for name, file in files.items():
        if not has_digest(folder / name, file):
            raise CorruptError(
                f"{folder / name} is not the file of the manifest (BLAKE3 differs); "
                "build or fetch the generation again"
            )
    if strangers := {path.name for path in folder.iterdir()} - {own, *files}:
        raise CorruptError(
            f"{folder} holds {', '.join(sorted(strangers))}, which the manifest does not name; "
            "take it away"
        )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            yield piece


# -- names -------------------------------------------------------------------------


def document_digest(document: Mapping[str, Any]) -> str:
    """The digest of what a document says, in hexadecimal."""
    return blake3(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _name(manifest: Manifest) -> str:
    return document_digest({**asdict(manifest), "generation": ""})[:_ID_DIGITS]


def _fields(manifest: Manifest) -> dict[str, Any]:
    return {name: getattr(manifest, name) for name in Manifest.__slots__}
