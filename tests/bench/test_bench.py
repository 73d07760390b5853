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

# Two questions of one kind.
QUESTIONS = [Question("mix", "sector", Query(tri=tri)) for tri in ("nom", "score")]


class FakePeer:
    """A peer that has the right answers, and a rule that changes them."""

    def __init__(self, right: Mapping[Question, Answer], answer: "Reply") -> None:
        self.right, self.answer, self.interrupted, self.searches = right, answer, False, 0

    def search(self, question: Question) -> Answer:
        self.searches += 1
        return self.answer(self, self.right[question])

    def interrupt(self) -> None:
        self.interrupted = True

    def close(self) -> None: ...


# Takes the peer and the right answer; returns the answer of the peer.
Reply = Callable[[FakePeer, Answer], Answer]


@pytest.fixture(scope="module")
def bench_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The DATA folder of a published generation of 300 companies."""
    data = tmp_path_factory.mktemp("built")
    chance = random.Random(3)
    companies = [_random_company(chance, number) for number in range(300)]
    world.publish(data, companies)
    return data


def _random_company(chance: random.Random, number: int) -> world.Company:
    """A company of a random country with random values, also null, zero and negative; `number` makes its identifier."""
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
def complete_run(
    bench_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Figures]:
    """A complete run: its folder and its figures."""
    folder = tmp_path_factory.mktemp("bench")
    command = ["--data", str(bench_data), "--searches", "2", "--rounds", "2", "--keep"]
    command += ["--work", str(folder / "work"), "--results", str(folder / "results")]
    assert main(command) == 0
    (results,) = (folder / "results").iterdir()
    return folder, figures.load(results / "figures.json")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The DATA folder of five companies."""
    companies = [world.company("EE", str(n), f"Öö {n}", score=n) for n in range(5)]
    world.publish(tmp_path, companies)
    return tmp_path


# -- a complete run -------------------------------------------------------------------------


def test_a_run_asks_every_engine_every_kind_of_search(complete_run: tuple[Path, Figures]) -> None:
    _, run_figures = complete_run
    kinds = {(result.table, result.kind) for result in run_figures.results}

    assert run_figures.companies == 300
    assert {kind for table, kind in kinds if table == fixed.TABLE} == fixed.GOALS.keys()
    assert {kind for table, kind in kinds if table == mix.TABLE} == mix.GOALS.keys()
    assert sum(1 for table, _ in kinds if table == absurd.TABLE) > 20  # kinds of absurd searches
    assert list(run_figures.peers) == [*peer.NAMES]
    assert all(len(result.ours) >= 2 for result in run_figures.results)
    assert run_figures.cold.keys() == fixed.GOALS.keys()


@pytest.mark.parametrize("kind", ["one country", "turnover range, all", "`q` 5 letters, frequent"])
def test_every_peer_answers_plain_searches(complete_run: tuple[Path, Figures], kind: str) -> None:
    """A peer that refuses all searches would not be in the comparison."""
    (result,) = [r for r in complete_run[1].results if (r.table, r.kind) == (fixed.TABLE, kind)]

    assert {name for name, outcome in result.peers.items() if outcome.ms is not None} == set(
        peer.NAMES
    )
    assert result.processor_ratio is not None


def test_the_tables_name_every_kind_and_every_peer(complete_run: tuple[Path, Figures]) -> None:
    folder, run_figures = complete_run
    (text,) = (path.read_text() for path in folder.glob("results/*/tables.md"))

    assert text == tables.markdown(run_figures)
    for kind in (*fixed.GOALS, *mix.GOALS, *peer.NAMES):
        assert kind in text


def test_loaded_peers_are_not_loaded_again(
    bench_data: Path, complete_run: tuple[Path, Figures], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = complete_run
    monkeypatch.setattr("tests.bench.peers.loading.run", lambda command: pytest.fail("loaded"))

    assert main(["load", "--data", str(bench_data), "--work", str(folder / "work")]) == 0


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (["--companies", "300"], ["tests.bench.synth", "pipeline build"]),
        (["--input", "canonical"], ["pipeline build"]),
    ],
)
def test_companies_are_created_built_and_removed_afterwards(
    options: list[str],
    steps: list[str],
    bench_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = []

    def record_command(command: Sequence[str]) -> Cost:
        """Note the command without its options; the build gets a copy of a built generation."""
        commands.append(" ".join(takewhile(lambda word: not word.startswith("--"), command[2:])))
        if commands[-1] == "pipeline build":
            shutil.copytree(bench_data, command[-1])
        return Cost(1.5, 1 << 20)

    monkeypatch.setattr("tests.bench.data.run", record_command)
    command = [
        *options,
        "--searches",
        "1",
        "--rounds",
        "1",
        "--peers",
        "",
        "--work",
        f"{tmp_path}/w",
    ]

    assert main([*command, "--results", f"{tmp_path}/results"]) == 0

    assert commands == steps
    assert not (tmp_path / "w").exists()
    (results,) = tmp_path.glob("results/*/figures.json")
    run_figures = figures.load(results)
    assert run_figures.made == {step: Cost(1.5, 1 << 20) for step in steps}
    assert "| `pipeline build` | 1.5 | 1 |  |" in tables.markdown(run_figures)


def test_growth_compares_runs_of_several_sizes(
    complete_run: tuple[Path, Figures], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run_figures = complete_run
    slower = [replace(r, ours=[10 * ms for ms in r.ours]) for r in run_figures.results]
    for name, run_ in (
        ("a", run_figures),
        ("b", replace(run_figures, companies=3_000, results=slower)),
    ):
        (tmp_path / name).write_bytes(figures.dump(run_))

    assert main(["growth", str(tmp_path / "b"), str(tmp_path / "a")]) == 0

    rows = capsys.readouterr().out.splitlines()
    assert rows[0].startswith("| search | 300: p50 | p99 | 3,000: p50 |")
    # A heading and a rule; then ten times the companies with ten times the times, a slope of 1.
    assert len(rows) == 2 + len(fixed.GOALS) + len(mix.GOALS)
    assert all(row.endswith("| 1.00 | 1.00 |") for row in rows[2:])


def test_growth_over_one_size_is_refused(
    complete_run: tuple[Path, Figures], tmp_path: Path
) -> None:
    (tmp_path / "figures.json").write_bytes(figures.dump(complete_run[1]))

    with pytest.raises(SystemExit, match="two sizes"):
        main(["growth", str(tmp_path / "figures.json")])


def test_an_unknown_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--peers", "sqlite,oracle"])

    assert "oracle is not a peer; use duckdb, sqlite, tantivy" in capsys.readouterr().err


def test_an_empty_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no published generation; build one"):
        Candidate(tmp_path)


# -- comparing -----------------------------------------------------------------------------


def _compare_with_fake(data: Path, answer: Reply) -> tuple[FakePeer, list[Result]]:
    """Compare the candidate with a peer that gives `answer`, with a limit of 0.2 s."""
    with Candidate(data) as candidate:
        fake = FakePeer({question: candidate.search(question) for question in QUESTIONS}, answer)
        return fake, compare(candidate, {"fake": fake}, QUESTIONS, random.Random(1), 0.2)


def test_a_peer_is_asked_twice_and_the_second_time_counts(data: Path) -> None:
    fake, results = _compare_with_fake(data, lambda _, right: right)

    assert fake.searches == 4  # two questions, twice
    assert all(result.total == 5 and result.ratio for result in results)
    assert [result.text for result in results] == ["tri='nom'", "tri='score'"]


def test_a_different_total_ends_the_run_and_is_shown(data: Path) -> None:
    with pytest.raises(SystemExit, match=r"sector \(.*\): the total is 5 here, 6 in fake"):
        _compare_with_fake(data, lambda _, right: replace(right, total=6))


def test_a_different_row_ends_the_run_and_is_shown(data: Path) -> None:
    with pytest.raises(SystemExit, match=r"row 4 is .* here, b'x' in fake"):
        _compare_with_fake(data, lambda _, right: Answer(5, [*right.rows[:4], b"x"]))
    with pytest.raises(SystemExit, match="5 rows here, 0 in fake"):
        _compare_with_fake(data, lambda _, right: Answer(5, []))


def test_a_slow_peer_is_interrupted_and_left_out_of_the_kind(data: Path) -> None:
    def wait_for_interrupt(fake: FakePeer, right: Answer) -> Answer:
        """Answer only with TooSlow, once the watchdog interrupts the peer."""
        while not fake.interrupted:
            time.sleep(0.01)
        raise TooSlow

    fake, results = _compare_with_fake(data, wait_for_interrupt)

    # The second question is of the same kind, so it is not asked.
    assert fake.searches == 1
    # The outcome of a slow peer is its time limit, 0.2 s.
    assert [result.peers["fake"] for result in results] == [Outcome(200.0, SLOW)] * 2


def test_a_peer_that_cannot_be_interrupted_is_left_out_afterwards(data: Path) -> None:
    def sleep_past_the_limit(fake: FakePeer, right: Answer) -> Answer:
        time.sleep(0.25)
        return right

    fake, results = _compare_with_fake(data, sleep_past_the_limit)

    # The second question is of the same kind, so it is not asked.
    assert fake.searches == 1
    assert {result.peers["fake"].why for result in results} == {SLOW}


def test_a_search_that_a_peer_cannot_express_is_a_dash(data: Path) -> None:
    def refuse(fake: FakePeer, right: Answer) -> Answer:
        raise NotExpressible

    _, results = _compare_with_fake(data, refuse)
    (line,) = figures.lines(results, "mix")

    assert {result.peers["fake"] for result in results} == {Outcome(None, NOT_EXPRESSIBLE)}
    assert line.peers["fake"].ms is None
    assert not line.ratios


# -- figures ---------------------------------------------------------------------------------


def _figures_line(ours: list[float], outcomes: list[Outcome], goal: Goal) -> figures.Line:
    """The line of one kind: our runs in milliseconds, and an outcome of the peer per search."""
    results = [Result("mix", "k", "", 1, ours, {"fake": outcome}) for outcome in outcomes]
    (line,) = figures.lines(results, "mix")
    return replace(line, goal=goal)


def test_a_goal_is_met_when_each_part_is_met() -> None:
    # The first run, of 2 ms, counts for the ratio to the peer (20); the others have a p50 of 1 ms and a p99 of 3 ms.
    line = _figures_line([2.0, 1.0, 1.0, 3.0], [Outcome(40.0)], Goal())

    assert line.met is None
    assert replace(line, goal=Goal(p50=1, p99=3, ratio=20)).met is True
    assert replace(line, goal=Goal(p50=1, p99=2.9, ratio=20)).met is False
    assert replace(line, goal=Goal(p50=1, p99=3, ratio=21)).met is False


def test_a_peer_that_is_mostly_over_the_limit_is_shown_as_slow() -> None:
    slow_outcome = Outcome(30_000.0, SLOW)

    assert (
        _figures_line([1.0], [slow_outcome, slow_outcome, Outcome(1.0)], Goal()).peers["fake"].why
        == SLOW
    )
    assert (
        _figures_line([1.0], [slow_outcome, Outcome(1.0), Outcome(1.0)], Goal()).peers["fake"].why
        == ""
    )


# -- commands, questions and slopes --------------------------------------------------------


def test_a_command_that_fails_ends_the_run_with_its_errors() -> None:
    with pytest.raises(SystemExit, match=r"ended with 3: oh"):
        run([sys.executable, "-c", "import sys; print('oh', file=sys.stderr); sys.exit(3)"])


def test_the_memory_of_a_command_includes_its_descendants() -> None:
    work = "import subprocess, sys, time; x = bytearray(60_000_000); time.sleep(2)"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"

    cost = run([sys.executable, "-c", nested])

    assert cost.seconds > 2
    assert cost.peak > 60_000_000


def test_questions_are_the_same_for_the_same_seed(bench_data: Path) -> None:
    with Candidate(bench_data) as candidate:
        sample = values.sample(candidate.generation, random.Random(1))
    drawn_first, drawn_second = (mix.questions(sample, random.Random(7), 3) for _ in range(2))

    assert drawn_first == drawn_second
    assert len({question.text for question in drawn_first}) > 20
    # No question asks beyond the cap of 1000 rows.
    assert all(question.offset + question.limit <= 1_000 for question in drawn_first)


def test_the_slope_is_the_exponent_of_the_size() -> None:
    assert tables.slope((100, 10_000), (1.0, 10.0)) == pytest.approx(0.5)


# -- analyses ----------------------------------------------------------------------------


def test_analyses_are_compared_with_duckdb_figure_by_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analyses = pytest.importorskip("tests.bench.analyses.__main__", exc_type=ImportError)
    chance = random.Random(5)
    companies = [
        _random_company(chance, number) | {"a_comptes": number % 2 == 0} for number in range(80)
    ]
    statements = {
        (company["iso2"], company["id"]): [
            {"etat": "annexe", "code": code, "libelle": code, "valeur": chance.uniform(-9.0, 90.0),
             "devise": "EUR", "exercice": 2024, "ordre": order}
            for order, code in enumerate(("Equity", "TotalAssets"))
        ]
        for company in companies if company["a_comptes"]
    }  # fmt: skip
    served_world.publish(tmp_path / "data", companies, statements)

    analyses.main([
        str(tmp_path / "data"), "--work", str(tmp_path / "work"), "--searches", "1",
        "--companies", "6", "--compared", "6",
    ])  # fmt: skip

    rows = [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert {"markets of random searches", "company", "comparable companies"} <= set(rows)
    with pytest.raises(SystemExit, match="everything: total is 3 here, 4 in DuckDB"):
        analyses._expect("everything", "total", 3, 4)
