"""Folding of names and identifiers for comparison (contract B15).

The build folds each name once and the server folds `q`; both use the same function, because the results must be equal.
Folding is idempotent. Characters without a width, such as a soft hyphen, do not separate words. Folding depends on no
language (`ä` is `a`, not `ae`), and has no abbreviations and no stop words.
"""

import re
import unicodedata
from typing import Final

# Country codes in common use, with the code that this project uses for the same country (§1, contract B1).
SPELLINGS: Final = {"GB": "UK"}

# Letters that NFKD does not decompose, in the order of contract B15 (case-folding already makes `ss` of `ß`).
_LIGATURES: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}
)
_REMEMBERED: Final = 8_192  # the most characters whose folded text is kept in memory
# A run of letters and digits: `\w` is str.isalnum() or the underscore.
_WORD: Final = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    r"""The text without case, accents, ligatures and punctuation; words are separated by one blank.

    >>> fold("  Société L'Œuvre & Fils")
    'societe l oeuvre fils'
    >>> fold("ＡＢＣ Łódź-Straße 2²"), fold("Bau\u00adhaus\u200b AG")
    ('abc lodz strasse 22', 'bauhaus ag')
    """
    if text.isascii():
        lower = text.lower()
        return lower if lower.isalnum() else " ".join(_WORD.findall(lower))
    return " ".join(_WORD.findall(text.translate(_FOLDED)))


def fold_id(text: str) -> str:
    """The letters and digits of an identifier, in upper case; identifier prefixes are compared in this form.

    >>> fold_id("fn 122.119-m")
    'FN122119M'
    """
    # Upper case first: the capital of `ŉ` is an apostrophe and a letter.
    return "".join(_WORD.findall(text.upper()))


class _FoldedCharacters(dict[int, str]):
    """The folded text of each code point, by the steps of contract B15; no step depends on neighbouring characters."""

    def __missing__(self, point: int) -> str:
        """Fold the character of a code point, and remember the result if fewer than _REMEMBERED are known."""
        bare = (c for c in unicodedata.normalize("NFKD", chr(point)) if not _is_unseen(c))
        folded = "".join(bare).casefold().translate(_LIGATURES)
        if len(self) < _REMEMBERED:
            self[point] = folded
        return folded


def _is_unseen(char: str) -> bool:
    """Whether a character is a combining mark or a format character, such as a soft hyphen or a zero-width space."""
    category = unicodedata.category(char)
    return category[0] == "M" or category == "Cf"


_FOLDED: Final = _FoldedCharacters()  # filled as characters are folded
