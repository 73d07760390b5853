"""The object of a tool: the object of its route, pruned by one rule.

The rule: leave out null keys, keys of the caller's plan, and the keys that the tool names (`ToolObject`). A company has
only the fields that help to choose it. Lists and texts are cut. The rule derives the schema of the tool from the
component of the route. Each answer is pruned by that schema, so it always fits the schema.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from serve.access.call import Content
from serve.contract import company_fields, feature
from serve.contract.declaration import JsonSchema, component_schema, reference
from serve.contract.feature import Product
from serve.surfaces.mcp import results
from shards.codec import record as codec

# The keys that every tool leaves out: those of the caller's plan, which explain_plan shows, and codes of reasons, which
# are also given in words.
_LEFT_OUT: Final = ("module", "plan_souscrit", "outil_api", "offre_suivante", "motif_code")
# The most items that a tool shows of lists that explain an answer, by key.
_MOST_ITEMS: Final[Mapping[str, int]] = {"ids_inconnus": 50, "activites_comprises": 20}
# The depth to which a schema describes objects. Deeper objects are not described, because a model reads all schemas
# before its first call.
_LEVELS: Final = 2

# The fields of a company in a search: enough to choose one, not to describe it.
_COMPACT: Final = tuple(field.champ for field in company_fields.fields() if field.in_tools)
_COMPANY: Final = reference("Societe")
_NULL: Final[JsonSchema] = {"type": "null"}


class ToolObject(NamedTuple):
    """The object of a tool.

    Attributes:
        kind: the object of the route.
        without: keys to leave out, by name, or with the key of their object: `sources.registre`.
        nulls: keys for which null is a value, so it is not left out.
        company: the fields of a company.
    """

    kind: Any
    without: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    company: tuple[str, ...] = _COMPACT

    def document(self, content: Content, product: Product) -> dict[str, Any]:
        """The answer of the route, pruned for the tool."""
        pruned: dict[str, Any] = _prune_value(
            codec.parse(content.json()), _tool_schema(self, product)
        )
        return pruned

    def schema(self, product: Product) -> JsonSchema:
        """The schema of the pruned object; keys that may be null on the route are not required."""
        outline = _outline(_tool_schema(self, product), _LEVELS)
        declared = component_schema(self.kind, "en")
        nullable = {name for name, value in declared["properties"].items() if _allows_null(value)}
        required = [
            name
            for name in declared["required"]
            if name in outline["properties"] and (name in self.nulls or name not in nullable)
        ]
        return {**outline, "required": required, "additionalProperties": False}


@cache
def _tool_schema(shown_object: ToolObject, product: Product) -> JsonSchema:
    """The schema of the tool's object at full depth; answers get only its keys."""
    return _prune_schema(component_schema(shown_object.kind, "en"), shown_object, product)


@cache
def _components(product: Product) -> Mapping[str, JsonSchema]:
    """The schemas to which references in the schemas of routes lead, by name."""
    return feature.component_schemas("en", product)


def _prune_schema(
    schema: JsonSchema, shown_object: ToolObject, product: Product, key: str = ""
) -> JsonSchema:
    """The schema of the values of `key` on the route, reduced to what the tool shows.

    Null is removed unless it is a value (`ToolObject.nulls`), as are the keys that the tool leaves out.
    """
    if "anyOf" in schema:
        kinds = [kind for kind in schema["anyOf"] if kind != _NULL]
        return _merge([_prune_schema(kind, shown_object, product, key) for kind in kinds])
    if schema == _COMPANY:
        return _company_schema(shown_object.company)
    if "$ref" in schema:
        schema = _components(product)[schema["$ref"].rpartition("/")[2]]
    pruned: JsonSchema = {}
    if kind := schema.get("type"):
        drops_null = isinstance(kind, list) and key not in shown_object.nulls
        pruned["type"] = kind[0] if drops_null else kind
    if key in _MOST_ITEMS:
        pruned["maxItems"] = _MOST_ITEMS[key]
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            pruned[inner] = _prune_schema(schema[inner], shown_object, product, key)
    if "properties" in schema:
        left_out = {*_LEFT_OUT, *shown_object.without}
        pruned["properties"] = {
            name: _prune_schema(value, shown_object, product, name)
            for name, value in schema["properties"].items()
            if name not in left_out and f"{key}.{name}" not in left_out
        }
    return pruned


def _merge(schemas: Sequence[JsonSchema]) -> JsonSchema:
    """The schema of values that have one of several schemas: an object with the properties of all of them.

    If one of several schemas is not of an object, the result allows any value.
    """
    if len(schemas) == 1:
        return schemas[0]
    if not all("properties" in schema for schema in schemas):
        return {}
    properties = {name: value for schema in schemas for name, value in schema["properties"].items()}
    return {"type": "object", "properties": properties}


def _allows_null(schema: JsonSchema) -> bool:
    """Whether null is a value of this schema, as a type or as a part of a union."""
    return "null" in schema.get("type", ()) or _NULL in schema.get("anyOf", ())


def _company_schema(names: Sequence[str]) -> JsonSchema:
    """The schema of a company with the fields `names`; only the schema of search results describes the fields."""
    properties: dict[str, JsonSchema] = {}
    for field in company_fields.fields():
        if field.champ in names:
            items = {"items": {"type": "string"}} if field.json_type == "array" else {}
            description = {"description": field.definition["en"]} if names is _COMPACT else {}
            properties[field.champ] = {"type": field.json_type, **items, **description}
    return {"type": "object", "properties": properties}


def _outline(schema: JsonSchema, levels: int) -> JsonSchema:
    """A schema with objects described to a depth of `levels`; deeper objects have only a type."""
    outline: JsonSchema = {name: schema[name] for name in ("type", "description") if name in schema}
    if "items" in schema:
        outline["items"] = _outline(schema["items"], levels)
    elif levels and "properties" in schema:
        parts = {name: _outline(part, levels - 1) for name, part in schema["properties"].items()}
        outline["properties"] = parts
    elif levels and "additionalProperties" in schema:
        outline["additionalProperties"] = _outline(schema["additionalProperties"], levels - 1)
    return outline


def _prune_value(value: Any, schema: JsonSchema) -> Any:
    """The parts of a value that its schema describes, without nulls that it excludes, and with lists and texts cut."""
    if isinstance(value, dict):
        properties = schema.get("properties")
        if properties is None:
            inner = schema.get("additionalProperties", {})
            return {name: _prune_value(part, inner) for name, part in value.items()}
        return {
            name: _prune_value(value[name], part)
            for name, part in properties.items()
            if name in value and (value[name] is not None or "null" in part.get("type", ()))
        }
    if isinstance(value, list):
        items = [_prune_value(item, schema.get("items", {})) for item in value]
        return results.first_items(items, schema.get("maxItems", len(items)))
    return results.shorten(value, results.LONGEST_TEXT)
