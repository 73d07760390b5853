"""The one reader of whole numbers in arguments, variables and files of settings, with one wording in all programs."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Final, TypeVar

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
