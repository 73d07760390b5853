"""The names of statement lines in the language of a workbook."""

from collections.abc import Mapping
from typing import Any

from serve.contract import seed_tables
from serve.guests.statement_table import label_of


def line_label(line: Mapping[str, Any], lang: str) -> str:
    """The name of a line: as served in French, that of the chart in English where it has the code.

    >>> line_label({"code": "Debtors", "libelle": "Créances"}, "en")
    'Debtors'
    """
    return label(line["code"], label_of(line), lang)


def label(code: str | None, libelle: str, lang: str) -> str:
    """The same for a code and the French name."""
    known = seed_tables.line_labels().get(code or "")
    return known[1] if known and lang == "en" else libelle
