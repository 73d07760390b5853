"""The texts of a workbook in French and English (labels.csv), numbers and days, and the filters of a search in words.

The texts are names of sheets, headings and explanations; the data stay French (F11). `filter_lines` leaves out the
filters that have their defaults.
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

LANGUAGES: Final = ("fr", "en")

TEXTS: Final = read_texts(Path(__file__).with_name("labels.csv"))

_SHOWN: Final = 20  # values of one filter


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


def filter_lines(
    request: ExportRequest, reference: Reference, labels: Labels
) -> Iterator[tuple[str, str]]:
    """A heading and a text for countries, sectors, each filter that is set, and the order."""
    query = request.query
    for parameter in (*parameters.SCOPE, *parameters.FILTERS, TRI):
        text = (
            _PLACES[parameter.name](query, reference, labels) if parameter.name in _PLACES else None
        )
        if parameter.name not in _PLACES and parameter.bound != "most":
            text = _in_words(parameter, query, labels)
        if text is not None:
            yield _heading(parameter, labels), text
        if parameter is IDS and request.ids_inconnus:
            yield labels("ids_inconnus"), _first_values(request.ids_inconnus)


def _heading(parameter: Parameter, labels: Labels) -> str:
    # The apostrophe of a keyboard, with which one searches a sheet.
    text = parameter.heading[labels.lang == "en"].replace("’", "'")
    return f"{text} ({parameter.unit})" if parameter.unit else text


def _in_words(parameter: Parameter, query: Query, labels: Labels) -> str | None:
    """The restriction by a parameter, None where there is none."""
    if parameter.bound:
        _, least, most = query.range_of(parameter.column)
        words = _BOUNDS[parameter.kind]
        return _range_text(words(least, labels), words(most, labels), labels) or None
    if parameter is IDS:
        ids = query.ids
        return None if ids is None else labels("found_ids", n=labels.number(len(ids)))
    value: Any = getattr(query, parameter.column or parameter.name)
    return _KINDS.get(parameter.kind, _values)(parameter, value, labels) if value else None


def _quote(_: Parameter, value: str, labels: Labels) -> str:
    return f"« {value} »" if labels.lang == "fr" else f"“{value}”"


def _choices(parameter: Parameter, values: Sequence[str], labels: Labels) -> str:
    words = (seed_tables.label(parameter.name, "", value, labels.lang) for value in values)
    return ", ".join(word for word in words if word)


def _activities(_: Parameter, codes: Sequence[str], labels: Labels) -> str:
    """The classes that the words name; the words are in the sheet Journal."""
    names = (f"{code} {seed_tables.activity_label(code, labels.lang) or ''}" for code in codes)
    return _first_values([name.strip() for name in names])


def _values(_: Parameter, values: Sequence[str], _labels: Labels) -> str:
    return _first_values(values)


def country_names(reference: Reference, labels: Labels) -> dict[str, str]:
    """The name of each country in the language of the workbook (F11)."""
    return {one.iso2: one.nom_en if labels.lang == "en" else one.nom_fr for one in reference.pays}


def sector_names(reference: Reference, labels: Labels) -> dict[str | None, str]:
    """The name of each sector by code; None has the name of companies without a sector."""
    names: dict[str | None, str] = {
        one.code: one.secteur_en if labels.lang == "en" else one.secteur
        for one in reference.secteurs
    }
    return {**names, None: labels("no_sector")}


def _countries(query: Query, reference: Reference, labels: Labels) -> str:
    if not query.pays:
        return labels("all_countries", n=len(reference.pays))
    names = country_names(reference, labels)
    return ", ".join(names[iso2] for iso2 in query.pays)


def _sectors(query: Query, reference: Reference, labels: Labels) -> str:
    if not query.secteurs:
        return labels("all_sectors", n=len(reference.secteurs))
    names = sector_names(reference, labels)
    return " ; ".join(names[code] for code in query.secteurs)


def _sub_sectors(query: Query, reference: Reference, labels: Labels) -> str | None:
    codes = query.sous_secteurs
    if codes is None:
        return None
    known = {one.code: one.sous_secteur for one in reference.sous_secteurs}
    return " ; ".join(dict.fromkeys(known[code] for code in codes)) or labels("none")


def _first_values(values: Sequence[str]) -> str:
    """The first values; the sheet Journal has what the caller sent."""
    more = ["…"] if len(values) > _SHOWN else []
    return " ; ".join([*values[:_SHOWN], *more])


def _range_text(low: str, high: str, labels: Labels) -> str:
    if low and high:
        return labels("between", low=low, high=high)
    if low:
        return labels("from", low=low)
    return labels("up_to", high=high) if high else ""


def _amount(value: float | None, labels: Labels) -> str:
    if value is None:
        return ""
    return labels.number(int(value)) if value == int(value) else str(value)


def _day(value: float | None, _labels: Labels) -> str:
    """A day of a `Query` (yyyymmdd) in ISO 8601."""
    day = int(value or 0)
    return "" if value is None else f"{day // 10_000:04}-{day // 100 % 100:02}-{day % 100:02}"


_PLACES: Final[Mapping[str, Callable[[Query, Reference, Labels], str | None]]] = {
    "pays": _countries,
    "secteur": _sectors,
    "sous_secteur": _sub_sectors,
}
_BOUNDS: Final[Mapping[str, Callable[[float | None, Labels], str]]] = {
    "number": _amount,
    "integer": _amount,
    "first day": _day,
}
_KINDS: Final[Mapping[str, Callable[[Parameter, Any, Labels], str]]] = {
    "flag": lambda _one, _value, labels: labels("yes"),
    "text": _quote,
    "choice": lambda _one, value, labels: labels(value),
    "choices": _choices,
    "activity words": _activities,
}
