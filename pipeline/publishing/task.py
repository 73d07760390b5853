"""The task of building one country, which can be sent to another process, and the tables that its stages look up."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipeline.seeds import Seeds
from pipeline.stages import rejections
from pipeline.stages.input_files import InputPart
from pipeline.stages.objections import Hidden


@dataclass(frozen=True, slots=True)
class Tables:
    """The lookup tables of the stages, made once for all countries."""

    seeds: Seeds
    rates: pl.DataFrame
    nace: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Task:
    """One country to build: plain values, to be sent to another process.

    Attributes:
        done: the folder of its shard and its receipt.
        work: a folder in which the task makes one of its own, removed at the end.
        key: of the receipt; see `resume.key`.
        hidden: what persons have objected to.
        unmet: of these, the companies that no build has met yet.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        batch: how many companies are rows in memory at once.
        memory: bytes that the task takes.
    """

    iso2: str
    companies: tuple[InputPart, ...]
    comptes: tuple[InputPart, ...]
    tables: Tables
    max_rejected: float
    personal_mailboxes: bool
    out: Path
    done: Path
    work: Path
    key: str
    hidden: Hidden
    unmet: frozenset[str]
    batch: int
    memory: int

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.companies)

    def file(self, name: str) -> Path:
        """A file of rows in its folder."""
        return self.work / f"{name}.parquet"

    @property
    def rejected_files(self) -> tuple[Path, Path]:
        """The files of its rejected rows and statement lines."""
        return rejections.rows_path(self.out, self.iso2), rejections.lines_path(self.out, self.iso2)
