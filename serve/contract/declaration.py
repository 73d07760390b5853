"""Declaration of an object of an answer or a body, and its JSON Schema (2020-12).

An object is a class with a line for each field, in the order in which the fields are sent. Its texts are rows of
`texts.csv` of its feature, or of `serve/contract/tables/` where several features have the object:

    class Ville(Component):    Ville,,Une ville.,A town.
        nom: str               Ville,nom,Le nom.,Name.
        n: Count               Ville,n,Les sociétés.,Companies.

A subclass has the rows of its bases. A field without a row has the text of its type: an object, or a type with a name
of its own, such as `Annotated[int, TextOf("Exercice")]`. A type also has the limits of its values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
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
from serve.contract.text import Lang, Text, feature_texts


class AbsentKey(Enum):
    """The type of a key that an answer may leave out."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = AbsentKey.ABSENT


class Keywords:
    """Keywords of JSON Schema that a type does not say: `Keywords(minimum=0)`."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


class KnownValues(NamedTuple):
    """The values that a text has today. No enum: a client made of this must survive a new one (X0).

    Attributes:
        closed: there are no others (X19).
    """

    values: tuple[str, ...]
    closed: bool = False


class EncodedJson(NamedTuple):
    """The type of a value that is JSON already: bytes, which are sent as they are, or dictionaries."""

    kind: Any


class ComponentName(NamedTuple):
    """The name of a component that is no object; its text is the row of this name."""

    name: str


class TextOf(NamedTuple):
    """The row with the text of a type that several fields have, or the items of a list."""

    name: str


Count = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
# A time in UTC, as serve/access/counter_headers.py writes it.
Moment = Annotated[str, Keywords(format="date-time")]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class DeclaredObject:
    """An object that documents write out where it is used. That of a body is `closed`: it has no other keys."""

    is_closed: ClassVar[bool]

    def __init_subclass__(cls, *, closed: bool = False) -> None:
        super().__init_subclass__()
        # Without slots: orjson writes the dictionary of an object, which is several times as fast.
        dataclass(frozen=True, kw_only=True)(cls)
        cls.is_closed = closed


class Component(DeclaredObject):
    """An object that documents refer to by a name: `name`, or else that of the class."""

    component_name: ClassVar[str] = ""

    def __init_subclass__(cls, *, name: str = "", closed: bool = False) -> None:
        super().__init_subclass__(closed=closed)
        cls.component_name = name or cls.__name__


class AnswerObject(Component):
    """An object that is a whole answer, and its bytes."""

    def json(self) -> bytes:
        """The answer as JSON, without the keys that are absent."""
        return encode(members(self))


def encode(answer: Mapping[str, Any]) -> bytes:
    """An answer as JSON; bytes are JSON already."""
    return orjson.dumps(answer, default=orjson.Fragment)


def body_of_parameters(
    name: str, parameters: Sequence[Parameter], base: type[DeclaredObject] = Component
) -> type[DeclaredObject]:
    """The object of a body with a field for each parameter, each of which may be left out."""
    hints = {one.name: Annotated[Any | AbsentKey, one] for one in parameters}
    return type(name, (base,), {"__annotations__": hints}, closed=True)


def component_name(kind: Any) -> str:
    """The name that documents have for a type; "" if they write it out."""
    if isinstance(kind, type) and issubclass(kind, Component):
        return kind.component_name
    named = _note(kind, ComponentName)
    return named.name if named else ""


def text_of(kind: Any) -> Text | None:
    """The text of a type with a name; None for another one."""
    if isinstance(kind, type):
        return feature_texts().get((kind.__name__, ""))
    named = _note(kind, ComponentName) or _note(kind, TextOf)
    return feature_texts().get((named.name, "")) if named else None


def names_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of an object."""
    return tuple(field.name for field in fields(kind))


def members(answer: DeclaredObject) -> dict[str, Any]:
    """The fields of an object that are not absent, by name."""
    return {name: value for name, value in vars(answer).items() if value is not ABSENT}


# -- JSON Schema ------------------------------------------------------------------------

Schema = dict[str, Any]
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


def schema(kind: Any, lang: Lang, text: Text | None = None) -> Schema:
    """The schema of a type where it is used; `text` is that of the place, if it is not the text of the type."""
    if parameter := _note(kind, Parameter):
        return _member(parameter, lang)
    if encoded := _note(kind, EncodedJson):
        return schema(encoded.kind, lang, text)
    if get_origin(kind) in (Union, UnionType):
        return _union([one for one in get_args(kind) if one is not AbsentKey], lang, text)
    if name := component_name(kind):
        return reference(name)
    return component_schema(kind, lang, text)


def component_schema(kind: Any, lang: Lang, text: Text | None = None) -> Schema:
    """The schema of a type that is written out, and never null.

    >>> from serve.contract.answers import CoutEtSolde
    >>> component_schema(CoutEtSolde, "en")["properties"]["solde"]
    {'type': 'integer', 'description': 'Credits left.'}
    """
    text = text or text_of(kind)
    if isinstance(kind, type) and issubclass(kind, DeclaredObject):
        return _object(kind, lang, text)
    bare = _bare(kind)
    if bare is Any:
        return {}
    origin = get_origin(bare) or bare
    described: Schema = {"type": _NAMES[origin]}
    if text:
        described["description"] = text.in_language(lang)
    if values := _note(kind, KnownValues):
        listed = ", ".join(f"`{value}`" for value in values.values)
        sentence = _ONE_OF if values.closed else _TODAY
        described["description"] = sentence.in_language(lang).format(
            text=described["description"], values=listed
        )
        described["examples"] = list(values.values)
    if origin is Sequence:
        described["items"] = schema(get_args(bare)[0], lang)
    elif origin is Mapping:
        key, value = get_args(bare)
        known, value_schema = _note(key, KnownValues), schema(value, lang)
        described |= (
            {"properties": dict.fromkeys(known.values, value_schema)}
            if known
            else {"additionalProperties": value_schema}
        )
    if limits := _note(kind, Keywords):
        described |= limits.keywords
    return _describe_default(described, lang)


def reference(name: str) -> Schema:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def may_be_absent(kind: Any) -> bool:
    """Can an answer leave a key of this type out?"""
    return AbsentKey in get_args(_bare(kind))


def _member(parameter: Parameter, lang: Lang) -> Schema:
    """A parameter as a field, a text or a number; the description of the body says that a list may be an array.

    Generators of clients cannot write a field that is a text or an array.
    """
    text = {"description": parameter.description.in_language(lang)}
    return _describe_default(parameter.schema(words()) | text | parameter.examples, lang)


def _describe_default(described: Schema, lang: Lang) -> Schema:
    """A field whose default is a sentence of its description: generated clients require a field with a default."""
    default = described.pop("default", None)
    if default is not None:
        described["description"] = _DEFAULT.in_language(lang).format(
            text=described["description"], value=default
        )
    return described


def _union(kinds: Sequence[Any], lang: Lang, text: Text | None) -> Schema:
    """One of several types; a value that has one type or is null has both as its `type`."""
    schemas = [schema(one, lang, text) for one in kinds if one is not NoneType]
    if NoneType not in kinds:
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if len(schemas) == 1 and "$ref" not in schemas[0] and "properties" not in schemas[0]:
        return {**schemas[0], "type": [schemas[0]["type"], "null"]}
    return {"anyOf": [*schemas, {"type": "null"}]}


def _object(kind: type[DeclaredObject], lang: Lang, text: Text | None) -> Schema:
    """An object; all keys but those that may be absent are required.

    That of an answer is not closed: later versions may add properties (README.md, change policy).
    """
    assert text, f"no row for {kind.__name__} in texts.csv"
    hints = get_type_hints(kind, include_extras=True)
    names = names_of(kind)
    object_schema: Schema = {
        "type": "object",
        "description": text.in_language(lang),
        "properties": {name: schema(hints[name], lang, _field_text(kind, name)) for name in names},
    }
    required = [name for name in names if not may_be_absent(hints[name])]
    if required:
        object_schema["required"] = required
    return {**object_schema, "additionalProperties": False} if kind.is_closed else object_schema


def _field_text(kind: type[DeclaredObject], name: str) -> Text | None:
    """The row of a field of an object or of one of its bases; None if the field has the text of its type."""
    rows = (feature_texts().get((base.__name__, name)) for base in kind.__mro__)
    return next((text for text in rows if text), None)


def _bare(kind: Any) -> Any:
    """A type without its annotations."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _note(kind: Any, note: type[N]) -> N | None:
    """The annotation of a type that is of this class."""
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((one for one in notes if isinstance(one, note)), None)
