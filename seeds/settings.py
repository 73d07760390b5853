"""Readers that every program has: whole numbers of arguments and settings, and files in TOML.

Their errors name what is refused, and the remedy.
"""

import tomllib
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")
V = TypeVar("V")

_DIGITS: Final = 18  # more are beyond every bound, and beyond what Python reads of a text


def whole_number(
    least: int = 0, most: int | None = None, reason: str = ""
) -> Callable[[object], int]:
    """The reader of whole numbers from `least` to `most`, each an int or a text of digits.

    Args:
        reason: why these are the bounds; a message says it.

    It raises ValueError with what to give; the caller names the value, as `naming_value` does.

    >>> whole_number(1)("12"), whole_number(0, 9)(9)
    (12, 9)
    """
    bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
    remedy = f"give a whole number {bounds}" + (f": {reason}" if reason else "")

    def read(value: object) -> int:
        is_text = isinstance(value, str) and value.isascii() and value.isdigit()
        if is_text and len(str(value)) <= _DIGITS:
            value = int(str(value))
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(remedy)
        if value < least or (most is not None and value > most):
            raise ValueError(remedy)
        return value

    return read


def naming_value(read: Callable[[V], T]) -> Callable[[V], T]:
    """`read` with an error that names the value too, as one of a command line must.

    >>> naming_value(whole_number(1))("x")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: 'x' is refused; give a whole number of 1 or more
    """

    def read_named(value: V) -> T:
        try:
            return read(value)
        except ValueError as error:
            remedy = str(error)
            raise ArgumentTypeError(f"{value!r} is refused; {remedy}") from error

    return read_named


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
