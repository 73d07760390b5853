"""A declared register: the language of its TOML file, and the file as a value.

    main = ["companies"]                  the kinds of file whose rows are the companies
    complement = ["FR"]                   the countries whose own register this source only completes;
                                          "*" for all
    edition = { pattern, format }         finds the date of all files in the head (64 KiB) of one of them; without it,
                                          the date is in their names, or is the newest `date_source` of their rows
    changes = "pattern"                   if a head matches, files are refused: only changes, or only a part
    newest = "column"                     of [columns]: its newest date is the date of a file that has no other date
    max_rejected = { share, reason }      an accepted share of rejected rows, larger than that of all registers
                                          (`register.MAX_REJECTED`), and why
    [file.KIND]                           one kind of published file
      format        csv (default; also as Parquet) | json | jsonl | xml
      key           the columns that identify this kind, if there are several kinds
      suffix        of such files in a zip, if not the suffixes of the format
      required      an import without such a file is refused (one of `main` is always required)
      skip          the reason why files of this kind are not read
      records       a pattern that finds in the head the number of records, of the file or of all files of its kind
      separator quote encoding            of a CSV; quote is "" for none, "unescaped" for `";"`
      legacy_encoding                     of lines of a CSV that are not UTF-8; without it, their rows are rejected
      header        the names of the columns of a CSV without a header: `key` has values of its first row
      lowercase     true: the published names of columns are changed to lower case
      used          columns read          optional   columns that some versions of the file lack
      ignored       column or path = reason; a trailing * matches the rest of a name
      rename        published column = its name in the expressions
      at envelope   the path to the records of a JSON file, and other keys on that path; of an XML file
                    `at` is the name of the element
      paths         name = path into a record, or { path, joined }
      pad           column = digits: leading zeros are added to numbers; blanks, dots between groups of
                    three digits and the ending `.0` are removed first; other texts are unchanged
      where         a condition: only rows that meet it are kept
      one_per       [column, order...]    for each value of the column, the first row by the orders is kept
      columns       name = SQL | [SQL, ...] for a list: computed columns, such as those that other kinds publish
      like          another kind; its keys are the defaults of this kind
    [join.NAME]     file (a kind), on = { main column = column of the kind }, where, one_per,
                    take = { name = column } of the first row, gather = { name = column } of all rows;
                    orphans: the reason under which keys without a company are counted
    [codes.NAME]    values = { code = label }, or table, code, label: a table of seeds/
    [derived]       name = SQL | { of, extract = pattern } | { of, codes, unknown = reason }
    [columns]       canonical column = SQL | { date, format } | [SQL, ...] for a list
                    nace_version = { auto = revision }: the codes of the file decide, else `revision`
    [drop] [reject] [note]   reason = condition | { when, show }
    [repeated]      of the rows of a file with the same identifier, the first by `order` (a list of SQL
                    integers) is kept; the others are rejected under `reason` with the value
                    `show`, or dropped with `drop = true` if such rows are no fault. Without this
                    table, repeated identifiers stop a build
    [statements]    declares filed accounts, in the place of [columns]
      iso2 id currency scale group        SQL; `group` is the condition of group accounts
      close start   the closing date: { date, format }; the first day of the year, if it is published
      element value columns of a table with one amount per row, or
      values        columns with one amount each; their names are the elements
      filing        SQL; rows with the same value are one filing (default: each row is one)
      part          SQL; the part of the accounts in a filing (default: its kind of file)
      latest        [SQL, ...]: of several filings of a part and year, the filing with the last close
                    is kept; of equal ones, the last by these texts, then the last row
      legend        { file, column, label }: the labels of the elements, in a file of kind `file` with the
                    same name as the table
      sums          code = { plus, minus, all }: elements added up to a line that has no element of
                    its own; with `all = true` only if every element is there
The rows of the source in `seeds/elements.csv` map the elements to the chart of codes.

Expressions are SQL, read by `polars.sql_expr`, over text columns. `fichier` is the name of the
published file. If an expression compares a column with texts (`=`, `<>`, `IN`, `CASE column WHEN`),
values that only spell such a text differently (case, accents, punctuation, lost zeros, `.0`) are read
as the text, as are the codes of a code list (`spellings`). A key that is not in this list stops the
import; otherwise a misspelt key would be ignored.
"""

from collections.abc import Iterable, Iterator, Mapping
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
from pipeline.toml_file import Names, Text, Truth, convert, refuse_unknown_keys, short_for
from seeds import TABLES
from seeds.settings import read_toml

# Format of a kind -> the suffixes of such files in a zip.
_SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (".csv", ".parquet"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xml": (".xml",),
}
_NAME: Final = "[name]"  # the key under which `_add_names` adds the name of a table

TextTable = Mapping[str, str]


class DeclarationError(BuildError):
    """A declaration is not in the language; the message has the file, the place and the value."""


def _add_names(tables: Any, key: str = _NAME) -> Any:
    """Add to each table its name under `key`, unless the table has that key."""
    if not isinstance(tables, dict):
        return tables
    return {
        name: {key: name, **table} if isinstance(table, dict) else table
        for name, table in tables.items()
    }


def _inherit_keys(kinds: Any) -> Any:
    """The tables of `file`; a table with `like` gets the keys that it lacks from the kind that `like` names."""
    inherited: dict[str, Any] = dict(kinds) if isinstance(kinds, dict) else {}
    for name, table in inherited.items():
        if isinstance(table, dict) and "like" in table:
            parent_kind = table["like"]
            if parent_kind not in inherited:
                raise ValueError(
                    f"{name} is like {parent_kind!r}, which is not declared; name one of [file]"
                )
            overrides = {key: value for key, value in table.items() if key != "like"}
            inherited[name] = {**inherited[parent_kind], **overrides}
    return inherited or kinds


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
    legacy_encoding: str | None = None
    header: Names = ()
    lowercase: Truth = False
    used: Names = ()
    optional: Names = ()
    ignored: TextTable = field(default_factory=dict)
    rename: TextTable = field(default_factory=dict)
    at: Annotated[
        tuple[str, ...], BeforeValidator(lambda v: v.split("/") if isinstance(v, str) else v)
    ] = ()
    envelope: TextTable = field(default_factory=dict)
    paths: Mapping[str, Annotated[json_paths.RecordPath, short_for("path")]] = field(
        default_factory=dict
    )
    pad: Mapping[str, StrictInt] = field(default_factory=dict)
    where: str | None = None
    one_per: Names = ()
    # Name -> the expressions, and whether the declaration gives a list of them, which makes a list of texts.
    columns: Mapping[
        str, Annotated[tuple[Names, bool], BeforeValidator(lambda v: (v, isinstance(v, list)))]
    ] = field(default_factory=dict)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings of the names of files of this kind in a zip."""
        return self.suffix or _SUFFIXES[self.format]


@dataclass(frozen=True, slots=True)
class Join:
    """A join of the rows of a kind to the main rows; the attributes are those of `[join.NAME]`."""

    name: Annotated[str, Field(alias=_NAME)]
    file: str
    on: TextTable = field(default_factory=dict)
    where: str | None = None
    one_per: Names = ()
    take: TextTable = field(default_factory=dict)
    gather: TextTable = field(default_factory=dict)
    orphans: str | None = None


@dataclass(frozen=True, slots=True)
class CodeList:
    """Labels by code: in the declaration, or in two columns of a table of seeds/."""

    values: TextTable = field(default_factory=dict)
    table: str | None = None
    code: str = "code"
    label: str = "label"


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column computed by an expression, and then by a pattern or a code list that is applied to its values."""

    sql: Annotated[str, Field(alias="of")]
    extract: str | None = None
    codes: str | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """The source of a canonical column.

    Attributes:
        sql: an expression; several make a list.
        formats: the published formats of a date, tried in turn.
        auto: for `nace_version` only, the revision that is used if the codes of the file do not decide.
    """

    sql: Annotated[Names, Field(alias="date")]
    formats: Annotated[Names, Field(alias="format")] = ()
    auto: str | None = None


def _column_table(value: Any) -> Any:
    """A declared column as a table with the keys of `Column`; expressions alone become the value of the key `date`."""
    if not isinstance(value, dict):
        return {"date": value}
    return {"date": "NULL", **value} if "auto" in value else value


@dataclass(frozen=True, slots=True)
class Reason:
    """A condition on a row, and an expression whose value the report shows."""

    when: str
    show: str | None = None


@dataclass(frozen=True, slots=True)
class EditionPattern:
    """How to find the date of the files in the head of one of them: a pattern with one group, and a date format."""

    pattern: str
    format: str


@dataclass(frozen=True, slots=True)
class RejectedShare:
    """An accepted share of rejected rows, larger than that of all registers (MAX_REJECTED), and the reason."""

    share: Annotated[float, Field(gt=MAX_REJECTED, le=1)]
    reason: Text


@dataclass(frozen=True, slots=True)
class RepeatedIds:
    """The choice among rows with one identifier; the attributes are those of `[repeated]`."""

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
    """A line that is a sum: the elements to add, those to subtract, and whether all of them must be present."""

    plus: Names = ()
    minus: Names = ()
    needs_all: Annotated[Truth, Field(alias="all")] = False


@dataclass(frozen=True, slots=True)
class FiledAccounts:
    """Filed accounts as rows; the attributes are those of `[statements]`."""

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
        """Check that `element` and `value` are both given, or `values`."""
        if bool(self.element) != bool(self.value) or not (self.value or self.values):
            raise ValueError("the amounts have no column; name `element` and `value`, or `values`")


Reasons = Mapping[str, Annotated[Reason, short_for("when")]]


@refuse_unknown_keys
@dataclass(frozen=True, slots=True)
class Declaration:
    """A register of companies, or of filed accounts, as its TOML file declares it.

    Attributes:
        source: the name of the source and of the file.
    """

    source: Annotated[str, Field(alias=_NAME)]
    main: Annotated[Names, Field(min_length=1)]
    files: Annotated[
        Mapping[str, FileKind],
        Field(alias="file"),
        BeforeValidator(_add_names),
        BeforeValidator(_inherit_keys),
    ]
    complement: Names = ()
    joins: Annotated[
        Mapping[str, Join],
        Field(alias="join"),
        BeforeValidator(_add_names),
        BeforeValidator(partial(_add_names, key="file")),
    ] = field(default_factory=dict)
    codes: Mapping[str, CodeList] = field(default_factory=dict)
    derived: Mapping[str, Annotated[DerivedColumn, short_for("of")]] = field(default_factory=dict)
    columns: Mapping[str, Annotated[Column, BeforeValidator(_column_table)]] = field(
        default_factory=dict
    )
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
    def expressions(self) -> Iterator[str]:
        """All expressions that can compare columns with texts."""
        for kind in self.files.values():
            for texts, _ in kind.columns.values():
                yield from texts
        tables: tuple[FileKind | Join, ...] = (*self.files.values(), *self.joins.values())
        for table in tables:
            yield from (*table.one_per, *([table.where] if table.where else ()))
        yield from (derived.sql for derived in self.derived.values())
        for column in self.columns.values():
            yield from column.sql
        for reasons in (self.drop, self.reject, self.note):
            yield from (reason.when for reason in reasons.values())
        yield from self.repeated.order if self.repeated else ()
        if accounts := self.statements:
            yield from (accounts.currency, accounts.scale, accounts.group, *accounts.latest)

    @property
    def reasons(self) -> set[str]:
        """The declared reasons under which rows are counted."""
        declared = {*self.drop, *self.reject, *self.note}
        declared |= {derived.unknown for derived in self.derived.values() if derived.unknown}
        declared |= {join.orphans for join in self.joins.values() if join.orphans}
        return declared | ({self.repeated.reason} if self.repeated else set())


# Checks a TOML document against the language, and turns it into a Declaration.
_LANGUAGE: Final = TypeAdapter(Declaration)


def read(path: Path) -> Declaration:
    """The declaration in the TOML file `path`.

    Raises:
        DeclarationError: the file cannot be read, is not TOML, or has a key or a value that the language lacks.
    """
    document = {_NAME: path.stem, **read_toml(path, DeclarationError)}
    declared = convert(document, _LANGUAGE, path, DeclarationError, "declaration.py")
    # The name of a table or key, the names that it mentions, and the names that it can mention.
    references: tuple[tuple[str, Iterable[str | None], Iterable[str]], ...] = (
        ("main", declared.main, declared.files),
        ("join", [join.file for join in declared.joins.values()], declared.files),
        ("derived", [derived.codes for derived in declared.derived.values()], declared.codes),
        ("columns", declared.columns, COMPANIES),
        ("newest", [declared.newest], declared.columns),
        ("complement", declared.complement, (EVERY_COUNTRY, *_countries())),
    )
    for mentioned_in, names, allowed in references:
        if unknown := [name for name in names if name and name not in allowed]:
            raise DeclarationError(
                f"{path} [{mentioned_in}]: {unknown[0]!r} is not declared; name one of {', '.join(sorted(allowed))}"
            )
    if declared.statements and declared.columns:
        raise DeclarationError(f"{path} [columns]: is given with [statements]; remove one of them")
    return declared


def _countries() -> list[str]:
    """The codes of all countries in `seeds/pays.csv`."""
    return [row["iso2"] for row in seeds.read_table(TABLES / "pays.csv", ("iso2",))]
