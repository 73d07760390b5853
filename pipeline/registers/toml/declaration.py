"""A declared register: the language of its TOML file, and the file as a value.

    main = ["companies"]                  the kinds of file whose rows are the companies
    complement = ["FR"]                   the countries whose own register this source only completes;
                                          "*" for all
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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, StrictInt, TypeAdapter

from pipeline import seeds
from pipeline.canonical import COMPANIES, EVERY_COUNTRY
from pipeline.errors import BuildError
from pipeline.registers.register import MAX_REJECTED
from pipeline.registers.toml import json_paths
from pipeline.toml_file import Names, Text, Truth, closed, convert, short_for
from seeds import TABLES
from seeds.settings import read_toml

_SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (".csv", ".parquet"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xml": (".xml",),
}
_NAME: Final = "[name]"  # of a table, beside its keys; brackets are in no key of the language

Texts = Mapping[str, str]


class DeclarationError(BuildError):
    """A declaration is not in the language; the message names the file, the place and the value."""


def _named(tables: Any, key: str = _NAME) -> Any:
    """The tables with their names, under a `key` that a table need not have."""
    if not isinstance(tables, dict):
        return tables
    return {
        name: {key: name, **table} if isinstance(table, dict) else table
        for name, table in tables.items()
    }


def _with_inherited(kinds: Any) -> Any:
    """The tables of `file`, each with the keys of the kind that it is `like`."""
    whole: dict[str, Any] = dict(kinds) if isinstance(kinds, dict) else {}
    for name, table in whole.items():
        if isinstance(table, dict) and "like" in table:
            like = table["like"]
            if like not in whole:
                raise ValueError(
                    f"{name} is like {like!r}, which is not declared; name one of [file]"
                )
            own = {key: value for key, value in table.items() if key != "like"}
            whole[name] = {**whole[like], **own}
    return whole or kinds


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of published file; the attributes are those of `[file.KIND]`."""

    name: Annotated[str, Field(alias=_NAME)]
    format: Literal["csv", "json", "jsonl", "xml"] = "csv"
    key: Names = ()
    suffix: Names = ()
    required: Truth = False
    skip: str | None = None
    records: str | None = None
    separator: str = ","
    quote: str = '"'
    encoding: str | None = None
    header: Names = ()
    lowercase: Truth = False
    used: Names = ()
    optional: Names = ()
    ignored: Texts = field(default_factory=dict)
    rename: Texts = field(default_factory=dict)
    at: Annotated[
        tuple[str, ...], BeforeValidator(lambda v: v.split("/") if isinstance(v, str) else v)
    ] = ()
    envelope: Texts = field(default_factory=dict)
    paths: Mapping[str, Annotated[json_paths.Path, short_for("path")]] = field(default_factory=dict)
    pad: Mapping[str, StrictInt] = field(default_factory=dict)
    where: str | None = None
    one_per: Names = ()
    # Expressions; whether they make a list.
    columns: Mapping[
        str, Annotated[tuple[Names, bool], BeforeValidator(lambda v: (v, isinstance(v, list)))]
    ] = field(default_factory=dict)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings of the names of such files in a zip."""
        return self.suffix or _SUFFIXES[self.format]


@dataclass(frozen=True, slots=True)
class Join:
    """How the rows of a kind meet the main rows; the attributes are those of `[join.NAME]`."""

    name: Annotated[str, Field(alias=_NAME)]
    file: str
    on: Texts = field(default_factory=dict)
    where: str | None = None
    one_per: Names = ()
    take: Texts = field(default_factory=dict)
    gather: Texts = field(default_factory=dict)
    orphans: str | None = None


@dataclass(frozen=True, slots=True)
class CodeList:
    """Labels by code, written out, or a table of seeds/ with its two columns."""

    values: Texts = field(default_factory=dict)
    table: str | None = None
    code: str = "code"
    label: str = "label"


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column made of others: an expression, then a pattern or a code list applied to it."""

    sql: Annotated[str, Field(alias="of")]
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

    sql: Annotated[Names, Field(alias="date")]
    formats: Annotated[Names, Field(alias="format")] = ()
    auto: str | None = None


def _column(value: Any) -> Any:
    """The table of a column, which may be written as its expressions alone, or as `auto`."""
    if not isinstance(value, dict):
        return {"date": value}
    return {"date": "NULL", **value} if "auto" in value else value


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
class RejectedShare:
    """The share of rejected rows that is in order, and why it is over that of all registers."""

    share: Annotated[float, Field(gt=MAX_REJECTED, le=1)]
    reason: Text


@dataclass(frozen=True, slots=True)
class RepeatedIds:
    """Which of the rows with one identifier is kept; the attributes are those of `[repeated]`."""

    reason: Text
    order: Annotated[Names, Field(min_length=1)]
    show: str = "NULL"
    drop: Truth = False


@dataclass(frozen=True, slots=True)
class Legend:
    """The kind of file that labels the elements, and its two columns."""

    file: str
    column: str
    label: str


@dataclass(frozen=True, slots=True)
class Sum:
    """Elements whose amounts are added up, or taken away."""

    plus: Names = ()
    minus: Names = ()
    needs_all: Annotated[Truth, Field(alias="all")] = False


@dataclass(frozen=True, slots=True)
class FiledAccounts:
    """Rows that are filed accounts; the attributes are those of `[statements]`."""

    iso2: str
    id: str
    close: Column
    start: Column | None = None
    currency: str = "NULL"
    scale: str = "'1'"
    group: str = "FALSE"
    element: str | None = None
    value: str | None = None
    values: Names = ()
    filing: str | None = None
    part: str | None = None
    latest: Names = ()
    legend: Legend | None = None
    sums: Mapping[str, Sum] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.element) != bool(self.value) or not (self.value or self.values):
            raise ValueError("the amounts have no place; name `element` and `value`, or `values`")


Reasons = Mapping[str, Annotated[Reason, short_for("when")]]


@closed
@dataclass(frozen=True, slots=True)
class Declaration:
    """A register of companies, or of filed accounts, as its TOML file declares it.

    Attributes:
        source: the name of the source, which is that of the file.
    """

    source: Annotated[str, Field(alias=_NAME)]
    main: Annotated[Names, Field(min_length=1)]
    files: Annotated[
        Mapping[str, FileKind],
        Field(alias="file"),
        BeforeValidator(_named),
        BeforeValidator(_with_inherited),
    ]
    complement: Names = ()
    joins: Annotated[
        Mapping[str, Join],
        Field(alias="join"),
        BeforeValidator(_named),
        BeforeValidator(partial(_named, key="file")),
    ] = field(default_factory=dict)
    codes: Mapping[str, CodeList] = field(default_factory=dict)
    derived: Mapping[str, Annotated[DerivedColumn, short_for("of")]] = field(default_factory=dict)
    columns: Mapping[str, Annotated[Column, BeforeValidator(_column)]] = field(default_factory=dict)
    drop: Reasons = field(default_factory=dict)
    reject: Reasons = field(default_factory=dict)
    note: Reasons = field(default_factory=dict)
    repeated: RepeatedIds | None = None
    statements: FiledAccounts | None = None
    edition: EditionPattern | None = None
    changes: str | None = None
    newest: str | None = None
    max_rejected: RejectedShare | None = None

    @property
    def reasons(self) -> set[str]:
        """The reasons of its own under which rows are counted."""
        found = {*self.drop, *self.reject, *self.note}
        found |= {derived.unknown for derived in self.derived.values() if derived.unknown}
        found |= {join.orphans for join in self.joins.values() if join.orphans}
        return found | ({self.repeated.reason} if self.repeated else set())


_LANGUAGE: Final = TypeAdapter(Declaration)


def read(path: Path) -> Declaration:
    """The declaration in the TOML file `path`.

    Raises:
        DeclarationError: the file cannot be read, is not TOML, or has a key or a value that the language lacks.
    """
    document = {_NAME: path.stem, **read_toml(path, DeclarationError)}
    declared = convert(document, _LANGUAGE, path, DeclarationError, "declaration.py")
    references: tuple[tuple[str, Iterable[str | None], Iterable[str]], ...] = (
        ("main", declared.main, declared.files),
        ("join", [join.file for join in declared.joins.values()], declared.files),
        ("derived", [derived.codes for derived in declared.derived.values()], declared.codes),
        ("columns", declared.columns, COMPANIES),
        ("newest", [declared.newest], declared.columns),
        ("complement", declared.complement, (EVERY_COUNTRY, *_countries())),
    )
    for place, names, known in references:
        if unknown := [name for name in names if name and name not in known]:
            raise DeclarationError(
                f"{path} [{place}]: {unknown[0]!r} is not declared; name one of {', '.join(sorted(known))}"
            )
    if declared.statements and declared.columns:
        raise DeclarationError(f"{path} [columns]: stands beside [statements]; remove one of them")
    return declared


def _countries() -> list[str]:
    return [row["iso2"] for row in seeds.read_table(TABLES / "pays.csv", ("iso2",))]
