"""Compiled templates: kept for the next start, and not needed for one."""

from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment

from serve.surfaces.site.render import TemplateCache


def _environment(folder: Path) -> Environment:
    loader = DictLoader({"sum.html": "{{ 1 + 1 }}"})
    return Environment(
        loader=loader, autoescape=True, bytecode_cache=TemplateCache(str(folder), "%s.cache")
    )


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _environment(tmp_path).get_template("sum.html")

    def compile_again(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Environment, "compile", compile_again)
    assert _environment(tmp_path).get_template("sum.html").render() == "2"


def test_without_room_for_compiled_templates_pages_are_made(tmp_path: Path) -> None:
    assert _environment(tmp_path / "missing").get_template("sum.html").render() == "2"
