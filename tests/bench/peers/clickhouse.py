"""ClickHouse in process (chdb): one table, sorted by place and turnover, with skip indexes for the rest.

The settings are those of a careful user. A text index of trigrams answers `q` of three and more characters; minmax
indexes skip granules, for ranges and for the first rows of an order; granules are small, since a page reads single
rows; records are read for the rows of the page only (lazy materialisation). No index answers a text with fewer
characters, so names are read for it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import chdb
from chdb.session import Session

from shards.query import DEEPEST
from tests.bench import processes
from tests.bench.peers import sql
from tests.bench.peers.companies import SORTED_BY, Companies
from tests.bench.questions.question import Answer, Question

_CODE: Final = "LowCardinality(Nullable(String))"
_COLUMNS: Final = {
    "n": "UInt32", "iso2": "LowCardinality(String)", "ident": "String", "folded": "String",
    "division": _CODE, "groupe": _CODE, "ca_eur": "Nullable(Float64)",
    "effectif": "Nullable(Int32)", "date_creation": "Nullable(String)",
    "capital_eur": "Nullable(Float64)", "score": "Nullable(Int16)", "site_web": "Bool",
    "place_nom": "UInt32", "etat": _CODE, "town": "Nullable(String)", "postcode": "Nullable(String)",
    "forme": "Nullable(String)", "nace_code": _CODE, "creation": "Nullable(Int32)",
    "actif_eur": "Nullable(Float64)", "with_statements": "Bool", "record": "String",
}  # fmt: skip
_RANGED: Final = {
    "ident", "place_nom", "creation", "actif_eur", *(column for column, _ in SORTED_BY.values())
}  # fmt: skip
_SETTINGS: Final = (
    f"query_plan_max_limit_for_lazy_materialization = {DEEPEST}",
    "use_skip_indexes_for_top_k = 1",
    "use_top_k_dynamic_filtering = 1",
    "use_skip_indexes_for_disjunctions = 1",
    f"max_memory_usage = {processes.memory() // 4}",  # other engines share the machine
)


def version() -> str:
    return str(chdb.engine_version)


def load(companies: Companies, path: Path) -> None:
    columns = [f"{name} {kind}" for name, kind in _COLUMNS.items()]
    columns += [f"INDEX by_{name} {name} TYPE minmax" for name in sorted(_RANGED)]
    columns.append("INDEX by_gram folded TYPE text(tokenizer = ngrams(3))")
    with Session(str(path)) as session:
        session.query("CREATE DATABASE bench")
        session.query(
            f"CREATE TABLE bench.company ({', '.join(columns)}) ENGINE = MergeTree "
            "ORDER BY (division, groupe, iso2, -ifNull(ca_eur, -1), n) "
            "SETTINGS allow_nullable_key = 1, index_granularity = 1024"
        )
        names = ", ".join(_COLUMNS)
        session.query(
            f"INSERT INTO bench.company SELECT {names} "
            f"FROM file('{companies.folder}/*.parquet', Parquet)"
        )
        session.query("OPTIMIZE TABLE bench.company FINAL")


def connect(companies: Companies, path: Path) -> "ClickHouse":
    return ClickHouse(companies, path)


class ClickHouse:
    def __init__(self, companies: Companies, path: Path) -> None:
        self._companies = companies
        self._session = Session(str(path))
        for setting in _SETTINGS:
            self._session.query(f"SET {setting}")

    def search(self, question: Question) -> Answer:
        query = question.query
        where = sql.filters(query) & sql.coded(query)
        if query.q is not None:
            where &= sql.named(query.q, "folded LIKE concat('%', ?, '%')")
        counted = _statement(f"SELECT count() FROM bench.company WHERE {where.sql}", where)
        total = int.from_bytes(self._bytes(counted), "little")
        if question.offset >= total:
            return Answer(total, [])
        paged = _statement(
            f"SELECT record FROM bench.company WHERE {where.sql} ORDER BY {sql.order(query.tri)} "
            f"LIMIT {question.limit} OFFSET {question.offset}",
            where,
        )
        records = _strings(self._bytes(paged))
        return Answer(total, [self._companies.record(packed) for packed in records])

    def interrupt(self) -> None:
        """Do nothing: a query of chdb cannot be interrupted from another thread."""

    def close(self) -> None:
        self._session.close()

    def _bytes(self, statement: str) -> bytes:
        found: bytes = self._session.query(statement, "RowBinary").bytes()
        return found


def _statement(text: str, where: sql.Condition) -> str:
    """A statement with its values: the text of a query is all that chdb takes without a copy."""
    first, *others = text.replace("starts_with(", "startsWith(").split("?")
    values = map(_literal, where.values)
    return first + "".join(f"{value}{part}" for value, part in zip(values, others, strict=True))


def _literal(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _strings(packed: bytes) -> Iterator[bytes]:
    """The strings of a column in the format RowBinary: a length as LEB128, then the bytes."""
    place = 0
    while place < len(packed):
        length = shift = 0
        while True:
            byte = packed[place]
            place += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield packed[place : place + length]
        place += length
