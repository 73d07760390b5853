"""Short functions for JSON Schema (2020-12), with which bodies, errors and companies are described. Pure."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def one_of(description: str, *values: str) -> Schema:
    """A text that has one of `values` today. No enum: a client made of this must survive a new one (X0).

    >>> one_of("Kind.", "a", "b")["description"]
    'Kind. Today `a`, `b`; others may come.'
    """
    listed = ", ".join(f"`{value}`" for value in values)
    return text(f"{description} Today {listed}; others may come.", examples=list(values))


def whole(description: str, **more: Any) -> Schema:
    return {"type": "integer", "description": description, **more}


def number(description: str, **more: Any) -> Schema:
    return {"type": "number", "description": description, **more}


def truth(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def moment(description: str) -> Schema:
    """A time in UTC, as serve/access/counter_headers.py writes it."""
    return text(f"{description} (UTC, ISO 8601).", format="date-time")


def nullable(schema: Schema) -> Schema:
    """`schema`, or null.

    >>> nullable(whole("Headcount."))
    {'type': ['integer', 'null'], 'description': 'Headcount.'}
    """
    return {**schema, "type": [schema["type"], "null"]}


def array(items: Schema, description: str) -> Schema:
    return {"type": "array", "description": description, "items": items}


def texts(description: str) -> Schema:
    return array({"type": "string"}, description)


def ref(name: str, kind: str = "schemas") -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def shape(
    description: str, properties: Mapping[str, Schema], optional: tuple[str, ...] = ()
) -> Schema:
    """An object with these properties, of which all but the `optional` ones are required.

    It is not closed: later versions may add properties (README.md, change policy).
    """
    required = [name for name in properties if name not in optional]
    schema: Schema = {"type": "object", "description": description, "properties": dict(properties)}
    return {**schema, "required": required} if required else schema
