"""The companies of a generation as Parquet: the input of all peers.

    <folder>/dictionary         the dictionary of the compressed records
    <folder>/FR.parquet …       one file per country, in the order of identifiers

Every peer gets the fields that searches filter and sort by, and the complete record as JSON, compressed as in the
shards, so that a row costs all engines the same. `n` numbers the companies by country and identifier, the tie-break of
all orders (contract B28). The columns `place_…` are ranks in the seven orders, for peers that sort only by one number.
"""

import functools
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import orjson
import polars as pl
import zstandard
from numpy.typing import NDArray

from shards.codec.codes import amounts, fold_postcode
from shards.codec.folding import fold, fold_id
from shards.generations import generation_files, pointer
from shards.generations.generation_files import Generation
from shards.generations.reference import Reference
from shards.query import ORDERS
from shards.reader.shard import Shard

_DICTIONARY: Final = "dictionary"
_DICTIONARY_BYTES: Final = 112_640  # 110 KiB, the default size of zstd's training
_SAMPLES: Final = 2_000  # records per shard, to train the dictionary
_CHUNK: Final = 50_000  # rows; bounds the memory of Python objects
# Fields of the record that become columns; `site_web` becomes whether the company has one.
_FIELDS: Final = {
    "iso2": pl.String, "id": pl.String, "nom": pl.String, "ca_eur": pl.Float64,
    "effectif": pl.Int64, "date_creation": pl.String, "score": pl.Int64, "site_web": pl.String,
    "etat": pl.String, "forme": pl.String, "nace_code": pl.String,
}  # fmt: skip
# Columns that are computed from fields of the record.
_DERIVED: Final = {
    "division": pl.String, "groupe": pl.String, "town": pl.String, "postcode": pl.String,
    "creation": pl.Int64,
}  # fmt: skip
# Each order (`tri`), with the column that it sorts by and whether the greatest value is first.
SORTED_BY: Final = {
    "ca_desc": ("ca_eur", True),
    "ca_asc": ("ca_eur", False),
    "effectif_desc": ("effectif", True),
    "recent": ("date_creation", True),
    "capital_desc": ("capital_eur", True),
    "score": ("score", True),
}


@dataclass(frozen=True)
class Companies:
    """The folder in which `extract` has written the companies, a file per country, for peers to load."""

    folder: Path

    @property
    def files(self) -> list[Path]:
        """The files, one per country, in the order of `n`."""
        return sorted(self.folder.glob("*.parquet"))

    def rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """All companies in the order of `n`, with at most `_CHUNK` in memory."""
        for path in self.files:
            total = pl.scan_parquet(path).select(pl.len()).collect().item()
            for start in range(0, total, _CHUNK):
                chunk = pl.scan_parquet(path).slice(start, _CHUNK).select(columns).collect()
                yield from chunk.iter_rows()

    @cached_property
    def _decompress(self) -> zstandard.ZstdDecompressor:
        """The decompressor of the column `record`."""
        dictionary = zstandard.ZstdCompressionDict((self.folder / _DICTIONARY).read_bytes())
        return zstandard.ZstdDecompressor(dict_data=dictionary)

    def record(self, packed: bytes) -> bytes:
        """The JSON of a company from its column `record`."""
        return self._decompress.decompress(packed)


@dataclass(frozen=True)
class Codes:
    """The codes of NACE divisions and groups by their French labels, because a record has only the labels."""

    divisions: dict[str, str]
    groupes: dict[tuple[str, str], str]

    @classmethod
    def read(cls, reference: Reference) -> Self:
        """The codes by the French labels that records have."""
        labels = {secteur.code: secteur.secteur for secteur in reference.secteurs}
        return cls(
            {label: code for code, label in labels.items()},
            {(labels[s.secteur], s.sous_secteur): s.code for s in reference.sous_secteurs},
        )

    def division(self, company: Mapping[str, Any]) -> str | None:
        """The NACE division of a record; None without a sector."""
        return self.divisions.get(company["secteur"])

    def groupe(self, company: Mapping[str, Any]) -> str | None:
        """The NACE group of a record; None without a sub-sector."""
        return self.groupes.get((company["secteur"], company["sous_secteur"]))


def extract(data: Path, folder: Path, jobs: int = 2) -> Companies:
    """Write the companies of the published generation of `data` to `folder`, if not there yet."""
    if folder.exists():
        return Companies(folder)
    name = pointer.current_name(data)
    assert name is not None, f"{data} has no published generation; build one"
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with generation_files.load(data, name) as generation:
        (partial / _DICTIONARY).write_bytes(_train_dictionary(generation))
        paths = [shard.path for shard in generation.shards.values() if shard.rows]
        codes = Codes.read(generation.reference)
    # Polars has threads, which do not survive a fork.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        greatest_first = sorted(paths, key=lambda path: -path.stat().st_size)
        write = functools.partial(_write_country, folder=partial, codes=codes)
        list(pool.map(write, greatest_first))
    _add_ranks(Companies(partial))
    partial.rename(folder)
    return Companies(folder)


def _train_dictionary(generation: Generation) -> bytes:
    """A dictionary for the compression of single records."""
    samples: list[bytes | bytearray | memoryview] = [
        record
        for shard in generation.shards.values()
        for record in shard.records(_sample_rows(shard.rows), coordonnees=True)
    ]
    try:
        return zstandard.train_dictionary(_DICTIONARY_BYTES, samples).as_bytes()
    except zstandard.ZstdError:  # too few samples: any bytes are a dictionary
        return b"".join(map(bytes, samples))[:_DICTIONARY_BYTES]


def _sample_rows(rows: int) -> list[int]:
    """At most `_SAMPLES` rows, spread evenly over the shard."""
    rows_spread = np.linspace(0, max(0, rows - 1), min(_SAMPLES, rows), dtype=int)
    return [int(row) for row in rows_spread]


def _write_country(path: Path, *, folder: Path, codes: Codes) -> None:
    """Write the companies of a shard, in the order of identifiers."""
    dictionary = zstandard.ZstdCompressionDict((folder / _DICTIONARY).read_bytes())
    compress = zstandard.ZstdCompressor(dict_data=dictionary).compress
    with Shard(path) as shard:
        capital = -shard.keys("capital_desc", np.arange(shard.rows, dtype=np.uint32))
        chunks = [
            _read_frame(shard, range(start, min(start + _CHUNK, shard.rows)), codes, compress)
            for start in range(0, shard.rows, _CHUNK)
        ]
        iso2 = shard.iso2
        asset_amounts = shard.code_array("actif.amounts", "<f8")
        assets = amounts(shard.codes("actif"), asset_amounts)
        with_statements = np.isin(np.arange(shard.rows), shard.statement_rows)
    # A company without a capital has an infinite key in the order by capital; here it gets NaN, which becomes null.
    euros = np.where(np.isfinite(capital), capital, np.nan)
    frame = pl.concat(chunks).with_columns(
        pl.Series("capital_eur", euros, dtype=pl.Float64, nan_to_null=True),
        pl.Series("actif_eur", assets, dtype=pl.Float64, nan_to_null=True),
        pl.Series("with_statements", with_statements),
    )
    frame.sort("id").write_parquet(folder / f"{iso2}.parquet", row_group_size=_CHUNK)


def _read_frame(
    shard: Shard, rows: range, codes: Codes, compress: Callable[[bytes], bytes]
) -> pl.DataFrame:
    """The fields of the records of `rows`, without the capital in euros, which no record has."""
    records = shard.records(rows, coordonnees=True)
    companies = [orjson.loads(record) for record in records]
    return pl.DataFrame(
        {
            **{name: [company[name] for company in companies] for name in _FIELDS},
            "ident": [fold_id(company["id"]) for company in companies],
            "folded": [fold(company["nom"]) for company in companies],
            "division": [codes.division(company) for company in companies],
            "groupe": [codes.groupe(company) for company in companies],
            "town": [fold(company["ville"] or "") or None for company in companies],
            "postcode": [
                fold_postcode(company["code_postal"] or "") or None for company in companies
            ],
            "creation": [_day(company["date_creation"]) for company in companies],
            "record": [compress(record) for record in records],
        },
        schema_overrides={**_FIELDS, **_DERIVED},
    ).with_columns(pl.col("site_web").is_not_null())


def _day(date: str | None) -> int | None:
    """A date as yyyymmdd, with 01 for an unknown month or day."""
    return None if date is None else int(f"{date}-01-01"[:10].replace("-", ""))


def _add_ranks(companies: Companies) -> None:
    """Add `n` and the rank in each order, over all countries."""
    ranks = {f"place_{tri}": _ranks(companies, tri) for tri in ORDERS}
    start = 0
    for path in companies.files:
        frame = pl.read_parquet(path)
        span = slice(start, start + len(frame))
        frame.with_columns(
            pl.Series("n", np.arange(span.start, span.stop)),
            *(pl.Series(name, values[span]) for name, values in ranks.items()),
        ).write_parquet(path, row_group_size=_CHUNK)
        start = span.stop


def _ranks(companies: Companies, tri: str) -> NDArray[np.uint32]:
    """The rank of each company in the order `tri`, ties by `n`, nulls last."""
    frame = pl.scan_parquet(companies.files)
    if tri == "nom":
        keys, descending = ["folded", "nom"], False
    else:
        column, descending = SORTED_BY[tri]
        keys = [column]
    order = frame.select(
        pl.arg_sort_by(keys, descending=descending, nulls_last=True, maintain_order=True)
    ).collect()
    ranks = np.empty(len(order), dtype=np.uint32)
    ranks[order.to_series().to_numpy()] = np.arange(len(order), dtype=np.uint32)
    return ranks
