"""A declared register as values, and the language of its TOML file (`declaration_file` reads it).

    main = ["companies"]                  the kinds of file whose rows are the companies
    complement = ["FR"]                   the countries whose own register this source only completes;
                                          "*" for all
    [english]                             reason -> the words that commands print
    edition = { pattern, format }         the date in the head (64 KiB) of one of the files, for all of them; else
                                          it is in their names, or the newest `date_source` of their rows
    changes = "pattern"                   in the head of one of the files: they are changes or a part alone, and refused
    newest = "column"                     of [columns], whose newest date is that of a file that has none of these
    max_rejected = { share, reason }      the share of rejected rows that is in order, where it is over that of all
                                          registers (`register.MAX_REJECTED`), and why
    [file.KIND]                           one kind of published file
      format        csv (default; also as Parquet) | json | jsonl | xml
      key           the columns that tell this kind from the others, where there are several
      suffix        of such files in a zip, where they are not those of the format
      required      an import without such a file is refused (the kinds of `main` always are)
      skip          the reason why files of this kind are not read
      records       the pattern, in its head, of the number of records of the file, or of all files of its kind
      separator quote encoding            of a CSV; quote is "" for none, "unescaped" for `";"`
      header        the names of the columns of a CSV that has no header: `key` is its first row
      lowercase     true: the names of columns are read in lower case, however they are published
      used          columns read          optional   columns that some versions of the file lack
      ignored       column or path = reason; a trailing * stands for the rest of a name
      rename        published column = its name in the expressions
      at envelope   where the records of a JSON file are, and the keys beside them; of an XML file
                    `at` is the name of the element
      paths         name = path into a record, or { path, joined }
      pad           column = digits       where      condition on its rows
      one_per       [column, order...]    the first row for each value of the column, by the orders
      columns       name = SQL | [SQL, ...] for a list: columns that other kinds publish
      like          another kind, whose keys count where this one does not say otherwise
    [join.NAME]     file, on = { main column = its column }, where, one_per, take = { name = its column } of
                    the first row, gather = { name = its column } of all rows; orphans: the reason
                    under which rows without a company are counted
    [codes.NAME]    values = { code = label }, or table, code, label: a table of seeds/
    [derived]       name = SQL | { of, extract = pattern } | { of, codes, unknown = reason }
    [columns]       canonical column = SQL | { date, format } | [SQL, ...] for a list
                    nace_version = { auto = revision }: by the codes of the file, else `revision`
    [drop] [reject] [note]   reason = condition | { when, show }
    [repeated]      of the rows of a file with one identifier, the first by `order`, a list of whole
                    numbers in SQL, is kept; the others are rejected under `reason` with the value
                    `show`, or with `drop = true` dropped: such rows are in order. Without this table
                    they stop a build
    [statements]    makes of the register one of filed accounts, in the place of [columns]
      iso2 id currency scale group        SQL; the last one is the condition of group accounts
      close start   the closing date: { date, format }; the first day of the year, where it is published
      element value columns of a table with one amount a row, or
      values        columns with one amount each, whose names are the elements
      filing        SQL; rows with the same value are one filing (default: each row is one)
      part          SQL; the part of the accounts that a filing gives (default: its kind of file)
      latest        [SQL, ...]: of several filings of a part and year, the one with the last close,
                    then the last of these texts, then the last row counts
      legend        { file, column, label }: the elements' labels, in a file of the same name
      sums          code = { plus, minus, all }: elements added up to a line that has no element of
                    its own; with `all = true` only where every element is there
The elements are brought to the chart of codes by the rows of `seeds/elements.csv` of the source.

Expressions are SQL, read by `polars.sql_expr`, over text columns. `fichier` is the name of the
published file. A key that is not in this list stops the import: a misspelt one would be ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pipeline.registers.register import MAX_REJECTED
from pipeline.registers.toml import json_paths

Format = Literal["csv", "json", "jsonl", "xml"]
SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (".csv", ".parquet"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xml": (".xml",),
}


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of published file; the attributes are those of `[file.KIND]`."""

    name: str
    format: Format
    key: tuple[str, ...]
    suffixes: tuple[str, ...]
    required: bool
    skip: str | None
    records: str | None
    separator: str
    quote: str
    encoding: str | None
    header: tuple[str, ...]
    lowercase: bool
    used: tuple[str, ...]
    optional: frozenset[str]
    ignored: Mapping[str, str]
    rename: Mapping[str, str]
    at: tuple[str, ...]
    envelope: Mapping[str, str]
    paths: Mapping[str, json_paths.Path]
    pad: Mapping[str, int]
    where: str | None
    one_per: tuple[str, ...]
    columns: Mapping[str, tuple[tuple[str, ...], bool]]  # expressions; whether they make a list


@dataclass(frozen=True, slots=True)
class Join:
    """How the rows of a kind meet the main rows; the attributes are those of `[join.NAME]`."""

    name: str
    file: str
    on: Mapping[str, str]
    where: str | None
    one_per: tuple[str, ...]
    take: Mapping[str, str]
    gather: Mapping[str, str]
    orphans: str | None


@dataclass(frozen=True, slots=True)
class CodeList:
    """Labels by code, written out, or a table of seeds/ with its two columns."""

    values: Mapping[str, str]
    table: str | None
    code: str
    label: str


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column made of others: an expression, then a pattern or a code list applied to it."""

    sql: str
    extract: str | None = None
    codes: str | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """The source of a canonical column.

    Attributes:
        sql: an expression; several make a list.
        formats: of a date, the forms in which it is published, tried in turn.
        auto: of `nace_version`, the revision where the codes of the file do not tell.
    """

    sql: tuple[str, ...]
    formats: tuple[str, ...] = ()
    auto: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """A condition on a row, and the expression whose value shows it."""

    when: str
    show: str | None = None


@dataclass(frozen=True, slots=True)
class EditionPattern:
    """The date of the published files in the head of one of them: a pattern with one group, its form."""

    pattern: str
    format: str


@dataclass(frozen=True, slots=True)
class RepeatedIds:
    """Which of the rows with one identifier is kept; the attributes are those of `[repeated]`."""

    reason: str
    order: tuple[str, ...]
    show: str
    drop: bool


@dataclass(frozen=True, slots=True)
class Legend:
    """The kind of file that labels the elements, and its two columns."""

    file: str
    column: str
    label: str


@dataclass(frozen=True, slots=True)
class Sum:
    """Elements whose amounts are added up, or taken away."""

    plus: tuple[str, ...]
    minus: tuple[str, ...]
    needs_all: bool


@dataclass(frozen=True, slots=True)
class FiledAccounts:
    """Rows that are filed accounts; the attributes are those of `[statements]`."""

    iso2: str
    id: str
    close: Column
    start: Column | None
    currency: str
    scale: str
    group: str
    element: str | None
    value: str | None
    values: tuple[str, ...]
    filing: str | None
    part: str | None
    latest: tuple[str, ...]
    legend: Legend | None
    sums: Mapping[str, Sum]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A register of companies, or of filed accounts, as its TOML file declares it."""

    path: Path
    main: tuple[str, ...]
    files: Mapping[str, FileKind]
    complement: tuple[str, ...] = ()
    joins: Mapping[str, Join] = field(default_factory=dict)
    codes: Mapping[str, CodeList] = field(default_factory=dict)
    derived: Mapping[str, DerivedColumn] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    drop: Mapping[str, Reason] = field(default_factory=dict)
    reject: Mapping[str, Reason] = field(default_factory=dict)
    note: Mapping[str, Reason] = field(default_factory=dict)
    repeated: RepeatedIds | None = None
    english: Mapping[str, str] = field(default_factory=dict)
    statements: FiledAccounts | None = None
    edition: EditionPattern | None = None
    changes: str | None = None
    newest: str | None = None
    max_rejected: float = MAX_REJECTED

    @property
    def source(self) -> str:
        """The name of the source, which is that of the file."""
        return self.path.stem

    @property
    def reasons(self) -> set[str]:
        """The reasons of its own under which rows are counted."""
        found = {*self.drop, *self.reject, *self.note}
        found |= {derived.unknown for derived in self.derived.values() if derived.unknown}
        found |= {join.orphans for join in self.joins.values() if join.orphans}
        return found | ({self.repeated.reason} if self.repeated else set())
