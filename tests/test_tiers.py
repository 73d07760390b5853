"""Every test is in one tier, and every module is checked by the linter."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import ROOT, tiers
from tests.prose import FOLDERS, expect_none, modules, name

TESTS = modules("tests")
# What `make quick` is about: code that is asked in process, with values and small files.
QUICK = ("tests/shards/", "tests/quota/", "tests/pipeline/", "tests/serve/")


@pytest.mark.parametrize("module", sorted(tiers.OUTSIDE | tiers.LONG | tiers.SERVER))
def test_a_module_that_decides_a_tier_exists(module: str) -> None:
    """A helper that is renamed would move its tests to the quick tier in silence."""
    assert find_spec(module)


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("import numpy", ""),
        ("import subprocess", "server"),
        ("import subprocess\nfrom pipeline import importing", "long"),
        ("from tests.serve.client import Served", "server"),
        ("from tests.serve import processes", "server"),
        ("from tests.quota import servers\nimport subprocess", "outside"),  # which needs programs
        ("def test() -> None:\n    from tests.proof.tools import need", "outside"),
    ],
)
def test_the_imports_of_a_module_give_the_tier_of_its_tests(
    tmp_path: Path, text: str, tier: str
) -> None:
    (tmp_path / "test_it.py").write_text(text)

    assert tiers.of(tmp_path / "test_it.py", ()) == tier


def test_a_fixture_that_starts_a_server_gives_the_tier_too(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test(served): ...")

    assert tiers.of(tmp_path / "test_it.py", ("tmp_path", "served")) == "server"


def test_every_room_has_tests_in_the_quick_tier() -> None:
    quick = [
        name(path) for path in TESTS if path.name.startswith("test_") and not tiers.of(path, ())
    ]

    assert all(any(path.startswith(room) for path in quick) for room in QUICK)


def test_the_targets_leave_out_what_their_help_says() -> None:
    makefile = (ROOT / "Makefile").read_text()
    left_out = {
        target: set(re.findall(r"not (\w+)", recipe))
        for target, recipe in re.findall(r"^(quick|check|test):.*\n((?:\t.*\n)+)", makefile, re.M)
    }

    assert left_out == {
        "quick": {"server", "long", "outside", "slow", "judge"},
        "check": {"long", "outside", "slow", "judge"},
        "test": {"slow", "judge"},
    }


def test_every_module_is_linted() -> None:
    """Ruff leaves out folders by name (`build`, `dist`) and by .gitignore, without a word."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    linted = set(done.stdout.splitlines())

    expect_none((name(path),) for path in modules(*FOLDERS) if str(path) not in linted)
