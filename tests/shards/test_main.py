"""The command `python -m shards`: exit codes, messages, `verify`."""

import subprocess
import sys
from pathlib import Path

import pytest

from shards.__main__ import main
from shards.generations import change_steps
from tests.shards.two_publications import EARLIER, LATER
from tests.world import company, publish


def test_a_reader_that_closes_its_end_of_a_pipe_is_not_an_error(tmp_path: Path) -> None:
    many = [company("FR", f"{number}", "Ç") for number in range(9_000)]
    first, second = publish(tmp_path, EARLIER), publish(tmp_path, [*EARLIER, *many])

    command = [sys.executable, "-m", "shards", "diff", str(tmp_path), first, second, "--rows"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (0, b"")


def test_verify_reads_the_changes_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path, EARLIER)
    publish(tmp_path, LATER)
    (folder,) = change_steps.folders(tmp_path)

    assert main(["verify", str(tmp_path)]) == 0
    (folder / "EE.changes").unlink()
    assert main(["verify", str(tmp_path)]) == 1
    assert "EE.changes is missing" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["EE.shard", "reference.json", "quality.json"])
def test_verify_names_the_file_with_a_changed_byte(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / publish(tmp_path, EARLIER) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    assert main(["verify", str(tmp_path)]) == 1
    assert f"{path} is not the file of the manifest" in capsys.readouterr().err
