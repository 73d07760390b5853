"""What is different from the published generation, country by country, and as one Parquet file.

A task a country, in processes like those of the build: two shards are merged by identifier
(shards/changes/comparison.py). The Parquet file says the same as the files beside it, for other programs:
the columns of SCHEMA, in the order of countries, kinds and identifiers; the same input, the same
bytes.
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
        ("champs", pa.list_(pa.string())),  # of a company that was modified
    ]
)

_BATCH: Final = 65_536
# Places of identifiers, entries that wait, a batch of records on each side.
_MEMORY_A_ROW: Final = 16
_MEMORY: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class _Task:
    """A country to compare: plain values, so that it can be sent to another process."""

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
    """Write what is different in these countries into `folder`.

    Raises:
        BuildError, ShardError
    """
    tasks = [_Task(country.iso2, country, folder) for country in countries]
    found = here.run(_compare, tasks)
    counts = {task.iso2: found for task, found in zip(tasks, found, strict=True) if any(found)}
    _write_parquet(folder, counts)
    return counts


def _compare(task: _Task, moved: Progress) -> ChangeCounts:
    path = task.folder / f"{task.iso2}{SUFFIX}"
    counts = comparison.compare(task.shards.old, task.shards.new, task.iso2, path)
    moved(task.rows)
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
