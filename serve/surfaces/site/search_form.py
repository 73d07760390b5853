"""The search of the explorer, as its form shows it and as addresses contain it.

The text that a visitor entered is kept as it is, valid or not: serve/request/reader.py parses the
search, as for the API. This module fills the form and makes links: the same search with one parameter
changed, in one spelling, however often and however spelt the parameter came.

The fields of the form come from the declaration of the parameters. Bounds on a column are side by side under one
heading, with the flag that belongs to them; a list is one field. Places and states are lists to choose from
(`explorer_filters` of the search), `q` is the box above.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from serve.contract import parameters
from serve.contract.parameters import Parameter
from serve.contract.text import Text
from serve.request.place_names import PlaceNames
from serve.request.reader import Pairs
from shards.generations.reference import Reference
from shards.query import ORDERS

# What a visitor may type into a bound.
_EXAMPLES: Final = {
    ("number", "least"): Text("1,5 M", "1.5m"),
    ("number", "most"): Text("10 M", "10m"),
    ("integer", "least"): Text("min", "min"),
    ("integer", "most"): Text("max", "max"),
    ("first day", "least"): Text("AAAA-MM", "YYYY-MM"),
    ("last day", "most"): Text("AAAA-MM", "YYYY-MM"),
}
_LIST_KINDS: Final = ("texts", "postcodes", "forms", "activities", "activity words")


@dataclass(frozen=True, slots=True)
class FormField:
    """A heading, with a list or two bounds below it, and perhaps a flag."""

    first: Parameter
    last: Parameter | None = None
    flag: Parameter | None = None

    @property
    def heading(self) -> Text:
        text = self.first.heading
        return Text(*(f"{words} (€)" for words in text)) if self.first.unit else text

    @property
    def parameters(self) -> Sequence[Parameter]:
        return [one for one in (self.first, self.last, self.flag) if one]


def example(parameter: Parameter) -> Text:
    """What is written in a field while it is empty."""
    return (
        _EXAMPLES[parameter.kind, parameter.bound]
        if parameter.bound
        else Text(str(parameter.example), str(parameter.example))
    )


def _fields(declared: Sequence[Parameter]) -> list[FormField]:
    flags = {one.beside: one for one in parameters.FILTERS if one.beside}
    most = {one.column: one for one in declared if one.bound == "most"}
    return [
        FormField(one, most.get(one.column), flags.get(one.column))
        for one in declared
        if one.bound == "least" or one.kind in _LIST_KINDS
    ]


SHOWN: Final = _fields([one for one in parameters.FILTERS if one not in parameters.FURTHER])
FOLDED: Final = _fields(parameters.FURTHER)

# The parameters with several values, and the separator of the values in an address.
LISTS: Final = {one.name: one.separator for one in parameters.SEARCH if one.separator}
_SEARCH: Final = parameters.names(parameters.SEARCH)

_PLACES: Final = ("pays", "secteur", "sous_secteur")

_TEXTS: Final = tuple(name for name in _SEARCH if name not in _PLACES and name != "limit")

# An address without parameters is the front page, which searches nothing.
_EVERYTHING: Final = (("tri", ORDERS[0]),)


@dataclass(frozen=True, slots=True)
class SearchForm:
    """A search: country codes, slugs of sectors, labels of sub-sectors, the text of all other values."""

    pays: tuple[str, ...]
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...]
    values: Mapping[str, str]

    def value(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def has_more(self) -> bool:
        """Does the search have a value in the fields that the form folds away?"""
        return any(self.value(one.name) for field in FOLDED for one in field.parameters)

    @property
    def tri(self) -> str:
        return self.value("tri") or ORDERS[0]

    def pairs(self, **changes: str) -> Pairs:
        """The parameters that are not empty, in the order of §4.4.

        A change starts again at the first row, unless it changes `offset` itself.
        """
        texts = {
            "pays": ",".join(self.pays),
            "secteur": "|".join(self.secteurs),
            "sous_secteur": "|".join(self.sous_secteurs),
            **self.values,
            **({"offset": ""} if changes else {}),
            **changes,
        }
        if not texts["secteur"]:
            texts["sous_secteur"] = ""  # it applies only with a sector (B7)
        return tuple((name, texts[name]) for name in _SEARCH if texts.get(name))

    def pairs_without(self, name: str, value: str) -> Pairs:
        """The parameters of this search without one of its countries, sectors or sub-sectors."""
        kept = {"pays": self.pays, "secteur": self.secteurs, "sous_secteur": self.sous_secteurs}
        rest = LISTS[name].join(one for one in kept[name] if one != value)
        return self.pairs(**{name: rest})

    def href(self, path: str = "/", **changes: str) -> str:
        """The address of this search with some parameters changed; "" removes one."""
        return address(self.pairs(**changes), path)


def read(pairs: Pairs, names: PlaceNames, reference: Reference) -> SearchForm:
    """The search of a query string; unknown countries and sectors are dropped, as the error names them."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value.strip())
    slugs = {one.code: one.slug for one in reference.secteurs}
    divisions = _codes(_items(values, "secteur"), names.sector)
    return SearchForm(
        pays=_codes(_items(values, "pays"), names.country),
        secteurs=tuple(slugs[division] for division in divisions),
        sous_secteurs=_items(values, "sous_secteur"),
        values={name: text for name in _TEXTS if (text := _text(values, name))},
    )


def address(pairs: Pairs, path: str = "/") -> str:
    """The address of a search."""
    return f"{path}?{query_string(pairs or _EVERYTHING)}"


def query_string(pairs: Sequence[tuple[str, str]]) -> str:
    """Parameters as a query string, with readable commas (RFC 3986 §3.4)."""
    return urlencode(pairs, quote_via=quote, safe=",")


def _text(values: Mapping[str, Sequence[str]], name: str) -> str:
    """The value of a parameter; a list, however often it came, is one text."""
    if name in LISTS:
        return LISTS[name].join(_items(values, name))
    return values.get(name, [""])[-1]


def _items(values: Mapping[str, Sequence[str]], name: str) -> tuple[str, ...]:
    parts = (part.strip() for value in values.get(name, ()) for part in value.split(LISTS[name]))
    return tuple(dict.fromkeys(part for part in parts if part))


def _codes(words: Sequence[str], meaning: Callable[[str], str | None]) -> tuple[str, ...]:
    codes = (meaning(word) for word in words)
    return tuple(dict.fromkeys(code for code in codes if code is not None))
