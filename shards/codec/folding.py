"""How names and identifiers are compared (contract B15): one folding for both sides.

The build folds each name once, the server folds `q`; they must agree to the letter, so there is
one function. Folding is idempotent and changes no already folded text. What it leaves out: it
knows no language (`ä` is `a`, not `ae`), no abbreviation and no stop word.
"""

import re
import unicodedata
from typing import Final

# Letters that NFKD does not take apart, in the order of contract B15 (`ß` is case-folded to `ss`).
_LIGATURES: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}
)
# A run of letters and digits: `\w` is str.isalnum() or the underscore.
_WORD: Final = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """`text` without case, accents, ligatures and punctuation; words separated by one blank.

    >>> fold("  Société L'Œuvre & Fils")
    'societe l oeuvre fils'
    >>> fold("ＡＢＣ Łódź-Straße 2²")
    'abc lodz strasse 22'
    """
    if text.isascii():
        return " ".join(_WORD.findall(text.lower()))
    bare = (c for c in unicodedata.normalize("NFKD", text) if not _is_mark(c))
    return " ".join(_WORD.findall("".join(bare).casefold().translate(_LIGATURES)))


def fold_id(text: str) -> str:
    """Letters and digits of an identifier, upper-case: what an identifier prefix is matched on.

    >>> fold_id("fn 122.119-m")
    'FN122119M'
    """
    # Upper-case first: the capital of `ŉ` is a letter and an apostrophe.
    return "".join(_WORD.findall(text.upper()))


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"
