"""The spool, a folder of temporary files: the files of a process disappear with it, even after a kill (F6)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serve.features.export.worker_pool import TempFiles
from tests.serve.processes import ROOT

# A process that creates a file in the spool, prints its folder, and waits.
_FILE_HOLDER = """
import sys
from pathlib import Path
from serve.features.export.worker_pool import TempFiles
folder = TempFiles(Path(sys.argv[1])).folder()
(folder / "classeur.xlsx").write_bytes(b"PK")
print(folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file_holder(tmp_path: Path) -> "subprocess.Popen[str]":
    """A running process with a file in the spool."""
    return subprocess.Popen(
        [sys.executable, "-c", _FILE_HOLDER, str(tmp_path)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_each_folder_is_new_and_close_removes_them_all(tmp_path: Path) -> None:
    spool = TempFiles(tmp_path / "a" / "b")

    folders = [spool.folder() for _ in range(3)]

    assert len(set(folders)) == 3
    assert all(not list(folder.iterdir()) for folder in folders)
    (folders[0] / "classeur.xlsx").touch()
    spool.close()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_files_of_a_killed_process_are_removed_and_files_of_a_running_process_stay(
    tmp_path: Path, file_holder: "subprocess.Popen[str]"
) -> None:
    with file_holder:
        assert file_holder.stdout
        old_file = Path(file_holder.stdout.readline().strip()) / "classeur.xlsx"
        running_spool, next_spool = TempFiles(tmp_path), TempFiles(tmp_path)

        own_folder = running_spool.folder()
        assert old_file.exists()
        file_holder.kill()
        file_holder.wait()
        next_spool.open()

    assert not old_file.exists()
    assert own_folder.exists()
    running_spool.close()
    next_spool.close()
    assert list(tmp_path.iterdir()) == []


def test_a_spool_that_could_not_be_created_is_created_later(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.touch()
    spool = TempFiles(path)
    with pytest.raises(FileExistsError):
        spool.open()

    path.unlink()

    assert spool.folder().is_dir()
    spool.close()


def test_a_removed_spool_is_created_again(tmp_path: Path) -> None:
    """The system may clean up folders of temporary files."""
    spool = TempFiles(tmp_path / "spool")
    spool.folder()
    shutil.rmtree(tmp_path / "spool")

    assert spool.folder().is_dir()
    spool.note("a_1.r_1")
    spool.close()
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_foreign_pipe_or_link_in_the_spool_does_not_block_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "serveur-pipe")
    (tmp_path / "serveur-link").symlink_to("/dev/zero")

    files = TempFiles(tmp_path)  # opening the pipe would wait forever for a writer
    assert files.open() == []
    files.close()

    assert {path.name for path in tmp_path.iterdir()} == {"serveur-pipe", "serveur-link"}
