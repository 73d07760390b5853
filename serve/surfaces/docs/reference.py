"""The OpenAPI document as the values that pages show: its operations and its objects, with every reference resolved.

Pure. The document is data here, whatever route it describes: a new one has a page as soon as it is described.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from serve.surfaces.docs.request_example import RequestExample, request_example

_JSON: Final = "application/json"
# Of a longer pattern or list of values a reader learns nothing.
_MOST_VALUES: Final = 12
_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


class TypeName(NamedTuple):
    """The type of a value: its JSON types, or the objects it may be; `many`: it is a list of them."""

    kinds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    many: bool = False
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A parameter, or a property of an object.

    Attributes:
        name: with the names of the objects around it, where these have no page: `sources[].licence`.
        place: of a parameter, `query`, `path` or `header`; else "".
        values: those it may have, if they are few.
        limits: bounds of numbers, texts and lists by their name in JSON Schema.
        example: as it is sent; "" for none.
    """

    name: str
    type: TypeName
    description: str
    required: bool
    place: str = ""
    default: str = ""
    values: tuple[str, ...] = ()
    limits: tuple[tuple[str, int], ...] = ()
    example: str = ""


class RecordedAnswer(NamedTuple):
    """A recorded answer; `summary` says to what."""

    summary: str
    value: Any


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """An answer of an operation: its status, the objects that its body is, and the media types."""

    status: int
    objects: tuple[str, ...]
    kinds: tuple[str, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperationPage:
    """An operation.

    Attributes:
        key: a key is needed (`required`), understood (`optional`) or not read ("").
        body: the properties of the body; `body_object` is its name.
        recorded: answers with status 200.
    """

    name: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    key: str
    parameters: tuple[ValueRow, ...]
    body: tuple[ValueRow, ...]
    body_object: str
    answers: tuple[AnswerRow, ...]
    recorded: tuple[RecordedAnswer, ...]
    request: RequestExample


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """An object of answers or bodies; `used_by`: the operations and the objects that have it."""

    name: str
    description: str
    values: tuple[ValueRow, ...]
    operations: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ManualReference:
    """All pages by name, in the order of the document."""

    operations: Mapping[str, OperationPage]
    objects: Mapping[str, ObjectPage]
    headers: Mapping[str, str]
    tags: Mapping[str, str]


def reference(document: Mapping[str, Any]) -> ManualReference:
    """The pages of a document."""
    components = document["components"]
    operations = {
        operation["operationId"]: _operation(method, path, operation, components)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    return ManualReference(
        operations,
        _objects(components["schemas"], operations),
        {name: header["description"] for name, header in components["headers"].items()},
        {tag["name"]: tag["description"] for tag in document["tags"]},
    )


# -- operations ---------------------------------------------------------------------------


def _operation(
    method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]
) -> OperationPage:
    given = tuple(_parameter(_target(one, components)) for one in operation["parameters"])
    content = operation.get("requestBody", {}).get("content", {}).get(_JSON, {})
    body = _target(content.get("schema", {}), components)
    security = operation["security"]
    success = min(status for status in operation["responses"] if status[0] in "23")
    return OperationPage(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        tag=operation["tags"][0],
        summary=operation["summary"],
        description=operation["description"],
        key="" if not security else "optional" if {} in security else "required",
        parameters=given,
        body=tuple(_properties(body)),
        body_object=_name(content.get("schema", {})),
        answers=tuple(
            _answer(int(status), _target(one, components))
            for status, one in operation["responses"].items()
        ),
        recorded=tuple(_recorded_answers(operation["responses"][success], components)),
        request=request_example(method.upper(), path, operation, components),
    )


def _parameter(parameter: Mapping[str, Any]) -> ValueRow:
    example = parameter.get("example", next(iter(parameter["schema"].get("examples", ())), ""))
    return _row(
        parameter["name"],
        parameter["schema"],
        parameter["description"],
        bool(parameter.get("required")),
        parameter["in"],
        example,
    )


def _answer(status: int, answer: Mapping[str, Any]) -> AnswerRow:
    content = answer.get("content", {})
    objects: dict[str, None] = {}
    for media in content.values():
        objects |= dict.fromkeys(_type(media["schema"]).objects)
    return AnswerRow(status, tuple(objects), tuple(content), tuple(answer.get("headers", ())))


def _recorded_answers(
    answer: Mapping[str, Any], components: Mapping[str, Any]
) -> Iterator[RecordedAnswer]:
    for one in answer.get("content", {}).get(_JSON, {}).get("examples", {}).values():
        # A new one is recorded by a server that must start without it (`make golden`).
        if example := components["examples"].get(_name(one)):
            yield RecordedAnswer(example["summary"], example["value"])


# -- objects ------------------------------------------------------------------------------


def _objects(
    schemas: Mapping[str, Any], operations: Mapping[str, OperationPage]
) -> Mapping[str, ObjectPage]:
    rows = {name: tuple(_properties(schema)) for name, schema in schemas.items()}
    return {
        name: ObjectPage(
            name,
            schema["description"],
            rows[name] or (_row("", schema, schema["description"], required=True),),
            tuple(one.name for one in operations.values() if name in _components_of(one)),
            tuple(
                other
                for other, values in rows.items()
                if other != name and any(name in value.type.objects for value in values)
            ),
        )
        for name, schema in schemas.items()
    }


def _components_of(operation: OperationPage) -> set[str]:
    return {name for answer in operation.answers for name in answer.objects} | {
        operation.body_object
    }


def _properties(schema: Mapping[str, Any], before: str = "") -> Iterator[ValueRow]:
    """The properties of an object, and those of the objects in it that have no name of their own."""
    required: Sequence[str] = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        example = next(iter(one.get("examples", ())), "")
        yield _row(before + name, one, one.get("description", ""), name in required, "", example)
        inner = one.get("items", one)
        yield from _properties(inner, f"{before}{name}{'[]' if 'items' in one else ''}.")


# -- values -------------------------------------------------------------------------------


def _row(
    name: str,
    schema: Mapping[str, Any],
    description: str,
    required: bool,
    place: str = "",
    example: Any = "",
) -> ValueRow:
    values = tuple(str(one) for one in schema.get("enum", ()))
    return ValueRow(
        name,
        _type(schema),
        description,
        required,
        place,
        str(schema.get("default", "")),
        values if len(values) <= _MOST_VALUES else (),
        tuple((limit, schema[limit]) for limit in _LIMITS if limit in schema),
        example if isinstance(example, str) else "" if isinstance(example, dict) else str(example),
    )


def _type(schema: Mapping[str, Any]) -> TypeName:
    """The type that a schema describes.

    >>> _type({"anyOf": [{"$ref": "#/components/schemas/Offre"}, {"type": "null"}]})
    TypeName(kinds=(), objects=('Offre',), many=False, nullable=True)
    >>> _type({"type": ["integer", "null"]}).kinds, _type({"type": "array", "items": {}}).many
    (('integer',), True)
    >>> _type({"type": ["array", "null"], "items": {"type": ["string", "null"]}}).nullable
    True
    """
    if "items" in schema:
        nullable = "null" in schema.get("type", ())
        return _type(schema["items"])._replace(many=True, nullable=nullable)
    parts = [_type(part) for part in schema.get("anyOf", ())]
    stated = schema.get("type", [])
    kinds = [stated] if isinstance(stated, str) else stated
    named = [_name(schema)] if "$ref" in schema else []
    return TypeName(
        tuple(kind for kind in kinds if kind != "null") + sum((part.kinds for part in parts), ()),
        tuple(named) + sum((part.objects for part in parts), ()),
        any(part.many for part in parts),
        "null" in kinds or any(part.nullable for part in parts),
    )


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _target(node: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    """The component that a reference names, or the node itself."""
    if "$ref" not in node:
        return node
    kind, name = node["$ref"].removeprefix("#/components/").split("/")
    found: Mapping[str, Any] = components[kind][name]
    return found
