"""The table of the burst limits: against a dict, and under a writer that is killed anywhere."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota.bursts.shared_table import WINDOW, SharedTable, make

SLOTS = 2 * WINDOW


def made(folder: Path, slots: int = SLOTS) -> Path:
    path = folder / "table"
    path.touch()
    make(path, slots)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return made(tmp_path)


def name(home: int, number: int = 0) -> bytes:
    """A digest that is at home in that slot; no two numbers share one."""
    return home.to_bytes(8, "little") + (number + 1).to_bytes(8, "little")


NAMES = st.builds(name, st.sampled_from([0, 1, 5, SLOTS - 2, SLOTS - 1]), st.integers(0, 9))


@given(st.lists(st.tuples(NAMES, st.integers(0, 2**64 - 1))), st.integers(0, 2**64))
def test_it_is_a_dict_from_which_values_are_swept(
    tmp_path_factory: pytest.TempPathFactory, stores: list[tuple[bytes, int]], least: int
) -> None:
    table, kept = SharedTable(made(tmp_path_factory.mktemp("t")), SLOTS), dict[bytes, int]()
    for key, value in stores:
        assert table.put(key, value)
        kept[key] = value
        table.sweep(lambda value: value < least)
        kept = {key: value for key, value in kept.items() if value >= least}

        assert {key: table.get(key) for key, _ in stores if key in kept} == kept

    assert table.rows() == len(kept)
    assert all(table.get(key) is None for key, _ in stores if key not in kept)
    table.close()


def test_a_window_that_is_full_takes_nobody_and_moves_nobody(file: Path) -> None:
    table = SharedTable(file, SLOTS)
    home = SLOTS - 3  # its window goes on at the beginning
    for number in range(WINDOW):
        assert table.put(name(home, number), number)

    assert not table.put(name(home, WINDOW), 1)
    assert [table.get(name(home, number)) for number in range(WINDOW)] == list(range(WINDOW))
    assert table.put(name(home, 7), 70)
    assert table.get(name(home, 7)) == 70
    table.empty()
    assert table.rows() == 0
    table.close()


def test_what_one_process_stores_another_finds(file: Path) -> None:
    one, other = SharedTable(file, SLOTS), SharedTable(file, SLOTS)
    one.put(name(3), 2**64 - 1)

    assert other.get(name(3)) == 2**64 - 1
    one.close()
    assert other.get(name(3)) == 2**64 - 1
    other.close()


def test_a_row_is_found_by_its_whole_name_and_nowhere_between_two(file: Path) -> None:
    table = SharedTable(file, SLOTS)
    table.put(bytes(8) + b"A" * 8, 1)
    table.put(b"B" * 8 + bytes(8), 2)
    lying_across = b"A" * 8 + b"B" * 8

    assert table.get(lying_across) is None
    assert table.get(bytes(8) + b"A" * 7 + b"B") is None
    table.close()


_WRITER = """
import sys
from pathlib import Path
from quota.bursts.shared_table import Table
table = Table(Path(sys.argv[1]), 256)
print(flush=True)
number = 0
while True:
    number += 1
    for who in range(100):
        table.put(who.to_bytes(8, "little") + b"%08d" % who, number << 32 | who)
    table.sweep(lambda value: value % 3 == 0)
"""


def test_a_writer_that_is_killed_anywhere_leaves_no_number_that_was_not_stored(file: Path) -> None:
    """Each value says whose it is, so a value under another name would be seen"""
    chance = Random(1)
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout
            writer.stdout.readline()
            time.sleep(chance.uniform(0.001, 0.05))
            os.kill(writer.pid, signal.SIGKILL)
        table = SharedTable(file, SLOTS)
        for who in range(100):
            found = table.get(who.to_bytes(8, "little") + b"%08d" % who)
            assert found is None or found & 0xFFFF_FFFF == who
        table.close()
