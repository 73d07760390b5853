"""The command `python -m shards`: inspect, list, compare, verify, roll back, mirror and sign generations."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tqdm import tqdm

from seeds import VERSION
from seeds.settings import naming_value, whole_number
from shards import describe
from shards.analyses import market_figures
from shards.errors import GenerationError, ShardError
from shards.generations import change_steps, generation_files, pointer, publication
from shards.generations.generation_files import Inode
from shards.mirror import command as sync
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
        help="shards at a time, each in a process; one takes up to 5 GiB (default 1)",
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
        lines = describe.data_lines(options.path)
    else:
        lines = describe.shard_lines(options.path, options.id)
    for line in lines:
        print(line)


def _list(options: argparse.Namespace) -> None:
    for line in describe.generation_lines(options.data):
        print(line)


def _diff(options: argparse.Namespace) -> None:
    for line in describe.difference_lines(
        options.data, options.before, options.after, rows=options.rows
    ):
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
            market_figures.verify(generation)
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


if __name__ == "__main__":
    raise SystemExit(main())
