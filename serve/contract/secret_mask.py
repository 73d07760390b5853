"""Masks for keys in the log and in errors (contract A5).

A key that a client puts into a URL by mistake would otherwise appear wherever the URL is repeated. Pure. This module
imports nothing of the contract, since the parent of the workers, which loads few modules, logs too.
"""

import re
from typing import Any, Final
from urllib.parse import unquote

# Keys have fixed prefixes (A11), which remain when a key is masked. A masked key does not match again, so a text can be
# masked twice.
_PREFIXES: Final = "soc_live_|soc_rec_|soc_lien_|soc_liste_"
# The characters of a key or token after its prefix.
_END: Final = r"[^\s\"'\\&;,…]+"
_KEY: Final = re.compile(rf"({_PREFIXES}){_END}", re.IGNORECASE)
_KEY_OR_TOKEN: Final = re.compile(rf"({_PREFIXES}|bearer(?:\s|\+|%20)+){_END}", re.IGNORECASE)
# A text is decoded word by word, so its punctuation is unchanged.
_WORD: Final = re.compile(r"[^\s\"'\\&;,]+")
# The most rounds of percent-encoding that are decoded; a word that is encoded more often is masked.
_MOST_ENCODINGS: Final = 8


def redact(text: str) -> str:
    """`text` with possible keys and other bearer tokens masked.

    >>> redact("GET /x?cle=soc_live_abcDEF123"), redact("GET /x?cle=%2573oc%5Flive_abcDEF123")
    ('GET /x?cle=soc_live_…', 'GET /x?cle=…')
    """
    return _mask(_KEY_OR_TOKEN, text)


def mask_keys(value: Any) -> Any:
    """A value of an error with the keys in its texts masked, at any depth.

    >>> mask_keys({"parametres_inconnus": ["soc_live_abcDEF123", "q"]})
    {'parametres_inconnus': ['soc_live_…', 'q']}
    """
    if isinstance(value, str):
        # Most texts have neither `%` nor `soc_`, and this test is ten times as fast as the pattern.
        return _mask(_KEY, value) if "%" in value or "soc_" in value.lower() else value
    if isinstance(value, dict):
        return {mask_keys(name): mask_keys(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(mask_keys, value))
    return value


def _mask(pattern: re.Pattern[str], text: str) -> str:
    """`text` with the matches of `pattern` masked, also in percent-encoded words."""
    masked = pattern.sub(r"\1…", text)
    if "%" not in masked:
        return masked
    return _WORD.sub(lambda word: _mask_encoded(pattern, word[0]), masked)


def _mask_encoded(pattern: re.Pattern[str], word: str) -> str:
    """A percent-encoded word, cut at its first percent sign if a match of `pattern` is hidden in it.

    A word that is encoded more than _MOST_ENCODINGS times is cut too, without being decoded further.
    """
    decoded = word
    for _ in range(_MOST_ENCODINGS):
        previous, decoded = decoded, unquote(decoded)
        if decoded == previous:
            return word
        if pattern.search(decoded):
            break
    return f"{word[: word.index('%')]}…"
