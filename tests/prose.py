"""The prose of the project: its documents, and the docstrings and comments of its modules."""

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT

ROOMS: Final = ("pipeline", "quota", "serve", "shards")
FOLDERS: Final = (*ROOMS, "seeds", "tests")

DOCUMENTS: Final = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "seeds").glob("*.md"),
        *(path for room in ROOMS for path in (ROOT / room).glob("*.md")),
        ROOT / "tests" / "bench" / "RESULTS.md",
    }
)
SPECIFICATION: Final = ROOT / "seeds" / "spec"


def name(path: Path) -> str:
    """The path below the root, for documents and failures."""
    return path.relative_to(ROOT).as_posix()


def modules(*folders: str) -> list[Path]:
    """The modules below these folders of the root."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def prose(path: Path) -> str:
    """The text of a document, or the docstrings and comments of a module, a paragraph each."""
    text = path.read_text(encoding="utf-8")
    return text if path.suffix == ".md" else "\n\n".join(_paragraphs(path, text))


def expect_none(faults: Iterable[tuple[object, ...]]) -> None:
    """Fail if there are faults, with a line for each fault."""
    lines = [": ".join(map(str, fault)) for fault in faults]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def _paragraphs(path: Path, text: str) -> Iterator[str]:
    """The docstrings and comments of a module."""
    node_types = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree(path)):
        if isinstance(node, node_types) and (docstring := ast.get_docstring(node)):
            yield docstring
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
