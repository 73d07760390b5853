"""Two publications of a few companies, and the changes between two shards as a dict."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import orjson

from shards.changes import comparison
from shards.changes.change_file import NATURES, ChangeFile
from shards.generations.change_steps import ChangeCounts
from tests.world import Company, company, write_shard

EARLIER = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, score=40),
    company("EE", "2", "Lab", division="62", score=10),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]

LATER = [
    company("EE", "1", "Ännchen AS", division="62", groupe="62.0", ca_eur=2e6, score=40),
    company("EE", "3", "Żabka"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]

Changes = dict[str, list[tuple[str, ...]]]


def compare_shards(folder: Path, old: Sequence[Company], new: Sequence[Company]) -> Changes:
    """The changes between two shards of EE, by nature: identifiers with the names of changed fields."""
    for name, dataset in (("old", old), ("new", new)):
        write_shard(folder / name, "EE", dataset)
    counts = comparison.compare(folder / "old", folder / "new", "EE", folder / "EE.changes")
    changes = (
        read_changes(folder / "EE.changes") if any(counts) else {nature: [] for nature in NATURES}
    )
    assert counts == ChangeCounts(*(len(changes[nature]) for nature in NATURES))
    return changes


def read_changes(path: Path, *, backwards: bool = False) -> Changes:
    """The entries of a file of changes, by nature."""
    with closing(ChangeFile(path, backwards=backwards)) as file:
        return {
            nature: [
                (entry["id"], *entry.get("champs", ()))
                for entry in map(orjson.loads, file.entries(nature, 0, count))
            ]
            for nature, count in zip(NATURES, file.counts, strict=True)
        }
