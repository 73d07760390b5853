"""The texts of a workbook in French and English (labels.csv), numbers and days, and the filters of a search in words.

The texts are names of sheets, headings and explanations; the data stay French (F11). `filter_lines` omits filters with
their default values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from serve.contract import notation, parameters, seed_tables
from serve.contract.parameters import IDS, TRI, Parameter
from serve.contract.text import read_texts
from serve.features.export.workbook.export_data import ExportRequest
from shards.generations.reference import Reference
from shards.generations.register_sources import RegisterImport
from shards.query import Query

# The languages of labels.csv, in the order of its columns.
LANGUAGES: Final = ("fr", "en")

# The texts by name, each in all languages.
TEXTS: Final = read_texts(Path(__file__).with_name("labels.csv"))

# The most values of a filter that are shown; an ellipsis stands for further values.
_MOST_VALUES: Final = 20


class Labels:
    """The texts of one language, by name."""

    def __init__(self, lang: str) -> None:
        """Choose the texts of `lang`, one of LANGUAGES."""
        self.lang = lang
        self._language_index = LANGUAGES.index(lang)

    def __call__(self, name: str, **values: Any) -> str:
        """The text `name`, with `values` in its placeholders."""
        return TEXTS[name][self._language_index].format(**values)

    def number(self, value: int) -> str:
        """A count as text, with separated thousands.

        >>> Labels("en").number(12345), Labels("fr").number(12345) == "12\u202f345"
        ('12,345', True)
        """
        return notation.whole_number(value, self.lang)

    def attribution(self, register_import: RegisterImport) -> str:
        """The words that the licence of a register demands, and the name of the licence."""
        words = register_import.attribution_en if self.lang == "en" else register_import.attribution
        return f"{words} ({register_import.licence})"

    def date(self, text: str) -> str:
        """A date of a register's file as text: a day, a month or a year.

        >>> Labels("en").date("2024-09"), Labels("fr").date("2026-11-01"), Labels("fr").date("2022")
        ('September 2024', '1er novembre 2026', '2022')
        """
        return notation.date(text, self.lang)

    def day(self, moment: datetime) -> str:
        """A day as text, with the name of the month.

        >>> Labels("fr").day(datetime(2026, 11, 21))
        '21 novembre 2026'
        """
        return notation.date(f"{moment:%Y-%m-%d}", self.lang)


def filter_lines(
    request: ExportRequest, reference: Reference, labels: Labels
) -> Iterator[tuple[str, str]]:
    """A heading and a text for countries, sectors, each filter that is set, and the order."""
    query = request.query
    for parameter in (*parameters.SCOPE, *parameters.FILTERS, TRI):
        text = (
            _SCOPE_TEXTS[parameter.name](query, reference, labels)
            if parameter.name in _SCOPE_TEXTS
            else None
        )
        # Two bounds of one column share a line, at the lower bound.
        if parameter.name not in _SCOPE_TEXTS and parameter.bound != "most":
            text = _describe(parameter, query, labels)
        if text is not None:
            yield _heading(parameter, labels), text
        if parameter is IDS and request.ids_inconnus:
            yield labels("ids_inconnus"), _first_values(request.ids_inconnus)


def _heading(parameter: Parameter, labels: Labels) -> str:
    """The heading of a filter, with its unit."""
    # With the apostrophe of the keyboard, a reader can search the sheet for the text.
    text = parameter.heading[labels.lang == "en"].replace("’", "'")
    return f"{text} ({parameter.unit})" if parameter.unit else text


def _describe(parameter: Parameter, query: Query, labels: Labels) -> str | None:
    """The restriction by a parameter in words; None without a restriction."""
    if parameter.bound:
        _, least, most = query.range_of(parameter.column)
        bound_text = _BOUND_TEXTS[parameter.kind]
        return _range_text(bound_text(least, labels), bound_text(most, labels), labels) or None
    if parameter is IDS:
        ids = query.ids
        return None if ids is None else labels("found_ids", n=labels.number(len(ids)))
    value: Any = getattr(query, parameter.column or parameter.name)
    return (
        _VALUE_TEXTS.get(parameter.kind, _list_values)(parameter, value, labels) if value else None
    )


def _quote(_: Parameter, value: str, labels: Labels) -> str:
    """A text in the quotation marks of the language."""
    return f"« {value} »" if labels.lang == "fr" else f"“{value}”"


def _choices(parameter: Parameter, values: Sequence[str], labels: Labels) -> str:
    """The labels of chosen values, separated by commas."""
    words = (seed_tables.label(parameter.name, "", value, labels.lang) for value in values)
    return ", ".join(word for word in words if word)


def _activities(_: Parameter, codes: Sequence[str], labels: Labels) -> str:
    """The classes named by the words of `activite`; the words themselves are in the sheet Journal."""
    names = (f"{code} {seed_tables.activity_label(code, labels.lang) or ''}" for code in codes)
    return _first_values([name.strip() for name in names])


def _list_values(_: Parameter, values: Sequence[str], _labels: Labels) -> str:
    """The values of a filter whose values have no labels."""
    return _first_values(values)


def country_names(reference: Reference, labels: Labels) -> dict[str, str]:
    """The name of each country in the language of the workbook (F11)."""
    return {
        country.iso2: country.nom_en if labels.lang == "en" else country.nom_fr
        for country in reference.pays
    }


def sector_names(reference: Reference, labels: Labels) -> dict[str | None, str]:
    """The name of each sector by code; the code None has the text for companies without a sector."""
    names: dict[str | None, str] = {
        sector.code: sector.secteur_en if labels.lang == "en" else sector.secteur
        for sector in reference.secteurs
    }
    return {**names, None: labels("no_sector")}


def _countries(query: Query, reference: Reference, labels: Labels) -> str:
    """The names of the chosen countries, or the number of all countries."""
    if not query.pays:
        return labels("all_countries", n=len(reference.pays))
    names = country_names(reference, labels)
    return ", ".join(names[iso2] for iso2 in query.pays)


def _sectors(query: Query, reference: Reference, labels: Labels) -> str:
    """The names of the chosen sectors, or the number of all sectors."""
    if not query.secteurs:
        return labels("all_sectors", n=len(reference.secteurs))
    names = sector_names(reference, labels)
    return " ; ".join(names[code] for code in query.secteurs)


def _sub_sectors(query: Query, reference: Reference, labels: Labels) -> str | None:
    """The names of the chosen sub-sectors; None without this filter."""
    codes = query.sous_secteurs
    if codes is None:
        return None
    names = {sub_sector.code: sub_sector.sous_secteur for sub_sector in reference.sous_secteurs}
    return " ; ".join(dict.fromkeys(names[code] for code in codes)) or labels("none")


def _first_values(values: Sequence[str]) -> str:
    """The first values as one text. The sheet Journal has all values as the caller sent them."""
    ellipsis = ["…"] if len(values) > _MOST_VALUES else []
    return " ; ".join([*values[:_MOST_VALUES], *ellipsis])


def _range_text(low: str, high: str, labels: Labels) -> str:
    """A range in words; an empty text stands for a missing bound."""
    if low and high:
        return labels("between", low=low, high=high)
    if low:
        return labels("from", low=low)
    return labels("up_to", high=high) if high else ""


def _amount(value: float | None, labels: Labels) -> str:
    """A bound that is a number, as text; "" if the bound is missing."""
    if value is None:
        return ""
    return labels.number(int(value)) if value == int(value) else str(value)


def _day(value: float | None, _labels: Labels) -> str:
    """A bound that is a day of a `Query` (the number yyyymmdd), in ISO 8601; "" if the bound is missing."""
    day = int(value or 0)
    return "" if value is None else f"{day // 10_000:04}-{day // 100 % 100:02}-{day % 100:02}"


# The functions that describe countries and sectors; their names come from the reference.
_SCOPE_TEXTS: Final[Mapping[str, Callable[[Query, Reference, Labels], str | None]]] = {
    "pays": _countries,
    "secteur": _sectors,
    "sous_secteur": _sub_sectors,
}
# The functions that describe bounds, and other values, by the kind of the parameter.
_BOUND_TEXTS: Final[Mapping[str, Callable[[float | None, Labels], str]]] = {
    "number": _amount,
    "integer": _amount,
    "first day": _day,
}
_VALUE_TEXTS: Final[Mapping[str, Callable[[Parameter, Any, Labels], str]]] = {
    "flag": lambda _parameter, _value, labels: labels("yes"),
    "text": _quote,
    "choice": lambda _parameter, value, labels: labels(value),
    "choices": _choices,
    "activity words": _activities,
}
