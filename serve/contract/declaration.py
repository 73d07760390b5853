"""Declarations of the objects in answers and bodies, and their JSON Schemas (2020-12).

An object is a class with a line for each field, in the order in which the fields are sent. Its texts are rows of
`texts.csv` of its feature, or of `serve/contract/tables/` if several features use the object:

    class Ville(Component):    Ville,,Une ville.,A town.
        nom: str               Ville,nom,Le nom.,Name.
        n: Count               Ville,n,Les sociétés.,Companies.

A subclass inherits the rows of its bases. A field without a row has the text of its type: an object, or a named type
such as `Annotated[int, TextOf("Exercice")]`. A type also has the limits of its values.
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
        """False, so that `value or default` gives the default for an absent key."""
        return False


# The value of a field whose key the answer leaves out.
ABSENT: Final = AbsentKey.ABSENT


class Keywords:
    """Keywords of JSON Schema that a Python type cannot express: `Keywords(minimum=0)`."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


class KnownValues(NamedTuple):
    """The values that a string has today. The schema has no enum, so that generated clients accept new values (X0).

    Attributes:
        closed: whether no value will be added later (X19).
    """

    values: tuple[str, ...]
    closed: bool = False


class EncodedJson(NamedTuple):
    """Marks a value that is already JSON (bytes or dictionaries) and is sent unchanged; `kind` is its declared type."""

    kind: Any


class ComponentName(NamedTuple):
    """The name of a component that is not an object; its text is the row of this name."""

    name: str


class TextOf(NamedTuple):
    """The name of the row with the text of a type, for a type of several fields or of the items of a list."""

    name: str


# Whole numbers from 0, and from 1.
Count = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
# A time in UTC, as serve/access/counter_headers.py writes it.
Moment = Annotated[str, Keywords(format="date-time")]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class DeclaredObject:
    """An object that documents describe in each place of its use. A body is `closed`: other keys are refused."""

    is_closed: ClassVar[bool]

    def __init_subclass__(cls, *, closed: bool = False) -> None:
        """Make the declared class a dataclass, so that a declaration is a line for each field."""
        super().__init_subclass__()
        # Without slots: orjson writes the dictionary of an object, which is several times as fast.
        dataclass(frozen=True, kw_only=True)(cls)
        cls.is_closed = closed


class Component(DeclaredObject):
    """An object that documents refer to by name: `name`, or the name of the class."""

    component_name: ClassVar[str] = ""

    def __init_subclass__(cls, *, name: str = "", closed: bool = False) -> None:
        """Set the name by which documents refer to the declared class."""
        super().__init_subclass__(closed=closed)
        cls.component_name = name or cls.__name__


class AnswerObject(Component):
    """An object that is a complete answer, not a part of one."""

    def json(self) -> bytes:
        """The answer as JSON, without the keys that are absent."""
        return encode(members(self))


def encode(answer: Mapping[str, Any]) -> bytes:
    """An answer as JSON; bytes are JSON already."""
    return orjson.dumps(answer, default=orjson.Fragment)


def body_of_parameters(
    name: str, parameters: Sequence[Parameter], base: type[DeclaredObject] = Component
) -> type[DeclaredObject]:
    """The object of a body with an optional field for each parameter."""
    hints = {parameter.name: Annotated[Any | AbsentKey, parameter] for parameter in parameters}
    return type(name, (base,), {"__annotations__": hints}, closed=True)


def component_name(kind: Any) -> str:
    """The name of a type in documents; "" if documents describe the type in each place of its use."""
    if isinstance(kind, type) and issubclass(kind, Component):
        return kind.component_name
    named = _annotation_of(kind, ComponentName)
    return named.name if named else ""


def text_of(kind: Any) -> Text | None:
    """The description of a type for documents; None if it has none.

    A class is described in `texts.csv` under its name, another type under the name in its annotation.
    """
    if isinstance(kind, type):
        return feature_texts().get((kind.__name__, ""))
    named = _annotation_of(kind, ComponentName) or _annotation_of(kind, TextOf)
    return feature_texts().get((named.name, "")) if named else None


def names_of(kind: type) -> tuple[str, ...]:
    """The names of the fields of an object."""
    return tuple(field.name for field in fields(kind))


def members(answer: DeclaredObject) -> dict[str, Any]:
    """The fields of an object that are not absent, by name."""
    return {name: value for name, value in vars(answer).items() if value is not ABSENT}


# -- JSON Schema ------------------------------------------------------------------------

JsonSchema = dict[str, Any]
N = TypeVar("N")

# The JSON Schema type of each Python type.
_JSON_TYPES: Final[Mapping[Any, str]] = {
    int: "integer", float: "number", str: "string", bool: "boolean", Mapping: "object",
    Sequence: "array",
}  # fmt: skip
# Templates that add the values or the default of a field to its text: `_TODAY` for a list of values that may grow,
# `_ONE_OF` for a list that is complete.
_TODAY: Final = Text(
    "{text} Aujourd’hui {values} ; d’autres peuvent venir.",
    "{text} Today {values}; others may come.",
)

_ONE_OF: Final = Text("{text} L’un de {values}.", "{text} One of {values}.")
_DEFAULT: Final = Text("{text} Par défaut `{value}`.", "{text} By default `{value}`.")


def schema(kind: Any, lang: Lang, text: Text | None = None) -> JsonSchema:
    """The schema of a type in a field or a list: a reference if the type has a name; `text` replaces its own text."""
    if parameter := _annotation_of(kind, Parameter):
        return _parameter_schema(parameter, lang)
    if encoded := _annotation_of(kind, EncodedJson):
        return schema(encoded.kind, lang, text)
    if get_origin(kind) in (Union, UnionType):
        return _union([member for member in get_args(kind) if member is not AbsentKey], lang, text)
    if name := component_name(kind):
        return reference(name)
    return component_schema(kind, lang, text)


def component_schema(kind: Any, lang: Lang, text: Text | None = None) -> JsonSchema:
    """The complete schema of a type that is neither a union nor JSON in bytes, without a reference to itself.

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
    json_schema: JsonSchema = {"type": _JSON_TYPES[origin]}
    if text:
        json_schema["description"] = text.translation(lang)
    if values := _annotation_of(kind, KnownValues):
        value_list = ", ".join(f"`{value}`" for value in values.values)
        template = _ONE_OF if values.closed else _TODAY
        json_schema["description"] = template.translation(lang).format(
            text=json_schema["description"], values=value_list
        )
        json_schema["examples"] = list(values.values)
    if origin is Sequence:
        json_schema["items"] = schema(get_args(bare)[0], lang)
    elif origin is Mapping:
        key, value = get_args(bare)
        key_values, value_schema = _annotation_of(key, KnownValues), schema(value, lang)
        json_schema |= (
            {"properties": dict.fromkeys(key_values.values, value_schema)}
            if key_values
            else {"additionalProperties": value_schema}
        )
    if limits := _annotation_of(kind, Keywords):
        json_schema |= limits.keywords
    return _describe_default(json_schema, lang)


def reference(name: str) -> JsonSchema:
    """A reference to a component of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def may_be_absent(kind: Any) -> bool:
    """Whether an answer can leave out a key of this type."""
    return AbsentKey in get_args(_bare(kind))


def _parameter_schema(parameter: Parameter, lang: Lang) -> JsonSchema:
    """The schema of a parameter as a field of a body: a string or a number.

    A list may also be sent as an array. The schema does not say so, since client generators cannot write a field that
    is a string or an array; the description of the body does.
    """
    text = {"description": parameter.description.translation(lang)}
    return _describe_default(parameter.schema(words()) | text | parameter.examples, lang)


def _describe_default(json_schema: JsonSchema, lang: Lang) -> JsonSchema:
    """Move a default into the description: generated clients require a field with a `default`."""
    default = json_schema.pop("default", None)
    if default is not None:
        json_schema["description"] = _DEFAULT.translation(lang).format(
            text=json_schema["description"], value=default
        )
    return json_schema


def _union(kinds: Sequence[Any], lang: Lang, text: Text | None) -> JsonSchema:
    """The schema of a union.

    A union of a simple type and null is one schema with `"type": [type, "null"]`; other unions are an `anyOf`.
    """
    schemas = [schema(member, lang, text) for member in kinds if member is not NoneType]
    if NoneType not in kinds:
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if len(schemas) == 1 and "$ref" not in schemas[0] and "properties" not in schemas[0]:
        return {**schemas[0], "type": [schemas[0]["type"], "null"]}
    return {"anyOf": [*schemas, {"type": "null"}]}


def _object(kind: type[DeclaredObject], lang: Lang, text: Text | None) -> JsonSchema:
    """The schema of an object; every key that cannot be absent is required.

    The object of an answer is not closed: later versions may add properties (README.md, change policy).
    """
    assert text, f"no row for {kind.__name__} in texts.csv"
    hints = get_type_hints(kind, include_extras=True)
    names = names_of(kind)
    object_schema: JsonSchema = {
        "type": "object",
        "description": text.translation(lang),
        "properties": {name: schema(hints[name], lang, _field_text(kind, name)) for name in names},
    }
    required = [name for name in names if not may_be_absent(hints[name])]
    if required:
        object_schema["required"] = required
    return {**object_schema, "additionalProperties": False} if kind.is_closed else object_schema


def _field_text(kind: type[DeclaredObject], name: str) -> Text | None:
    """The text of a field, from the row of its object or of a base; None if the field has the text of its type."""
    rows = (feature_texts().get((base.__name__, name)) for base in kind.__mro__)
    return next((text for text in rows if text), None)


def _bare(kind: Any) -> Any:
    """The type inside `Annotated`; another type is returned unchanged."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _annotation_of(kind: Any, annotation_class: type[N]) -> N | None:
    """The annotation of a type that is of `annotation_class`; None if the type has none of this class."""
    annotations = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next(
        (annotation for annotation in annotations if isinstance(annotation, annotation_class)), None
    )
