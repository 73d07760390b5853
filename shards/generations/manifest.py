"""The manifest of a generation: its sources, its files with their digests, its counts (FORMAT.md §2).

The manifest contains no time and no path, and the name of a generation is the digest of the rest of the manifest. So
the same input gives the same generation, and a changed file is detected.
"""

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson
from blake3 import blake3

from shards.errors import CorruptError, WrongFormatError
from shards.format import FORMAT_VERSION

T = TypeVar("T")

_MOST_SHOWN: Final = 60  # characters of a value in a message


# The most bytes of a manifest, which lists about 30 files and the input files of its build.
MOST_MANIFEST: Final = 1 << 24
# The most bytes of any other JSON document of a generation, since it is read into memory.
MOST_DOCUMENT: Final = 1 << 26
_JSON_SUFFIX: Final = ".json"

_CHUNK: Final = 1 << 20  # bytes of a file that are read at once
# Hexadecimal digits of the name of a generation: with 64 bits of BLAKE3, two builds do not get the same name by chance.
_ID_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class InputSource:
    """An input file of the build: its name, size in bytes, BLAKE3 in hexadecimal."""

    path: str
    size: int
    blake3: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the generation: its size in bytes and two digests in hexadecimal.

    This program checks BLAKE3; SHA-256 is there for other tools.
    """

    size: int
    blake3: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a generation.

    Attributes:
        counts: companies by country.
        secteurs: companies by NACE division (`-`: no sector).
        forced: the closed gates that were overridden; None if all were open.
    """

    generation: str
    format: int
    sources: tuple[InputSource, ...]
    files: Mapping[str, File]
    total: int
    counts: Mapping[str, int]
    secteurs: Mapping[str, int]
    forced: str | None

    @property
    def size(self) -> int:
        """The size of all files together, in bytes."""
        return sum(file.size for file in self.files.values())


def make(
    files: Mapping[str, File],
    sources: Sequence[InputSource],
    counts: Mapping[str, int],
    secteurs: Mapping[str, int],
    forced: str | None = None,
) -> Manifest:
    """The manifest of these files, named by the digest of its content.

    Args:
        files: the files of the generation, by path.
        sources: the input files of the build.
        counts, secteurs, forced: the attributes of `Manifest`.
    """
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
    return Manifest(**{**_field_values(nameless), "generation": _generation_name(nameless)})


def dump(manifest: Manifest) -> bytes:
    """The bytes of `manifest.json`."""
    return orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def load(packed: bytes, where: Path) -> Manifest:
    """The manifest that these bytes encode; `where` is its path, for messages.

    Raises:
        WrongFormatError: the manifest has another format version.
        CorruptError: the bytes are not a manifest, or do not match the name of the generation; or a listed document is
            too large to be read into memory.
    """
    try:
        if len(packed) > MOST_MANIFEST:
            raise ValueError(f"it has more than {MOST_MANIFEST} bytes")
        document: dict[str, Any] = orjson.loads(packed)
        version = document["format"]
        if version != FORMAT_VERSION:
            raise WrongFormatError(
                f"{where} has format {version}, this code reads {FORMAT_VERSION}; rebuild it"
            )
        document["sources"] = tuple(
            make_entry(InputSource, source) for source in document["sources"]
        )
        document["files"] = {
            name: make_entry(File, file) for name, file in document["files"].items()
        }
        manifest = make_entry(Manifest, document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptError(
            f"{where} is not a manifest ({error}); build or fetch the generation again"
        ) from error
    if manifest.generation != _generation_name(manifest):
        raise CorruptError(
            f"{where} does not match the digest in its name {manifest.generation}; "
            "build or fetch the generation again"
        )
    for name, file in manifest.files.items():
        if name.endswith(_JSON_SUFFIX) and file.size > MOST_DOCUMENT:
            raise CorruptError(
                f"{where} names {name} of {file.size} bytes, {MOST_DOCUMENT} at most; build the generation again"
            )
    return manifest


def read(path: Path) -> Manifest:
    """The manifest at `path`; at most one byte more than MOST_MANIFEST is read.

    Raises:
        FileNotFoundError: there is no such file.
        WrongFormatError, CorruptError: as `load`.
    """
    with path.open("rb") as stream:
        return load(stream.read(MOST_MANIFEST + 1), path)


def counts(packed: bytes) -> dict[str, int]:
    """The companies by country of a manifest of any format version; empty if it cannot be parsed."""
    try:
        return {str(iso2): int(number) for iso2, number in orjson.loads(packed)["counts"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


# -- digests and sizes of files ----------------------------------------------------


def digest(path: Path) -> File:
    """The size and the digests of the file at `path`, which is read once."""
    blake3_digest, sha256_digest, size = blake3(), hashlib.sha256(), 0
    for piece in _pieces(path):
        blake3_digest.update(piece)
        sha256_digest.update(piece)
        size += len(piece)
    return File(size, blake3_digest.hexdigest(), sha256_digest.hexdigest())


def has_digest(path: Path, file: File) -> bool:
    """Whether the file at `path` has the BLAKE3 of `file`; the complete file is read, at the speed of the disk."""
    content_digest = blake3()
    for piece in _pieces(path):
        content_digest.update(piece)
    return bool(content_digest.hexdigest() == file.blake3)


def check_sizes(folder: Path, files: Mapping[str, File]) -> None:
    """Compare the sizes of all `files` with those on disk, without reading them.

    Raises:
        CorruptError: names the first file that is missing or has another size.
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
    """Read every file of `folder` and compare its digest with `files`.

    Args:
        own: the name of the document that lists `files`; it is not in the list.

    Raises:
        CorruptError: names the first file that differs, is missing, or is not in the list.
    """
    check_listed(folder, files, own)
    for name, file in files.items():
        if not has_digest(folder / name, file):
            raise CorruptError(
                f"{folder / name} is not the file of the manifest (BLAKE3 differs); "
                "build or fetch the generation again"
            )


def check_listed(folder: Path, files: Mapping[str, File], own: str) -> None:
    """Check that `folder` has exactly `files`, with their sizes, and the document `own`; no content is read."""
    check_sizes(folder, files)
    if unlisted := {path.name for path in folder.iterdir()} - {own, *files}:
        raise CorruptError(
            f"{folder} has {', '.join(sorted(unlisted))}, which the manifest does not name; "
            "remove it"
        )


def _pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, in pieces of at most _CHUNK bytes."""
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            yield piece


# -- the name of a generation, a digest of its manifest ----------------------------


def document_digest(document: Mapping[str, Any]) -> str:
    """The BLAKE3 of a document, keys sorted and without white space, in hexadecimal."""
    return blake3(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def name_of(packed: bytes) -> str | None:
    """The generation name that follows from the content of a manifest; None if the content is not a JSON object.

    The manifest can be invalid otherwise, so a caller can tell a manifest that was built so from a damaged copy.
    """
    try:
        return document_digest({**orjson.loads(packed), "generation": ""})[:_ID_DIGITS]
    except (TypeError, ValueError):
        return None


def _generation_name(manifest: Manifest) -> str:
    """The name of a generation: the digest of its manifest without a name."""
    return document_digest({**asdict(manifest), "generation": ""})[:_ID_DIGITS]


def _field_values(manifest: Manifest) -> dict[str, Any]:
    """The values of a manifest by field; unlike `asdict`, entries of files stay `File` objects."""
    return {name: getattr(manifest, name) for name in Manifest.__slots__}


# -- entries of JSON documents -----------------------------------------------------------------


def make_entry(kind: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass `kind` with these values; an array becomes a tuple, and no integer can be below 0.

    A document with the right digest can still be malformed, if its source is. Without this check a value of the wrong
    type would be loaded, and fail in every page that shows it.

    Raises:
        TypeError: `values` is not an object, a name is missing or unknown, or a value has another type.

    >>> from shards.generations.reference import CellCount
    >>> make_entry(CellCount, {"secteur": "62", "sous_secteur": None, "n": 3}).n
    3
    >>> make_entry(CellCount, {"secteur": "62", "sous_secteur": None, "n": "3"})
    Traceback (most recent call last):
    TypeError: n = '3' of a CellCount is not of the type int
    """
    if not isinstance(values, dict):
        raise TypeError(f"{_describe_value(values)} is not a {kind.__name__}")
    types = _field_types(cast(Hashable, kind))
    for name, value in values.items():
        if name in types and not _has_type(value, types[name]):
            expected = getattr(types[name], "__name__", str(types[name]))
            raise TypeError(
                f"{name} = {_describe_value(value)} of a {kind.__name__} is not of the type {expected}"
            )
    return kind(
        **{name: tuple(value) if type(value) is list else value for name, value in values.items()}
    )


@cache
def _field_types(kind: Hashable) -> Mapping[str, Any]:
    """The types of the fields of a dataclass, by name."""
    return get_type_hints(kind)


def _has_type(value: Any, expected: Any) -> bool:
    """Whether a JSON value has the type of a dataclass field."""
    origin, arguments = get_origin(expected), get_args(expected)
    if origin is Literal:
        return value in arguments if isinstance(value, str) else False
    if origin in (Union, UnionType):
        return any(_has_type(value, argument) for argument in arguments)
    if origin is tuple:  # of any number of values of one type
        return isinstance(value, list | tuple) and all(
            _has_type(item, arguments[0]) for item in value
        )
    if origin is not None:  # a mapping
        return isinstance(value, dict) and all(
            _has_type(name, arguments[0]) and _has_type(item, arguments[1])
            for name, item in value.items()
        )
    if expected is int:
        return type(value) is int and value >= 0
    return isinstance(value, expected)


def _describe_value(value: Any) -> str:
    """A value for a message, cut to _MOST_SHOWN characters."""
    return repr(value)[:_MOST_SHOWN]
