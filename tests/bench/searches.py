"""Ten searches, here and in SQLite, on the same companies in the same run."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from shards import generations
from shards.query import Query
from shards.reader import Shard
from shards.search import search
from shards.text import fold, fold_id

# Name, the query, the same as a condition of SQLite with its parameters.
SEARCHES: Final[tuple[tuple[str, Query, str, tuple[Any, ...]], ...]] = (
    ("everything, ca_desc", Query(), "1", ()),
    ("everything, by name", Query(tri="nom"), "1", ()),
    ("one country, recent", Query(pays=("EE",), tri="recent"), "iso2 = 'EE'", ()),
    ("country and sector", Query(pays=("UK",), secteurs=("62",)),
     "iso2 = 'UK' AND division = '62'", ()),
    ("three sectors, by name", Query(secteurs=("41", "62", "68"), tri="nom"),
     "division IN ('41', '62', '68')", ()),
    ("sector, score", Query(secteurs=("47",), tri="score"), "division = '47'", ()),
    ("with turnover", Query(avec_ca=True), "ca_eur IS NOT NULL", ()),
    ("q, 1 letter", Query(q="a"), "folded LIKE ? OR ident LIKE ?", ("%a%", "A%")),
    ("q, 5 letters", Query(q="build"),
     "n IN (SELECT rowid FROM names WHERE folded LIKE ?) OR ident LIKE ?", ("%build%", "BUILD%")),
    ("q, 10 letters", Query(q="kinnisvara", tri="nom"),
     "n IN (SELECT rowid FROM names WHERE folded LIKE ?) OR ident LIKE ?",
     ("%kinnisvara%", "KINNISVARA%")),
    ("q, across a blank", Query(q="ment lim"),
     "n IN (SELECT rowid FROM names WHERE folded LIKE ?) OR ident LIKE ?",
     ("%ment lim%", "MENTLIM%")),
    ("identifier prefix", Query(q="1234"),
     "n IN (SELECT rowid FROM names WHERE folded LIKE ?) OR ident LIKE ?", ("%1234%", "1234%")),
)  # fmt: skip
_ORDER: Final = {
    "ca_desc": "ca_eur IS NULL, ca_eur DESC, iso2, id",
    "nom": "folded, nom, iso2, id",
    "recent": "date IS NULL, date DESC, iso2, id",
    "score": "score DESC, iso2, id",
}
_PAGE: Final = 50


def report(data: Path, folder: Path, runs: int) -> None:
    """Print the table of the ten searches."""
    name = generations.current(data)
    assert name is not None
    with generations.load(data, name) as generation:
        peer = _sqlite(generation.shards, folder / "peer.sqlite")
        print(
            "\n| search, 50 full rows | total | p50 ms | p99 ms | SQLite p50 ms | ratio |\n"
            "| --- | --: | --: | --: | --: | --: |"
        )
        for label, query, where, values in SEARCHES:
            shards = generation.shards

            def ours(query: Query = query, shards: Mapping[str, Shard] = shards) -> int:
                page = search(shards, query, offset=0, limit=_PAGE)
                for row in page.rows:
                    shards[row.iso2].record(row.row, coordonnees=False)
                return page.total

            def theirs(
                where: str = where, values: tuple[Any, ...] = values, tri: str = query.tri
            ) -> int:
                count = f"SELECT count(*) FROM company WHERE {where}"
                rows = f"SELECT * FROM company WHERE {where} ORDER BY {_ORDER[tri]} LIMIT {_PAGE}"
                total: int = peer.execute(count, values).fetchone()[0]
                peer.execute(rows, values).fetchall()
                return total

            total = ours()
            if total != theirs():
                raise SystemExit(f"{label}: {total} here, {theirs()} in SQLite")
            mine, other = _times(ours, runs), _times(theirs, max(5, runs // 20))
            p99 = quantiles(mine, n=100)[98]
            print(
                f"| {label} | {total:,} | {median(mine):.2f} | {p99:.2f} | {median(other):.1f} "
                f"| {median(other) / median(mine):.0f} |"
            )


def _times(run: Callable[[], int], runs: int) -> list[float]:
    """Milliseconds of each run."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) * 1e3)
    return found


def _sqlite(shards: Mapping[str, Shard], path: Path) -> sqlite3.Connection:
    """The same companies in SQLite: an index for each order and scope, FTS5 trigrams for names."""
    peer = sqlite3.connect(path)
    peer.execute(
        "CREATE TABLE company (n INTEGER PRIMARY KEY, iso2, id, nom, folded, ident, division, "
        "ca_eur, date, score, record)"
    )
    rows = (
        (company["iso2"], company["id"], company["nom"], fold(company["nom"]),
         fold_id(company["id"]), cell.secteur, company["ca_eur"], company["date_creation"],
         company["score"], shard.record(row, coordonnees=False))
        for shard in shards.values()
        for cell in shard.cells
        for row in range(cell.start, cell.stop)
        for company in (shard.company(row),)
    )  # fmt: skip
    peer.executemany("INSERT INTO company VALUES (NULL,?,?,?,?,?,?,?,?,?,?)", rows)
    for columns in (
        *_ORDER.values(), *(f"iso2, {order}" for order in _ORDER.values()),
        *(f"division, {order}" for order in _ORDER.values()),
        "iso2, division, ca_eur IS NULL, ca_eur DESC, id", "ident COLLATE NOCASE", "ca_eur",
    ):  # fmt: skip
        peer.execute(f"CREATE INDEX x{abs(hash(columns))} ON company ({columns})")
    peer.execute(
        "CREATE VIRTUAL TABLE names USING fts5(folded, content='company', content_rowid='n', "
        "tokenize='trigram')"
    )
    peer.execute("INSERT INTO names(names) VALUES ('rebuild')")
    peer.execute("ANALYZE")
    peer.commit()
    return peer
