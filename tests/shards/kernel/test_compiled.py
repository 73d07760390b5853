"""Compiled modules: each of the list in `setup.py` is there, and no other, which Python would import instead."""

import ast

from tests import ROOT

ROOMS = ("shards", "serve", "pipeline", "quota", "seeds")


def listed_modules() -> set[str]:
    """The modules that `setup.py` compiles."""
    lists = {
        ast.unparse(node.targets[0]): node.value
        for node in ast.parse((ROOT / "setup.py").read_text()).body
        if isinstance(node, ast.Assign)
    }
    engine: tuple[str, ...] = ast.literal_eval(lists["MODULES"])
    plain: tuple[str, ...] = ast.literal_eval(lists["PLAIN"])
    return {*(f"shards.{name}" for name in engine), *plain}


def test_each_listed_module_is_compiled_and_no_other_is_left_of_an_earlier_build() -> None:
    compiled = {
        ".".join([*path.parent.relative_to(ROOT).parts, path.name.partition(".")[0]])
        for room in ROOMS
        for path in (ROOT / room).rglob("*.so")
    }

    assert compiled == listed_modules()


def test_a_listed_module_has_a_source() -> None:
    for name in listed_modules():
        assert (ROOT / f"{name.replace('.', '/')}.py").is_file(), name
