"""The tables of texts: both languages say the same values, and every row is used."""

import ast
import csv
import itertools
import re
import unicodedata
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from serve.app import PRODUCT
from serve.contract import errors
from serve.contract.errors import CODES
from serve.contract.text import TABLES, Text, feature_texts, read_rows, read_texts
from serve.surfaces.docs import document
from serve.surfaces.mcp.tool_list import tools
from tests.serve.contract.test_errors import ALL, QUOTA

ROOT = Path(errors.__file__).parents[2]
EVERY_TABLE = sorted(
    path for room in ("serve", "pipeline") for path in (ROOT / room).rglob("*.csv")
)
NAMED = [
    path
    for path in EVERY_TABLE
    if path.read_text(encoding="utf-8").startswith(("name,", "id,", "of,part,"))
]
# Messages of errors that have several.
VARIANTS = (
    errors.secteur_inconnu([], {}, ["X"]),
    errors.secteur_inconnu(["X"], {}),
    errors.pays_inconnu(["germany"], {"germany": ["DE"]}),
    errors.societe_introuvable("", "1", ["FR:1"]),
    errors.societe_supprimee("FR", "1", None),
    errors.trop_de_requetes(QUOTA, 60, "jour"),
    errors.cle_invalide(served=False),
    errors.config(Text("le paiement", "payment"), "aide@example.org"),
    errors.cle_invalide(address="/api/v1/reconciliation"),
    errors.corps_trop_grand(65_536, 1 << 20),
    errors.indisponible(errors.NO_COUNTERS, maybe_counted=True),
)


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


def test_every_message_is_raised_and_every_error_has_its_row() -> None:
    """§7, G7"""
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    makers = [call for call in calls
              if isinstance(call.func, ast.Name) and call.func.id in ("_error", "_message", "_too_many")]  # fmt: skip
    used = {call.args[0].value for call in makers if isinstance(call.args[0], ast.Constant)}
    for path in (ROOT / "serve").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "errors.part":
                name = ast.literal_eval(node.args[0])
                used.add(name)
                given = {one.arg for one in node.keywords}
                code, text = errors.MESSAGES[name]
                assert ({field for field, _ in places(text.en)}, code) == (given, ""), (path, name)

    assert used | errors.PARTS == set(errors.MESSAGES)


def test_why_something_is_refused_is_said_with_all_its_values() -> None:
    """X0: every row of refusals.csv is used, and every call gives the values that its row has."""
    rows = read_texts(TABLES / "refusals.csv")
    used = set()
    for path in (ROOT / "serve").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "errors.why":
                name = ast.literal_eval(node.args[0])
                used.add(name)
                given = {one.arg for one in node.keywords}
                assert {field for field, _ in places(rows[name].en)} == given, (path, name)

    assert used == set(rows)


def test_every_function_of_an_error_is_called() -> None:
    """§7"""
    tree = ast.parse(Path(errors.__file__).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body
                 if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}  # fmt: skip
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "serve").rglob("*.py"))

    assert {name for name in functions if f"errors.{name}(" not in source} == set()


@pytest.mark.parametrize("name", [name for name, (code, _) in errors.MESSAGES.items() if code])
def test_a_message_is_given_all_its_values(name: str) -> None:
    """Every row with a code is the message of an error here, its values filled in."""
    code, text = errors.MESSAGES[name]
    pattern = "".join(
        re.escape(literal) + ("" if field is None else "(?s:.+)")
        for literal, field, _, _ in Formatter().parse(text.en)
    )

    made = [one.texts[1] for one in (*ALL, *VARIANTS) if one.code == code]
    assert any(re.fullmatch(pattern, one) for one in made), text.en
    assert code in CODES


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
