"""The changes since the published generation, per country and as one Parquet file.

One task per country, in processes like those of the build, merges two shards by identifier
(`shards.changes.comparison`). The Parquet file has the same content as the change files beside it,
for other programs: the columns of SCHEMA, ordered by country, kind and identifier. The same input
gives the same bytes.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.workers.processes import Processes, Progress
from shards.changes import comparison
from shards.changes.change_file import NATURES, SUFFIX, ChangeCounts, ChangeFile
from shards.changes.change_steps import Shards

PARQUET: Final = "changes.parquet"
SCHEMA: Final = pa.schema(
    [
        ("iso2", pa.string()),
        ("id", pa.string()),
        ("nature", pa.string()),
        ("champs", pa.list_(pa.string())),  # null unless the company was modified
    ]
)

_BATCH: Final = 65_536
# Positions of identifiers and pending entries per row; a batch of records of both shards, and a block of each section.
_MEMORY_A_ROW: Final = 16
_MEMORY: Final = 96 << 20


@dataclass(frozen=True, slots=True)
class _Task:
    """One country to compare: plain values, to be sent to another process."""

    iso2: str
    shards: Shards
    folder: Path

    @property
    def rows(self) -> int:
        return self.shards.rows

    @property
    def memory(self) -> int:
        return _MEMORY + self.rows * _MEMORY_A_ROW


def compare(
    countries: Iterable[Shards], folder: Path, *, here: Processes
) -> dict[str, ChangeCounts]:
    """Write the changes of `countries` into `folder`; return the counts of those that changed.

    Args:
        here: the processes that compare.

    Raises:
        BuildError: a process that died.
        ShardError: a shard that cannot be read.
    """
    tasks = [_Task(country.iso2, country, folder) for country in countries]
    results = here.run(_compare, tasks)
    counts = {task.iso2: one for task, one in zip(tasks, results, strict=True) if any(one)}
    _write_parquet(folder, counts)
    return counts


def _compare(task: _Task, progress: Progress) -> ChangeCounts:
    path = task.folder / f"{task.iso2}{SUFFIX}"
    counts = comparison.compare(task.shards.old, task.shards.new, task.iso2, path)
    progress(task.rows)
    return counts


def _write_parquet(folder: Path, countries: Iterable[str]) -> None:
    with pq.ParquetWriter(folder / PARQUET, SCHEMA, compression="zstd") as writer:
        for iso2 in countries:
            with closing(ChangeFile(folder / f"{iso2}{SUFFIX}")) as changes:
                for rows in _batches(changes):
                    writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def _batches(changes: ChangeFile) -> Iterator[list[dict[str, object]]]:
    for nature, count in zip(NATURES, changes.counts, strict=True):
        for start in range(0, count, _BATCH):
            entries = changes.entries(nature, start, start + _BATCH)
            yield [{"nature": nature, **orjson.loads(entry)} for entry in entries]
