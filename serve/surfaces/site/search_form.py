"""The search of the explorer in its form and in addresses.

The text that a visitor entered is unchanged, even if it is invalid: serve/request/reader.py parses the search, as for
the API. This module fills the form and makes links to the same search with a parameter changed. Links have a single
spelling, even if a parameter was repeated or spelt differently.

The fields of the form come from the declaration of the parameters. The two bounds of a column are side by side under a
heading, with their flag; a list is one field. Countries, sectors and states are options (`explorer_filters` of the
search); `q` is the search box above the form.
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

# The placeholders of the fields for bounds, by kind and bound.
_BOUND_PLACEHOLDERS: Final = {
    ("number", "least"): Text("1,5 M", "1.5m"),
    ("number", "most"): Text("10 M", "10m"),
    ("integer", "least"): Text("min", "min"),
    ("integer", "most"): Text("max", "max"),
    ("first day", "least"): Text("AAAA-MM", "YYYY-MM"),
    ("last day", "most"): Text("AAAA-MM", "YYYY-MM"),
}
# The kinds of parameters that are a list in one field of the form.
_LIST_KINDS: Final = ("texts", "postcodes", "forms", "activities", "activity words")


@dataclass(frozen=True, slots=True)
class FormField:
    """A heading with a list (`first`) or two bounds (`first`, `last`); some fields also have a flag."""

    first: Parameter
    last: Parameter | None = None
    flag: Parameter | None = None

    @property
    def heading(self) -> Text:
        """The heading, with the unit € for amounts."""
        text = self.first.heading
        return Text(*(f"{words} (€)" for words in text)) if self.first.unit else text

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The parameters that the field sets."""
        return [parameter for parameter in (self.first, self.last, self.flag) if parameter]


def example(parameter: Parameter) -> Text:
    """The placeholder of the field for a parameter, in French and English."""
    return (
        _BOUND_PLACEHOLDERS[parameter.kind, parameter.bound]
        if parameter.bound
        else Text(str(parameter.example), str(parameter.example))
    )


def _fields(declared: Sequence[Parameter]) -> list[FormField]:
    """The form fields of parameters: one for each list, and one for both bounds of a column, with its flag if any."""
    flags = {parameter.beside: parameter for parameter in parameters.FILTERS if parameter.beside}
    upper_bounds = {
        parameter.column: parameter for parameter in declared if parameter.bound == "most"
    }
    return [
        FormField(parameter, upper_bounds.get(parameter.column), flags.get(parameter.column))
        for parameter in declared
        if parameter.bound == "least" or parameter.kind in _LIST_KINDS
    ]


# The fields that are always visible, then the fields in the folded part of the form.
SHOWN: Final = _fields(
    [parameter for parameter in parameters.FILTERS if parameter not in parameters.EXTENSION_FILTERS]
)
FOLDED: Final = _fields(parameters.EXTENSION_FILTERS)

# The parameters with several values, and the separator of the values in an address.
LISTS: Final = {
    parameter.name: parameter.separator for parameter in parameters.SEARCH if parameter.separator
}
# The names of the parameters of a search, in the order of §4.
_SEARCH: Final = parameters.names(parameters.SEARCH)

# The parameters that are fields of `SearchForm` and not texts of its `values`.
_COUNTRY_AND_SECTOR: Final = ("pays", "secteur", "sous_secteur")

# The parameters in `SearchForm.values`.
_TEXTS: Final = tuple(
    name for name in _SEARCH if name not in _COUNTRY_AND_SECTOR and name != "limit"
)

# The parameters of the search for all companies: `/` without parameters is the front page, so the search states its
# sort order.
_ALL_COMPANIES: Final = (("tri", ORDERS[0]),)


@dataclass(frozen=True, slots=True)
class SearchForm:
    """A search: codes of countries, slugs of sectors, labels of sub-sectors, texts of all other parameters."""

    pays: tuple[str, ...]
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...]
    values: Mapping[str, str]

    def value(self, name: str) -> str:
        """The text of a parameter other than countries and sectors; "" if absent."""
        return self.values.get(name, "")

    @property
    def has_more(self) -> bool:
        """Whether the search has a value in a folded field of the form."""
        return any(self.value(parameter.name) for field in FOLDED for parameter in field.parameters)

    @property
    def tri(self) -> str:
        """The sort order, or the default order."""
        return self.value("tri") or ORDERS[0]

    def pairs(self, **changes: str) -> Pairs:
        """The parameters that are not empty, in the order of §4.4.

        With changes, the search begins at the first row again, unless the changes include `offset`.
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
            texts["sous_secteur"] = ""  # sub-sectors apply only with a sector (B7)
        return tuple((name, texts[name]) for name in _SEARCH if texts.get(name))

    def pairs_without(self, name: str, value: str) -> Pairs:
        """The parameters of this search without one of its countries, sectors or sub-sectors."""
        lists = {"pays": self.pays, "secteur": self.secteurs, "sous_secteur": self.sous_secteurs}
        remaining = LISTS[name].join(item for item in lists[name] if item != value)
        return self.pairs(**{name: remaining})

    def href(self, path: str = "/", **changes: str) -> str:
        """The address of this search with some parameters changed; the value "" removes a parameter."""
        return address(self.pairs(**changes), path)


def read(pairs: Pairs, names: PlaceNames, reference: Reference) -> SearchForm:
    """The search of a query string. Unknown countries and sectors are dropped; the error message names them."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value.strip())
    slugs = {sector.code: sector.slug for sector in reference.secteurs}
    divisions = _codes(_list_items(values, "secteur"), names.sector)
    return SearchForm(
        pays=_codes(_list_items(values, "pays"), names.country),
        secteurs=tuple(slugs[division] for division in divisions),
        sous_secteurs=_list_items(values, "sous_secteur"),
        values={name: text for name in _TEXTS if (text := _parameter_text(values, name))},
    )


def address(pairs: Pairs, path: str = "/") -> str:
    """The address of a search; without parameters, of the search for all companies."""
    return f"{path}?{query_string(pairs or _ALL_COMPANIES)}"


def query_string(pairs: Sequence[tuple[str, str]]) -> str:
    """Parameters as a query string, with readable commas (RFC 3986 §3.4)."""
    return urlencode(pairs, quote_via=quote, safe=",")


def _parameter_text(values: Mapping[str, Sequence[str]], name: str) -> str:
    """The value of a parameter: of a list all its items, each once; of any other repeated parameter the last value."""
    if name in LISTS:
        return LISTS[name].join(_list_items(values, name))
    return values.get(name, [""])[-1]


def _list_items(values: Mapping[str, Sequence[str]], name: str) -> tuple[str, ...]:
    """The items of a list, each once."""
    parts = (part.strip() for value in values.get(name, ()) for part in value.split(LISTS[name]))
    return tuple(dict.fromkeys(part for part in parts if part))


def _codes(words: Sequence[str], code_of: Callable[[str], str | None]) -> tuple[str, ...]:
    """The codes of words, each once; words for which `code_of` returns None are dropped."""
    codes = (code_of(word) for word in words)
    return tuple(dict.fromkeys(code for code in codes if code is not None))
