"""The command `python -m shards`: inspect, list, compare, verify, roll back, mirror and sign generations."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import orjson
from tqdm import tqdm

from seeds import VERSION
from seeds.settings import naming_value, whole_number
from shards import format
from shards.analyses import market
from shards.changes import change_file, comparison
from shards.changes.change_file import NATURES
from shards.errors import GenerationError, ShardError
from shards.generations import change_steps, generation_files, pointer, publication
from shards.generations import manifest as manifests
from shards.generations.change_steps import ChangeCounts, ChangeStep
from shards.generations.generation_files import Inode
from shards.mirror import command as sync
from shards.mirror import signature, subset
from shards.reader.shard import Shard
from shards.verify.invariants import verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 wrong use (by argparse)."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except (
        BrokenPipeError
    ):  # the reader of a pipe has closed it; the rest must not be flushed either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ShardError, OSError) as error:
        print(f"shards: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shards",
        description="Inspect and manage generations of shards.",
        epilog="example: python -m shards inspect demo-data/data",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"societes {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    inspect = _command(
        commands, "inspect", _inspect, "show the content of a DATA folder, or of one shard file",
        "python -m shards inspect demo-data/data/4f6a0c1d2e3b4a59/EE.shard --id 10000018",
    )  # fmt: skip
    inspect.add_argument("path", type=Path, metavar="DATA|FILE")
    inspect.add_argument("--id", help="show this company of a shard file, statements included")
    on_data = {
        name: _command(commands, name, run, about, example)
        for name, run, about, example in _ON_DATA
    }
    for command in on_data.values():
        command.add_argument("data", type=Path, metavar="DATA")
    on_data["diff"].add_argument("before", metavar="A")
    on_data["diff"].add_argument("after", metavar="B")
    on_data["diff"].add_argument("--rows", action="store_true", help="each company, as JSON")
    on_data["verify"].add_argument(
        "--jobs", type=naming_value(whole_number(1)), default=1, metavar="N",
        help="shards at a time, each in a process; one takes up to 1.5 GiB (default 1)",
    )  # fmt: skip
    on_data["rollback"].add_argument("--to", metavar="GENERATION", help="another one that is kept")
    for name, (arguments, run, about, example) in sync.COMMANDS.items():
        arguments(_command(commands, name, run, about, example))
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], None],
    about: str,
    example: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example: {example}",
        allow_abbrev=False,
    )
    parser.set_defaults(command=run)
    return parser


def _inspect(options: argparse.Namespace) -> None:
    if not options.path.exists():
        raise GenerationError(f"there is no {options.path}; name a folder DATA or a shard file")
    if options.path.is_dir():
        if options.id is not None:
            raise GenerationError(
                f"--id is for a shard file, and {options.path} is a folder; name its "
                "<generation>/<ISO2>.shard"
            )
        lines = data_lines(options.path)
    else:
        lines = shard_lines(options.path, options.id)
    for line in lines:
        print(line)


def _list(options: argparse.Namespace) -> None:
    for line in generation_lines(options.data):
        print(line)


def _diff(options: argparse.Namespace) -> None:
    for line in difference_lines(options.data, options.before, options.after, rows=options.rows):
        print(line)


def _verify(options: argparse.Namespace) -> None:
    current = pointer.require(options.data)
    checked = set[Inode]()
    for name in current.kept_generations:
        folder = options.data / name
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        with (
            generation_files.load(options.data, name) as generation,
            tqdm(total=len(generation.shards), disable=None, leave=False, unit=" shards") as bar,
        ):
            verify(generation, checked, jobs=options.jobs, done=bar.update)
            market.verify(generation)
            manifest = generation.manifest
        print(f"{name}: {len(manifest.files)} files, {manifest.total:,} companies: "
              "every digest and invariant holds")  # fmt: skip
    for folder in change_steps.folders(options.data):
        change_steps.verify(folder)
        print(f"{folder.name}: every digest holds")


def _rollback(options: argparse.Namespace) -> None:
    after = publication.rollback(options.data, options.to)
    print(f"published {after.generation}; {after.previous} is kept as the previous one")


_ON_DATA: Final[tuple[tuple[str, Callable[[argparse.Namespace], None], str, str], ...]] = (
    (
        "list", _list, "list the generations that are kept, and the changes of each",
        "python -m shards list demo-data/data",
    ),
    (
        "diff", _diff, "show the changes from generation A to B: companies deleted, created, changed",
        "python -m shards diff demo-data/data 81c09a7b6c5d4e3f 4f6a0c1d2e3b4a59",
    ),
    (
        "verify", _verify, "check every digest and every invariant of FORMAT.md",
        "python -m shards verify demo-data/data",
    ),
    (
        "rollback", _rollback, "publish the previous generation again",
        "python -m shards rollback demo-data/data",
    ),
)  # fmt: skip


# -- the output of `inspect`, `list` and `diff`, as lines of text -------------------------------

_PIECE: Final = 4_096  # entries of a file of changes that are read at once
_ROWS: Final = 10  # companies that are shown of a shard


def data_lines(data: Path) -> Iterator[str]:
    """The published generation of the folder `data`: its origin, sources and files."""
    known = pointer.require(data)
    yield f"{data}: {known.generation} published {known.published}, before it {known.previous}"
    folder = data / known.generation
    manifest = generation_files.read_manifest(folder)
    yield f"format {manifest.format}, {manifest.total:,} companies, {manifest.size:,} bytes"
    if origin := subset.origin(folder):
        yield f"a part of {origin[1].generation}: {', '.join(manifest.counts)}"
    if signed := signature.read_stored(data, known.generation):
        yield f"signed, not checked here: {signed.decode(errors='replace').strip()}"
    if manifest.forced:
        yield f"forced past the gates: {manifest.forced}"
    for source in manifest.sources:
        yield f"  from  {source.path:<60} {source.size:>14,}  {source.blake3[:16]}"
    for name, file in manifest.files.items():
        rows = manifest.counts.get(Path(name).stem)
        count = f"{rows:>12,} rows" if rows is not None else ""
        yield f"  {name:<16} {file.size:>14,} bytes  {file.blake3[:16]} {count}"


def shard_lines(path: Path, identifier: str | None = None) -> Iterator[str]:
    """The header, the tables with their sizes, and ten rows of the shard at `path`.

    With an `identifier`, that company instead, contact fields and statements included.

    Raises:
        ShardError: the file is no shard, or there is no such company.
    """
    _check_size(path)
    with Shard(path) as shard:
        if identifier is None:
            yield from _overview(shard)
        else:
            yield from _company(shard, identifier)


def generation_lines(data: Path) -> Iterator[str]:
    """All generations that are kept, the published one first, with the changes since the one before."""
    current = pointer.require(data)
    steps = change_steps.steps(data)
    for place, name in enumerate(current.kept_generations):
        role = (
            f"published {current.published}" if not place else "previous" if place == 1 else "kept"
        )
        yield f"{name}  {role:<36}{_size(data / name)}"
        before = current.kept_generations[place + 1 : place + 2]
        for step in steps.get(name, ()):
            if step.after in before:
                yield f"    since {step.after}: {_totals(step.reverse().counts)}"


def difference_lines(data: Path, before: str, after: str, *, rows: bool) -> Iterator[str]:
    """The changes from `before` to `after`: counts by country, or with `rows` one JSON object per company.

    Raises:
        ShardError: a generation does not exist or cannot be read.
    """
    with _step(data, before, after) as step:
        if rows:
            for iso2 in step.counts:
                yield from _entries(step, iso2)
            return
        yield f"{'pays':<6}" + "".join(f"{nature + 's':>14}" for nature in NATURES)
        for iso2, counts in step.counts.items():
            yield f"{iso2:<6}" + "".join(f"{count:>14,}" for count in counts)
        total = [sum(column) for column in zip(ChangeCounts(), *step.counts.values(), strict=True)]
        yield f"{'total':<6}" + "".join(f"{count:>14,}" for count in total)


def _check_size(path: Path) -> None:
    """Compare the size of a shard with its manifest, if there is one beside it.

    A read beyond the end of a truncated file would kill the process (SIGBUS).
    """
    if not (path.parent / generation_files.MANIFEST).exists():
        return
    file = generation_files.read_manifest(path.parent).files.get(path.name)
    if file is not None:
        manifests.check_sizes(path.parent, {path.name: file})


def _overview(shard: Shard) -> Iterator[str]:
    size = shard.path.stat().st_size
    yield f"{shard.path}: format {format.FORMAT_VERSION}, {shard.iso2}, {shard.rows:,} companies"
    each = f", {size / shard.rows:.0f} a company" if shard.rows else ""
    yield f"{size:,} bytes{each}; {len(shard.layout.cells)} cells"
    yield ""
    yield f"{'table':<10}{'entries':>12}{'bytes':>16}{'a company':>12}"
    for table in format.TABLES:
        bytes_ = shard.file.size(table)
        each = f"{bytes_ / shard.rows:12.1f}" if shard.rows else ""
        yield f"{table.decode():<10}{shard.file.entries(table):>12,}{bytes_:>16,}{each}"
    yield ""
    width = shutil.get_terminal_size((160, 24)).columns
    for row in range(min(_ROWS, shard.rows)):
        yield f"{row:>4} {shard.record(row, coordonnees=False).decode()}"[:width]


def _company(shard: Shard, identifier: str) -> Iterator[str]:
    row = shard.find(identifier)
    if row is None:
        raise GenerationError(
            f"{shard.path} has no company {identifier!r}; write it as the register does"
        )
    yield f"row {row}"
    yield from _indented_lines(shard.record(row, coordonnees=True))
    yield from _indented_lines(shard.comptes(row) or b"[]")


def _indented_lines(document: bytes) -> Iterator[str]:
    yield from orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode().split("\n")


def _size(folder: Path) -> str:
    """The number of companies and bytes of a generation, or the reason why it cannot be read."""
    try:
        manifest = generation_files.read_manifest(folder)
    except ShardError as error:
        return f"cannot be read: {error}"
    forced = ", forced" if manifest.forced else ""
    return f"{manifest.total:>14,} companies {manifest.size:>18,} bytes{forced}"


def _totals(counts: Mapping[str, ChangeCounts]) -> str:
    """The changes of all countries together."""
    columns = zip(ChangeCounts(), *counts.values(), strict=True)
    return ", ".join(
        f"{sum(column):,} {nature}s" for nature, column in zip(NATURES, columns, strict=True)
    )


@contextmanager
def _step(data: Path, before: str, after: str) -> Iterator[ChangeStep]:
    """The step that the build stored, otherwise one computed now in a temporary folder."""
    for name in (before, after):
        pointer.check_name(name)
    if before == after:
        raise GenerationError(f"{before} is compared with itself; name two generations")
    manifests = [generation_files.read_manifest(data / name) for name in (before, after)]
    for step in change_steps.steps(data).get(before, ()):
        if step.after == after:
            yield step
            return
    with tempfile.TemporaryDirectory(prefix="societes-") as folder:
        change_steps.make(
            Path(folder), data / before, manifests[0], data / after, manifests[1],
            comparison.compare_all,
        )  # fmt: skip
        yield change_steps.read(Path(folder) / change_steps.FOLDER / f"{before}-{after}")


def _entries(step: ChangeStep, iso2: str) -> Iterator[str]:
    with closing(change_file.of_step(step, iso2)) as changes:
        for nature, count in zip(NATURES, changes.counts, strict=True):
            for start in range(0, count, _PIECE):
                for entry in changes.entries(nature, start, start + _PIECE):
                    yield orjson.dumps({"nature": nature, **orjson.loads(entry)}).decode()


if __name__ == "__main__":
    raise SystemExit(main())
