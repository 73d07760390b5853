"""DuckDB: one table, sorted by place and turnover, so that zone maps skip most row groups.

Names are searched with `contains` on the folded names: the FTS extension has no substring search, and no index of
DuckDB answers "name or identifier". Result pages of up to a thousand rows read only the records of their rows (late
materialisation).
"""

from pathlib import Path
from typing import Any, Final

import duckdb

from shards.query import DEEPEST
from tests.bench import processes
from tests.bench.peers import sql
from tests.bench.peers.companies import Companies
from tests.bench.peers.peer import TooSlow
from tests.bench.questions.question import Answer, Question

_COLUMNS: Final = (
    "n, iso2, ident, folded, division, groupe, ca_eur, effectif::INTEGER AS effectif, "
    "date_creation, capital_eur, score::SMALLINT AS score, site_web, place_nom, etat, town, "
    "postcode, forme, nace_code, creation, actif_eur, with_statements, record"
)


def version() -> str:
    """The version of the library, for the report."""
    return str(duckdb.__version__)


def load(companies: Companies, path: Path) -> None:
    """Write the table `company`, sorted by sector and turnover, to `path`."""
    with duckdb.connect(str(path)) as database:
        database.execute(
            f"CREATE TABLE company AS SELECT {_COLUMNS} FROM read_parquet(?) "
            "ORDER BY division, groupe, iso2, ca_eur DESC NULLS LAST",
            [[str(file) for file in companies.files]],
        )


def connect(companies: Companies, path: Path) -> "DuckDB":
    """Open the files that `load` has created."""
    return DuckDB(companies, path)


class DuckDB:
    """The loaded table, as a Peer."""

    def __init__(self, companies: Companies, path: Path) -> None:
        self._companies = companies
        self._database = duckdb.connect(str(path), read_only=True)
        self._database.execute(f"SET late_materialization_max_rows = {DEEPEST}")
        # Other engines share the machine; the default limit is 80 % of its memory.
        self._database.execute(f"SET memory_limit = '{processes.memory() // 4} B'")

    def search(self, question: Question) -> Answer:
        """The total and the records of the page; `TooSlow` if the watchdog interrupts the search."""
        query = question.query
        where = sql.filters(query) & sql.coded_filters(query)
        if query.q is not None:
            where &= sql.q_condition(query.q, "contains(folded, ?)")
        try:
            total = self._all(f"SELECT count(*) FROM company WHERE {where.sql}", where)[0][0]
            rows = (
                []
                if question.offset >= total
                else self._all(
                    f"SELECT record FROM company WHERE {where.sql} ORDER BY {sql.order(query.tri)} "
                    f"LIMIT {question.limit} OFFSET {question.offset}",
                    where,
                )
            )
        except duckdb.InterruptException as error:
            raise TooSlow from error
        return Answer(total, [self._companies.record(packed) for (packed,) in rows])

    def interrupt(self) -> None:
        """End the running search, from another thread."""
        self._database.interrupt()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _all(self, statement: str, where: sql.Condition) -> list[tuple[Any, ...]]:
        """All rows of a statement with the values of a condition."""
        rows: list[tuple[Any, ...]] = self._database.execute(statement, where.values).fetchall()
        return rows
