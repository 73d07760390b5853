"""A declared register: one TOML file, held to the language below and turned into values.

    main = ["companies"]                  the kinds of file whose rows are the companies
    complement = ["FR"]                   the countries whose own register this source only completes;
                                          "*" for all
    [english]                             reason -> the words that commands print
    edition = { pattern, format }         the date in the head (64 KiB) of one of the files, for all of them; else
                                          it is in their names, or the newest `date_source` of their rows
    newest = "column"                     of [columns], whose newest date is that of a file that has none of these
    max_rejected = { share, reason }      the share of rejected rows that is in order, where it is over that of all
                                          registers (`register.MAX_REJECTED`), and why
    [file.KIND]                           one kind of published file
      format        csv (default; also as Parquet) | json | jsonl | xml
      key           the columns that tell this kind from the others, where there are several
      suffix        of such files in a zip, where they are not those of the format
      required      an import without such a file is refused (the kinds of `main` always are)
      skip          the reason why files of this kind are not read
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
from typing import Any, Final, Literal, TypeVar, cast, get_args

from pipeline import seeds
from pipeline.canonical import COMPANIES, EVERY_COUNTRY
from pipeline.errors import BuildError
from pipeline.registers.register import MAX_REJECTED
from pipeline.registers.toml_registers import json_paths
from pipeline.registers.toml_registers.json_paths import PathError
from seeds import TABLES
from seeds.toml_file import read_toml

Format = Literal["csv", "json", "jsonl", "xml"]
UNESCAPED: Final = "unescaped"
SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (".csv", ".parquet"),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xml": (".xml",),
}

T = TypeVar("T")


class DeclarationError(BuildError):
    """A declaration is not in the language; the message names the file, the place and the value."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of published file; the attributes are those of `[file.KIND]`."""

    name: str
    format: Format
    key: tuple[str, ...]
    suffixes: tuple[str, ...]
    required: bool
    skip: str | None
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
class Derived:
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
class Repeated:
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
    derived: Mapping[str, Derived] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    drop: Mapping[str, Reason] = field(default_factory=dict)
    reject: Mapping[str, Reason] = field(default_factory=dict)
    note: Mapping[str, Reason] = field(default_factory=dict)
    repeated: Repeated | None = None
    english: Mapping[str, str] = field(default_factory=dict)
    statements: FiledAccounts | None = None
    edition: EditionPattern | None = None
    newest: str | None = None
    max_rejected: float = MAX_REJECTED

    @property
    def source(self) -> str:
        """The name of the source, which is that of the file."""
        return self.path.stem

    @property
    def reasons(self) -> set[str]:
        """Every reason under which rows are counted."""
        found = {*self.drop, *self.reject, *self.note}
        found |= {derived.unknown for derived in self.derived.values() if derived.unknown}
        found |= {join.orphans for join in self.joins.values() if join.orphans}
        return found | ({self.repeated.reason} if self.repeated else set())


def read(path: Path) -> Declaration:
    """The declaration in the TOML file `path`.

    Raises:
        DeclarationError: the file cannot be read, is not TOML, or says what is not in the language.
    """
    found = _Table(path, "", read_toml(path, DeclarationError))
    files = {name: _file_kind(name, table) for name, table in found.kinds().items()}
    declared = Declaration(
        path=path,
        main=found.names("main"),
        files=files,
        complement=found.names("complement"),
        joins={name: _join(name, table) for name, table in found.tables("join").items()},
        codes={name: _code_list(table) for name, table in found.tables("codes").items()},
        derived={name: _read_derived(table) for name, table in found.either("derived").items()},
        columns={name: _column(table) for name, table in found.either("columns").items()},
        drop={name: _reason(table) for name, table in found.either("drop").items()},
        reject={name: _reason(table) for name, table in found.either("reject").items()},
        note={name: _reason(table) for name, table in found.either("note").items()},
        repeated=_read_repeated(found.below("repeated")),
        english=found.texts("english"),
        statements=_statements(found),
        edition=_edition(found),
        newest=found.take("newest", str, None),
        max_rejected=_max_rejected(found.below("max_rejected")),
    )
    found.end()
    _check(declared, found)
    return declared


def _check(declared: Declaration, found: "_Table") -> None:
    """Hold the names that a declaration refers to against those that it declares."""
    for what, names, known in (
        ("main", declared.main, declared.files),
        ("join", [join.file for join in declared.joins.values()], declared.files),
        ("derived", [d.codes for d in declared.derived.values() if d.codes], declared.codes),
        ("columns", declared.columns, COMPANIES),
        ("newest", [declared.newest] if declared.newest else [], declared.columns),
        ("complement", declared.complement, {EVERY_COUNTRY, *_countries()}),
    ):
        if unknown := [name for name in names if name not in known]:
            raise found.wrong(what, f"{unknown[0]!r} is not declared")
    if not declared.main:
        raise found.wrong("main", "names no kind of file")
    if declared.statements and declared.columns:
        raise found.wrong("columns", "stands beside [statements]; a register has one of them")
    if extra := sorted(declared.english.keys() - declared.reasons):
        raise found.wrong("english", f"{extra[0]!r} is no reason of this register")


def _edition(found: "_Table") -> EditionPattern | None:
    written = found.texts("edition")
    if not written:
        return None
    if written.keys() != {"pattern", "format"}:
        raise found.wrong("edition", "it has a pattern and a format")
    return EditionPattern(**written)


def _max_rejected(found: "_Table | None") -> float:
    if found is None:
        return MAX_REJECTED
    share, reason = found.take("share", float, 0.0), found.text("reason", "")
    found.end()
    if not MAX_REJECTED < share <= 1 or not reason:
        raise found.wrong("", f"it has a share over {MAX_REJECTED} and up to 1, and a reason")
    return share


def _countries() -> list[str]:
    return [row["iso2"] for row in seeds.read_table(TABLES / "pays.csv", ("iso2",))]


def _file_kind(name: str, found: "_Table") -> FileKind:
    form = found.text("format", "csv")
    if form not in get_args(Format):
        raise found.wrong("format", f"{form!r} is none of {', '.join(get_args(Format))}")
    at = found.text("at", "")
    kind = FileKind(
        name=name,
        format=cast(Format, form),
        key=found.names("key"),
        suffixes=found.names("suffix") or SUFFIXES[form],
        required=found.take("required", bool, False),
        skip=found.take("skip", str, None),
        separator=found.text("separator", ","),
        quote=found.text("quote", '"'),
        encoding=found.take("encoding", str, None),
        header=found.names("header"),
        lowercase=found.take("lowercase", bool, False),
        used=found.names("used"),
        optional=frozenset(found.names("optional")),
        ignored=found.texts("ignored"),
        rename=found.texts("rename"),
        at=tuple(at.split("/")) if at else (),
        envelope=found.texts("envelope"),
        paths={key: _path(table) for key, table in found.either("paths").items()},
        pad={key: int(width) for key, width in found.take("pad", dict, {}).items()},
        where=found.take("where", str, None),
        one_per=found.names("one_per"),
        columns={
            key: (written.several or (written.plain,), bool(written.several))
            for key, written in found.either("columns").items()
        },
    )
    found.end()
    return kind


def _path(found: "_Table") -> json_paths.Path:
    written, joined = found.text("path", found.plain), found.text("joined", ", ")
    found.end()
    try:
        return json_paths.parse(written, joined)
    except PathError as error:
        raise found.wrong("path", str(error)) from error


def _join(name: str, found: "_Table") -> Join:
    join = Join(
        name=name,
        file=found.text("file", name),
        on=found.texts("on"),
        where=found.take("where", str, None),
        one_per=found.names("one_per"),
        take=found.texts("take"),
        gather=found.texts("gather"),
        orphans=found.take("orphans", str, None),
    )
    found.end()
    return join


def _code_list(found: "_Table") -> CodeList:
    codes = CodeList(
        values=found.texts("values"),
        table=found.take("table", str, None),
        code=found.text("code", "code"),
        label=found.text("label", "label"),
    )
    found.end()
    return codes


def _read_derived(found: "_Table") -> Derived:
    derived = Derived(
        sql=found.text("of", found.plain),
        extract=found.take("extract", str, None),
        codes=found.take("codes", str, None),
        unknown=found.take("unknown", str, None),
    )
    found.end()
    return derived


def _column(found: "_Table") -> Column:
    if found.several:
        return Column(found.several)
    auto = found.take("auto", str, None)
    sql = "NULL" if auto else found.plain
    column = Column(sql=(found.text("date", sql),), formats=found.names("format"), auto=auto)
    found.end()
    return column


def _statements(found: "_Table") -> FiledAccounts | None:
    if (table := found.below("statements")) is None:
        return None
    close, start, legend = table.below("close"), table.below("start"), table.below("legend")
    if close is None:
        raise table.wrong("close", "is missing: the closing date, { date, format }")
    accounts = FiledAccounts(
        iso2=table.text("iso2", ""),
        id=table.text("id", ""),
        close=_column(close),
        start=_column(start) if start else None,
        currency=table.text("currency", "NULL"),
        scale=table.text("scale", "'1'"),
        group=table.text("group", "FALSE"),
        element=table.take("element", str, None),
        value=table.take("value", str, None),
        values=table.names("values"),
        filing=table.take("filing", str, None),
        part=table.take("part", str, None),
        latest=table.names("latest"),
        legend=_legend(legend) if legend else None,
        sums={code: _sum(found) for code, found in table.tables("sums").items()},
    )
    if bool(accounts.element) != bool(accounts.value) or not (accounts.value or accounts.values):
        raise table.wrong("values", "amounts are in `element` and `value`, or in `values`")
    table.end()
    return accounts


def _legend(found: "_Table") -> Legend:
    legend = Legend(found.text("file", ""), found.text("column", ""), found.text("label", ""))
    found.end()
    return legend


def _sum(found: "_Table") -> Sum:
    added = Sum(found.names("plus"), found.names("minus"), found.take("all", bool, False))
    found.end()
    return added


def _reason(found: "_Table") -> Reason:
    reason = Reason(found.text("when", found.plain), found.take("show", str, None))
    found.end()
    return reason


def _read_repeated(found: "_Table | None") -> Repeated | None:
    if found is None:
        return None
    repeated = Repeated(
        found.text("reason", ""),
        found.names("order"),
        found.text("show", "NULL"),
        found.take("drop", bool, False),
    )
    found.end()
    if not repeated.reason or not repeated.order:
        raise found.wrong("repeated", "it needs a reason and an order")
    return repeated


class _Table:
    """A table of the TOML file whose keys are taken one by one; `end` refuses what is left.

    An entry that may be a plain text or a table is a `_Table` in both cases; `plain` is the text.
    """

    def __init__(self, path: Path, place: str, found: object) -> None:
        self._path, self._place = path, place
        self.plain = found if isinstance(found, str) else ""
        self.several = tuple(map(str, found)) if isinstance(found, list) else ()
        self._left: dict[str, Any] = dict(found) if isinstance(found, dict) else {}

    def take(self, key: str, kind: type[T], default: Any) -> T:
        """The value of `key`, which must be of `kind`."""
        value = self._left.pop(key, default)
        if value is not default and not isinstance(value, kind):
            raise self.wrong(key, f"{value!r} is no {kind.__name__}")
        return cast(T, value)

    def text(self, key: str, default: str) -> str:
        return self.take(key, str, default)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text stands for a list of one."""
        value = self._left.pop(key, [])
        return (value,) if isinstance(value, str) else tuple(value)

    def texts(self, key: str) -> dict[str, str]:
        """A table of texts."""
        value = self.take(key, dict, {})
        if wrong := [name for name, text in value.items() if not isinstance(text, str)]:
            raise self.wrong(key, f"the value of {wrong[0]!r} is no text")
        return value

    def tables(self, key: str) -> dict[str, "_Table"]:
        """A table of tables."""
        return {name: self._below(key, name, t) for name, t in self.take(key, dict, {}).items()}

    either = tables  # of texts, lists or tables

    def below(self, key: str) -> "_Table | None":
        """The table under `key`, if there is one."""
        return self._below("", key, self.take(key, dict, {})) if key in self._left else None

    def kinds(self) -> dict[str, "_Table"]:
        """The tables below `file`, each with what it takes over from the kind it is like."""
        written = self.take("file", dict, {})
        for name, table in written.items():
            if (like := table.pop("like", None)) is not None:
                if like not in written:
                    raise self.wrong(f"file.{name}.like", f"{like!r} is not declared")
                written[name] = {**written[like], **table}
        return {name: self._below("file", name, table) for name, table in written.items()}

    def end(self) -> None:
        if self._left:
            raise self.wrong(next(iter(self._left)), "no such key in the language")

    def wrong(self, key: str, what: str) -> DeclarationError:
        place = ".".join(filter(None, (self._place, key)))
        return DeclarationError(f"{self._path.name} [{place}]: {what}")

    def _below(self, key: str, name: str, found: object) -> "_Table":
        return _Table(self._path, ".".join(filter(None, (self._place, key, name))), found)
