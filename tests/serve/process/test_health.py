"""The health check of the image, for a server and for a mirror, which has no port."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dockerfile
import pytest

from serve.process import health
from shards.generations import pointer
from shards.mirror import command as sync
from tests.proof.tools import need, skip_or_fail
from tests.quota.servers import free_port
from tests.serve.processes import ROOT, children, eventually, read_line, server_process, stop
from tests.world import company, publish

NOW = datetime.now(UTC)
MINUTE = timedelta(minutes=1)
CONTAINERFILE = ROOT / "serve" / "deploy" / "Containerfile"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A published generation of one company."""
    publish(tmp_path / "source", [company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "source"


def mirror_command(data: Path, *options: str) -> Sequence[str]:
    """The command line of a mirror, which the health check reads."""
    return ["python", "-m", "shards", "sync", *options, "https://x.example/data", str(data)]


def test_a_server_is_healthy_while_it_answers(source: Path) -> None:
    """0 is healthy; a stopped worker does not answer, which is 1"""
    port = str(free_port())
    with server_process(source, "--mirror", "--port", port) as process:
        read_line(process)
        command_file = Path(f"/proc/{process.pid}/cmdline")
        # The check waits 4 s for an answer.
        is_healthy = eventually(lambda: health.main(command_file) == 0)
        command_words = command_file.read_text().split("\0")
        (worker,) = children(process.pid)
        os.kill(worker, signal.SIGSTOP)
        while_stopped = health.main(command_file)
        os.kill(worker, signal.SIGCONT)
        stop(process)

    assert (is_healthy, while_stopped) == (True, 1)
    assert "does not answer" in health.find_fault(command_words, {}, NOW)


def test_the_port_of_a_server_may_be_in_the_environment() -> None:
    port = str(free_port())

    fault = health.find_fault(["python", "-m", "serve"], {"SOCIETES_PORT": port}, NOW)

    assert fault.startswith(f"127.0.0.1:{port} does not answer")


def test_a_mirror_that_never_found_its_source_is_not_healthy(tmp_path: Path) -> None:
    fault = health.find_fault(mirror_command(tmp_path, "--follow", "60"), {}, NOW)

    assert fault == f"{tmp_path}: the source was never found"


@pytest.mark.parametrize(
    ("follow", "age", "healthy"), [("60", 9, True), ("60", 11, False), ("1800", 89, True),
                                   ("1800", 91, False)]
)  # fmt: skip
def test_a_mirror_is_healthy_for_some_rounds_after_it_found_its_source(
    tmp_path: Path, follow: str, age: int, healthy: bool
) -> None:
    """`follow` is the seconds between rounds, `age` the minutes since the last round: the limit is 3 rounds, and at
    least 10 minutes.
    """
    pointer.note_mirrored(tmp_path, NOW - age * MINUTE)

    assert (
        health.find_fault(mirror_command(tmp_path, f"--follow={follow}"), {}, NOW) == ""
    ) is healthy


def test_a_mirror_is_healthy_while_it_receives_files(tmp_path: Path) -> None:
    """The first round of a large source takes hours"""
    partial_file = tmp_path / ".mirror" / f"{'0' * 64}.part"
    partial_file.parent.mkdir()
    partial_file.touch()
    # Otherwise the files would be as new as this test, which can run minutes after NOW was set.
    for path in (partial_file, partial_file.parent):
        os.utime(path, (NOW.timestamp(), NOW.timestamp()))
    command_words = mirror_command(tmp_path, "--follow", "60")

    assert health.find_fault(command_words, {}, NOW + 5 * MINUTE) == ""
    assert "the last sign" in health.find_fault(command_words, {}, NOW + 15 * MINUTE)


def test_the_data_folder_of_a_mirror_may_follow_any_options(tmp_path: Path) -> None:
    """So the health check must know which options of the command have no value"""
    parser = argparse.ArgumentParser()
    sync.COMMANDS["sync"][0](parser)
    switches = [action.option_strings[0] for action in parser._actions if action.nargs == 0]
    pointer.note_mirrored(tmp_path, NOW)

    assert [name for name in switches if name != "-h"] == list(health._SWITCHES)
    options = ("--keep", "3", "--accept-old", "--public-key=key.pub", "--pays", "EE,UK")
    assert health.find_fault(mirror_command(tmp_path, *options), {}, NOW) == ""


@contextmanager
def run_as_first_process(command: Sequence[str]) -> Iterator[str]:
    """Run a command as process 1 of a new namespace, as a container does.

    The block receives the id of the parent of that process.
    """
    unshare = need("unshare", "util-linux")
    with subprocess.Popen(
        [unshare, "--fork", "--pid", "--mount-proc", "--kill-child", *command], cwd=ROOT
    ) as process:
        try:
            yield str(process.pid)
        finally:
            process.kill()


def test_the_check_of_the_image_follows_the_life_of_a_mirror(source: Path, tmp_path: Path) -> None:
    """The mirror is process 1, as in a container; the check of the Containerfile runs in its namespace."""
    (check,) = [
        command
        for command in dockerfile.parse_file(str(CONTAINERFILE))
        if command.cmd == "HEALTHCHECK"
    ]
    assert check.value[:2] == ("CMD", "python")
    enter = need("nsenter", "util-linux")
    data = tmp_path / "data"
    command = [sys.executable, "-m", "shards", "sync", str(source), str(data), "--follow", "0.2"]
    with run_as_first_process(command) as pid:
        if not eventually(lambda: pointer.last_mirror_time(data) is not None):
            reason = "this machine allows no new process namespace"
            pytest.skip(reason) if os.geteuid() else skip_or_fail(reason)
        (mirror_pid,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

        def run_check() -> "subprocess.CompletedProcess[str]":
            """Run the health check in the namespace of the mirror."""
            return subprocess.run(
                [enter, "--target", mirror_pid, "--pid", "--mount", sys.executable, *check.value[2:]],
                cwd=ROOT, text=True, capture_output=True, check=False, timeout=60,
            )  # fmt: skip

        healthy = run_check()
        shutil.rmtree(source)
        long_ago = datetime.now(UTC) - 11 * MINUTE

        def finds_no_source() -> bool:
            """Note an old mirror and run the check; False if the end of a round has replaced the note."""
            checks.append(run_check() if _note_mirrored(data, long_ago) else None)
            return checks[-1] is not None and checks[-1].returncode != 0

        checks: list[subprocess.CompletedProcess[str] | None] = []
        assert eventually(finds_no_source)
        without_source = checks[-1]
        assert without_source

    assert (healthy.returncode, healthy.stdout, healthy.stderr) == (0, "healthy\n", "")
    assert (without_source.returncode, without_source.stdout) == (1, "")
    assert without_source.stderr.startswith(f"{data}: the last sign of the source is of ")


def _note_mirrored(data: Path, moment: datetime) -> bool:
    """Note an earlier moment of the last mirror; False if a round in progress has replaced it."""
    pointer.note_mirrored(data, moment)
    noted = pointer.last_mirror_time(data)
    return noted is not None and noted < moment + MINUTE
