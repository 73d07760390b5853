"""The JSON Schema (2020-12) of an object of an answer or a body, made from its class."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from serve.contract.declaration import (
    AbsentKey,
    Component,
    EncodedJson,
    Keywords,
    KnownKeys,
    KnownValues,
    component_name,
    is_closed,
    names_of,
    text_of,
)
from serve.contract.parameters import Parameter, words
from serve.contract.text import Lang, Text

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

_CLOSED: Final = Text("{text} L’un de {values}.", "{text} One of {values}.")
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
        sentence = _CLOSED if values.closed else _TODAY
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
