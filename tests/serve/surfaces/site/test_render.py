"""The folder of compiled templates: it speeds up the next start, and is optional."""

from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment

from serve.surfaces.site.render import TemplateCache


def _environment(folder: Path) -> Environment:
    """A template that shows 2, with compiled templates in this folder."""
    loader = DictLoader({"sum.html": "{{ 1 + 1 }}"})
    return Environment(
        loader=loader, autoescape=True, bytecode_cache=TemplateCache(str(folder), "%s.cache")
    )


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _environment(tmp_path).get_template("sum.html")

    def compile_again(*_: Any) -> None:
        """Fail, because the template was compiled before."""
        raise AssertionError

    monkeypatch.setattr(Environment, "compile", compile_again)
    assert _environment(tmp_path).get_template("sum.html").render() == "2"


def test_without_a_folder_for_compiled_templates_pages_are_rendered(tmp_path: Path) -> None:
    assert _environment(tmp_path / "missing").get_template("sum.html").render() == "2"
