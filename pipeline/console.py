"""The English words that the commands print for reasons and results.

Files on disk name reasons and results in French (`quality.json`, `imports/*.json`, the column `motif` of rejected
rows); these texts are data and do not change. The commands print the English words of `console.csv` instead, which also
translates the reasons of each register. A reason that is not in the table is printed unchanged.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final


def _read_words() -> Mapping[str, str]:
    """The English words by the French words, from `console.csv`."""
    with Path(__file__).with_name("console.csv").open(encoding="utf-8", newline="") as file:
        return {row["fr"]: row["en"] for row in csv.DictReader(file)}


# French word -> English word.
ENGLISH: Final = _read_words()
# Patterns of the French reasons that contain values, with their English words: a value such as `{devise}` becomes the
# group `devise` of the pattern.
_PATTERNS: Final = [
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(french))), english)
    for french, english in ENGLISH.items()
    if "{" in french
]
# A reason with a field: `reason (field)`.
_OF_FIELD: Final = re.compile(r"(.+) \(([a-z_]+)\)")


def english_reason(reason: str) -> str:
    """The English words for a reason in a report; a reason that the table lacks is returned unchanged.

    >>> english_reason("nom vide"), english_reason("sans taux EEK 2030"), english_reason("SIC 2003")
    ('empty name', 'no rate of EEK for 2030', 'SIC 2003')
    >>> english_reason("date impossible (date_creation)")
    'impossible date (date_creation)'
    """
    if reason in ENGLISH:
        return ENGLISH[reason]
    for pattern, words in _PATTERNS:
        if match := pattern.fullmatch(reason):
            return words.format_map(match.groupdict())
    of_field = _OF_FIELD.fullmatch(reason)
    if of_field and of_field[1] in ENGLISH:
        return f"{ENGLISH[of_field[1]]} ({of_field[2]})"
    return reason


def reason_and_count(reason: str, count: int) -> str:
    """A reason with its count, as in a list of reasons.

    >>> reason_and_count("nom vide", 1200)
    'empty name (1,200)'
    """
    return f"{english_reason(reason)} ({count:,})"
