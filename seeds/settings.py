"""Readers that all programs share: whole numbers of arguments and settings, and files in TOML.

Their errors name the refused value and the remedy.
"""

import tomllib
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")
V = TypeVar("V")

# The most digits that are read: longer numbers are beyond every bound, and Python refuses to convert very long ones.
_DIGITS: Final = 18


def whole_number(
    least: int = 0, most: int | None = None, reason: str = ""
) -> Callable[[object], int]:
    """The reader of whole numbers from `least` to `most`, each an int or a text of digits.

    Args:
        reason: the reason for the bounds, for the message.

    The reader raises ValueError with the remedy; the caller names the value, as `naming_value` does.

    >>> whole_number(1)("12"), whole_number(0, 9)(9)
    (12, 9)
    """
    bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
    remedy = f"give a whole number {bounds}" + (f": {reason}" if reason else "")

    def read(value: object) -> int:
        """The value as an integer within the bounds; a text can have ASCII digits only."""
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
    """`read` with an error that also names the value, as errors of a command line must.

    >>> naming_value(whole_number(1))("x")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: 'x' is refused; give a whole number of 1 or more
    """

    def read_named(value: V) -> T:
        """`read`, with the refused value in the message of the error."""
        try:
            return read(value)
        except ValueError as error:
            remedy = str(error)
            raise ArgumentTypeError(f"{value!r} is refused; {remedy}") from error

    return read_named


def read_toml(path: Path, failure: Callable[[str], Exception]) -> dict[str, Any]:
    """The document in a file, which may begin with the byte order mark that editors on Windows write.

    Args:
        failure: makes the error of the caller's program from a message.

    Raises:
        Exception: from `failure`: the file cannot be read, is not TOML, or has a null character (no path has one).
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        place = _place_of_null(document)
    except OSError as error:
        raise failure(
            f"{path} cannot be read ({error.strerror}); give the path of a readable file"
        ) from error
    except ValueError as error:  # of the syntax, of the encoding, or of a number with 4 300 digits
        raise failure(f"{path} is not TOML in UTF-8 ({error}); correct it there") from error
    except RecursionError as error:
        raise failure(f"{path} is nested too deeply; remove brackets there") from error
    if place is not None:
        raise failure(f"{path} [{place}]: a text has a null character; remove it")
    return document


def _place_of_null(value: object, place: str = "") -> str | None:
    """The place (keys joined by dots) of a text with a null character in a document; None without such a text."""
    if isinstance(value, str):
        return place if "\0" in value else None
    if isinstance(value, list):
        value = dict(enumerate(value))
    inner = value.items() if isinstance(value, dict) else ()
    places = (_place_of_null(text, f"{place}.{key}".lstrip(".")) for key, text in inner)
    return next(filter(None, places), None)
