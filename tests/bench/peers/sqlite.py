"""SQLite as Datasette serves it: composite indexes for orders and scopes, FTS5 trigrams for names.

`n`, the tie-break of all orders, is the rowid and so the implicit last column of every index. A `q`
of three or more characters is a phrase of trigrams, which FTS5 answers without reading names (its
table is contentless, with full detail). A shorter `q` scans an index of identifier and name. If many
rows match, the order is scanned until the page is full, instead of sorting all matches.
"""

import sqlite3
from pathlib import Path
from typing import Any, Final

from shards.codec.folding import fold
from tests.bench.peers import sql
from tests.bench.peers.companies import SORTED_BY, Companies
from tests.bench.peers.peer import NotExpressible, TooSlow
from tests.bench.peers.sql import Condition
from tests.bench.questions.question import Answer, Question

_COLUMNS: Final = [
    "n", "iso2", "ident", "folded", "division", "groupe", "ca_eur", "effectif", "date_creation",
    "capital_eur", "score", "site_web", "place_nom", "record",
]  # fmt: skip
# The seven orders as columns of an index.
_ORDERS: Final = (
    "place_nom",
    *(f"{column} {'DESC' if descending else 'ASC'}" for column, descending in SORTED_BY.values()),
)
_INDEXES: Final = (
    *_ORDERS,
    *(f"iso2, {order}" for order in _ORDERS),
    *(f"division, {order}" for order in _ORDERS),
    "iso2, division, ca_eur DESC", "groupe, ca_eur DESC", "iso2, groupe, ca_eur DESC",
    "ident, folded",
    "site_web, effectif, ca_eur", "site_web, ca_eur DESC, effectif",
    "ca_eur, effectif, site_web, iso2, division",
)  # fmt: skip
_TRIGRAM: Final = 3  # characters; FTS5 does not find shorter texts
# The table `hit` has the rows whose name or identifier matches `q`; {} is the condition on the identifier.
_HITS: Final = (
    "WITH hit(n) AS MATERIALIZED (SELECT rowid FROM names WHERE names MATCH ? "
    "UNION SELECT n FROM company WHERE {}) "
)


def version() -> str:
    """The version of the library, for the report."""
    return sqlite3.sqlite_version


def load(companies: Companies, path: Path) -> None:
    """Write the table `company` with its indexes, and the FTS5 index of names, to `path`."""
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -2000000",
                   "temp_store = memory", "locking_mode = exclusive", "threads = 2"):  # fmt: skip
        database.execute(f"PRAGMA {pragma}")
    database.execute("BEGIN")
    database.execute(f"CREATE TABLE company (n INTEGER PRIMARY KEY, {', '.join(_COLUMNS[1:])})")
    places = ", ".join("?" * len(_COLUMNS))
    database.executemany(f"INSERT INTO company VALUES ({places})", companies.rows(_COLUMNS))
    for number, columns in enumerate(_INDEXES):
        database.execute(f"CREATE INDEX company_{number} ON company ({columns})")
    database.execute(
        "CREATE VIRTUAL TABLE names USING fts5(folded, content='', columnsize=0, "
        "tokenize='trigram case_sensitive 1')"
    )
    database.execute("INSERT INTO names(names, rank) VALUES ('hashsize', 200000000)")
    database.execute("INSERT INTO names(rowid, folded) SELECT n, folded FROM company")
    database.execute("COMMIT")
    database.execute("INSERT INTO names(names) VALUES ('optimize')")
    database.execute("ANALYZE")
    database.close()


def connect(companies: Companies, path: Path) -> "SQLite":
    """Open the files that `load` has created."""
    return SQLite(companies, path)


class SQLite:
    """The loaded database, as a Peer."""

    def __init__(self, companies: Companies, path: Path) -> None:
        self._companies = companies
        self._database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        for pragma in ("mmap_size = 30000000000", "cache_size = -500000", "temp_store = memory"):
            self._database.execute(f"PRAGMA {pragma}")
        self._row_count = self._single_value(Condition("SELECT max(n) + 1 FROM company"))

    def search(self, question: Question) -> Answer:
        """The total and the records of the page; `TooSlow` if the watchdog interrupts the search.

        A text of at least three letters is looked up in the index of names; a shorter one needs a scan.
        """
        q = question.query.q
        if sql.coded_filters(question.query) != sql.TRUE:
            raise NotExpressible  # only DuckDB has these columns
        try:
            if q is None:
                return self._scan(question, sql.filters(question.query))
            if len(fold(q)) < _TRIGRAM:
                return self._scan(question, self._scan_conditions(question))
            return self._look_up(question, q)
        except sqlite3.OperationalError as error:
            if str(error) != "interrupted":
                raise
            raise TooSlow from error

    def interrupt(self) -> None:
        """End the running search, from another thread."""
        self._database.interrupt()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _scan_conditions(self, question: Question) -> Condition:
        """All conditions; the name is scanned instead of looked up."""
        assert question.query.q is not None
        return sql.filters(question.query) & sql.q_condition(question.query.q, "instr(folded, ?)")

    def _scan(self, question: Question, where: Condition) -> Answer:
        """Answer by a scan of an index: count, then read the page in its order."""
        count = Condition(f"SELECT count(*) FROM company WHERE {where.sql}", where.values)
        total = self._single_value(count)
        return Answer(total, [] if question.offset >= total else self._page(question, where))

    def _look_up(self, question: Question, q: str) -> Answer:
        """Count by the index of names, which gives the rows of `q`; then read the page in the cheaper of two ways.

        If `q` is frequent, reading all rows in order fills a page soon; else only the rows of `q` are sorted.
        """
        where, by_id = sql.filters(question.query), sql.identifier_condition(q)
        hits, values = _HITS.format(by_id.sql), (f'"{fold(q)}"', *by_id.values)
        if where == sql.TRUE:
            count = Condition(f"{hits} SELECT count(*) FROM hit", values)
        else:
            count = Condition(
                f"{hits} SELECT count(*) FROM company WHERE n IN hit AND {where.sql}",
                (*values, *where.values),
            )
        total = self._single_value(count)
        if question.offset >= total:
            return Answer(total, [])
        # Rows to read for a full page if matches are spread evenly.
        rows_to_scan = (question.offset + question.limit) * self._row_count / max(1, total)
        if rows_to_scan < total:
            return Answer(total, self._page(question, self._scan_conditions(question)))
        hit_conditions = Condition("n IN hit", ()) & where
        return Answer(total, self._page(question, hit_conditions, Condition(hits, values)))

    def _page(
        self,
        question: Question,
        where: Condition,
        prefix: Condition = Condition(""),  # noqa: B008
    ) -> list[bytes]:
        """The records of the page; `prefix` is SQL before the SELECT."""
        rows = self._database.execute(
            f"{prefix.sql} SELECT record FROM company WHERE {where.sql} "
            f"ORDER BY {_order(question.query.tri)} "
            f"LIMIT {question.limit} OFFSET {question.offset}",
            (*prefix.values, *where.values),
        )
        return [self._companies.record(packed) for (packed,) in rows.fetchall()]

    def _single_value(self, statement: Condition) -> Any:
        """The only value of the result of a statement."""
        return self._database.execute(statement.sql, statement.values).fetchone()[0]


def _order(tri: str) -> str:
    """The sort columns as SQLite's indexes have them."""
    # Descending order has nulls last; an explicit NULLS LAST would keep SQLite from its index.
    return sql.order(tri).replace("DESC NULLS LAST", "DESC")
