"""Modules that import a package that is absent, of the group `bench`, are not collected: `make bench` installs it.

A name that no package has is found by mypy.
"""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def _imported_at_the_top(path: Path) -> set[str]:
    """The packages that a module imports when it is imported."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@cache
def _is_absent(package: str) -> bool:
    return find_spec(package) is None


collect_ignore = [
    str(path)
    for path in Path(__file__).parent.rglob("*.py")
    if any(map(_is_absent, _imported_at_the_top(path)))
]
