"""The guard, which compares this version with an earlier version."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT, world
from tests.bench import guard
from tests.bench.data import BuiltData
from tests.bench.questions import mix
from tests.bench.versions import group_by_class, search_alternately


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The DATA folder of five companies."""
    companies = [
        world.company(
            "EE", str(n), f"Öö {n}", score=n, division="62", groupe="62.0", ca_eur=float(n),
            secteur="Secteur 62", sous_secteur=world.LABELS["62.0"], effectif=n, date_creation="2001",
        )
        for n in range(5)
    ]  # fmt: skip
    world.publish(tmp_path / "data", companies)
    return tmp_path / "data"


# The times of the previous version, twice, then those of this version, twice.
@pytest.mark.parametrize(
    ("times", "expected"),
    [((100, 101, 103, 102), "as fast"), ((101, 100, 130, 131), "slower"),
     ((100, 101, 130, 140), "unknown"), ((100, 110, 130, 131), "unknown"),
     ((100, 101, 111, 114), "as fast"), ((100, 101, 80, 81), "as fast")],
)  # fmt: skip
def test_the_guard_says_slower_only_beyond_noise(
    times: tuple[float, float, float, float], expected: str
) -> None:
    assert guard.verdict(times)[2] == expected


def test_the_guard_exits_with_3_if_a_class_is_slower(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real verdicts are replaced by "slower", because this checkout is compared with itself."""

    @contextmanager
    def use_this_checkout(base: str, work: Path) -> Iterator[Path]:
        """Compare this checkout with itself, whatever the base."""
        yield ROOT

    monkeypatch.setattr(guard, "checkout", use_this_checkout)
    monkeypatch.setattr("tests.bench.data.synthetic", lambda *_: BuiltData(data, {}))
    monkeypatch.setattr(guard, "verdict", lambda times: (*times[:2], "slower"))

    command = ["HEAD", "--searches", "1", "--rounds", "1", "--work", str(tmp_path / "w"), "--keep"]
    assert guard.main(command) == guard.SLOWER

    output = capsys.readouterr().out
    assert all(kind in output for kind in mix.GOALS)


def test_versions_run_the_same_searches(data: Path) -> None:
    """This version twice: all answers are equal, and each search has a least time."""
    questions, times = search_alternately([(ROOT, data), (ROOT, data)], 2, 3, 1)

    assert list(group_by_class(questions)) == list(mix.GOALS)
    assert [sorted(least_times) for least_times in times] == [list(range(len(questions)))] * 2
    # The same code has about the same speed, also on a busy machine.
    assert 0.2 < sum(times[1].values()) / sum(times[0].values()) < 5


def test_versions_that_answer_differently_end_the_comparison(data: Path, tmp_path: Path) -> None:
    changed_version = tmp_path / "other"
    for folder in ("pipeline", "shards", "quota", "seeds", "tests"):
        shutil.copytree(
            ROOT / folder, changed_version / folder, ignore=shutil.ignore_patterns("raw", "20*-*")
        )
    (changed_version / ".venv").symlink_to(ROOT / ".venv")
    candidate = changed_version / "tests/bench/candidate.py"
    candidate.write_text(
        candidate.read_text().replace("Answer(page.total,", "Answer(page.total + 1,")
    )

    with pytest.raises(SystemExit, match="answers differ"):
        search_alternately([(changed_version, data), (ROOT, data)], 1, 1, 1)
