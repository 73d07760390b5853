"""Reasons and formulas of answers in the language of the caller.

Figures that are null say why (`motif`), candidates of a list why they are candidates (`raisons`), ratios how they are
computed (`formule`). Inside the server these are codes; `with_reasons` and `reasons_of_match` write the words, and keep
the codes beside them for programs (`motif_code`, `raisons_codes`, `formule_code`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.text import TABLES, read_texts
from shards.ratios.ratio_table import ratios

# French and English, as everywhere.
Texts = tuple[str, str]

MOTIFS: Final = read_texts(TABLES / "motifs.csv")

# By the code of an evidence (shards/matching/evidence.py).
RAISONS: Final = read_texts(TABLES / "raisons.csv")

# A name of a line or of a row of the table of ratios, or a sign, in a formula.
_PART: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*(?:-[a-z][A-Za-z]*)*)(?P<before>@-1)?(?P<optional>\?)?"
    r"|(?P<sign> - | \* | \| )"
)
_SIGNS: Final[Mapping[str, Texts]] = {
    " - ": (" − ", " − "),
    " * ": (" × ", " × "),
    " | ": (" ou, à défaut, ", " or else "),
}
_BEFORE: Final = (" (exercice précédent)", " (year before)")
_OPTIONAL: Final = (" (si déposé)", " (if filed)")
_MONTHS: Final = "mois"
_MONTHS_TEXTS: Final = ("mois", "months")


def motif(code: str, lang: str) -> str:
    """A reason in words; the lines that it names stand behind a colon.

    >>> motif("poste_absent: ProfitLoss", "en")
    'lines that were not filed: Profit (loss) for the year'
    """
    name, _, lines = code.partition(": ")
    english = lang == "en"
    text = MOTIFS[name][english]
    if not lines:
        return text
    named = ", ".join(_word(line, english) for line in lines.split(", "))
    return f"{text}{': ' if english else ' : '}{named}"


def formule(text: str, lang: str) -> str:
    """A formula of the table of ratios in words.

    >>> formule("(resultat) / (total_actif) × 12 / mois", "en")
    '(Profit (loss) for the year) / (Total assets) × 12 / months'
    """
    english = lang == "en"

    def in_words(match: re.Match[str]) -> str:
        if match["sign"]:
            return _SIGNS[match["sign"]][english]
        before = _BEFORE[english] if match["before"] else ""
        optional = _OPTIONAL[english] if match["optional"] else ""
        return f"{_word(match['name'], english)}{before}{optional}"

    return _PART.sub(in_words, text)


def with_reasons(value: Any, lang: str) -> Any:
    """An object with its reasons and formulas in words (`motif`), made from their codes (`motif_code`)."""
    if isinstance(value, list):
        return [with_reasons(one, lang) for one in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    found = {name: with_reasons(member, lang) for name, member in vars(value).items()}
    for name, words in _WORDS.items():
        if (code := found.get(f"{name}_code")) is not None:
            found[name] = words(code, lang)
    return type(value)(**found)


def reasons_of_match(codes: Sequence[str], lang: str) -> list[str]:
    """The reasons of a candidate in words."""
    return [RAISONS[code][lang == "en"] for code in codes]


def _word(name: str, english: bool) -> str:
    """A line of the chart, a row of the table of ratios, or the months of a year, in words."""
    if name == _MONTHS:
        return _MONTHS_TEXTS[english]
    if row := ratios().get(name):
        return row.libelle["en" if english else "fr"]
    return seed_tables.line_labels()[name][english]


_WORDS: Final = {"motif": motif, "formule": formule}
