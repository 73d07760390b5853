"""The TOML file of a declared register, read into a `Declaration`.

A key that is not in the language is an error: a misspelt one would be ignored.
"""

from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pipeline import seeds
from pipeline.canonical import COMPANIES, EVERY_COUNTRY
from pipeline.errors import BuildError
from pipeline.registers.register import MAX_REJECTED
from pipeline.registers.toml_registers import json_paths
from pipeline.registers.toml_registers.declaration import (
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
from pipeline.registers.toml_registers.json_paths import PathError
from seeds import TABLES
from seeds.toml_file import KINDS, read_toml

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
        newest=found.take("newest", str, None),
        max_rejected=_max_rejected(found.subtable("max_rejected")),
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
            raise found.error(
                what, f"{unknown[0]!r} is not declared; name one of {', '.join(sorted(known))}"
            )
    if not declared.main:
        raise found.error("main", "names no kind of file; name one of [file]")
    if declared.statements and declared.columns:
        raise found.error("columns", "stands beside [statements]; keep one of them")
    if extra := sorted(declared.english.keys() - declared.reasons):
        raise found.error("english", f"{extra[0]!r} is no reason of this register; remove it")


def _edition(found: "_Table") -> EditionPattern | None:
    written = found.texts("edition")
    if not written:
        return None
    if written.keys() != {"pattern", "format"}:
        raise found.error("edition", f"it has {', '.join(written)}; give a pattern and a format")
    return EditionPattern(**written)


def _max_rejected(found: "_Table | None") -> float:
    if found is None:
        return MAX_REJECTED
    share, reason = found.take("share", float, 0.0), found.text("reason", "")
    found.end()
    if not MAX_REJECTED < share <= 1 or not reason:
        raise found.error(
            "",
            f"the share is {share:g}; give one over {MAX_REJECTED} and up to 1, and a reason",
        )
    return share


def _countries() -> list[str]:
    return [row["iso2"] for row in seeds.read_table(TABLES / "pays.csv", ("iso2",))]


def _file_kind(name: str, found: "_Table") -> FileKind:
    form = found.text("format", "csv")
    if form not in get_args(Format):
        raise found.error(
            "format", f"{form!r} is unknown; write one of {', '.join(get_args(Format))}"
        )
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
        raise found.error("path", str(error)) from error


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


def _read_derived(found: "_Table") -> DerivedColumn:
    derived = DerivedColumn(
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
    if (table := found.subtable("statements")) is None:
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
        sums={code: _sum(found) for code, found in table.tables("sums").items()},
    )
    if bool(accounts.element) != bool(accounts.value) or not (accounts.value or accounts.values):
        raise table.error(
            "values", "the amounts have no place; name `element` and `value`, or `values`"
        )
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


def _read_repeated(found: "_Table | None") -> RepeatedIds | None:
    if found is None:
        return None
    repeated = RepeatedIds(
        found.text("reason", ""),
        found.names("order"),
        found.text("show", "NULL"),
        found.take("drop", bool, False),
    )
    found.end()
    if not repeated.reason or not repeated.order:
        raise found.error("repeated", "its reason or its order is missing; give both")
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

    def _make_table(self, key: str, name: str, found: object) -> "_Table":
        return _Table(self._path, ".".join(filter(None, (self._place, key, name))), found)
