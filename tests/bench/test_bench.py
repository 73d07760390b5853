"""The bench itself, on a few hundred companies: it runs, compares and reports."""

import random
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from shards.query import Query
from tests import world
from tests.bench import figures, tables
from tests.bench.__main__ import main
from tests.bench.candidate import Candidate
from tests.bench.compare import compare
from tests.bench.figures import NOT_EXPRESSIBLE, SLOW, Figures, Outcome, Result
from tests.bench.peers import peer
from tests.bench.peers.peer import NotExpressible, TooSlow
from tests.bench.processes import Cost, run
from tests.bench.questions import absurd, fixed, mix, values
from tests.bench.questions.question import Answer, Goal, Question
from tests.serve import world as served_world

QUESTIONS = [Question("mix", "sector", Query(tri=tri)) for tri in ("nom", "score")]


class Fake:
    """A peer that knows the right answers and a rule that changes them."""

    def __init__(self, right: Mapping[Question, Answer], answer: "Reply") -> None:
        self.right, self.answer, self.interrupted, self.asked = right, answer, False, 0

    def search(self, question: Question) -> Answer:
        self.asked += 1
        return self.answer(self, self.right[question])

    def interrupt(self) -> None:
        self.interrupted = True

    def close(self) -> None: ...


Reply = Callable[[Fake, Answer], Answer]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published generation of some hundred companies."""
    data = tmp_path_factory.mktemp("built")
    chance = random.Random(3)
    found = [_company(chance, number) for number in range(300)]
    world.publish(data, found)
    return data


def _company(chance: random.Random, number: int) -> world.Company:
    division = chance.choice([None, *world.GROUPS])
    groupe = chance.choice([None, *world.GROUPS[division]]) if division else None
    return world.company(
        chance.choice(world.COUNTRIES), f"{number * 7919:08d}",
        " ".join(chance.choices(world.PIECES, k=chance.randint(1, 4))),
        division=division, groupe=groupe,
        secteur=f"Secteur {division}" if division else None,
        sous_secteur=world.LABELS[groupe] if groupe else None,
        ca_eur=chance.choice([None, 0.0, -1.0, 0.5, round(chance.lognormvariate(11, 2), 2)]),
        capital_eur=chance.choice([None, 0.5, 2_500.0, 1e6]),
        effectif=chance.choice([None, 0, 1, 5, 80]), score=chance.randint(0, 100),
        date_creation=chance.choice([None, "2024", "2024-02", "2024-02-29", "1999-12-31"]),
        site_web=chance.choice([None, "https://exemple.ee"]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Figures]:
    """A whole run: its folder and its figures."""
    folder = tmp_path_factory.mktemp("bench")
    command = ["--data", str(built), "--searches", "2", "--rounds", "2", "--keep"]
    command += ["--work", str(folder / "work"), "--results", str(folder / "results")]
    assert main(command) == 0
    (kept,) = (folder / "results").iterdir()
    return folder, figures.load(kept / "figures.json")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    found = [world.company("EE", str(n), f"Öö {n}", score=n) for n in range(5)]
    world.publish(tmp_path, found)
    return tmp_path


# -- a whole run -------------------------------------------------------------------------


def test_one_command_asks_everybody_every_kind(whole: tuple[Path, Figures]) -> None:
    _, found = whole
    asked = {(result.table, result.kind) for result in found.results}

    assert found.companies == 300
    assert {kind for table, kind in asked if table == fixed.TABLE} == fixed.GOALS.keys()
    assert {kind for table, kind in asked if table == mix.TABLE} == mix.GOALS.keys()
    assert sum(1 for table, _ in asked if table == absurd.TABLE) > 20
    assert list(found.peers) == [*peer.NAMES]
    assert all(len(result.ours) >= 2 for result in found.results)
    assert found.cold.keys() == fixed.GOALS.keys()


@pytest.mark.parametrize("kind", ["one country", "turnover range, all", "`q` 5 letters, frequent"])
def test_every_peer_answers_plain_searches(whole: tuple[Path, Figures], kind: str) -> None:
    """A peer that refuses all searches would make the best of the others look slow."""
    (result,) = [r for r in whole[1].results if (r.table, r.kind) == (fixed.TABLE, kind)]

    assert {name for name, one in result.peers.items() if one.ms is not None} == set(peer.NAMES)
    assert result.processor_ratio is not None


def test_the_tables_name_every_kind_and_every_peer(whole: tuple[Path, Figures]) -> None:
    folder, found = whole
    (text,) = (path.read_text() for path in folder.glob("results/*/tables.md"))

    assert text == tables.markdown(found)
    for kind in (*fixed.GOALS, *mix.GOALS, *peer.NAMES):
        assert kind in text


def test_what_was_loaded_is_not_loaded_again(
    built: Path, whole: tuple[Path, Figures], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = whole
    monkeypatch.setattr("tests.bench.peers.loading.run", lambda command: pytest.fail("loaded"))

    assert main(["load", "--data", str(built), "--work", str(folder / "work")]) == 0


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        (["--companies", "300"], ["tests.bench.synth", "pipeline build"]),
        (["--input", "canonical"], ["pipeline build"]),
    ],
)
def test_companies_are_made_built_and_taken_away_afterwards(
    given: list[str], steps: list[str], built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def run_(command: Sequence[str]) -> Cost:
        ran.append(" ".join(takewhile(lambda word: not word.startswith("--"), command[2:])))
        if ran[-1] == "pipeline build":
            shutil.copytree(built, command[-1])
        return Cost(1.5, 1 << 20)

    monkeypatch.setattr("tests.bench.data.run", run_)
    command = [*given, "--searches", "1", "--rounds", "1", "--peers", "", "--work", f"{tmp_path}/w"]

    assert main([*command, "--results", f"{tmp_path}/results"]) == 0

    assert ran == steps
    assert not (tmp_path / "w").exists()
    (kept,) = tmp_path.glob("results/*/figures.json")
    found = figures.load(kept)
    assert found.made == {step: Cost(1.5, 1 << 20) for step in steps}
    assert "| `pipeline build` | 1.5 | 1 |  |" in tables.markdown(found)


def test_growth_compares_runs_of_several_sizes(
    whole: tuple[Path, Figures], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = whole
    slower = [replace(r, ours=[10 * ms for ms in r.ours]) for r in found.results]
    for name, run_ in (("a", found), ("b", replace(found, companies=3_000, results=slower))):
        (tmp_path / name).write_bytes(figures.dump(run_))

    assert main(["growth", str(tmp_path / "b"), str(tmp_path / "a")]) == 0

    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("| search | 300: p50 | p99 | 3,000: p50 |")
    assert len(rows) == 2 + len(fixed.GOALS) + len(mix.GOALS)
    assert all(row.endswith("| 1.00 | 1.00 |") for row in rows[2:])


def test_growth_over_one_size_is_wrong_use(whole: tuple[Path, Figures], tmp_path: Path) -> None:
    (tmp_path / "figures.json").write_bytes(figures.dump(whole[1]))

    with pytest.raises(SystemExit, match="two sizes"):
        main(["growth", str(tmp_path / "figures.json")])


def test_an_unknown_peer_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--peers", "sqlite,oracle"])

    assert "oracle is no peer; known are duckdb, sqlite, tantivy" in capsys.readouterr().err


def test_an_empty_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no published generation; build one"):
        Candidate(tmp_path)


# -- comparing -----------------------------------------------------------------------------


def _asked(data: Path, answer: Reply) -> tuple[Fake, list[Result]]:
    with Candidate(data) as candidate:
        fake = Fake({question: candidate.search(question) for question in QUESTIONS}, answer)
        return fake, compare(candidate, {"fake": fake}, QUESTIONS, random.Random(1), 0.2)


def test_a_peer_is_asked_twice_and_the_second_time_counts(data: Path) -> None:
    fake, results = _asked(data, lambda _, right: right)

    assert fake.asked == 4
    assert all(result.total == 5 and result.ratio for result in results)
    assert [result.text for result in results] == ["tri='nom'", "tri='score'"]


def test_another_total_ends_the_run_and_is_shown(data: Path) -> None:
    with pytest.raises(SystemExit, match=r"sector \(.*\): the total is 5 here, 6 in fake"):
        _asked(data, lambda _, right: replace(right, total=6))


def test_another_row_ends_the_run_and_is_shown(data: Path) -> None:
    with pytest.raises(SystemExit, match=r"row 4 is .* here, b'x' in fake"):
        _asked(data, lambda _, right: Answer(5, [*right.rows[:4], b"x"]))
    with pytest.raises(SystemExit, match="5 rows here, 0 in fake"):
        _asked(data, lambda _, right: Answer(5, []))


def test_a_slow_peer_is_interrupted_and_left_out_of_the_kind(data: Path) -> None:
    def sleep(fake: Fake, right: Answer) -> Answer:
        while not fake.interrupted:
            time.sleep(0.01)
        raise TooSlow

    fake, results = _asked(data, sleep)

    assert fake.asked == 1
    assert [result.peers["fake"] for result in results] == [Outcome(200.0, SLOW)] * 2


def test_a_peer_that_cannot_be_interrupted_is_left_out_afterwards(data: Path) -> None:
    def stay(fake: Fake, right: Answer) -> Answer:
        time.sleep(0.25)
        return right

    fake, results = _asked(data, stay)

    assert fake.asked == 1
    assert {result.peers["fake"].why for result in results} == {SLOW}


def test_what_a_peer_cannot_express_is_a_dash(data: Path) -> None:
    def refuse(fake: Fake, right: Answer) -> Answer:
        raise NotExpressible

    _, results = _asked(data, refuse)
    (line,) = figures.lines(results, "mix")

    assert {result.peers["fake"] for result in results} == {Outcome(None, NOT_EXPRESSIBLE)}
    assert line.peers["fake"].ms is None
    assert not line.ratios


# -- figures ---------------------------------------------------------------------------------


def _line(ours: list[float], outcomes: list[Outcome], goal: Goal) -> figures.Line:
    results = [Result("mix", "k", "", 1, ours, {"fake": outcome}) for outcome in outcomes]
    (line,) = figures.lines(results, "mix")
    return replace(line, goal=goal)


def test_a_goal_is_met_when_each_of_its_parts_is() -> None:
    line = _line([2.0, 1.0, 1.0, 3.0], [Outcome(40.0)], Goal())  # in turn, then alone

    assert line.met is None
    assert replace(line, goal=Goal(1, 3, 20)).met is True
    assert replace(line, goal=Goal(1, 2.9, 20)).met is False
    assert replace(line, goal=Goal(1, 3, 21)).met is False


def test_a_peer_that_is_mostly_over_the_limit_is_shown_so() -> None:
    over = Outcome(30_000.0, SLOW)

    assert _line([1.0], [over, over, Outcome(1.0)], Goal()).peers["fake"].why == SLOW
    assert _line([1.0], [over, Outcome(1.0), Outcome(1.0)], Goal()).peers["fake"].why == ""


def test_a_command_that_fails_ends_the_run_with_what_it_said() -> None:
    with pytest.raises(SystemExit, match=r"ended with 3: oh"):
        run([sys.executable, "-c", "import sys; print('oh', file=sys.stderr); sys.exit(3)"])


def test_the_memory_of_a_command_is_that_of_all_its_processes() -> None:
    work = "import subprocess, sys, time; x = bytearray(60_000_000); time.sleep(0.5)"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"

    cost = run([sys.executable, "-c", nested])

    assert cost.seconds > 0.5
    assert cost.peak > 60_000_000


def test_questions_are_the_same_for_the_same_seed(built: Path) -> None:
    with Candidate(built) as candidate:
        sample = values.sample(candidate.generation, random.Random(1))
    first, second = (mix.questions(sample, random.Random(7), 3) for _ in range(2))

    assert first == second
    assert len({question.text for question in first}) > 20
    assert all(question.offset + question.limit <= 1_000 for question in first)


def test_the_slope_is_the_exponent_of_the_size() -> None:
    assert tables.slope((100, 10_000), (1.0, 10.0)) == pytest.approx(0.5)


# -- analyses ----------------------------------------------------------------------------


def test_analyses_are_asked_of_duckdb_figure_by_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analyses = pytest.importorskip("tests.bench.analyses.__main__", exc_type=ImportError)
    chance = random.Random(5)
    found = [_company(chance, number) | {"a_comptes": number % 2 == 0} for number in range(80)]
    filed = {
        (one["iso2"], one["id"]): [
            {"etat": "annexe", "code": code, "libelle": code, "valeur": chance.uniform(-9.0, 90.0),
             "devise": "EUR", "exercice": 2024, "ordre": order}
            for order, code in enumerate(("Equity", "TotalAssets"))
        ]
        for one in found if one["a_comptes"]
    }  # fmt: skip
    served_world.publish(tmp_path / "data", found, filed)

    analyses.main([
        str(tmp_path / "data"), "--work", str(tmp_path / "work"), "--searches", "1",
        "--companies", "6", "--compared", "6",
    ])  # fmt: skip

    rows = [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert {"markets of random searches", "company", "comparable companies"} <= set(rows)
    with pytest.raises(SystemExit, match="everything: total is 3 here, 4 in DuckDB"):
        analyses._expect("everything", "total", 3, 4)
