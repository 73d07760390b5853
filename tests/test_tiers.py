"""Every test has one tier, and the linter checks every module."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import ROOT, tiers
from tests.prose import FOLDERS, expect_none, modules, name

TESTS = modules("tests")
# Folders that must have tests for `make quick`, which runs code in the test process, with values and small files.
QUICK = ("tests/shards/", "tests/quota/", "tests/pipeline/", "tests/serve/")


@pytest.mark.parametrize("module", sorted(tiers.OUTSIDE | tiers.LONG | tiers.SERVER))
def test_a_module_that_decides_a_tier_exists(module: str) -> None:
    """The tests of a helper that is renamed only in its file would silently move to the quick tier."""
    assert find_spec(module)


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("import numpy", ""),
        ("import subprocess", "server"),
        ("import subprocess\nfrom pipeline import importing", "long"),
        ("from tests.serve.client import Server", "server"),
        ("from tests.serve import processes", "server"),
        # `tests.quota.servers` starts Redis and Valkey.
        ("from tests.quota import servers\nimport subprocess", "outside"),
        ("def test() -> None:\n    from tests.proof.tools import need", "outside"),
    ],
)
def test_the_imports_of_a_module_give_the_tier_of_its_tests(
    tmp_path: Path, text: str, tier: str
) -> None:
    (tmp_path / "test_it.py").write_text(text)

    assert tiers.tier_of(tmp_path / "test_it.py", ()) == tier


def test_a_fixture_that_starts_a_server_also_decides_the_tier(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test(server): ...")

    assert tiers.tier_of(tmp_path / "test_it.py", ("tmp_path", "server")) == "server"


def test_every_room_has_tests_in_the_quick_tier() -> None:
    quick = [
        name(path)
        for path in TESTS
        if path.name.startswith("test_") and not tiers.tier_of(path, ())
    ]

    assert all(any(path.startswith(room) for path in quick) for room in QUICK)


def test_each_make_target_leaves_out_its_tiers() -> None:
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
    """Ruff leaves out folders by name (`build`, `dist`) and by .gitignore, without a message."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    linted = set(done.stdout.splitlines())

    expect_none((name(path),) for path in modules(*FOLDERS) if str(path) not in linted)
