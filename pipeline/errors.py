"""The errors of the batch job; each message names the value and the remedy."""

from typing import Final

_LONGEST: Final = 1_000  # characters of a message: a list of all columns has some 900
_END: Final = 300  # of them for its end, where the remedy is
_EXCERPT: Final = 120


class BuildError(Exception):
    """Base class: an input, a table or a result that a command refuses."""

    def __str__(self) -> str:
        """The message for a terminal: a damaged file may have put kilobytes of anything into it."""
        return _shorten(_printable(super().__str__()), _LONGEST, _END)


class SeedError(BuildError):
    """A reference table of `seeds/` that is missing or breaks a rule of the build."""


class FetchError(BuildError):
    """A source that cannot be fetched, or a file that is refused; the file of before stays."""


def excerpt(value: bytes | str, most: int = _EXCERPT) -> str:
    r"""The beginning of a published value, as one printable line.

    >>> excerpt(b"Soci\xc3\xa9t\xc3\xa9\0;1"), excerpt("abcdef", 3)
    ('Société�;1', 'abc…')
    """
    text = (
        value[: 4 * most + 4]
        if isinstance(value, str)
        else value[: 4 * most + 4].decode(errors="replace")
    )
    return _shorten(_printable(text).replace("\n", " ").strip(), most, 0)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _shorten(text: str, most: int, end: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most - end]}…{text[len(text) - end :]}"
