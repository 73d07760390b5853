"""Short functions for JSON Schema (2020-12), with which answers and parameters are described. Pure."""

from serve.contract.json_schema import Schema


def ref(name: str, kind: str = "schemas") -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def one_of(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}
