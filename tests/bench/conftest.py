"""Modules that import a library of the group `bench` are not collected where `make bench` has not installed it."""

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

from tests import ROOT

_GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
# A requirement as Python imports it: "rustpy-xlsxwriter>=0.8" is rustpy_xlsxwriter.
_BENCH = {re.split(r"[<>=]", entry, maxsplit=1)[0].replace("-", "_") for entry in _GROUPS["bench"]}
_ABSENT = {name for name in _BENCH if find_spec(name) is None}


def _imported_at_the_top(path: Path) -> set[str]:
    """The packages that a module imports when it is imported."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


collect_ignore = [
    str(path)
    for path in Path(__file__).parent.rglob("*.py")
    if _imported_at_the_top(path) & _ABSENT
]
