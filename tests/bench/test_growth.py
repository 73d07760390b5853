"""Growth over sizes, and the guard that compares this version with another one."""

import argparse
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT, world
from tests.bench import guard
from tests.bench.__main__ import main
from tests.bench.data import Made
from tests.bench.figures import Figures, Result, dump
from tests.bench.questions import mix


@pytest.fixture
def data(tmp_path: Path) -> Path:
    found = [
        world.company(
            "EE", str(n), f"Öö {n}", score=n, division="62", groupe="62.0", ca_eur=float(n),
            secteur="Secteur 62", sous_secteur=world.LABELS["62.0"], effectif=n, date_creation="2001",
        )
        for n in range(5)
    ]  # fmt: skip
    world.publish(tmp_path / "data", found)
    return tmp_path / "data"


def test_growth_measures_sizes_and_draws_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="`make bench` installs it")
    monkeypatch.setattr("tests.bench.__main__._measure", _measured)
    monkeypatch.setattr("tests.bench.plot.draw", lambda *_: None)
    command = ["growth", "--sizes", "1000,4000", "--work", f"{tmp_path}/w"]

    assert main([*command, "--results", str(tmp_path / "r")]) == 0

    said = capsys.readouterr().out
    assert "1,000: p50" in said
    assert "| sector |" in said
    assert "| 0.50 | 0.50 |" in said  # four times the companies, twice the time
    (picture,) = (tmp_path / "r").rglob("growth.svg")
    assert "companies" in picture.read_text()


def _measured(options: argparse.Namespace, peers: Sequence[str]) -> Figures:
    ms = math.sqrt(options.companies)
    found = [Result(table, "sector", "", 1, [ms, ms], {}) for table in ("fixed", "mix")]
    return Figures("2026-11-25", "", "", options.companies, 1, 1, 1, {}, {}, {}, found)


def test_growth_over_one_size_is_wrong_use(tmp_path: Path) -> None:
    kept = tmp_path / "figures.json"
    kept.write_bytes(dump(_measured(argparse.Namespace(companies=10), ())))

    with pytest.raises(SystemExit, match="two sizes"):
        main(["growth", str(kept), "--results", str(tmp_path)])


@pytest.mark.parametrize(
    ("times", "word"),
    [((100, 101, 103, 102), "as fast"), ((101, 100, 130, 131), "slower"),
     ((100, 101, 130, 140), "unknown"), ((100, 110, 130, 131), "unknown"),
     ((100, 101, 111, 114), "as fast"), ((100, 101, 80, 81), "as fast")],
)  # fmt: skip
def test_the_guard_says_slower_only_beyond_noise(
    times: tuple[float, float, float, float], word: str
) -> None:
    assert guard.verdict(times)[2] == word


def test_the_guard_asks_versions_in_turn_and_ends_with_their_verdict(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def same(base: str, work: Path) -> Iterator[Path]:
        yield ROOT

    monkeypatch.setattr(guard, "checkout", same)
    monkeypatch.setattr("tests.bench.data.synthetic", lambda *_: Made(data, {}))
    monkeypatch.setattr(guard, "verdict", lambda times: (*times[:2], "slower"))

    command = ["HEAD", "--searches", "1", "--rounds", "1", "--work", str(tmp_path / "w"), "--keep"]
    assert guard.main(command) == guard.SLOWER

    said = capsys.readouterr().out
    assert all(kind in said for kind in mix.GOALS)
