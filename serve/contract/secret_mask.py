"""Masks of keys in texts that somebody may read: lines of the log, and errors (contract A5).

A key that is put into an address by mistake would else stand in every place that repeats the address. Pure, and without
imports of the contract: the parent of several workers logs too.
"""

import re
from typing import Any, Final


def _pattern(text: str) -> str:
    """A pattern for `text`, of which any character may be percent-encoded, once or more often."""
    return "".join(
        f"(?:{char}|%(?:25)*{ord(char):02x}|%(?:25)*{ord(char.upper()):02x})" for char in text
    )


# Keys have fixed prefixes (A11).
_PREFIXES: Final = "|".join(map(_pattern, ("soc_live_", "soc_rec_", "soc_lien_", "soc_liste_")))
_END: Final = r"[^\s\"'\\&;,]+"
_KEY: Final = re.compile(rf"({_PREFIXES}){_END}", re.IGNORECASE)
_KEY_OR_TOKEN: Final = re.compile(
    rf"({_PREFIXES}|{_pattern('bearer')}(?:\s|\+|%(?:25)*20)+){_END}", re.IGNORECASE
)


def redact(text: str) -> str:
    """`text` without anything that could be a key, or any other bearer token.

    >>> redact("GET /x?cle=soc_live_abcDEF123")
    'GET /x?cle=soc_live_…'
    """
    return _KEY_OR_TOKEN.sub(r"\1…", text)


def mask_keys(value: Any) -> Any:
    """A value of an error without keys, in its texts at any depth.

    >>> mask_keys({"parametres_inconnus": ["soc_live_abcDEF123", "q"]})
    {'parametres_inconnus': ['soc_live_…', 'q']}
    """
    if isinstance(value, str):
        # Most texts have neither, and to look for these is ten times as fast as the pattern.
        return _KEY.sub(r"\1…", value) if "%" in value or "soc_" in value.lower() else value
    if isinstance(value, dict):
        return {mask_keys(name): mask_keys(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(mask_keys, value))
    return value
