"""An OpenAPI document as lines for review: paths, names, types, enums and bounds; no texts for people, no examples.

A change of a line is a change for clients. `*` follows the name of a parameter or field that is required.
"""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

Node = Mapping[str, Any]

_WIDTH: Final = 120
_FOR_PEOPLE: Final = frozenset({"description", "example", "examples", "summary", "title"})
# Keys that `_type` and `_lines_of_fields` read.
_STRUCTURE: Final = frozenset(
    {"$ref", "additionalProperties", "anyOf", "items", "properties", "required", "type"}
)


def listing(document: Node) -> str:
    """The lines of a document of OpenAPI 3.1."""
    lines = [f"OpenAPI {document['openapi']}, version {document['info']['version']}"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += ["", *_lines_of_operation(f"{method.upper()} {path}", operation)]
    components = document["components"]
    lines += ["", "PARAMETERS"]
    for name, parameter in components["parameters"].items():
        label = f"{name}{'*' if parameter.get('required') else ''}"
        place = f"{parameter['name']} in {parameter['in']}, "
        lines += _wrapped(0, f"{label}: {place}{_type(parameter['schema'])}")
    lines += ["", "HEADERS"]
    for name, header in components["headers"].items():
        lines += _wrapped(0, f"{name}: {_type(header['schema'])}")
    lines += ["", "RESPONSES"]
    for name, response in components["responses"].items():
        lines += _lines_of_response(0, name, response)
    lines += ["", "SECURITY"]
    for name, scheme in components["securitySchemes"].items():
        lines += _wrapped(0, f"{name}: {_bounds(scheme, _FOR_PEOPLE)}")
    lines += ["", "SCHEMAS"]
    for name, schema in components["schemas"].items():
        lines += _lines_of_schema(0, name, schema)
    return "\n".join(lines) + "\n"


def _lines_of_operation(name: str, operation: Node) -> Iterator[str]:
    yield f"{name} = {operation['operationId']}, tagged {', '.join(operation['tags'])}"
    if security := operation.get("security"):
        keys = (" and ".join(scheme) or "none" for scheme in security)
        yield f"  security: {' or '.join(keys)}"
    if parameters := operation.get("parameters"):
        yield from _wrapped(2, f"parameters: {' '.join(map(_type, parameters))}")
    if body := operation.get("requestBody"):
        yield from _lines_of_content(2, f"body{'*' if body.get('required') else ''}", body)
    shared = []
    for status, response in operation["responses"].items():
        if "$ref" in response:
            shared.append(f"{status} {_type(response)}")
        else:
            yield from _lines_of_response(2, status, response)
    yield from _wrapped(2, f"shared: {', '.join(shared)}")


def _lines_of_response(indent: int, name: str, response: Node) -> Iterator[str]:
    yield from _lines_of_content(indent, name, response)
    if headers := response.get("headers"):
        yield from _wrapped(indent + 2, f"headers: {' '.join(map(_type, headers.values()))}")
    for link, target in response.get("links", {}).items():
        parameters = _bounds(target["parameters"], ())
        yield from _wrapped(indent + 2, f"link {link}: {target['operationId']} {parameters}")


def _lines_of_content(indent: int, name: str, holder: Node) -> Iterator[str]:
    content = holder.get("content", {})
    kinds = "; ".join(f"{kind} {_type(media['schema'])}" for kind, media in content.items())
    yield from _wrapped(indent, f"{name}: {kinds or 'no body'}")
    for media in content.values():
        yield from _lines_of_fields(indent + 2, media["schema"])


def _lines_of_schema(indent: int, name: str, schema: Node) -> Iterator[str]:
    yield from _wrapped(indent, f"{name}: {_type(schema)}")
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


def _type(schema: Node) -> str:
    """The type of a schema in a line: the name of a component, or types and bounds."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    words = []
    if "anyOf" in schema:
        words.append(" or ".join(map(_type, schema["anyOf"])))
    if "type" in schema:
        types = schema["type"]
        words.append(types if isinstance(types, str) else "|".join(types))
    if "items" in schema:
        words.append(f"of {_type(schema['items'])}")
    if "additionalProperties" in schema:
        others = schema["additionalProperties"]
        words.append(f"others={_type(others) if isinstance(others, Mapping) else others}")
    words.append(_bounds(schema, _FOR_PEOPLE | _STRUCTURE))
    return " ".join(filter(None, words)) or "any"


def _bounds(schema: Node, left_out: Iterable[str]) -> str:
    """Every other key of a schema with its value: a key that is new to this module is not lost."""
    bounds = {key: value for key, value in schema.items() if key not in left_out}
    return " ".join(f"{key}={_value(value)}" for key, value in bounds.items())


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return f"({_type(value)})"
    if isinstance(value, list):
        return "|".join(map(str, value))
    return str(value)


def _wrapped(indent: int, text: str) -> list[str]:
    """A line, or several if it is long: they may break at the bars of a pattern or an enum."""
    if indent + len(text) > _WIDTH:
        text = text.replace("|", "| ")
    deeper = " " * (indent + 4)
    return wrap(
        text, _WIDTH, initial_indent=" " * indent, subsequent_indent=deeper,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
