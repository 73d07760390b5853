"""Files that appear complete or not at all."""

from pathlib import Path

from shards.generations import atomic_files


def test_a_file_that_is_written_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    atomic_files.write(tmp_path / "x", b"un")
    atomic_files.write(tmp_path / "x", b"deux")

    assert (tmp_path / "x").read_bytes() == b"deux"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
