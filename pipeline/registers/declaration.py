"""A declared register: one TOML file, held to the language below and turned into values.

    main = ["companies"]                  the kinds of file whose rows are the companies
    [english]                             reason -> the words that commands print
    [file.KIND]                           one kind of published file
      format        csv (default; also as Parquet) | json | jsonl | xml
      key           the columns that tell this kind from the others, where there are several
      suffix        of such files in a zip, where they are not those of the format
      required      an import without such a file is refused (the kinds of `main` always are)
      skip          the reason why files of this kind are not read
      separator quote encoding            of a CSV; quote is "" for none, "unescaped" for `";"`
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

Expressions are SQL, read by `polars.sql_expr`, over text columns. `fichier` is the name of the
published file. A key that is not in this list stops the import: a misspelt one would be ignored.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast, get_args

from pipeline.canonical import COMPANIES
from pipeline.errors import BuildError
from pipeline.registers import json_paths
from pipeline.registers.json_paths import PathError

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
class Declaration:
    """A register of companies as its TOML file declares it."""

    path: Path
    main: tuple[str, ...]
    files: Mapping[str, FileKind]
    joins: Mapping[str, Join] = field(default_factory=dict)
    codes: Mapping[str, CodeList] = field(default_factory=dict)
    derived: Mapping[str, Derived] = field(default_factory=dict)
    columns: Mapping[str, Column] = field(default_factory=dict)
    drop: Mapping[str, Reason] = field(default_factory=dict)
    reject: Mapping[str, Reason] = field(default_factory=dict)
    note: Mapping[str, Reason] = field(default_factory=dict)
    english: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The name of the source, which is that of the file."""
        return self.path.stem


def read(path: Path) -> Declaration:
    """The declaration in the TOML file `path`.

    Raises:
        DeclarationError: the file is no TOML, or says what is not in the language.
    """
    try:
        found = _Table(path, "", tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(f"{path}: no TOML: {error}") from error
    files = {name: _file_kind(name, table) for name, table in found.kinds().items()}
    declared = Declaration(
        path=path,
        main=found.names("main"),
        files=files,
        joins={name: _join(name, table) for name, table in found.tables("join").items()},
        codes={name: _code_list(table) for name, table in found.tables("codes").items()},
        derived={name: _derived(table) for name, table in found.either("derived").items()},
        columns={name: _column(table) for name, table in found.either("columns").items()},
        drop={name: _reason(table) for name, table in found.either("drop").items()},
        reject={name: _reason(table) for name, table in found.either("reject").items()},
        note={name: _reason(table) for name, table in found.either("note").items()},
        english=found.texts("english"),
    )
    found.end()
    _check(declared, found)
    return declared


def _check(declared: Declaration, found: "_Table") -> None:
    """Hold the names that a declaration refers to against those that it declares."""
    reasons = {*declared.drop, *declared.reject, *declared.note}
    for what, names, known in (
        ("main", declared.main, declared.files),
        ("join", [join.file for join in declared.joins.values()], declared.files),
        ("derived", [d.codes for d in declared.derived.values() if d.codes], declared.codes),
        ("columns", declared.columns, COMPANIES),
    ):
        if unknown := [name for name in names if name not in known]:
            raise found.wrong(what, f"{unknown[0]!r} is not declared")
    if not declared.main:
        raise found.wrong("main", "names no kind of file")
    reasons |= {d.unknown for d in declared.derived.values() if d.unknown}
    reasons |= {join.orphans for join in declared.joins.values() if join.orphans}
    if extra := sorted(declared.english.keys() - reasons):
        raise found.wrong("english", f"{extra[0]!r} is no reason of this register")


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


def _derived(found: "_Table") -> Derived:
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


def _reason(found: "_Table") -> Reason:
    reason = Reason(found.text("when", found.plain), found.take("show", str, None))
    found.end()
    return reason


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
