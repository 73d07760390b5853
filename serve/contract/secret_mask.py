"""Masks of keys in texts that somebody may read: lines of the log, and errors (contract A5).

A key that is put into an address by mistake would else stand in every place that repeats the address. Pure, and without
imports of the contract: the parent of several workers logs too.
"""

import re
from typing import Any, Final
from urllib.parse import unquote

# Keys have fixed prefixes (A11). A masked one is no key again.
_PREFIXES: Final = "soc_live_|soc_rec_|soc_lien_|soc_liste_"
_END: Final = r"[^\s\"'\\&;,…]+"
_KEY: Final = re.compile(rf"({_PREFIXES}){_END}", re.IGNORECASE)
_KEY_OR_TOKEN: Final = re.compile(rf"({_PREFIXES}|bearer(?:\s|\+|%20)+){_END}", re.IGNORECASE)
# A text is decoded word by word, so its marks stay as they are.
_WORD: Final = re.compile(r"[^\s\"'\\&;,]+")
# A word that is percent-encoded more often is masked without being read.
_MOST_ENCODINGS: Final = 8


def redact(text: str) -> str:
    """`text` without anything that could be a key, or any other bearer token.

    >>> redact("GET /x?cle=soc_live_abcDEF123"), redact("GET /x?cle=%2573oc%5Flive_abcDEF123")
    ('GET /x?cle=soc_live_…', 'GET /x?cle=…')
    """
    return _mask(_KEY_OR_TOKEN, text)


def mask_keys(value: Any) -> Any:
    """A value of an error without keys, in its texts at any depth.

    >>> mask_keys({"parametres_inconnus": ["soc_live_abcDEF123", "q"]})
    {'parametres_inconnus': ['soc_live_…', 'q']}
    """
    if isinstance(value, str):
        # Most texts have neither, and to look for these is ten times as fast as the pattern.
        return _mask(_KEY, value) if "%" in value or "soc_" in value.lower() else value
    if isinstance(value, dict):
        return {mask_keys(name): mask_keys(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(mask_keys, value))
    return value


def _mask(secret: re.Pattern[str], text: str) -> str:
    """`text` without what the pattern finds in it, or in one of its words once decoded."""
    masked = secret.sub(r"\1…", text)
    if "%" not in masked:
        return masked
    return _WORD.sub(lambda word: _mask_encoded(secret, word[0]), masked)


def _mask_encoded(secret: re.Pattern[str], word: str) -> str:
    """A word, up to its first percent sign alone if a secret is in it once it is decoded."""
    decoded = word
    for _ in range(_MOST_ENCODINGS):
        before, decoded = decoded, unquote(decoded)
        if decoded == before:
            return word
        if secret.search(decoded):
            break
    return f"{word[: word.index('%')]}…"
