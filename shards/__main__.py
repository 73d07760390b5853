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
    """Run a command and return its exit code: 0 success, 1 failure, 2 wrong usage (by argparse)."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.command
    try:
        command(options)
    except BrokenPipeError:
        # The reader has closed the pipe. Buffered output goes to /dev/null, because the end of the process would write
        # it to the pipe and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ShardError, OSError) as error:
        print(f"shards: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line; `command` of its result is the function that runs the chosen command."""
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
    inspect.add_argument("--id", help="show this company of a shard file, with its statements")
    data_parsers = {
        name: _command(commands, name, run, about, example)
        for name, run, about, example in _DATA_COMMANDS
    }
    for command in data_parsers.values():
        command.add_argument("data", type=Path, metavar="DATA")
    data_parsers["diff"].add_argument("before", metavar="A")
    data_parsers["diff"].add_argument("after", metavar="B")
    data_parsers["diff"].add_argument(
        "--rows", action="store_true", help="print each changed company as JSON"
    )
    data_parsers["verify"].add_argument(
        "--jobs", type=naming_value(whole_number(1)), default=1, metavar="N",
        help="shards to check in parallel, each in a process of up to 1.5 GiB (default 1)",
    )  # fmt: skip
    data_parsers["rollback"].add_argument(
        "--to", metavar="GENERATION", help="another kept generation"
    )
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
    """Add the parser of a command, and return it; `run` is the function that runs it, `about` its description."""
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
    """Print the content of a folder DATA, or of one shard file.

    Raises:
        GenerationError: there is no such path, or `--id` is given with a folder.
    """
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
    """Print the generations of a folder DATA."""
    for line in generation_lines(options.data):
        print(line)


def _diff(options: argparse.Namespace) -> None:
    """Print the differences between two generations."""
    for line in difference_lines(options.data, options.before, options.after, rows=options.rows):
        print(line)


def _verify(options: argparse.Namespace) -> None:
    """Run `verify`: check all kept generations and all folders of changes, and print a line for each.

    Generations can share files, so `checked` has the files that are already checked.

    Raises:
        ShardError: a digest or an invariant does not hold.
    """
    current = pointer.require(options.data)
    checked = set[Inode]()
    for name in current.generations:
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
    """Publish an older generation again."""
    after = publication.rollback(options.data, options.to)
    print(f"published {after.generation}; {after.previous} is kept as the previous one")


# The commands on a folder DATA: name, function, description, example.
_DATA_COMMANDS: Final[tuple[tuple[str, Callable[[argparse.Namespace], None], str, str], ...]] = (
    (
        "list", _list, "list the kept generations, and the changes of each",
        "python -m shards list demo-data/data",
    ),
    (
        "diff", _diff, "show the changes from generation A to B: companies deleted, created, changed",
        "python -m shards diff demo-data/data 81c09a7b6c5d4e3f 4f6a0c1d2e3b4a59",
    ),
    (
        "verify", _verify, "check every digest, and invariants 1 to 8 of FORMAT.md",
        "python -m shards verify demo-data/data",
    ),
    (
        "rollback", _rollback, "publish the previous generation again",
        "python -m shards rollback demo-data/data",
    ),
)  # fmt: skip


# -- the output of `inspect`, `list` and `diff`, as lines of text -------------------------------

_ENTRIES_PER_READ: Final = 4_096  # entries of a file of changes per read
_SHOWN_ROWS: Final = 10  # companies of a shard that are shown


def data_lines(data: Path) -> Iterator[str]:
    """The published generation of the folder `data`: its origin, sources and files."""
    current = pointer.require(data)
    yield f"{data}: {current.generation} published {current.published}, before it {current.previous}"
    folder = data / current.generation
    manifest = generation_files.read_manifest(folder)
    yield f"format {manifest.format}, {manifest.total:,} companies, {manifest.size:,} bytes"
    if origin := subset.origin(folder):
        yield f"a part of {origin[1].generation}: {', '.join(manifest.counts)}"
    if signed := signature.read_stored(data, current.generation):
        yield f"signed, not verified here: {signed.decode(errors='replace').strip()}"
    if manifest.forced:
        yield f"published although it failed checks: {manifest.forced}"
    for source in manifest.sources:
        yield f"  from  {source.path:<60} {source.size:>14,}  {source.blake3[:16]}"
    for name, file in manifest.files.items():
        rows = manifest.counts.get(Path(name).stem)
        count = f"{rows:>12,} rows" if rows is not None else ""
        yield f"  {name:<16} {file.size:>14,} bytes  {file.blake3[:16]} {count}"


def shard_lines(path: Path, identifier: str | None = None) -> Iterator[str]:
    """The header, the tables with their sizes, and ten rows of the shard at `path`.

    With an `identifier`, the record of that company instead, with its contact fields, and its statements.

    Raises:
        ShardError: the file is not a shard, or there is no such company.
    """
    _check_size(path)
    with Shard(path) as shard:
        if identifier is None:
            yield from _overview_lines(shard)
        else:
            yield from _company_lines(shard, identifier)


def generation_lines(data: Path) -> Iterator[str]:
    """All generations that are kept, the published one first, with the changes since the previous one."""
    current = pointer.require(data)
    steps = change_steps.steps(data)
    for index, name in enumerate(current.generations):
        role = (
            f"published {current.published}" if not index else "previous" if index == 1 else "kept"
        )
        yield f"{name}  {role:<36}{_size_text(data / name)}"
        previous_names = current.generations[index + 1 : index + 2]
        for step in steps.get(name, ()):
            # The step leads back, so the changes since then are its reverse.
            if step.after in previous_names:
                yield f"    since {step.after}: {_totals_text(step.reverse().counts)}"


def difference_lines(data: Path, before: str, after: str, *, rows: bool) -> Iterator[str]:
    """The changes from `before` to `after`: counts by country, or with `rows` one JSON object per company.

    Raises:
        ShardError: a generation does not exist or cannot be read.
    """
    with _open_change_step(data, before, after) as step:
        if rows:
            for iso2 in step.counts:
                yield from _change_lines(step, iso2)
            return
        yield f"{'pays':<6}" + "".join(f"{nature + 's':>14}" for nature in NATURES)
        for iso2, counts in step.counts.items():
            yield f"{iso2:<6}" + "".join(f"{count:>14,}" for count in counts)
        total = [sum(column) for column in zip(ChangeCounts(), *step.counts.values(), strict=True)]
        yield f"{'total':<6}" + "".join(f"{count:>14,}" for count in total)


def _check_size(path: Path) -> None:
    """Compare the size of a shard with the manifest in its folder, if there is one.

    A read beyond the end of a truncated file would kill the process (SIGBUS).
    """
    if not (path.parent / generation_files.MANIFEST).exists():
        return
    file = generation_files.read_manifest(path.parent).files.get(path.name)
    if file is not None:
        manifests.check_sizes(path.parent, {path.name: file})


def _overview_lines(shard: Shard) -> Iterator[str]:
    """The header, the tables and the first rows of a shard, as lines."""
    size = shard.path.stat().st_size
    yield f"{shard.path}: format {format.FORMAT_VERSION}, {shard.iso2}, {shard.rows:,} companies"
    per_company = f", {size / shard.rows:.0f} a company" if shard.rows else ""
    yield f"{size:,} bytes{per_company}; {len(shard.layout.cells)} cells"
    yield ""
    yield f"{'table':<10}{'entries':>12}{'bytes':>16}{'a company':>12}"
    for table in format.TABLES:
        table_bytes = shard.file.size(table)
        per_company = f"{table_bytes / shard.rows:12.1f}" if shard.rows else ""
        yield f"{table.decode():<10}{shard.file.entries(table):>12,}{table_bytes:>16,}{per_company}"
    yield ""
    width = shutil.get_terminal_size((160, 24)).columns
    for row in range(min(_SHOWN_ROWS, shard.rows)):
        yield f"{row:>4} {shard.record(row, coordonnees=False).decode()}"[:width]


def _company_lines(shard: Shard, identifier: str) -> Iterator[str]:
    """The record and the statements of a company, as lines of indented JSON."""
    row = shard.find(identifier)
    if row is None:
        raise GenerationError(
            f"{shard.path} has no company {identifier!r}; write the identifier as in the register"
        )
    yield f"row {row}"
    yield from _indented_lines(shard.record(row, coordonnees=True))
    yield from _indented_lines(shard.comptes(row) or b"[]")


def _indented_lines(document: bytes) -> Iterator[str]:
    """The lines of a JSON document with indentation."""
    yield from orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode().split("\n")


def _size_text(folder: Path) -> str:
    """The number of companies and bytes of a generation, or the reason why it cannot be read."""
    try:
        manifest = generation_files.read_manifest(folder)
    except ShardError as error:
        return f"cannot be read: {error}"
    forced = ", forced" if manifest.forced else ""
    return f"{manifest.total:>14,} companies {manifest.size:>18,} bytes{forced}"


def _totals_text(counts: Mapping[str, ChangeCounts]) -> str:
    """The numbers of changes of all countries together, as text."""
    columns = zip(ChangeCounts(), *counts.values(), strict=True)
    return ", ".join(
        f"{sum(column):,} {nature}s" for nature, column in zip(NATURES, columns, strict=True)
    )


@contextmanager
def _open_change_step(data: Path, before: str, after: str) -> Iterator[ChangeStep]:
    """The step that the build stored, or else a step computed now in a temporary folder."""
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


def _change_lines(step: ChangeStep, iso2: str) -> Iterator[str]:
    """The changes of a country, each as a line of JSON."""
    with closing(change_file.open_step(step, iso2)) as changes:
        for nature, count in zip(NATURES, changes.counts, strict=True):
            for start in range(0, count, _ENTRIES_PER_READ):
                for entry in changes.entries(nature, start, start + _ENTRIES_PER_READ):
                    yield orjson.dumps({"nature": nature, **orjson.loads(entry)}).decode()


if __name__ == "__main__":
    raise SystemExit(main())
