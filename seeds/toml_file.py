"""A TOML file of settings as a dictionary, with the same errors in every program."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_toml(path: Path, failure: Callable[[str], Exception]) -> dict[str, Any]:
    """The document in a file.

    Args:
        failure: makes the error of the caller's program from a message.

    Raises:
        Exception: that of `failure`: the file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise failure(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise failure(f"{path} is not TOML: {error}") from error
