"""`python -m tests.bench.guard BASE`: is any class of searches slower than in the commit or release BASE?

Both versions are asked the same random searches, in turn (`tests.bench.versions`), over the same synthetic companies,
each by two processes: what the ratio of a version to itself differs from 1 is noise. A class is

    slower     its ratio is over 1.1, and stays so with the noise of the class taken off
    unknown    its noise is over 5 %: the machine is not quiet enough to say
    as fast    else

Ends with 3 if a class is slower, and with another number if nothing can be said. Without BASE it is the last tag, or
the commit before this one.
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
from tests.bench import data as making
from tests.bench.processes import run
from tests.bench.versions import by_class, search_in_turn

ALLOWED: Final = 1.1
NOISE: Final = 0.05
SLOWER: Final = 3  # what no error ends with
# What the compiled modules are made of.
_COMPILED: Final = ("shards/kernel", "shards/matching", "shards/suggest", "setup.py")
_COMPANIES: Final = 2_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    base = options.base or _before()
    options.work.mkdir(parents=True, exist_ok=True)
    made = making.synthetic(options.work, options.companies, 1).data
    with checkout(base, options.work) as before:
        old = made
        if _format(before) != _format(ROOT):
            old = options.work / f"data-{options.companies}-before"
            source = options.work / f"input-{options.companies}-1"
            command = [str(before / ".venv/bin/python"), "-m", "pipeline", "build"]
            run([*command, "--input", str(source), "--out", str(old)], before)
        twice = [(before, old), (before, old), (ROOT, made), (ROOT, made)]
        asked, times = search_in_turn(twice, options.searches, options.rounds, 1)
    if not options.keep:
        making.clear(options.work)
    lines = [
        (kind, *verdict([sum(one[n] for n in numbers) for one in times]))
        for kind, numbers in by_class(asked).items()
    ]
    print(f"{base}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for kind, ratio, noise, word in lines:
        print(f"{kind:56}{ratio:8.3f} ± {noise:.3f}  {word}")
    return SLOWER if any(word == "slower" for *_, word in lines) else 0


def verdict(times: Sequence[float]) -> tuple[float, float, str]:
    """The ratio of a class to the version before, its noise, and what they say.

    Args:
        times: of the version before, twice, and of this one, twice.

    >>> [verdict([100, 101, *both])[2] for both in ((120, 121), (120, 140), (101, 100), (109, 114))]
    ['slower', 'unknown', 'as fast', 'as fast']
    """
    old, new = times[:2], times[2:]
    ratio = min(new) / min(old)
    noise = max(max(both) / min(both) - 1 for both in (old, new))
    if noise > NOISE:
        return ratio, noise, "unknown"
    return ratio, noise, "slower" if ratio - noise > ALLOWED else "as fast"


@contextmanager
def checkout(base: str, work: Path) -> Iterator[Path]:
    """A checkout of a commit, compiled, with the packages of this one."""
    place = (work / "checkout").resolve()
    _git("worktree", "add", "--quiet", "--force", "--detach", str(place), base)
    try:
        (place / ".venv").symlink_to(ROOT / ".venv")
        if _git("diff", "--name-only", base, "--", *_COMPILED):
            run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], place)
        else:
            for module in (ROOT / "shards").rglob("*.so"):
                shutil.copy(module, place / module.relative_to(ROOT))
        yield place
    finally:
        (place / ".venv").unlink(missing_ok=True)
        _git("worktree", "remove", "--force", str(place))
        shutil.rmtree(place, ignore_errors=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _before() -> str:
    """The last tag before this commit; where there is none, the commit before."""
    return _git("tag", "--merged", "HEAD~1", "--sort=-creatordate").partition("\n")[0] or "HEAD~1"


def _format(root: Path) -> str:
    """The line of the format's version."""
    lines = (root / "shards" / "format.py").read_text().splitlines()
    return next(line for line in lines if line.startswith("FORMAT_VERSION"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.guard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="BASE", nargs="?", help="a tag or a commit")
    parser.add_argument("--companies", metavar="N", type=int, default=_COMPANIES)
    parser.add_argument("--searches", metavar="N", type=int, default=20, help="random, per class")
    parser.add_argument("--rounds", metavar="N", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="leave WORK as it is for another run")
    place = Path(tempfile.gettempdir()) / "societes-guard"
    parser.add_argument("--work", metavar="DIR", type=Path, default=place, help=f"default {place}")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
