"""The texts of a workbook in French and English (labels.csv), with its numbers and days.

They are names of sheets, headings and explanations; the data stay French (F11).
"""

from datetime import datetime
from pathlib import Path
from typing import Any, Final

from serve.contract import notation
from serve.contract.text import read_texts
from shards.generations.register_sources import RegisterImport

LANGUAGES: Final = ("fr", "en")

TEXTS: Final = read_texts(Path(__file__).with_name("labels.csv"))


class Labels:
    """The texts of one language, by name."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._place = LANGUAGES.index(lang)

    def __call__(self, name: str, **values: Any) -> str:
        """The text of that name, with `values` in their places."""
        return TEXTS[name][self._place].format(**values)

    def number(self, value: int) -> str:
        """A count within a sentence.

        >>> Labels("en").number(12345), Labels("fr").number(12345) == "12\u202f345"
        ('12,345', True)
        """
        return notation.whole_number(value, self.lang)

    def attribution(self, register_import: RegisterImport) -> str:
        """The words that the licence of a register demands, and its name."""
        words = register_import.attribution_en if self.lang == "en" else register_import.attribution
        return f"{words} ({register_import.licence})"

    def date(self, text: str) -> str:
        """A date of a register's file within a sentence: a day, a month or a year.

        >>> Labels("en").date("2024-09"), Labels("fr").date("2026-11-01"), Labels("fr").date("2022")
        ('September 2024', '1er novembre 2026', '2022')
        """
        return notation.date(text, self.lang)

    def day(self, moment: datetime) -> str:
        """A day within a sentence.

        >>> Labels("fr").day(datetime(2026, 11, 21))
        '21 novembre 2026'
        """
        return notation.date(f"{moment:%Y-%m-%d}", self.lang)
