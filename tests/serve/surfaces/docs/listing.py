"""An OpenAPI document as lines for review: paths, names, types, enums and bounds, without texts and examples.

A changed line is a change for clients. `*` marks a required parameter or field.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

Node = Mapping[str, Any]

_WIDTH: Final = 120
_FOR_PEOPLE: Final = frozenset({"description", "example", "examples", "summary", "title"})
# Keys of a schema that `_type_text` and `_lines_of_fields` list in their own notation.
_STRUCTURE: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "items", "properties", "required", "type"}
)


def listing(document: Node) -> str:
    """A document of OpenAPI 3.1 as a text of short lines: each operation, then each component by its kind."""
    lines = [f"OpenAPI {document['openapi']}, version {document['info']['version']}"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += ["", *_lines_of_operation(f"{method.upper()} {path}", operation)]
    components = document["components"]
    lines += ["", "PARAMETERS"]
    for name, parameter in components["parameters"].items():
        label = f"{name}{'*' if parameter.get('required') else ''}"
        place = f"{parameter['name']} in {parameter['in']}, "
        lines += _wrap(0, f"{label}: {place}{_type_text(parameter['schema'])}")
    lines += ["", "HEADERS"]
    for name, header in components["headers"].items():
        lines += _wrap(0, f"{name}: {_type_text(header['schema'])}")
    lines += ["", "RESPONSES"]
    for name, response in components["responses"].items():
        lines += _lines_of_response(0, name, response)
    lines += ["", "SECURITY"]
    for name, scheme in components["securitySchemes"].items():
        lines += _wrap(0, f"{name}: {_other_keys(scheme, _FOR_PEOPLE)}")
    lines += ["", "SCHEMAS"]
    for name, schema in components["schemas"].items():
        lines += _lines_of_schema(0, name, schema)
    return "\n".join(lines) + "\n"


def _lines_of_operation(name: str, operation: Node) -> Iterator[str]:
    """The lines of an operation, with those of its body and its responses; `name` is its method and path."""
    yield f"{name} = {operation['operationId']}, tagged {', '.join(operation['tags'])}"
    if security := operation.get("security"):
        keys = (" and ".join(scheme) or "none" for scheme in security)
        yield f"  security: {' or '.join(keys)}"
    if parameters := operation.get("parameters"):
        yield from _wrap(2, f"parameters: {' '.join(map(_type_text, parameters))}")
    if body := operation.get("requestBody"):
        yield from _lines_of_content(2, f"body{'*' if body.get('required') else ''}", body)
    shared = []  # responses that are components
    for status, response in operation["responses"].items():
        if "$ref" in response:
            shared.append(f"{status} {_type_text(response)}")
        else:
            yield from _lines_of_response(2, status, response)
    yield from _wrap(2, f"shared: {', '.join(shared)}")


def _lines_of_response(indent: int, name: str, response: Node) -> Iterator[str]:
    """The bodies, headers and links of a response."""
    yield from _lines_of_content(indent, name, response)
    if headers := response.get("headers"):
        yield from _wrap(indent + 2, f"headers: {' '.join(map(_type_text, headers.values()))}")
    for link, target in response.get("links", {}).items():
        parameters = _other_keys(target["parameters"], ())
        yield from _wrap(indent + 2, f"link {link}: {target['operationId']} {parameters}")


def _lines_of_content(indent: int, name: str, message: Node) -> Iterator[str]:
    """The media types of a body or a response, with the fields of their schemas."""
    content = message.get("content", {})
    media_types = "; ".join(
        f"{media_type} {_type_text(media['schema'])}" for media_type, media in content.items()
    )
    yield from _wrap(indent, f"{name}: {media_types or 'no body'}")
    for media in content.values():
        yield from _lines_of_fields(indent + 2, media["schema"])


def _lines_of_schema(indent: int, name: str, schema: Node) -> Iterator[str]:
    """The line of a component or a field, and the lines of its own fields."""
    yield from _wrap(indent, f"{name}: {_type_text(schema)}")
    yield from _lines_of_fields(indent + 2, schema)


def _lines_of_fields(indent: int, schema: Node) -> Iterator[str]:
    """The fields of an object, of the items of an array, and of each alternative."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield from _lines_of_schema(indent, f"{name}{'*' if name in required else ''}", field)
    nested = [*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")]
    for inner in nested:
        if isinstance(inner, Mapping):
            yield from _lines_of_fields(indent, inner)


def _type_text(schema: Node) -> str:
    """The type of a schema in a line: the name of a component, or types and bounds."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    words = []
    if "anyOf" in schema:
        words.append(" or ".join(map(_type_text, schema["anyOf"])))
    if "type" in schema:
        types = schema["type"]
        words.append(types if isinstance(types, str) else "|".join(types))
    if "items" in schema:
        words.append(f"of {_type_text(schema['items'])}")
    if "additionalProperties" in schema:
        additional = schema["additionalProperties"]
        words.append(
            f"others={_type_text(additional) if isinstance(additional, Mapping) else additional}"
        )
    words.append(_other_keys(schema, _FOR_PEOPLE | _STRUCTURE))
    return " ".join(filter(None, words)) or "any"


def _other_keys(schema: Node, omitted: Iterable[str]) -> str:
    """The keys that are not omitted, with their values: keys unknown to this module are listed too."""
    bounds = {key: value for key, value in schema.items() if key not in omitted}
    return " ".join(f"{key}={_value_text(value)}" for key, value in bounds.items())


def _value_text(value: object) -> str:
    """A value of a key in a line."""
    if isinstance(value, Mapping):
        return f"({_type_text(value)})"
    if isinstance(value, list):
        return "|".join(map(str, value))
    return str(value)


def _wrap(indent: int, text: str) -> list[str]:
    """The text as a line, or as several if it is long, also broken at the bars of a pattern or an enum."""
    if indent + len(text) > _WIDTH:
        text = text.replace("|", "| ")
    next_indent = " " * (indent + 4)
    return wrap(
        text, _WIDTH, initial_indent=" " * indent, subsequent_indent=next_indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
