"""The operations and objects of the OpenAPI document as values for pages, with references resolved.

Pure. The module depends on no route: a new route has a page as soon as the document describes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from serve.surfaces.docs.request_example import RequestExample, request_example

_JSON: Final = "application/json"
# The most allowed values that a page lists; a longer list is left out.
_MOST_VALUES: Final = 12
# The keywords of JSON Schema that a page shows as limits.
_LIMITS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


class TypeName(NamedTuple):
    """The type of a value: its JSON types or objects; `many` for a list of such values."""

    kinds: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    many: bool = False
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A parameter, or a property of an object.

    Attributes:
        name: after the names of enclosing objects without a page: `sources[].licence`.
        place: `query`, `path` or `header` for a parameter; else "".
        values: the allowed values, if they are few.
        limits: bounds of numbers, texts and lists by their name in JSON Schema.
        example: as sent; "" without an example.
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
    """A recorded answer; `summary` describes its request."""

    summary: str
    value: Any


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A response of an operation: its status, the objects of its body, its media types (`kinds`), its headers."""

    status: int
    objects: tuple[str, ...]
    kinds: tuple[str, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperationPage:
    """An operation.

    Attributes:
        key: `required`, `optional`, or "" if a key is not read.
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
    """An object of answers or bodies; `operations` and `objects` name those that use it."""

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
    """The pages of the reference, made from the OpenAPI document: operations, objects, headers, tags."""
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
    """The page of an operation, from its Operation Object (OpenAPI)."""
    parameters = tuple(
        _parameter(_resolve(parameter, components)) for parameter in operation["parameters"]
    )
    content = operation.get("requestBody", {}).get("content", {}).get(_JSON, {})
    body = _resolve(content.get("schema", {}), components)
    security = operation["security"]
    # The lowest status of success: 200, or 303 for an operation that redirects.
    success = min(status for status in operation["responses"] if status[0] in "23")
    return OperationPage(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        tag=operation["tags"][0],
        summary=operation["summary"],
        description=operation["description"],
        key="" if not security else "optional" if {} in security else "required",
        parameters=parameters,
        body=tuple(_properties(body)),
        body_object=_component_name(content.get("schema", {})),
        answers=tuple(
            _answer(int(status), _resolve(response, components))
            for status, response in operation["responses"].items()
        ),
        recorded=tuple(_recorded_answers(operation["responses"][success], components)),
        request=request_example(method.upper(), path, operation, components),
    )


def _parameter(parameter: Mapping[str, Any]) -> ValueRow:
    """The row of a parameter, from its Parameter Object (OpenAPI)."""
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
    """The row of a response, from its Response Object (OpenAPI)."""
    content = answer.get("content", {})
    objects: dict[str, None] = {}
    for media in content.values():
        objects |= dict.fromkeys(_type_name(media["schema"]).objects)
    return AnswerRow(status, tuple(objects), tuple(content), tuple(answer.get("headers", ())))


def _recorded_answers(
    answer: Mapping[str, Any], components: Mapping[str, Any]
) -> Iterator[RecordedAnswer]:
    """The recorded JSON answers of a response."""
    for example_ref in answer.get("content", {}).get(_JSON, {}).get("examples", {}).values():
        # A document can name a new example that is not recorded yet: the server that records it starts without it
        # (`make golden`).
        if example := components["examples"].get(_component_name(example_ref)):
            yield RecordedAnswer(example["summary"], example["value"])


# -- objects ------------------------------------------------------------------------------


def _objects(
    schemas: Mapping[str, Any], operations: Mapping[str, OperationPage]
) -> Mapping[str, ObjectPage]:
    """The page of each schema, with the operations and objects that use it."""
    rows = {name: tuple(_properties(schema)) for name, schema in schemas.items()}
    return {
        name: ObjectPage(
            name,
            schema["description"],
            # A schema without properties, such as a list of values, has one row for itself.
            rows[name] or (_row("", schema, schema["description"], required=True),),
            tuple(
                operation.name
                for operation in operations.values()
                if name in _components_of(operation)
            ),
            tuple(
                object_name
                for object_name, values in rows.items()
                if object_name != name and any(name in value.type.objects for value in values)
            ),
        )
        for name, schema in schemas.items()
    }


def _components_of(operation: OperationPage) -> set[str]:
    """The names of the objects in the answers and the body of an operation."""
    return {name for answer in operation.answers for name in answer.objects} | {
        operation.body_object
    }


def _properties(schema: Mapping[str, Any], prefix: str = "") -> Iterator[ValueRow]:
    """The rows of the properties of an object, and of the objects inside it that have no page of their own.

    `prefix` begins the names of the rows: `sources[].`.
    """
    required: Sequence[str] = schema.get("required", ())
    for name, value_schema in schema.get("properties", {}).items():
        example = next(iter(value_schema.get("examples", ())), "")
        yield _row(
            prefix + name,
            value_schema,
            value_schema.get("description", ""),
            name in required,
            "",
            example,
        )
        inner_schema = value_schema.get("items", value_schema)
        yield from _properties(
            inner_schema, f"{prefix}{name}{'[]' if 'items' in value_schema else ''}."
        )


# -- values -------------------------------------------------------------------------------


def _row(
    name: str,
    schema: Mapping[str, Any],
    description: str,
    required: bool,
    place: str = "",
    example: Any = "",
) -> ValueRow:
    """The row of a value with this schema; an example that is an object is not shown.

    `place` says where a parameter is sent: `query`, `path` or `header`; it is "" for a property of an object.
    """
    values = tuple(str(value) for value in schema.get("enum", ()))
    return ValueRow(
        name,
        _type_name(schema),
        description,
        required,
        place,
        str(schema.get("default", "")),
        values if len(values) <= _MOST_VALUES else (),
        tuple((limit, schema[limit]) for limit in _LIMITS if limit in schema),
        example if isinstance(example, str) else "" if isinstance(example, dict) else str(example),
    )


def _type_name(schema: Mapping[str, Any]) -> TypeName:
    """The type that a schema describes.

    >>> _type_name({"anyOf": [{"$ref": "#/components/schemas/Offre"}, {"type": "null"}]})
    TypeName(kinds=(), objects=('Offre',), many=False, nullable=True)
    >>> _type_name({"type": ["integer", "null"]}).kinds, _type_name({"type": "array", "items": {}}).many
    (('integer',), True)
    >>> _type_name({"type": ["array", "null"], "items": {"type": ["string", "null"]}}).nullable
    True
    """
    if "items" in schema:
        nullable = "null" in schema.get("type", ())
        return _type_name(schema["items"])._replace(many=True, nullable=nullable)
    members = [_type_name(part) for part in schema.get("anyOf", ())]
    stated_type = schema.get("type", [])
    kinds = [stated_type] if isinstance(stated_type, str) else stated_type
    referenced = [_component_name(schema)] if "$ref" in schema else []
    return TypeName(
        tuple(kind for kind in kinds if kind != "null") + sum((part.kinds for part in members), ()),
        tuple(referenced) + sum((part.objects for part in members), ()),
        any(part.many for part in members),
        "null" in kinds or any(part.nullable for part in members),
    )


def _component_name(schema: Mapping[str, Any]) -> str:
    """The name of the component that a reference names; "" if `schema` is not a reference."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _resolve(node: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    """The component that the reference `node` names, or `node` itself if it is not a reference."""
    if "$ref" not in node:
        return node
    kind, name = node["$ref"].removeprefix("#/components/").split("/")
    component: Mapping[str, Any] = components[kind][name]
    return component
