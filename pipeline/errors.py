"""The errors of the batch job; each message names the value and the remedy."""

from typing import Final

# The most characters of a message; a list of all columns takes about 900.
_MESSAGE_CHARACTERS: Final = 1_000
# The characters kept of the end of a longer message, where the remedy is.
_END_CHARACTERS: Final = 300
_EXCERPT_CHARACTERS: Final = 120  # the most characters of a quoted value


class BuildError(Exception):
    """Base class: a command refuses an input, a table or a result."""

    def __str__(self) -> str:
        """The message for a terminal, printable and shortened, since it can quote kilobytes of a damaged file."""
        return _shorten(_printable(super().__str__()), _MESSAGE_CHARACTERS, _END_CHARACTERS)


class SeedError(BuildError):
    """A reference table of `seeds/` is missing or breaks a rule of the build."""


class FetchError(BuildError):
    """A source cannot be fetched, or a file is refused; the previous file stays."""


def excerpt(value: bytes | str, most: int = _EXCERPT_CHARACTERS) -> str:
    r"""The beginning of a published value, as one printable line.

    >>> excerpt(b"Soci\xc3\xa9t\xc3\xa9\0;1"), excerpt("abcdef", 3)
    ('Société�;1', 'abc…')
    """
    # A character of UTF-8 has at most four bytes, so this part has more than `most` characters if the value has.
    text = (
        value[: 4 * most + 4]
        if isinstance(value, str)
        else value[: 4 * most + 4].decode(errors="replace")
    )
    return _shorten(_printable(text).replace("\n", " ").strip(), most, 0)


def _printable(text: str) -> str:
    """A text with U+FFFD in place of unprintable characters, except line ends."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _shorten(text: str, most: int, end: int) -> str:
    """A text of at most `most` characters and an ellipsis in place of its middle; `end` characters of its end stay."""
    if len(text) <= most:
        return text
    return f"{text[: most - end]}…{text[len(text) - end :]}"
