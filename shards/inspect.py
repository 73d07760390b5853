"""Shows what is in a shard or a generation, as lines to read."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from shards import format, generations, pointer
from shards import manifest as manifests
from shards.errors import GenerationError
from shards.reader import Shard
from shards.sync import part

_ROWS: Final = 10


def shard_lines(path: Path, identifier: str | None = None) -> Iterator[str]:
    """Header, tables with their sizes and ten rows of the shard at `path`.

    With an `identifier`, that company instead, contact fields and statements included.
    """
    _check_size(path)
    with Shard(path) as shard:
        if identifier is None:
            yield from _overview(shard)
        else:
            yield from _company(shard, identifier)


def _check_size(path: Path) -> None:
    """A file that is cut off ends the process that reads behind its end: look before."""
    if not (path.parent / generations.MANIFEST).exists():
        return
    file = generations.read_manifest(path.parent).files.get(path.name)
    if file is not None:
        manifests.same_sizes(path.parent, {path.name: file})


def data_lines(data: Path) -> Iterator[str]:
    """The generations in the folder `data`, and the files of the published one."""
    known = pointer.expected(data)
    yield f"{data}: {known.generation} published {known.published}, before it {known.previous}"
    folder = data / known.generation
    manifest = generations.read_manifest(folder)
    yield f"format {manifest.format}, {manifest.total:,} companies, {manifest.size:,} bytes"
    if origin := part.origin(folder):
        yield f"a part of {origin[1].generation}: {', '.join(manifest.counts)}"
    if manifest.forced:
        yield f"forced past the gates: {manifest.forced}"
    for source in manifest.sources:
        yield f"  from  {source.path:<60} {source.size:>14,}  {source.blake3[:16]}"
    for name, file in manifest.files.items():
        rows = manifest.counts.get(Path(name).stem)
        count = f"{rows:>12,} rows" if rows is not None else ""
        yield f"  {name:<16} {file.size:>14,} bytes  {file.blake3[:16]} {count}"


def _overview(shard: Shard) -> Iterator[str]:
    size = shard.path.stat().st_size
    yield f"{shard.path}: format {format.FORMAT_VERSION}, {shard.iso2}, {shard.rows:,} companies"
    each = f", {size / shard.rows:.0f} a company" if shard.rows else ""
    yield f"{size:,} bytes{each}; {len(shard.layout.cells)} cells"
    yield ""
    yield f"{'table':<10}{'entries':>12}{'bytes':>16}{'a company':>12}"
    for table in format.TABLES:
        bytes_ = shard.size(table)
        each = f"{bytes_ / shard.rows:12.1f}" if shard.rows else ""
        yield f"{table.decode():<10}{shard.entries(table):>12,}{bytes_:>16,}{each}"
    yield ""
    width = shutil.get_terminal_size((160, 24)).columns
    for row in range(min(_ROWS, shard.rows)):
        yield f"{row:>4} {shard.record(row, coordonnees=False).decode()}"[:width]


def _company(shard: Shard, identifier: str) -> Iterator[str]:
    row = shard.find(identifier)
    if row is None:
        raise GenerationError(f"{shard.path} has no company {identifier!r}")
    yield f"row {row}, key {format.row_key(row).hex(' ')}"
    yield from _pretty(shard.record(row, coordonnees=True))
    yield from _pretty(shard.comptes(row) or b"[]")


def _pretty(document: bytes) -> Iterator[str]:
    yield from orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode().split("\n")
