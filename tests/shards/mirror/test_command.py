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
FOUND = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]
SECONDS = 30.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "source", FOUND)
    return tmp_path / "source"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the test, without waits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.0)


def test_sync_says_what_it_did_and_then_that_there_is_nothing_to_do(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sync", str(source), str(tmp_path / "data")]

    assert (main(command), main(command)) == (0, 0)

    first, second = capsys.readouterr().out.splitlines()
    name = pointer.current_name(source)
    assert first.startswith(f"published {name}: 6 of 6 files fetched, 0.3 MiB in ")
    assert second == f"{name} is published already"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere/CURRENT is not there"),
        (["source", "--pays", "gb,de"], "has no DE; --pays may name EE, FR, UK"),
        (["http://127.0.0.1:1"], "http://127.0.0.1:1/CURRENT cannot be read: "),
    ],
)
def test_what_fails_says_so_in_one_line(
    source: Path, here: None, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sync", *arguments[:1], "data", *arguments[1:]]) == 1

    error = capsys.readouterr().err
    assert error.startswith("shards: ")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://x"], "'ftp://x' is no source"),
        (["http://a:b@x"], "without user, password"),
        (["."], "are one folder"),
        (["x", "--pays", "E"], "'E' is no country"),
        (["x", "--pays", "EE,"], "'' is no country"),
        (["x", "--follow", "0"], "'0' is no number above 0"),
        (["x", "--follow", "nan"], "'nan' is no number above 0"),
        (["x", "--limit-rate", "fast"], "'fast' is no number above 0"),
        (["x", "--keep", "1"], "'1' is refused; give a whole number of 2 or more"),
        (["x", "--public-key", "absent"], "absent is no public key"),
        (["x", "--kee", "3"], "unrecognized arguments: --kee 3"),
    ],
)
def test_wrong_use_is_2_and_names_the_value(
    here: None, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sync", *arguments[:1], ".", *arguments[1:]])

    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_a_key_is_made_signs_and_is_asked_for(
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


def test_the_commands_of_the_manual_are_commands(here: None) -> None:
    commands = re.findall(
        r"^python -m shards ((?:sync|keygen|sign) [^#\n]+)",
        (ROOT / "shards" / "README.md").read_text(),
        re.M,
    )
    main(["keygen", "--key", "societes.key"])

    known = [parser().parse_args(command.split()) for command in commands]

    assert len(known) == 6


def test_following_takes_up_what_comes_survives_what_fails_and_ends_with_0(
    source: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with _following(source, data) as process:
        assert f"published {pointer.current_name(source)}" in next_line(process, SECONDS)
        with _held(data):
            assert "another build or rollback is under way" in next_line(process, SECONDS)
        second = publish(source, [*FOUND, company("FR", "9", "Œuvre")])
        assert f"published {second}: 3 of 6 files fetched" in next_line(process, SECONDS)
        source.rename(tmp_path / "away")
        assert "CURRENT is not there" in next_line(process, SECONDS)
        third = publish(tmp_path / "away", [*FOUND, company("FR", "8", "Œuvre")])
        (tmp_path / "away").rename(source)
        assert f"published {third}" in next_line(process, SECONDS)

        process.terminate()

        assert process.wait(SECONDS) == 0
        assert process.stdout
        assert process.stdout.read() == ""


def test_a_sync_that_is_stopped_fails_and_goes_on_the_next_time(
    source: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "shards", "sync", str(source), str(data)]
    with subprocess.Popen(
        [*command, "--limit-rate", "0.02"], cwd=ROOT, text=True, stderr=subprocess.PIPE
    ) as process:
        while not list(data.glob(".mirror/*.part")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)

        assert process.wait(SECONDS) == 1
        assert process.stderr
        assert process.stderr.read().startswith("shards: stopped; what has come is kept")
    assert pointer.current_name(data) is None
    assert main(command[3:]) == 0


def test_a_rate_is_kept_to(source: Path, tmp_path: Path) -> None:
    """0.17 MiB at 0.1 MiB a second."""
    before = os.times().elapsed

    assert main(["sync", str(source), str(tmp_path / "data"), "--limit-rate", "0.1"]) == 0

    assert os.times().elapsed - before > 1.5


@contextmanager
def _held(data: Path) -> Iterator[None]:
    """Write to `data`, as a build or a rollback would, as soon as the mirror does not."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locks.write_lock(data))
                break
            except GenerationError:
                time.sleep(0.001)
        yield


@contextmanager
def _following(source: Path, data: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "shards", "sync", str(source), str(data), "--follow", "0.05"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
