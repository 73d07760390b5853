"""`python -m tests.bench.synth`: write synthetic canonical Parquet, the input of a build, at any scale.

Exit codes: 0 done, 1 failed, 2 wrong use. An error is one line that names the value and the remedy.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipeline import argument_types as types
from pipeline.errors import BuildError
from seeds.settings import naming_value, whole_number
from tests.bench.synth import writer

_EXAMPLE: Final = (
    "example: python -m tests.bench.synth --companies 100000 --seed 1 --out input/synth"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        written = writer.run(writer.SynthOptions(**vars(options)))
    except (BuildError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted; the input is incomplete, write it again", file=sys.stderr)
    else:
        print(f"{written.companies} companies, {written.lines} statement lines in {options.out}")
        return 0
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.synth",
        description=__doc__,
        epilog=_EXAMPLE,
        allow_abbrev=False,
    )
    count, jobs = naming_value(whole_number()), naming_value(whole_number(1))
    add = parser.add_argument
    add("--companies", metavar="N", required=True, type=count, help="in all countries together")
    add("--seed", metavar="S", required=True, type=count, help="the same seed gives the same bytes")
    add("--out", metavar="DIR", required=True, type=Path, help="input of a build")
    add(
        "--comptes",
        metavar="F",
        type=types.share,
        default=0.0,
        help="share of the companies that have statements (default 0)",
    )
    add("--jobs", metavar="N", type=jobs, help="processes (default: one per processor)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
