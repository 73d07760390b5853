"""The folder of temporary files: it disappears with its process, however that ends (F6)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serve.features.export.worker_pool import TempFiles
from tests.serve.processes import ROOT

# A process that makes a file in the spool, says so, and waits.
_HOLDER = """
import sys
from pathlib import Path
from serve.features.export.worker_pool import TempFiles
folder = TempFiles(Path(sys.argv[1])).folder()
(folder / "classeur.xlsx").write_bytes(b"PK")
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_each_folder_is_new_and_all_go_at_the_end(tmp_path: Path) -> None:
    spool = TempFiles(tmp_path / "a" / "b")

    folders = [spool.folder() for _ in range(3)]

    assert len(set(folders)) == 3
    assert all(not list(folder.iterdir()) for folder in folders)
    (folders[0] / "classeur.xlsx").touch()
    spool.close()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(
    tmp_path: Path, holder: "subprocess.Popen[str]"
) -> None:
    with holder:
        assert holder.stdout
        left = Path(holder.stdout.readline().strip()) / "classeur.xlsx"
        living, later = TempFiles(tmp_path), TempFiles(tmp_path)

        own = living.folder()
        assert left.exists()
        holder.kill()
        holder.wait()
        later.open()

    assert not left.exists()
    assert own.exists()
    living.close()
    later.close()
    assert list(tmp_path.iterdir()) == []


def test_a_spool_that_cannot_be_made_is_tried_again(tmp_path: Path) -> None:
    place = tmp_path / "spool"
    place.touch()
    spool = TempFiles(place)
    with pytest.raises(FileExistsError):
        spool.open()

    place.unlink()

    assert spool.folder().is_dir()
    spool.close()


def test_a_spool_that_was_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    """By a cleaner of temporary files"""
    spool = TempFiles(tmp_path / "spool")
    spool.folder()
    shutil.rmtree(tmp_path / "spool")

    assert spool.folder().is_dir()
    spool.note("a_1.r_1")
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_pipe_or_a_link_that_others_left_in_the_spool_hangs_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "serveur-pipe")
    (tmp_path / "serveur-link").symlink_to("/dev/zero")

    files = TempFiles(tmp_path)  # would wait for a writer of the pipe for ever
    assert files.open() == []
    files.close()

    assert {path.name for path in tmp_path.iterdir()} == {"serveur-pipe", "serveur-link"}
