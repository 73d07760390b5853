"""`python -m tests.bench.guard BASE`: is any class of searches slower than in the commit or release BASE?

Both versions are asked the same random searches, in turn (`tests.bench.versions`), over the same synthetic companies.
A third process runs this version once more: what the ratio of a version to itself differs from 1 is noise. A class is

    slower     its ratio is over 1.1, and stays so with the noise of the class taken off
    unknown    its noise is over 5 %: the machine is not quiet enough to say
    as fast    else

Ends with 1 if a class is slower. Without BASE it is the last tag.
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
_COMPANIES: Final = 2_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    base = options.base or _last_tag()
    options.work.mkdir(parents=True, exist_ok=True)
    made = making.synthetic(options.work, options.companies, 1).data
    with checkout(base, options.work) as before:
        old = made
        if _format(before) != _format(ROOT):
            old = options.work / f"data-{options.companies}-before"
            source = options.work / f"input-{options.companies}-1"
            command = [str(before / ".venv/bin/python"), "-m", "pipeline", "build"]
            run([*command, "--input", str(source), "--out", str(old)], before)
        # This version twice: the second is what it is compared with to know the noise.
        asked, times = search_in_turn(
            [(before, old), (ROOT, made), (ROOT, made)], options.searches, options.rounds, 1
        )
    if not options.keep:
        making.clear(options.work)
    lines = [
        (kind, *verdict(*(sum(one[n] for n in numbers) for one in times)))
        for kind, numbers in by_class(asked).items()
    ]
    print(f"{base}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for kind, ratio, noise, word in lines:
        print(f"{kind:56}{ratio:8.3f} ± {noise:.3f}  {word}")
    return 1 if any(word == "slower" for *_, word in lines) else 0


def verdict(before: float, after: float, again: float) -> tuple[float, float, str]:
    """The ratio of a class to the version before, its noise, and what they say.

    >>> [verdict(100, after, again)[2] for after, again in ((120, 121), (120, 140), (101, 100))]
    ['slower', 'unknown', 'as fast']
    """
    least = min(after, again)
    ratio, noise = least / before, max(after, again) / least - 1
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
        run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], place)
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


def _last_tag() -> str:
    try:
        return _git("describe", "--tags", "--abbrev=0")
    except SystemExit as error:
        raise SystemExit("there is no tag yet; name a commit: make bench-guard BASE=…") from error


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
