"""The rules of ARCHITECTURE.md that no linter checks: names, opening lines, modules that catch every error."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.prose import DOCUMENTS, FOLDERS, ROOMS, expect_none, modules, name, tree

LONGEST_LINE: Final = 120
LONGEST_DOCUMENTS: Final = {"README.md": 150, "ARCHITECTURE.md": 250, "tests/bench/RESULTS.md": 150}

# The modules that catch every error: `app` answers the request with an id, `store_holder` tries again.
CATCHING_ALL: Final = ["serve/access/store_holder.py", "serve/http/app.py"]

# The first line of a module is a noun phrase or an imperative, not a clause, so it does not begin with such a word.
QUESTION_WORDS: Final = frozenset({"how", "that", "what", "where", "which", "who", "whose", "why"})

# The folders whose packages `serve/app.py` lists.
LISTED_IN_APP: Final = [ROOT / "serve/features", ROOT / "serve/surfaces"]

PACKAGES: Final = [path.parent for path in modules(*ROOMS) if path.name == "__init__.py"]


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in modules(*FOLDERS)}

    expect_none(
        (name(folder),) for folder in sorted(folders) if not (folder / "__init__.py").exists()
    )


def test_a_package_describes_its_content() -> None:
    """A description has three lines or more: the content, and an order for reading."""
    docstrings = {
        package: ast.get_docstring(tree(package / "__init__.py")) or "" for package in PACKAGES
    }

    expect_none(
        (name(package), docstring)
        for package, docstring in docstrings.items()
        if len(docstring.splitlines()) < 3
    )


def test_a_package_names_each_of_its_modules() -> None:
    """A package may name a module for all packages below it, as `serve.features` names `operations`.

    Features are listed only in `serve/app.py`.
    """
    expect_none(
        (name(package), module)
        for package in PACKAGES
        if package not in LISTED_IN_APP
        for module in _names_in(package)
        if not any(
            re.search(rf"`(?:\w+/)*{module}(?:/|\.py)?`", ast.get_docstring(tree(path)) or "")
            for above in (package, *package.parents)
            if (path := above / "__init__.py").exists()
        )
    )


def _names_in(package: Path) -> set[str]:
    """The modules and packages of a package, except programs."""
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    return packages | {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}


def test_a_module_opens_with_a_noun_or_an_imperative() -> None:
    expect_none(
        (name(path), opening)
        for path in modules(*FOLDERS)
        if path.stat().st_size
        for opening in [(ast.get_docstring(tree(path)) or "no docstring").split(".")[0]]
        # "no" is the first word of a missing docstring.
        if opening.split()[0].lower().rstrip(",:") in {*QUESTION_WORDS, "no"}
    )


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path in modules(*ROOMS):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name(path))

    expect_none((class_name, *paths) for class_name, paths in places.items() if len(paths) > 1)


def test_no_mark_of_unfinished_work_is_left() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "# MER" + "GED")

    expect_none(
        (name(path), mark)
        for path in (*modules(*FOLDERS), *DOCUMENTS)
        for mark in marks
        if mark in path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_no_line_of_a_document_is_too_long(document: Path) -> None:
    """The specification in seeds/spec is exempt: it is an unchanged copy."""
    lines = document.read_text(encoding="utf-8").splitlines()

    expect_none((number, line) for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE)


@pytest.mark.parametrize("document", LONGEST_DOCUMENTS)
def test_a_document_that_everybody_reads_is_short(document: str) -> None:
    length = len((ROOT / document).read_text(encoding="utf-8").splitlines())

    assert length <= LONGEST_DOCUMENTS[document]


def test_no_parameter_is_named_found_or_one() -> None:
    """A noun for the value says more."""
    expect_none(
        (name(path), node.name, node.lineno, argument.arg)
        for path in modules(*ROOMS)
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if argument.arg in {"found", "one"}
    )


def test_few_modules_catch_every_error() -> None:
    paths = [
        name(path)
        for path in modules(*ROOMS)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and isinstance(node.type, ast.Name)
        and node.type.id == "Exception"
    ]

    assert sorted(paths) == CATCHING_ALL


def test_only_billing_counts_calls_credits_and_exports() -> None:
    """All entrances count by the same rules (D5)."""
    counting = {"take", "give_back", "take_and_charge", "reserve", "commit", "release"}
    paths = {
        name(path)
        for path in modules(*ROOMS)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr in counting
        and ast.unparse(node.value).rpartition(".")[2] == "store"
    }

    assert paths == {"serve/access/billing.py"}
