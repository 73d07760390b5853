"""The measured generation: synthetic companies or an input folder, built by the commands of the project.

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
class BuiltData:
    """A DATA folder, and the costs of the commands that built it; {} for --data."""

    data: Path
    costs: dict[str, Cost]


def synthetic(work: Path, companies: int, seed: int) -> BuiltData:
    """Create `companies` synthetic companies and build them."""
    name = f"{companies}-{seed}"
    source, count_and_seed = (
        work / f"input-{name}",
        ("--companies", str(companies), "--seed", str(seed)),
    )
    return _build(
        work, name, source, {"tests.bench.synth": (*count_and_seed, "--out", str(source))}
    )


def build_input(work: Path, source: Path) -> BuiltData:
    """Build the canonical Parquet in the folder `source`."""
    return _build(work, source.name, source.absolute(), {})


def _build(
    work: Path, name: str, source: Path, first_steps: dict[str, tuple[str, ...]]
) -> BuiltData:
    """Run `first_steps` and the build of `source`, unless the file of their costs exists."""
    data, costs_file = work / f"data-{name}", work / f"data-{name}.json"
    if not costs_file.exists():
        steps = {**first_steps, "pipeline build": ("--input", str(source), "--out", str(data))}
        costs = {
            step: run([sys.executable, "-m", *step.split(), *options])
            for step, options in steps.items()
        }
        costs_file.write_bytes(orjson.dumps(costs))
    stored = orjson.loads(costs_file.read_bytes())
    return BuiltData(data, {step: Cost(**cost) for step, cost in stored.items()})


def clear(work: Path) -> None:
    """Remove the files of earlier runs from `work`, and `work` itself if it is then empty."""
    for pattern in ("input-*", "data-*", "peers-*"):
        for path in work.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not any(work.iterdir()):
        work.rmdir()


def size(data: Path) -> int:
    """Bytes of the published generation, manifest and lists included."""
    name = pointer.current_name(data)
    assert name is not None
    return sum(file.stat().st_size for file in (data / name).iterdir())
