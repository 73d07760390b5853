"""The guard that compares this version with another one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT, world
from tests.bench import guard
from tests.bench.data import Made
from tests.bench.questions import mix
from tests.bench.versions import by_class, search_in_turn


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


def test_versions_get_the_same_searches(data: Path) -> None:
    """The version beside itself: every answer is the same, and each search has its least time."""
    asked, times = search_in_turn([(ROOT, data), (ROOT, data)], 2, 3, 1)

    assert list(by_class(asked)) == list(mix.GOALS)
    assert [sorted(least) for least in times] == [list(range(len(asked)))] * 2
    assert 0.2 < sum(times[1].values()) / sum(times[0].values()) < 5


def test_versions_that_answer_differently_end_the_comparison(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for room in ("pipeline", "shards", "quota", "seeds", "tests"):
        shutil.copytree(ROOT / room, other / room, ignore=shutil.ignore_patterns("raw", "20*-*"))
    (other / ".venv").symlink_to(ROOT / ".venv")
    candidate = other / "tests/bench/candidate.py"
    candidate.write_text(
        candidate.read_text().replace("Answer(page.total,", "Answer(page.total + 1,")
    )

    with pytest.raises(SystemExit, match="answers differ"):
        search_in_turn([(other, data), (ROOT, data)], 1, 1, 1)
