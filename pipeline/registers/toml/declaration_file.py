"""The TOML file of a declared register, read into a `Declaration`.

A key that is not in the language is an error: a misspelt one would be ignored.
"""

from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pipeline import seeds
from pipeline.canonical import COMPANIES, EVERY_COUNTRY
from pipeline.errors import BuildError
from pipeline.registers.register import MAX_REJECTED
from pipeline.registers.toml import json_paths
from pipeline.registers.toml.declaration import (
    SUFFIXES,
    CodeList,
    Column,
    Declaration,
    DerivedColumn,
    EditionPattern,
    FiledAccounts,
    FileKind,
    Format,
    Join,
    Legend,
    Reason,
    RepeatedIds,
    Sum,
)
from pipeline.registers.toml.json_paths import PathError
from seeds import TABLES
from seeds.settings import KINDS, read_toml

T = TypeVar("T")


class DeclarationError(BuildError):
    """A declaration is not in the language; the message names the file, the place and the value."""


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
        repeated=_read_repeated(found.subtable("repeated")),
        english=found.texts("english"),
        statements=_statements(found),
        edition=_edition(found),
        changes=found.take("changes", str, None),
        newest=found.take("newest", str, None),
        max_rejected=_max_rejected(found.subtable("max_rejected")),
    )
    found.end()
    _check(declared, found)
    return declared


def _check(declared: Declaration, table: "_Table") -> None:
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
            raise table.error(
                what, f"{unknown[0]!r} is not declared; name one of {', '.join(sorted(known))}"
            )
    if not declared.main:
        raise table.error("main", "names no kind of file; name one of [file]")
    if declared.statements and declared.columns:
        raise table.error("columns", "stands beside [statements]; keep one of them")
    if extra := sorted(declared.english.keys() - declared.reasons):
        raise table.error("english", f"{extra[0]!r} is no reason of this register; remove it")


def _edition(table: "_Table") -> EditionPattern | None:
    written = table.texts("edition")
    if not written:
        return None
    if written.keys() != {"pattern", "format"}:
        raise table.error("edition", f"it has {', '.join(written)}; give a pattern and a format")
    return EditionPattern(**written)


def _max_rejected(table: "_Table | None") -> float:
    if table is None:
        return MAX_REJECTED
    share, reason = table.take("share", float, 0.0), table.text("reason", "")
    table.end()
    if not MAX_REJECTED < share <= 1 or not reason:
        raise table.error(
            "",
            f"the share is {share:g}; give one over {MAX_REJECTED} and up to 1, and a reason",
        )
    return share


def _countries() -> list[str]:
    return [row["iso2"] for row in seeds.read_table(TABLES / "pays.csv", ("iso2",))]


def _file_kind(name: str, table: "_Table") -> FileKind:
    form = table.text("format", "csv")
    if form not in get_args(Format):
        raise table.error(
            "format", f"{form!r} is unknown; write one of {', '.join(get_args(Format))}"
        )
    at = table.text("at", "")
    kind = FileKind(
        name=name,
        format=cast(Format, form),
        key=table.names("key"),
        suffixes=table.names("suffix") or SUFFIXES[form],
        required=table.take("required", bool, False),
        skip=table.take("skip", str, None),
        records=table.take("records", str, None),
        separator=table.text("separator", ","),
        quote=table.text("quote", '"'),
        encoding=table.take("encoding", str, None),
        header=table.names("header"),
        lowercase=table.take("lowercase", bool, False),
        used=table.names("used"),
        optional=frozenset(table.names("optional")),
        ignored=table.texts("ignored"),
        rename=table.texts("rename"),
        at=tuple(at.split("/")) if at else (),
        envelope=table.texts("envelope"),
        paths={key: _path(entry) for key, entry in table.either("paths").items()},
        pad={key: int(width) for key, width in table.take("pad", dict, {}).items()},
        where=table.take("where", str, None),
        one_per=table.names("one_per"),
        columns={
            key: (written.several or (written.plain,), bool(written.several))
            for key, written in table.either("columns").items()
        },
    )
    table.end()
    return kind


def _path(table: "_Table") -> json_paths.Path:
    written, joined = table.text("path", table.plain), table.text("joined", ", ")
    table.end()
    try:
        return json_paths.parse(written, joined)
    except PathError as error:
        raise table.error("path", str(error)) from error


def _join(name: str, table: "_Table") -> Join:
    join = Join(
        name=name,
        file=table.text("file", name),
        on=table.texts("on"),
        where=table.take("where", str, None),
        one_per=table.names("one_per"),
        take=table.texts("take"),
        gather=table.texts("gather"),
        orphans=table.take("orphans", str, None),
    )
    table.end()
    return join


def _code_list(table: "_Table") -> CodeList:
    codes = CodeList(
        values=table.texts("values"),
        table=table.take("table", str, None),
        code=table.text("code", "code"),
        label=table.text("label", "label"),
    )
    table.end()
    return codes


def _read_derived(table: "_Table") -> DerivedColumn:
    derived = DerivedColumn(
        sql=table.text("of", table.plain),
        extract=table.take("extract", str, None),
        codes=table.take("codes", str, None),
        unknown=table.take("unknown", str, None),
    )
    table.end()
    return derived


def _column(table: "_Table") -> Column:
    if table.several:
        return Column(table.several)
    auto = table.take("auto", str, None)
    sql = "NULL" if auto else table.plain
    column = Column(sql=(table.text("date", sql),), formats=table.names("format"), auto=auto)
    table.end()
    return column


def _statements(parent: "_Table") -> FiledAccounts | None:
    if (table := parent.subtable("statements")) is None:
        return None
    close, start, legend = (
        table.subtable("close"),
        table.subtable("start"),
        table.subtable("legend"),
    )
    if close is None:
        raise table.error("close", "is missing; give the closing date as { date, format }")
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
        sums={code: _sum(entry) for code, entry in table.tables("sums").items()},
    )
    if bool(accounts.element) != bool(accounts.value) or not (accounts.value or accounts.values):
        raise table.error(
            "values", "the amounts have no place; name `element` and `value`, or `values`"
        )
    table.end()
    return accounts


def _legend(table: "_Table") -> Legend:
    legend = Legend(table.text("file", ""), table.text("column", ""), table.text("label", ""))
    table.end()
    return legend


def _sum(table: "_Table") -> Sum:
    added = Sum(table.names("plus"), table.names("minus"), table.take("all", bool, False))
    table.end()
    return added


def _reason(table: "_Table") -> Reason:
    reason = Reason(table.text("when", table.plain), table.take("show", str, None))
    table.end()
    return reason


def _read_repeated(table: "_Table | None") -> RepeatedIds | None:
    if table is None:
        return None
    repeated = RepeatedIds(
        table.text("reason", ""),
        table.names("order"),
        table.text("show", "NULL"),
        table.take("drop", bool, False),
    )
    table.end()
    if not repeated.reason or not repeated.order:
        raise table.error("repeated", "its reason or its order is missing; give both")
    return repeated


class _Table:
    """A table of the TOML file whose keys are taken one by one; `end` refuses what is left.

    An entry that may be a plain text or a table is a `_Table` in both cases; `plain` is the text.
    """

    def __init__(self, path: Path, place: str, value: object) -> None:
        self._path, self._place = path, place
        self.plain = value if isinstance(value, str) else ""
        self.several = tuple(map(str, value)) if isinstance(value, list) else ()
        self._left: dict[str, Any] = dict(value) if isinstance(value, dict) else {}

    def take(self, key: str, kind: type[T], default: Any) -> T:
        """The value of `key`, which must be of `kind`."""
        value = self._left.pop(key, default)
        if value is not default and not isinstance(value, kind):
            raise self.error(key, f"{value!r} is refused; give {KINDS[kind]}")
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
            raise self.error(key, f"{wrong[0]!r} is {value[wrong[0]]!r}; give a text")
        return value

    def tables(self, key: str) -> dict[str, "_Table"]:
        """A table of tables."""
        return {
            name: self._make_table(key, name, t) for name, t in self.take(key, dict, {}).items()
        }

    either = tables  # of texts, lists or tables

    def subtable(self, key: str) -> "_Table | None":
        """The table under `key`, if there is one."""
        return self._make_table("", key, self.take(key, dict, {})) if key in self._left else None

    def kinds(self) -> dict[str, "_Table"]:
        """The tables below `file`, each with what it takes over from the kind it is like."""
        written = self.take("file", dict, {})
        for name, table in written.items():
            if (like := table.pop("like", None)) is not None:
                if like not in written:
                    raise self.error(
                        f"file.{name}.like", f"{like!r} is not declared; name one of [file]"
                    )
                written[name] = {**written[like], **table}
        return {name: self._make_table("file", name, table) for name, table in written.items()}

    def end(self) -> None:
        if self._left:
            raise self.error(
                next(iter(self._left)),
                "no such key; take one that declaration.py has, or remove it",
            )

    def error(self, key: str, what: str) -> DeclarationError:
        place = ".".join(filter(None, (self._place, key)))
        return DeclarationError(f"{self._path.name} [{place}]: {what}")

    def _make_table(self, key: str, name: str, value: object) -> "_Table":
        return _Table(self._path, ".".join(filter(None, (self._place, key, name))), value)
