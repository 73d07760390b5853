"""`python -m tests.bench.guard BASE`: is any class of searches slower than in the commit or release BASE?

Both versions run the same random searches alternately (`tests.bench.versions`), over the same synthetic companies, each
in two processes. The difference between two processes of the same version is noise. A class is

    slower     its ratio minus its noise is over 1.1
    unknown    its noise is over 5 %: the machine is not quiet enough
    as fast    otherwise

The exit code is 3 if a class is slower, 0 if no class is, and another code if the comparison fails. The default of BASE
is the last tag before this commit, or the previous commit.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests import ROOT
from tests.bench import data as measured_data
from tests.bench.processes import run
from tests.bench.versions import group_by_class, search_alternately

ALLOWED: Final = 1.1  # a class with a greater ratio is slower
NOISE: Final = 0.05  # with more noise the verdict is unknown
SLOWER: Final = 3  # an exit code that no error has
# The sources of the compiled modules.
_COMPILED: Final = ("shards/kernel", "shards/matching", "shards/suggest", "setup.py")
_COMPANIES: Final = 2_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the speed of this version with an earlier one, and print a line per class of searches.

    Returns the exit code: SLOWER if a class has become slower by more than the noise, else 0.
    """
    options = _parser().parse_args(arguments)
    base = options.base or _previous_version()
    options.work.mkdir(parents=True, exist_ok=True)
    data = measured_data.synthetic(options.work, options.companies, 1).data
    with checkout(base, options.work) as previous:
        previous_data = data
        if _format_line(previous) != _format_line(ROOT):
            # A version reads only its own format, so the previous version builds its own generation.
            previous_data = options.work / f"data-{options.companies}-before"
            source = options.work / f"input-{options.companies}-1"
            command = [str(previous / ".venv/bin/python"), "-m", "pipeline", "build"]
            run([*command, "--input", str(source), "--out", str(previous_data)], previous)
        # Each version runs in two processes, whose difference is the noise.
        versions = [
            (previous, previous_data),
            (previous, previous_data),
            (ROOT, data),
            (ROOT, data),
        ]
        questions, times = search_alternately(versions, options.searches, options.rounds, 1)
    if not options.keep:
        measured_data.clear(options.work)
    verdicts = [
        (kind, *verdict([sum(least_times[n] for n in numbers) for least_times in times]))
        for kind, numbers in group_by_class(questions).items()
    ]
    print(f"{base}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for kind, ratio, noise, conclusion in verdicts:
        print(f"{kind:56}{ratio:8.3f} ± {noise:.3f}  {conclusion}")
    return SLOWER if any(conclusion == "slower" for *_, conclusion in verdicts) else 0


def verdict(times: Sequence[float]) -> tuple[float, float, str]:
    """The ratio of a class to the previous version, its noise, and the verdict.

    Args:
        times: of the previous version, twice, then of this version, twice.

    >>> [verdict([100, 101, *new])[2] for new in ((120, 121), (120, 140), (101, 100), (109, 114))]
    ['slower', 'unknown', 'as fast', 'as fast']
    """
    old, new = times[:2], times[2:]
    ratio = min(new) / min(old)
    noise = max(max(pair) / min(pair) - 1 for pair in (old, new))
    if noise > NOISE:
        return ratio, noise, "unknown"
    return ratio, noise, "slower" if ratio - noise > ALLOWED else "as fast"


@contextmanager
def checkout(base: str, work: Path) -> Iterator[Path]:
    """A compiled checkout of a commit, with the packages of this checkout."""
    folder = (work / "checkout").resolve()
    _git("worktree", "add", "--quiet", "--force", "--detach", str(folder), base)
    try:
        (folder / ".venv").symlink_to(ROOT / ".venv")
        # Sources of compiled modules that did not change since BASE have the same binaries here.
        if _git("diff", "--name-only", base, "--", *_COMPILED):
            run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], folder)
        else:
            for module in (ROOT / "shards").rglob("*.so"):
                shutil.copy(module, folder / module.relative_to(ROOT))
        yield folder
    finally:
        (folder / ".venv").unlink(missing_ok=True)
        _git("worktree", "remove", "--force", str(folder))
        shutil.rmtree(folder, ignore_errors=True)


def _git(*arguments: str) -> str:
    """The output of a git command; SystemExit if it fails."""
    process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {process.stderr.strip()}")
    return process.stdout.strip()


def _previous_version() -> str:
    """The last tag before this commit; the previous commit if there is no tag."""
    return _git("tag", "--merged", "HEAD~1", "--sort=-creatordate").partition("\n")[0] or "HEAD~1"


def _format_line(root: Path) -> str:
    """The line of `shards/format.py` with the format version."""
    lines = (root / "shards" / "format.py").read_text().splitlines()
    return next(line for line in lines if line.startswith("FORMAT_VERSION"))


def _parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.guard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="BASE", nargs="?", help="a tag or a commit")
    parser.add_argument("--companies", metavar="N", type=int, default=_COMPANIES)
    parser.add_argument(
        "--searches", metavar="N", type=int, default=20, help="random searches per class"
    )
    parser.add_argument("--rounds", metavar="N", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="keep WORK for another run")
    work = Path(tempfile.gettempdir()) / "societes-guard"
    parser.add_argument("--work", metavar="DIR", type=Path, default=work, help=f"default {work}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
