"""TOML files of editors, scripts and accidents: each is read, or refused with its path and a remedy."""

from pathlib import Path

import pytest

from seeds.settings import read_toml


class RefusedError(Exception):
    """The error of a program that reads the file."""


def read(folder: Path, content: bytes) -> dict[str, object]:
    """The settings of a file with this content."""
    path = folder / "settings.toml"
    path.write_bytes(content)
    return read_toml(path, RefusedError)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbfport = 1\n", b"port = 1\r\n"])
def test_files_of_windows_are_read(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, content) == {"port": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"port = " + b"9" * 5_000, r"is not TOML in UTF-8 \(.*\); correct it there"),
        ("port = 1".encode("utf-16"), r"is not TOML in UTF-8 \(.*\); correct it there"),
        (b"port = " + b"[" * 5_000, "is nested too deeply; remove brackets there"),
        (b"[" + b".".join([b"a"] * 5_000) + b"]", "is nested too deeply; remove brackets there"),
        (rb'work = "a\u0000b"', r"\[work\]: a text has a null character; remove it"),
        (b'[source.ee]\nsize = [1, "\\u0000"]', r"\[source\.ee\.size\.1\]: a text has a"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=rf"^{tmp_path}/settings\.toml .*{message}"):
        read(tmp_path, content)
