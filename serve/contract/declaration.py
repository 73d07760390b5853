"""Declaration of an object of an answer or a body, and its JSON Schema (2020-12).

A declaration has the text of the object, the texts of its fields, and the limits that their types do not have.

    @component("Un pays.", "A country.")
    class Pays:
        iso2: Annotated[str, Text("Code.", "Code.")]

A class is a frozen dataclass whose fields are given by name, in the order in which they are sent. `component` makes one
that documents refer to by its name, `part` one that is written out wherever it is used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import orjson

from serve.contract.parameters import Parameter, words
from serve.contract.text import Lang, Text

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


Schema = dict[str, Any]
# -- JSON Schema ------------------------------------------------------------------------

N = TypeVar("N")

_NAMES: Final[Mapping[Any, str]] = {
    int: "integer", float: "number", str: "string", bool: "boolean", Mapping: "object",
    Sequence: "array",
}  # fmt: skip
_TODAY: Final = Text(
    "{text} Aujourd’hui {values} ; d’autres peuvent venir.",
    "{text} Today {values}; others may come.",
)

_ONE_OF: Final = Text("{text} L’un de {values}.", "{text} One of {values}.")
_DEFAULT: Final = Text("{text} Par défaut `{value}`.", "{text} By default `{value}`.")


def component_schema(kind: Any, lang: Lang) -> Schema:
    """The schema of a class, or of a type that has a name of its own, with texts in `lang`.

    >>> from serve.contract.answers import CoutEtSolde
    >>> component_schema(CoutEtSolde, "en")["properties"]["solde"]
    {'type': 'integer', 'description': 'Credits left.'}
    """
    if get_origin(kind) is not Annotated:
        return _object(kind, lang, text_of(kind))
    bare, *notes = get_args(kind)
    return _value(bare, lang, [one for one in notes if not isinstance(one, Component)])


def schema(kind: Any, lang: Lang, notes: Sequence[Any] = ()) -> Schema:
    """The schema of a type where it is used, with texts in `lang`; `notes` are its annotations."""
    if get_origin(kind) is Annotated:
        bare, *inner = get_args(kind)
        return schema(bare, lang, [*inner, *notes])
    if parameter := _note(notes, Parameter):
        return _member(parameter, lang)
    if encoded := _note(notes, EncodedJson):
        return schema(encoded.kind, lang, [one for one in notes if one is not encoded])
    if get_origin(kind) in (Union, UnionType):
        return _union([one for one in get_args(kind) if one is not AbsentKey], lang, notes)
    if named := _note(notes, Component):
        return reference(named.name)
    if name := component_name(kind):
        return reference(name)
    return _value(kind, lang, notes)


def reference(name: str) -> Schema:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _member(parameter: Parameter, lang: Lang) -> Schema:
    """A parameter as a field, a text or a number; the description of the body says that a list may be an array.

    Generators of clients cannot write a field that is a text or an array. They require a field that has a default,
    so the default is only described.
    """
    found = parameter.schema(words())
    text, default = parameter.description.in_language(lang), found.pop("default", None)
    if default is not None:
        text = _DEFAULT.in_language(lang).format(text=text, value=default)
    return {**found, "description": text, **parameter.examples}


def _union(kinds: Sequence[Any], lang: Lang, notes: Sequence[Any]) -> Schema:
    """One of several types; a value that has one type or is null has both as its `type`."""
    found = [schema(one, lang, notes) for one in kinds if one is not NoneType]
    if NoneType not in kinds:
        return found[0] if len(found) == 1 else {"anyOf": found}
    if len(found) == 1 and "$ref" not in found[0] and "properties" not in found[0]:
        return {**found[0], "type": [found[0]["type"], "null"]}
    return {"anyOf": [*found, {"type": "null"}]}


def _value(kind: Any, lang: Lang, notes: Sequence[Any]) -> Schema:
    """The schema of what is no reference and never null."""
    text = _note(notes, Text)
    if hasattr(kind, "__dataclass_fields__"):
        return _object(kind, lang, text or text_of(kind))
    if kind is Any:
        return {}
    origin = get_origin(kind) or kind
    described: Schema = {"type": _NAMES[origin]}
    if text:
        described["description"] = text.in_language(lang)
    if values := _note(notes, KnownValues):
        listed = ", ".join(f"`{value}`" for value in values.values)
        sentence = _ONE_OF if values.closed else _TODAY
        described["description"] = sentence.in_language(lang).format(
            text=described["description"], values=listed
        )
        described["examples"] = list(values.values)
    if origin is Sequence:
        described["items"] = schema(get_args(kind)[0], lang)
    elif origin is Mapping:
        described |= _entries(schema(get_args(kind)[1], lang), _note(notes, KnownKeys))
    for note in notes:
        described |= note.keywords if isinstance(note, Keywords) else {}
    return described


def _entries(value: Schema, known: KnownKeys | None) -> Schema:
    if known:
        return {"properties": dict.fromkeys(known.keys, value)}
    return {"additionalProperties": value}


def _object(kind: type, lang: Lang, text: Text) -> Schema:
    """An object; all keys but those that may be absent are required.

    That of an answer is not closed: later versions may add properties (README.md, change policy).
    """
    hints = get_type_hints(kind, include_extras=True)
    names = names_of(kind)
    object_schema: Schema = {
        "type": "object",
        "description": text.in_language(lang),
        "properties": {name: schema(hints[name], lang) for name in names},
    }
    required = [name for name in names if not may_be_absent(hints[name])]
    if required:
        object_schema["required"] = required
    return {**object_schema, "additionalProperties": False} if is_closed(kind) else object_schema


def may_be_absent(kind: Any) -> bool:
    """Can an answer leave a key of this type out?"""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return AbsentKey in get_args(bare)


def _note(notes: Sequence[Any], kind: type[N]) -> N | None:
    """The outermost note of a kind: a field overrides what the name of its type says."""
    return next((one for one in reversed(notes) if isinstance(one, kind)), None)
