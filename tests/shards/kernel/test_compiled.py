"""Compiled modules: exactly those of `setup.py`. Python would import an outdated file instead of the source."""

import ast

from tests import ROOT

# The folders that can have compiled modules.
FOLDERS = ("shards", "serve", "pipeline", "quota", "seeds")


def listed_modules() -> set[str]:
    """The modules that `setup.py` compiles."""
    lists = {
        ast.unparse(node.targets[0]): node.value
        for node in ast.parse((ROOT / "setup.py").read_text()).body
        if isinstance(node, ast.Assign)
    }
    engine_names: tuple[str, ...] = ast.literal_eval(lists["MODULES"])
    other_names: tuple[str, ...] = ast.literal_eval(lists["PLAIN"])
    return {*(f"shards.{name}" for name in engine_names), *other_names}


def test_the_listed_modules_are_compiled_and_an_earlier_build_left_no_others() -> None:
    compiled = {
        ".".join([*path.parent.relative_to(ROOT).parts, path.name.partition(".")[0]])
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.so")
    }

    assert compiled == listed_modules()


def test_a_listed_module_has_a_source() -> None:
    for name in listed_modules():
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file(), name
