"""Reasons and formulas of answers in the language of the caller.

An answer has the reason of a null figure (`motif`), the reasons of a candidate (`raisons`), and the formula of a ratio
(`formule`). Inside the server these are codes. `write_reasons` and `reasons_of_match` add the words. The codes remain
in the answer, for programs (`motif_code`, `raisons_codes`, `formule_code`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.text import TABLES, read_texts
from shards.ratios.ratio_table import ratios

# A text in French, then in English, so that `lang == "en"` is its index.
TextPair = tuple[str, str]

# The texts of the reasons why a figure is null, by their codes.
MOTIFS: Final = read_texts(TABLES / "motifs.csv")

# The texts of the reasons for a candidate, by the codes of the evidence (shards/matching/evidence.py).
RAISONS: Final = read_texts(TABLES / "raisons.csv")

# A part of a formula: the name of a line or of a ratio, an operator, or a number with decimals.
_PART: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*(?:-[a-z][A-Za-z]*)*)(?P<before>@-1)?(?P<optional>\?)?"
    r"|(?P<sign> - | \* | \| )|(?P<number>(?<!\d)\d++\.\d+)"
)
# The words for each operator of a formula.
_SIGNS: Final[Mapping[str, TextPair]] = {
    " - ": (" − ", " − "),
    " * ": (" × ", " × "),
    " | ": (" ou, à défaut, ", " or else "),
}
# The words after a name that is followed by `@-1` (of the year before) or by `?` (left out if it is not filed).
_BEFORE: Final = (" (exercice précédent)", " (year before)")
_OPTIONAL: Final = (" (si déposé)", " (if filed)")
# The name in a formula for the months of the fiscal year.
_MONTHS: Final = "mois"
_MONTHS_TEXTS: Final = ("mois", "months")


def motif(code: str, lang: str) -> str:
    """A reason in words; the statement lines that it names follow a colon.

    >>> motif("poste_absent: ProfitLoss", "en")
    'lines that were not filed: Profit (loss) for the year'
    """
    name, _, lines = code.partition(": ")
    english = lang == "en"
    text = MOTIFS[name][english]
    if not lines:
        return text
    labels = ", ".join(_name_in_words(line, english) for line in lines.split(", "))
    return f"{text}{': ' if english else ' : '}{labels}"


def formule(text: str, lang: str) -> str:
    """A formula of the table of ratios in words.

    >>> formule("(resultat) / (total_actif) × 12 / mois", "en")
    '(Profit (loss) for the year) / (Total assets) × 12 / months'
    >>> formule("6.56 * total_actif", "fr")
    "6,56 × Total de l'actif"
    """
    english = lang == "en"

    def write_part(match: re.Match[str]) -> str:
        """A name or an operator of the formula in words; a number with the decimal sign of the language."""
        if match["number"]:
            return match["number"] if english else match["number"].replace(".", ",")
        if match["sign"]:
            return _SIGNS[match["sign"]][english]
        before = _BEFORE[english] if match["before"] else ""
        optional = _OPTIONAL[english] if match["optional"] else ""
        return f"{_name_in_words(match['name'], english)}{before}{optional}"

    return _PART.sub(write_part, text)


def write_reasons(value: Any, lang: str) -> Any:
    """Fill in the words of reasons and formulas (`motif`) from their codes (`motif_code`), at any depth."""
    if isinstance(value, list):
        return [write_reasons(item, lang) for item in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    members = {name: write_reasons(member, lang) for name, member in vars(value).items()}
    for name, words in _WORDS.items():
        if (code := members.get(f"{name}_code")) is not None:
            members[name] = words(code, lang)
    return type(value)(**members)


def reasons_of_match(codes: Sequence[str], lang: str) -> list[str]:
    """The reasons of a candidate in words."""
    return [RAISONS[code][lang == "en"] for code in codes]


def _name_in_words(name: str, english: bool) -> str:
    """The words for a name in a formula: a ratio, a line of the chart of accounts, or the months of a year."""
    if name == _MONTHS:
        return _MONTHS_TEXTS[english]
    if row := ratios().get(name):
        return row.libelle["en" if english else "fr"]
    return seed_tables.line_labels()[name][english]


# The functions that put the code of a field into words, by the name of the field.
_WORDS: Final = {"motif": motif, "formule": formule}
