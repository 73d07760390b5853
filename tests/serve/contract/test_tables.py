"""The tables of texts: both languages say the same values, and every row is used."""

import ast
import csv
import itertools
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, Final, NamedTuple

import pytest

from serve.app import PRODUCT
from serve.contract import errors
from serve.contract.errors import ALL_CODES, MESSAGES
from serve.contract.text import Text, feature_texts, read_rows
from serve.surfaces.docs import document
from serve.surfaces.mcp.tool_list import tools

ROOT = Path(errors.__file__).parents[2]
EVERY_TABLE = sorted(
    path for room in ("serve", "pipeline") for path in (ROOT / room).rglob("*.csv")
)
NAMED = [
    path
    for path in EVERY_TABLE
    if path.read_text(encoding="utf-8").startswith(("name,", "id,", "of,part,"))
]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def places(text: str) -> set[tuple[str | None, str | None]]:
    return {(field, conversion) for _, field, _, conversion in Formatter().parse(text)} - {
        (None, None)
    }


@pytest.mark.parametrize("path", EVERY_TABLE, ids=named)
def test_a_table_is_utf_8_with_a_value_for_every_column(path: Path) -> None:
    text = path.read_bytes()

    header, *lines = csv.reader(text.decode("utf-8").splitlines(keepends=True))

    assert b"\r" not in text
    assert text.endswith(b"\n")
    assert {len(line) for line in lines} == {len(set(header))} == {len(header)}
    cells = list(itertools.chain(*lines))
    assert [cell for cell in cells if cell != unicodedata.normalize("NFC", cell)] == []
    assert [cell for cell in cells if cell != cell.strip()] == []


@pytest.mark.parametrize("path", NAMED, ids=named)
def test_the_languages_of_a_text_have_the_same_values(path: Path) -> None:
    """F11, X0"""
    rows = read_rows(path)
    of_features = path.name == "texts.csv"
    if of_features:  # tools speak English alone
        rows = [
            {"key": f"{row['of']} {row['part']}", **row}
            for row in rows
            if row["part"] not in ("title", "tool", "cost")
        ]
    key, *columns = rows[0]
    pairs = [
        (column, column.removesuffix("fr") + "en") for column in columns if column.endswith("fr")
    ]

    assert len({row[key] for row in rows}) == len(rows)
    assert [row[key] for row in rows if not row.get("fr", "-")] == []
    for french, english in pairs:
        assert [row[key] for row in rows if bool(row[french]) != bool(row[english])] == []
        assert [row[key] for row in rows if places(row[french]) != places(row[english])] == []


# Its functions pass names on.
ERRORS: Final = Path(errors.__file__)


class Use(NamedTuple):
    """A call that names rows of errors.csv.

    Attributes:
        names: the rows of the message, of which one is chosen; `whys`: those of its `{why}`.
        has_why: a text or a row is given for it.
        given: the names of the values.
        is_part: the row is a text of its own, and no error.
    """

    place: str
    names: list[str]
    whys: list[str]
    has_why: bool
    given: set[str]
    is_part: bool


def uses(path: Path) -> Iterator[Use]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func).removeprefix("errors.")
        place, given = f"{named(path)}:{node.lineno}", {one.arg for one in node.keywords if one.arg}
        if call == "ApiError":
            name, *why = node.args
            yield Use(place, literals(name), literals(*why), bool(why), given, is_part=False)
        elif call == "invalid_parameter":
            yield Use(
                place,
                ["parametre_invalide"],
                literals(node.args[1]),
                True,
                given | {"parametre"},
                is_part=False,
            )
        elif call == "not_set_up":
            yield Use(place, ["config"], literals(node.args[0]), True, {"at"}, is_part=False)
            pages = literals(*(one.value for one in node.keywords if one.arg == "page"))
            for page in pages:  # that names the operator, or not
                yield Use(place, [page], [], False, {"at"} & fields(page), is_part=True)
        elif call == "text" and (path == ERRORS or ast.unparse(node.func) == "errors.text"):
            yield Use(place, literals(node.args[0]), [], False, given, is_part=True)


def fields(name: str) -> set[str]:
    """The values that a row shows, in its text or its header."""
    row = MESSAGES[name]
    shown = (field for part in (row.text.en, row.header) for field, _ in places(part) if field)
    return {re.split(r"[\[.]", field)[0] for field in shown}


def literals(*nodes: ast.expr) -> list[str]:
    """The strings that an argument may be; none for a name, which may be a text."""
    chosen = [part for node in nodes
              for part in ((node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,))]  # fmt: skip
    return [str(part.value) for part in chosen if isinstance(part, ast.Constant)]


USES: Final = [use for path in sorted((ROOT / "serve").rglob("*.py")) for use in uses(path)]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.place)
def test_an_error_is_given_the_values_of_its_rows_and_no_others(use: Use) -> None:
    """X0, G6: a name without a row, or a placeholder without a value, would be a 500."""
    if not use.place.startswith(named(ERRORS)):
        assert use.names, "the name of a row is a literal, so that this test can read it"
    allowed: set[str] = set()
    for name in use.names:
        message = MESSAGES[name]
        needed = fields(name).union(*map(fields, use.whys)) - ({"why"} if use.has_why else set())
        assert needed <= use.given
        allowed |= needed
        if not use.is_part:
            assert message.code
            allowed |= set(ALL_CODES[message.code].extra)
    assert not use.names or use.given <= allowed
    assert not [why for why in use.whys if MESSAGES[why].code]


def test_every_row_of_errors_is_used() -> None:
    """§7, G7"""
    used = {name for use in USES for name in (*use.names, *use.whys)}

    assert set(MESSAGES) == used
    assert set(ALL_CODES) == {message.code for message in MESSAGES.values()} - {""}


def test_every_key_of_a_code_is_sent() -> None:
    """G6: the documents promise no key that no error has."""
    sent = {(MESSAGES[name].code, key) for use in USES for name in use.names for key in use.given}
    # place_names.py passes the arrays of unknown sectors on (contract B4).
    sent |= {("pays_inconnu", "secteurs_inconnus"), ("pays_inconnu", "sous_secteurs_inconnus")}

    declared = {(code, key) for code, row in ALL_CODES.items() for key in row.extra}
    assert declared - sent == set()


def is_of_object(of: str) -> bool:
    """Is a text of an object or a type? The names of operations, parameters and tools begin with a small letter."""
    return of.lstrip("_")[0].isupper()


class ReadRows(dict[tuple[str, str], Text]):
    """The rows of texts, and the keys of those that were read."""

    def __init__(self) -> None:
        super().__init__(feature_texts())
        self.read: set[tuple[str, str]] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        self.read |= {key} & self.keys()
        return super().get(key, default)


def test_every_row_of_an_object_is_a_text_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """That every object and field has a row: test_declaration.py."""
    rows = ReadRows()
    monkeypatch.setattr("serve.contract.declaration.feature_texts", lambda: rows)
    document.document(PRODUCT)

    assert {key for key in rows if is_of_object(key[0])} == rows.read


def test_a_text_has_one_row() -> None:
    """Over all tables: a later row would replace the first one."""
    tables = [path for path in NAMED if path.name == "texts.csv"]

    assert sum(len(read_rows(path)) for path in tables) == len(feature_texts())


def test_every_text_of_a_feature_is_used() -> None:
    known = {name for one in PRODUCT.operations for name in (one.id, one.text) if name}
    quoted = {"service"}
    guides = {slug for part in (*PRODUCT.features, *PRODUCT.surfaces) for slug in part.guides}
    parameters = {
        *(each for one in PRODUCT.operations for each in (*one.parameters, *one.path_parameters)),
        *(each for tool in tools(PRODUCT).values() for each in tool.arguments),
    }

    assert {
        of
        for of, part in feature_texts()
        if part in ("summary", "description", "guide") and not is_of_object(of)
    } <= known | quoted | guides | {parameter.component for parameter in parameters}
