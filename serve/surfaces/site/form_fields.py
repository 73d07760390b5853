"""The fields of the search form, from the declaration of the parameters.

Bounds on a column stand side by side under one heading, with the flag that belongs to them; a list is one field. Places
and states are lists to choose from (`filter_options`), `q` is the box above.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from serve.contract import parameters
from serve.contract.parameters import Parameter
from serve.contract.text import Text

# What a visitor may type into a bound.
_EXAMPLES: Final = {
    ("number", "least"): Text("1,5 M", "1.5m"),
    ("number", "most"): Text("10 M", "10m"),
    ("integer", "least"): Text("min", "min"),
    ("integer", "most"): Text("max", "max"),
    ("first day", "least"): Text("AAAA-MM", "YYYY-MM"),
    ("last day", "most"): Text("AAAA-MM", "YYYY-MM"),
}
_LISTS: Final = ("texts", "postcodes", "forms", "activities", "activity words")


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
        if one.bound == "least" or one.kind in _LISTS
    ]


SHOWN: Final = _fields([one for one in parameters.FILTERS if one not in parameters.FURTHER])
FOLDED: Final = _fields(parameters.FURTHER)
