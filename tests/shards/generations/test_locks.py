"""Locks: one writer at a time, and no removal of a generation that is open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shards.__main__ import main
from shards.errors import GenerationError
from shards.generations import generation_files, locks
from tests.world import Company, company, publish

COMPANIES = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def more_companies(count: int) -> list[Company]:
    """COMPANIES and `count` companies of France."""
    return [*COMPANIES, *(company("FR", f"{number}", "Œuvre") for number in range(count))]


def test_one_process_writes_at_a_time_and_the_error_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path, COMPANIES)
    publish(tmp_path, more_companies(1))

    with locks.write_lock(tmp_path):
        assert main(["rollback", str(tmp_path)]) == 1
    assert f"by process {os.getpid()};" in capsys.readouterr().err
    assert main(["rollback", str(tmp_path)]) == 0
    assert not (tmp_path / locks.HOLDER).exists()


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from shards.generations import locks
with locks.write_lock(Path({str(tmp_path)!r})):
    os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)

    assert (tmp_path / locks.HOLDER).exists()
    with locks.write_lock(tmp_path):
        pass


def test_a_generation_that_is_being_removed_cannot_be_opened(tmp_path: Path) -> None:
    folder = tmp_path / publish(tmp_path, COMPANIES)
    with locks.removal_lock(folder) as is_locked:
        assert is_locked
        with pytest.raises(GenerationError, match="is being removed"):
            generation_files.load(tmp_path, folder.name)
