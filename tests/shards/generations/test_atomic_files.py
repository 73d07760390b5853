"""Files that appear complete or not at all."""

from pathlib import Path

from shards.generations import atomic_files


def test_a_written_file_replaces_the_old_file_and_no_other_file_remains(tmp_path: Path) -> None:
    atomic_files.write(tmp_path / "x", b"un")
    atomic_files.write(tmp_path / "x", b"deux")

    assert (tmp_path / "x").read_bytes() == b"deux"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
