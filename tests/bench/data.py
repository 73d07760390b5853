"""The measured generation: synthetic or given companies, built by the project's own commands.

    WORK/input-<companies>-<seed>/     the output of `tests.bench.synth`
    WORK/data-<name>/                  the output of `pipeline build`
    WORK/data-<name>.json              the cost of both; written last

Existing files are reused.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import orjson

from shards.generations import pointer
from tests.bench.processes import Cost, run


@dataclass(frozen=True, slots=True)
class Made:
    """A DATA folder and the cost of the commands that built it, {} for a given folder."""

    data: Path
    costs: dict[str, Cost]


def synthetic(work: Path, companies: int, seed: int) -> Made:
    """Generate `companies` synthetic companies and build them."""
    name = f"{companies}-{seed}"
    source, numbers = work / f"input-{name}", ("--companies", str(companies), "--seed", str(seed))
    return _made(work, name, source, {"tests.bench.synth": (*numbers, "--out", str(source))})


def given(work: Path, source: Path) -> Made:
    """Build the canonical Parquet in the folder `source`."""
    return _made(work, source.name, source.absolute(), {})


def _made(work: Path, name: str, source: Path, before: dict[str, tuple[str, ...]]) -> Made:
    data, figures = work / f"data-{name}", work / f"data-{name}.json"
    if not figures.exists():
        steps = {**before, "pipeline build": ("--input", str(source), "--out", str(data))}
        costs = {
            step: run([sys.executable, "-m", *step.split(), *options])
            for step, options in steps.items()
        }
        figures.write_bytes(orjson.dumps(costs))
    known = orjson.loads(figures.read_bytes())
    return Made(data, {step: Cost(**cost) for step, cost in known.items()})


def clear(work: Path) -> None:
    """Remove the files of earlier runs from `work`, and `work` itself if it is then empty."""
    for made in ("input-*", "data-*", "peers-*"):
        for path in work.glob(made):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not any(work.iterdir()):
        work.rmdir()


def size(data: Path) -> int:
    """Bytes of the published generation, manifest and lists included."""
    name = pointer.current_name(data)
    assert name is not None
    return sum(file.stat().st_size for file in (data / name).iterdir())
