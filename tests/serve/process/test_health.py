"""The health check of the image: a server, and a mirror, which listens nowhere."""

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
from tests.proof.tools import absent, need
from tests.quota.servers import free_port
from tests.serve.processes import ROOT, children, eventually, line_of, started, stop
from tests.world import company, publish

NOW = datetime.now(UTC)
MINUTE = timedelta(minutes=1)
CONTAINERFILE = ROOT / "serve" / "deploy" / "Containerfile"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "source", [company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "source"


def mirror_of(data: Path, *options: str) -> Sequence[str]:
    return ["python", "-m", "shards", "sync", *options, "https://x.example/data", str(data)]


def test_a_server_is_healthy_while_it_answers(source: Path) -> None:
    port = str(free_port())
    with started(source, "--mirror", "--port", port) as process:
        line_of(process)
        init = Path(f"/proc/{process.pid}/cmdline")
        running = health.main(init)
        words = init.read_text().split("\0")
        (worker,) = children(process.pid)
        os.kill(worker, signal.SIGSTOP)
        hanging = health.main(init)
        os.kill(worker, signal.SIGCONT)
        stop(process)

    assert (running, hanging) == (0, 1)
    assert "does not answer" in health.find_fault(words, {}, NOW)


def test_the_port_of_a_server_may_stand_in_the_environment() -> None:
    port = str(free_port())

    said = health.find_fault(["python", "-m", "serve"], {"SOCIETES_PORT": port}, NOW)

    assert said.startswith(f"127.0.0.1:{port} does not answer")


def test_a_mirror_that_never_found_its_source_is_not_healthy(tmp_path: Path) -> None:
    said = health.find_fault(mirror_of(tmp_path, "--follow", "60"), {}, NOW)

    assert said == f"{tmp_path}: the source was never found"


@pytest.mark.parametrize(
    ("follow", "age", "healthy"), [("60", 9, True), ("60", 11, False), ("1800", 89, True),
                                   ("1800", 91, False)]
)  # fmt: skip
def test_a_mirror_is_healthy_for_some_rounds_after_it_found_its_source(
    tmp_path: Path, follow: str, age: int, healthy: bool
) -> None:
    pointer.note_mirrored(tmp_path, NOW - age * MINUTE)

    assert (health.find_fault(mirror_of(tmp_path, f"--follow={follow}"), {}, NOW) == "") is healthy


def test_a_mirror_is_healthy_while_files_come(tmp_path: Path) -> None:
    """The first round of a large base takes hours."""
    part = tmp_path / ".mirror" / f"{'0' * 64}.part"
    part.parent.mkdir()
    part.touch()
    for path in (part, part.parent):
        os.utime(path, (NOW.timestamp(), NOW.timestamp()))  # NOW is that of the start of the tests
    words = mirror_of(tmp_path, "--follow", "60")

    assert health.find_fault(words, {}, NOW + 5 * MINUTE) == ""
    assert "the last sign" in health.find_fault(words, {}, NOW + 15 * MINUTE)


def test_the_data_of_a_mirror_are_found_whatever_stands_before_them(tmp_path: Path) -> None:
    """The switches are those that the command has."""
    parser = argparse.ArgumentParser()
    sync.COMMANDS["sync"][0](parser)
    switches = [one.option_strings[0] for one in parser._actions if one.nargs == 0]
    pointer.note_mirrored(tmp_path, NOW)

    assert [name for name in switches if name != "-h"] == list(health._SWITCHES)
    options = ("--keep", "3", "--accept-old", "--public-key=key.pub", "--pays", "EE,UK")
    assert health.find_fault(mirror_of(tmp_path, *options), {}, NOW) == ""


@contextmanager
def as_first_process(command: Sequence[str]) -> Iterator[str]:
    """Run a command as a container does, as process 1 of its own; its id here."""
    unshare = need("unshare", "util-linux")
    with subprocess.Popen(
        [unshare, "--fork", "--pid", "--mount-proc", "--kill-child", *command], cwd=ROOT
    ) as process:
        try:
            yield str(process.pid)
        finally:
            process.kill()


def test_the_check_of_the_image_follows_the_life_of_a_mirror(source: Path, tmp_path: Path) -> None:
    """As process 1, as in a container; what the Containerfile says is run beside it."""
    (check,) = [
        one for one in dockerfile.parse_file(str(CONTAINERFILE)) if one.cmd == "HEALTHCHECK"
    ]
    assert check.value[:2] == ("CMD", "python")
    enter = need("nsenter", "util-linux")
    data = tmp_path / "data"
    command = [sys.executable, "-m", "shards", "sync", str(source), str(data), "--follow", "0.2"]
    with as_first_process(command) as pid:
        if not eventually(lambda: pointer.mirrored_at(data) is not None):
            reason = "no process can have a name space of its own here"
            pytest.skip(reason) if os.geteuid() else absent(reason)
        (first,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

        def asked() -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                [enter, "--target", first, "--pid", "--mount", sys.executable, *check.value[2:]],
                cwd=ROOT, text=True, capture_output=True, check=False, timeout=60,
            )  # fmt: skip

        found = asked()
        shutil.rmtree(source)
        long_ago = datetime.now(UTC) - 11 * MINUTE
        assert eventually(lambda: _noted(data, long_ago))
        lost = asked()

    assert (found.returncode, found.stdout, found.stderr) == (0, "healthy\n", "")
    assert (lost.returncode, lost.stdout) == (1, "")
    assert lost.stderr.startswith(f"{data}: the last sign of the source is of ")


def _noted(data: Path, moment: datetime) -> bool:
    """Let eleven minutes pass; False if a round that was under way has noted the present again."""
    pointer.note_mirrored(data, moment)
    seen = pointer.mirrored_at(data)
    return seen is not None and seen < moment + MINUTE
