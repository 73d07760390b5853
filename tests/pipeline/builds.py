"""Builds of small inputs in the process of the test, and the companies that they publish."""

from pathlib import Path
from typing import Any

import orjson

from pipeline.publishing import build
from pipeline.publishing.plan import BuildOptions
from pipeline.stages.quality_report import Quality
from shards.generations import generation_files, pointer
from shards.generations.publication import Gates


def run_build(tmp_path: Path, *inputs: Path, **options: Any) -> build.BuildResult:
    """Build `inputs` into `tmp_path / "data"`, in this process; `force=True` opens all gates."""
    settings = {"jobs": 1, **options}
    if settings.pop("force", False):
        settings["gates"] = Gates(force=True)
    return build.run(BuildOptions(inputs=inputs, out=tmp_path / "data", **settings))


def published_companies(tmp_path: Path, iso2: str) -> list[dict[str, Any]]:
    """The published companies of a country in layout order, each with its `comptes`."""
    data = tmp_path / "data"
    generation = pointer.current_name(data)
    assert generation is not None
    loaded = generation_files.load(data, generation)
    shard = loaded.shards[iso2]
    companies = []
    for row in range(shard.rows):
        lines = shard.comptes(row)
        companies.append({**shard.company(row), "comptes": orjson.loads(lines) if lines else None})
    loaded.close()
    return companies


def counts_add_up(quality: Quality) -> bool:
    """Whether the kept and the removed rows are all rows read, and so for statement lines."""
    removed_rows = (quality.rejetees, quality.fusionnees, quality.ecartees)
    rows = quality.gardees + sum(sum(counts.values()) for counts in removed_rows)
    lines = quality.lignes_gardees + sum(quality.lignes_ecartees.values())
    return (rows, lines) == (quality.lues, quality.lignes_lues)
