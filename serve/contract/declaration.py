"""Declaration of an object of an answer: its text, the texts of its fields, and what their types do not say.

    @component("Un pays.", "A country.")
    class Pays:
        iso2: Annotated[str, Text("Code.", "Code.")]

A class is a frozen dataclass whose fields are given by name, in the order in which they are sent. `component` makes one
that documents refer to by its name, `part` one that is written out wherever it is used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, Any, Final, NamedTuple, TypeVar, dataclass_transform

import orjson

from serve.contract.parameters import Parameter
from serve.contract.text import Text

C = TypeVar("C")

_TEXT: Final = "__text__"
_NAME: Final = "__component_name__"
_CLOSED: Final = "__closed__"


class AbsentKey(Enum):
    """The type of a key that an answer may leave out."""

    ABSENT = "absent"


ABSENT: Final = AbsentKey.ABSENT


@dataclass(frozen=True, eq=False)  # a type hashes its annotations, and keywords may be lists
class Keywords:
    """Keywords of JSON Schema that a type does not say, such as `minimum`."""

    keywords: Mapping[str, Any]


class KnownValues(NamedTuple):
    """The values that a text has today. No enum: a client made of this must survive a new one (X0).

    Attributes:
        closed: there are no others (X19).
    """

    values: tuple[str, ...]
    closed: bool = False


class KnownKeys(NamedTuple):
    """The keys that a mapping may have."""

    keys: tuple[str, ...]


class EncodedJson(NamedTuple):
    """The type of a value that is JSON already (`orjson.Fragment`)."""

    kind: Any


class Component(NamedTuple):
    """The name of a component that is no object."""

    name: str


def with_keywords(**keywords: Any) -> Keywords:
    """Keywords of JSON Schema, for an annotation.

    >>> with_keywords(minimum=0)
    Keywords(keywords={'minimum': 0})
    """
    return Keywords(keywords)


Count = Annotated[int, with_keywords(minimum=0)]
# A time in UTC, as serve/access/counter_headers.py writes it.
Moment = Annotated[str, with_keywords(format="date-time")]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def component(
    fr: str, en: str, name: str = "", *, closed: bool = False
) -> Callable[[type[C]], type[C]]:
    """Make a class an object with a name of its own in documents: `name`, or else that of the class.

    An object of a body is `closed`: it has no other keys.
    """
    return _decorator(Text(fr, en), lambda kind: name or kind.__name__, closed)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def part(fr: str, en: str, *, closed: bool = False) -> Callable[[type[C]], type[C]]:
    """Make a class an object that documents write out where it is used."""
    return _decorator(Text(fr, en), lambda kind: "", closed)


def body_of_parameters(name: str, parameters: Sequence[Parameter]) -> type:
    """A class with a field for each parameter, each of which may be left out."""
    fields = {one.name: Annotated[Any | AbsentKey, one] for one in parameters}
    return type(name, (), {"__annotations__": fields})


def text_of(kind: type) -> Text:
    """The text of the class of an object."""
    found: Text = getattr(kind, _TEXT)
    return found


def component_name(kind: Any) -> str:
    """The name that documents have for the class of an object; "" for a part, and for what is no object."""
    return str(getattr(kind, _NAME, ""))


def is_closed(kind: type) -> bool:
    """Whether an object has no keys but those of its class."""
    return bool(getattr(kind, _CLOSED))


def names_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of the class of an object."""
    return tuple(one.name for one in fields(kind))


def members(answer: Any) -> dict[str, Any]:
    """The fields of an object that are not absent, by name."""
    return {name: value for name, value in vars(answer).items() if value is not ABSENT}


def plain_value(value: Any) -> Any:
    """An answer as dictionaries and lists, without the keys that are absent and without encoded JSON."""
    if hasattr(value, _TEXT):
        known = members(value).items()
        return {
            name: plain_value(one) for name, one in known if not isinstance(one, orjson.Fragment)
        }
    if isinstance(value, Mapping):
        return {name: plain_value(one) for name, one in value.items()}
    return [plain_value(one) for one in value] if isinstance(value, (list, tuple)) else value


class AnswerObject:
    """An object that is a whole answer, and its bytes."""

    __slots__ = ()

    def json(self) -> bytes:
        """The answer as JSON, without the keys that are absent."""
        return orjson.dumps(members(self))


def _decorator(
    text: Text, named: Callable[[type], str], closed: bool
) -> Callable[[type[C]], type[C]]:
    def decorate(kind: type[C]) -> type[C]:
        # Without slots: orjson writes the dictionary of an object, which is several times as fast.
        found = dataclass(frozen=True, kw_only=True)(kind)
        setattr(found, _TEXT, text)
        setattr(found, _NAME, named(kind))
        setattr(found, _CLOSED, closed)
        return found

    return decorate
