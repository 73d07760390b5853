"""The tables of texts: both languages have the same placeholders, and every row is used."""

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
# Tables of texts begin with one of these columns; the remaining tables are data.
TEXT_TABLES = [
    path
    for path in EVERY_TABLE
    if path.read_text(encoding="utf-8").startswith(("name,", "id,", "of,part,"))
]


def relative_name(path: Path) -> str:
    """The path of a file in the repository."""
    return path.relative_to(ROOT).as_posix()


def placeholders(text: str) -> set[tuple[str | None, str | None]]:
    """The names of the placeholders in a text, with their conversions, such as `r`."""
    return {(field, conversion) for _, field, _, conversion in Formatter().parse(text)} - {
        (None, None)
    }


@pytest.mark.parametrize("path", EVERY_TABLE, ids=relative_name)
def test_a_table_is_utf_8_with_a_value_for_every_column(path: Path) -> None:
    text = path.read_bytes()

    header, *lines = csv.reader(text.decode("utf-8").splitlines(keepends=True))

    assert b"\r" not in text
    assert text.endswith(b"\n")
    assert {len(line) for line in lines} == {len(set(header))} == {len(header)}
    cells = list(itertools.chain(*lines))
    assert [cell for cell in cells if cell != unicodedata.normalize("NFC", cell)] == []
    assert [cell for cell in cells if cell != cell.strip()] == []


@pytest.mark.parametrize("path", TEXT_TABLES, ids=relative_name)
def test_the_languages_of_a_text_have_the_same_values(path: Path) -> None:
    """F11, X0"""
    rows = read_rows(path)
    of_features = path.name == "texts.csv"
    if of_features:  # the key has two columns; texts of tools are only in English
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
        assert [
            row[key] for row in rows if placeholders(row[french]) != placeholders(row[english])
        ] == []


# In this module a call may pass the name of a row in a variable, because its functions receive it from their callers.
ERRORS_MODULE: Final = Path(errors.__file__)


class RowUse(NamedTuple):
    """A call that names rows of errors.csv.

    Attributes:
        names: the rows of the message, of which a condition selects one.
        whys: the rows of its placeholder `{why}`, of which a condition selects one.
        has_why: whether the call has a `why`, as a text or a row.
        values: the names of the values.
        is_part: whether the row is a separate text, not an error.
    """

    place: str
    names: list[str]
    whys: list[str]
    has_why: bool
    values: set[str]
    is_part: bool


def row_uses(path: Path) -> Iterator[RowUse]:
    """The calls in a module that name rows of errors.csv."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        call = ast.unparse(node.func).removeprefix("errors.")
        place = f"{relative_name(path)}:{node.lineno}"
        values = {keyword.arg for keyword in node.keywords if keyword.arg}
        if call == "ApiError":
            name, *why = node.args
            yield RowUse(
                place,
                literal_strings(name),
                literal_strings(*why),
                bool(why),
                values,
                is_part=False,
            )
        elif call == "invalid_parameter":
            yield RowUse(
                place,
                ["parametre_invalide"],
                literal_strings(node.args[1]),
                True,
                values | {"parametre"},
                is_part=False,
            )
        elif call == "not_set_up":
            yield RowUse(
                place, ["config"], literal_strings(node.args[0]), True, {"at"}, is_part=False
            )
            pages = literal_strings(
                *(keyword.value for keyword in node.keywords if keyword.arg == "page")
            )
            # `page` names other texts of the error, for pages; the server fills only their placeholder `at`.
            for page in pages:
                yield RowUse(place, [page], [], False, {"at"} & value_names(page), is_part=True)
        elif call == "text" and (path == ERRORS_MODULE or ast.unparse(node.func) == "errors.text"):
            yield RowUse(place, literal_strings(node.args[0]), [], False, values, is_part=True)


def value_names(name: str) -> set[str]:
    """The names of the values in the text and the header of a row."""
    row = MESSAGES[name]
    names = (
        field for part in (row.text.en, row.header) for field, _ in placeholders(part) if field
    )
    return {re.split(r"[\[.]", field)[0] for field in names}


def literal_strings(*nodes: ast.expr) -> list[str]:
    """The literal strings of arguments, of both branches of a condition. A variable has none: it may be a text."""
    values = [part for node in nodes
              for part in ((node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,))]  # fmt: skip
    return [str(part.value) for part in values if isinstance(part, ast.Constant)]


ROW_USES: Final = [use for path in sorted((ROOT / "serve").rglob("*.py")) for use in row_uses(path)]


@pytest.mark.parametrize("use", ROW_USES, ids=lambda use: use.place)
def test_a_call_passes_exactly_the_values_of_its_rows(use: RowUse) -> None:
    """X0, G6: a name without a row, or a placeholder without a value, would be a 500."""
    if not use.place.startswith(relative_name(ERRORS_MODULE)):
        assert use.names, "the name of a row is a literal, so that this test can read it"
    allowed: set[str] = set()
    for name in use.names:
        message = MESSAGES[name]
        needed = value_names(name).union(*map(value_names, use.whys)) - (
            {"why"} if use.has_why else set()
        )
        assert needed <= use.values
        allowed |= needed
        if not use.is_part:
            assert message.code
            allowed |= set(ALL_CODES[message.code].extra)
    assert not use.names or use.values <= allowed
    assert not [why for why in use.whys if MESSAGES[why].code]


def test_every_row_of_errors_is_used() -> None:
    """§7, G7"""
    used = {name for use in ROW_USES for name in (*use.names, *use.whys)}

    assert set(MESSAGES) == used
    assert set(ALL_CODES) == {message.code for message in MESSAGES.values()} - {""}


def test_every_key_of_a_code_has_a_value_in_some_error() -> None:
    """G6: the documents describe only keys that an error may have."""
    passed = {
        (MESSAGES[name].code, key) for use in ROW_USES for name in use.names for key in use.values
    }
    # place_names.py passes the arrays of unknown sectors (contract B4).
    passed |= {("pays_inconnu", "secteurs_inconnus"), ("pays_inconnu", "sous_secteurs_inconnus")}

    declared = {(code, key) for code, row in ALL_CODES.items() for key in row.extra}
    assert declared - passed == set()


def is_of_object(owner: str) -> bool:
    """Whether a text is of an object or a type: names of operations, parameters and tools begin with a small letter."""
    return owner.lstrip("_")[0].isupper()


class ReadRows(dict[tuple[str, str], Text]):
    """The texts of features by row; `read` has the keys of the rows that code has read with `get`."""

    def __init__(self) -> None:
        super().__init__(feature_texts())
        self.read: set[tuple[str, str]] = set()

    def get(self, key: Any, default: Any = None) -> Any:
        """Note the key in `read` if it has a row."""
        self.read |= {key} & self.keys()
        return super().get(key, default)


def test_every_row_of_an_object_is_a_text_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """test_declaration.py checks the reverse: every object and field has a row."""
    rows = ReadRows()
    monkeypatch.setattr("serve.contract.declaration.feature_texts", lambda: rows)
    document.document(PRODUCT)

    assert {key for key in rows if is_of_object(key[0])} == rows.read


def test_every_text_has_a_single_row() -> None:
    """In all tables together: a second row for a text would replace the first row"""
    tables = [path for path in TEXT_TABLES if path.name == "texts.csv"]

    assert sum(len(read_rows(path)) for path in tables) == len(feature_texts())


def test_every_text_of_a_feature_is_used() -> None:
    operations = {
        name for operation in PRODUCT.operations for name in (operation.id, operation.text) if name
    }
    quoted = {"service"}  # other texts contain it, as `{texte.service}`
    guides = {slug for part in (*PRODUCT.features, *PRODUCT.surfaces) for slug in part.guides}
    parameters = {
        *(
            parameter
            for operation in PRODUCT.operations
            for parameter in (*operation.parameters, *operation.path_parameters)
        ),
        *(argument for tool in tools(PRODUCT).values() for argument in tool.arguments),
    }

    assert {
        owner
        for owner, part in feature_texts()
        if part in ("summary", "description", "guide") and not is_of_object(owner)
    } <= operations | quoted | guides | {parameter.component for parameter in parameters}
