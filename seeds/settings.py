"""Settings: a TOML file, and the values of settings by a table of readers, with the same errors in every program."""

import tomllib
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

# What a message asks for where a value is of another type.
KINDS: Final[Mapping[type, str]] = {
    str: "a text",
    list: "a list",
    dict: "a table",
    bool: "true or false",
    float: "a number with a point, as 0.5",
}


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
        raise failure(
            f"{path} cannot be read ({error.strerror}); give the path of a file that can be"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise failure(f"{path} is not TOML in UTF-8 ({error}); correct it there") from error


def read_settings(
    values: Mapping[str, Any],
    readers: Mapping[str, Callable[[Any], Any]],
    where: str,
    failure: Callable[[str], Exception],
    *,
    kind: str = "setting",
    shown: Callable[[Any], str] | None = None,
) -> dict[str, Any]:
    """The values of settings, each by the reader of its name, which raises a ValueError or an ArgumentTypeError.

    Args:
        where: the place of the settings, for messages; `kind` is what such a name is.
        shown: how a message shows a value, where the messages of the readers do not.

    Raises:
        Exception: that of `failure`: a name is unknown, or a reader refuses its value.
    """
    if unknown := sorted(values.keys() - readers.keys()):
        raise failure(f"unknown {kind} {unknown[0]!r} in {where}; known: {', '.join(readers)}")
    found = {}
    for name, value in values.items():
        try:
            found[name] = readers[name](value)
        except (ValueError, ArgumentTypeError) as error:
            told = f" = {shown(value)}" if shown else ""
            raise failure(f"{name}{told} in {where}: {error}") from error
    return found
