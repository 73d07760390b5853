"""`python -m tests.bench.synth`: write synthetic canonical Parquet, the input of a build, at any scale.

example: python -m tests.bench.synth --companies 100000 --seed 1 --out input/synth
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pipeline import argument_types as types
from tests.bench.synth import writer


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.synth", description=__doc__)
    add = parser.add_argument
    add("--companies", metavar="N", required=True, type=int, help="in all countries together")
    add("--seed", metavar="S", required=True, type=int, help="the same seed gives the same bytes")
    add("--out", metavar="DIR", required=True, type=Path, help="input of a build")
    add("--comptes", metavar="F", type=types.share, default=0.0, help="share with statements")
    add("--jobs", metavar="N", type=int, help="processes (default: one per processor)")
    options = parser.parse_args(arguments)
    written = writer.run(writer.SynthOptions(**vars(options)))
    print(f"{written.companies} companies, {written.lines} statement lines in {options.out}")


if __name__ == "__main__":
    main()
