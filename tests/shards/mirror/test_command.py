"""The commands `sync`, `keygen` and `sign`: exit codes, errors in one line, the end of --follow."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from shards.__main__ import _parser as parser
from shards.__main__ import main
from shards.errors import GenerationError
from shards.generations import locks, pointer
from tests.proof.tools import next_line
from tests.world import company, publish

ROOT = Path(__file__).parents[3]
COMPANIES = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]
DEADLINE_S = 30.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a published generation."""
    publish(tmp_path / "source", COMPANIES)
    return tmp_path / "source"


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the folder of the test, without waits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.0)


def test_sync_reports_its_downloads_and_a_second_sync_reports_no_change(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sync", str(source), str(tmp_path / "data")]

    assert (main(command), main(command)) == (0, 0)

    first, second = capsys.readouterr().out.splitlines()
    name = pointer.current_name(source)
    assert first.startswith(f"published {name}: 6 of 6 files fetched, 0.3 MiB in ")
    assert second == f"{name} is already published"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere/CURRENT is not there"),
        (["source", "--pays", "gb,de"], "has no DE; --pays may name EE, FR, UK"),
        (["http://127.0.0.1:1"], "http://127.0.0.1:1/CURRENT cannot be read: "),
    ],
)
def test_a_failure_is_reported_in_one_line(
    source: Path,
    working_folder: None,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sync", *arguments[:1], "data", *arguments[1:]]) == 1

    error = capsys.readouterr().err
    assert error.startswith("shards: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ftp://x"], "'ftp://x' is not a source"),
        (["http://a:b@x"], "without user, password"),
        (["."], "are one folder"),
        (["x", "--pays", "E"], "'E' is not a country"),
        (["x", "--pays", "EE,"], "'' is not a country"),
        (["x", "--follow", "0"], "'0' is not a number above 0"),
        (["x", "--follow", "nan"], "'nan' is not a number above 0"),
        (["x", "--limit-rate", "fast"], "'fast' is not a number above 0"),
        (["x", "--keep", "1"], "'1' is refused; give a whole number of 2 or more"),
        (["x", "--public-key", "absent"], "absent is not a public key"),
        (["x", "--kee", "3"], "unrecognized arguments: --kee 3"),
    ],
)
def test_wrong_use_exits_with_2_and_names_the_value(
    working_folder: None, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sync", *arguments[:1], ".", *arguments[1:]])

    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_sync_with_a_public_key_requires_a_signature(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, data = tmp_path / "key", str(tmp_path / "data")
    sync = ["sync", str(source), data, "--public-key", f"{key}.pub"]

    assert main(["keygen", "--key", str(key)]) == 0
    assert main(sync) == 1
    assert "`python -m shards sign` signs it" in capsys.readouterr().err
    assert main(["sign", str(source), "--key", str(key)]) == 0
    assert main(sync) == 0
    assert capsys.readouterr().out.startswith(f"signed {pointer.current_name(source)}\n")


def test_the_commands_of_the_readme_are_valid(working_folder: None) -> None:
    commands = re.findall(
        r"^python -m shards ((?:sync|keygen|sign) [^#\n]+)",
        (ROOT / "shards" / "README.md").read_text(),
        re.M,
    )
    main(["keygen", "--key", "societes.key"])

    parsed = [parser().parse_args(command.split()) for command in commands]

    assert len(parsed) == 6


def test_follow_mirrors_new_generations_survives_failures_and_ends_with_0(
    source: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with _follow(source, data) as process:
        assert f"published {pointer.current_name(source)}" in next_line(process, DEADLINE_S)
        with _hold_lock(data):
            assert "another build or rollback is under way" in next_line(process, DEADLINE_S)
        second = publish(source, [*COMPANIES, company("FR", "9", "Œuvre")])
        assert f"published {second}: 3 of 6 files fetched" in _line_after_lock(process)
        source.rename(tmp_path / "away")
        assert "CURRENT is not there" in next_line(process, DEADLINE_S)
        third = publish(tmp_path / "away", [*COMPANIES, company("FR", "8", "Œuvre")])
        (tmp_path / "away").rename(source)
        assert f"published {third}" in next_line(process, DEADLINE_S)

        process.terminate()

        assert process.wait(DEADLINE_S) == 0
        assert process.stdout
        assert process.stdout.read() == ""


def test_a_stopped_sync_fails_and_the_next_sync_continues(source: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "shards", "sync", str(source), str(data)]
    with subprocess.Popen(
        [*command, "--limit-rate", "0.02"], cwd=ROOT, text=True, stderr=subprocess.PIPE
    ) as process:
        while not list(data.glob(".mirror/*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)

        assert process.wait(DEADLINE_S) == 1
        assert process.stderr
        assert process.stderr.read().startswith("shards: stopped; the downloaded files are kept")
    assert pointer.current_name(data) is None
    assert main(command[3:]) == 0


def test_a_rate_limit_is_kept(source: Path, tmp_path: Path) -> None:
    """0.17 MiB at 0.1 MiB per second"""
    start_seconds = os.times().elapsed

    assert main(["sync", str(source), str(tmp_path / "data"), "--limit-rate", "0.1"]) == 0

    assert os.times().elapsed - start_seconds > 1.5


def _line_after_lock(process: "subprocess.Popen[str]") -> str:
    """The next line that is not about the lock: a second line names its process, if the first could not yet."""
    while "another build or rollback" in (line := next_line(process, DEADLINE_S)):
        pass
    return line


@contextmanager
def _hold_lock(data: Path) -> Iterator[None]:
    """Hold the write lock of `data`, as a build does, as soon as the mirror releases it."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locks.write_lock(data))
                break
            except GenerationError:
                time.sleep(0.001)
        yield


@contextmanager
def _follow(source: Path, data: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run `sync --follow` with a round every 0.05 s; kill it after the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "shards", "sync", str(source), str(data), "--follow", "0.05"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
