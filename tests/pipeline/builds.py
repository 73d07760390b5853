"""Builds of small inputs in this process, and what they publish."""

from pathlib import Path
from typing import Any

import orjson

from pipeline.publishing import build
from pipeline.publishing.plan import BuildOptions
from pipeline.stages.quality_report import Quality
from shards.generations import generation_files, pointer
from shards.generations.publication import Gates


def run(tmp_path: Path, *inputs: Path, **options: Any) -> build.BuildResult:
    """Build `inputs` into `tmp_path / "data"`, in this process."""
    settings = {"jobs": 1, **options}
    if settings.pop("force", False):
        settings["gates"] = Gates(force=True)
    return build.run(BuildOptions(inputs=inputs, out=tmp_path / "data", **settings))


def served(tmp_path: Path, iso2: str) -> list[dict[str, Any]]:
    """The published companies of a country in layout order, each with its `comptes`."""
    data = tmp_path / "data"
    generation = pointer.current_name(data)
    assert generation is not None
    loaded = generation_files.load(data, generation)
    shard = loaded.shards[iso2]
    found = []
    for row in range(shard.rows):
        lines = shard.comptes(row)
        found.append({**shard.company(row), "comptes": orjson.loads(lines) if lines else None})
    loaded.close()
    return found


def accounted(quality: Quality) -> bool:
    """Whether every row and every line is accounted for."""
    elsewhere = (quality.rejetees, quality.fusionnees, quality.ecartees)
    rows = quality.gardees + sum(sum(counts.values()) for counts in elsewhere)
    lines = quality.lignes_gardees + sum(quality.lignes_ecartees.values())
    return (rows, lines) == (quality.lues, quality.lignes_lues)
