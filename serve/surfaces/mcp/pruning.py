"""The object of a tool: that of its route, pruned by one rule.

The rule: the tool leaves out keys that are null, keys of the caller's plan, and the keys that it names itself
(`ToolObject`); a company has the fields by which somebody chooses it; lists and texts are cut at a length. The rule
makes the schema of the tool from the component of the route. Each answer is pruned by that schema, so it always fits.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from serve.access.call import Content
from serve.contract import company_fields, feature
from serve.contract.declaration import Schema, component_schema, reference
from serve.contract.feature import Product
from serve.surfaces.mcp import results
from shards.codec import record as codec

# Keys of the caller's plan, which explain_plan shows, and codes of reasons, whose words are beside them.
_NEVER: Final = ("module", "plan_souscrit", "outil_api", "offre_suivante", "motif_code")
# Items that are shown of lists that explain an answer.
_MOST_ITEMS: Final[Mapping[str, int]] = {"ids_inconnus": 50, "activites_comprises": 20}
# Objects within objects that a schema writes out: a model reads all schemas before its first call.
_LEVELS: Final = 2

# The fields of a company in a search: enough to choose one, not to describe it.
_COMPACT: Final = tuple(field.champ for field in company_fields.fields() if field.in_tools)
_COMPANY: Final = reference("Societe")
_NULL: Final[Schema] = {"type": "null"}


class ToolObject(NamedTuple):
    """The object of a tool.

    Attributes:
        kind: the object of the route.
        without: keys that are left out, by name, or with the key that holds their object: `sources.registre`.
        nulls: keys whose null is a value.
        company: the fields of a company that are shown.
    """

    kind: Any
    without: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    company: tuple[str, ...] = _COMPACT

    def document(self, content: Content, product: Product) -> dict[str, Any]:
        """The answer of the route, as the tool shows it."""
        shown: dict[str, Any] = _prune_value(
            codec.parse(content.json()), _tool_schema(self, product)
        )
        return shown

    def schema(self, product: Product) -> Schema:
        """The schema of what is shown, without texts; keys that are null on the route are not required."""
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
def _tool_schema(shown_object: ToolObject, product: Product) -> Schema:
    return _prune_schema(component_schema(shown_object.kind, "en"), shown_object, product)


@cache
def _components(product: Product) -> Mapping[str, Schema]:
    return feature.component_schemas("en", product)


def _prune_schema(
    schema: Schema, shown_object: ToolObject, product: Product, key: str = ""
) -> Schema:
    """A schema of the route, that of the values of `key`, as the tool has it."""
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one != _NULL]
        return _merge([_prune_schema(kind, shown_object, product, key) for kind in kinds])
    if schema == _COMPANY:
        return _company_schema(shown_object.company)
    if "$ref" in schema:
        schema = _components(product)[schema["$ref"].rpartition("/")[2]]
    pruned: Schema = {}
    if kind := schema.get("type"):
        nullable = isinstance(kind, list) and key not in shown_object.nulls
        pruned["type"] = kind[0] if nullable else kind
    if key in _MOST_ITEMS:
        pruned["maxItems"] = _MOST_ITEMS[key]
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            pruned[inner] = _prune_schema(schema[inner], shown_object, product, key)
    if "properties" in schema:
        left_out = {*_NEVER, *shown_object.without}
        pruned["properties"] = {
            name: _prune_schema(value, shown_object, product, name)
            for name, value in schema["properties"].items()
            if name not in left_out and f"{key}.{name}" not in left_out
        }
    return pruned


def _merge(schemas: Sequence[Schema]) -> Schema:
    """The schema of values that have one of several schemas."""
    if len(schemas) == 1:
        return schemas[0]
    if not all("properties" in schema for schema in schemas):
        return {}
    properties = {name: value for one in schemas for name, value in one["properties"].items()}
    return {"type": "object", "properties": properties}


def _allows_null(schema: Schema) -> bool:
    return "null" in schema.get("type", ()) or _NULL in schema.get("anyOf", ())


def _company_schema(names: Sequence[str]) -> Schema:
    """The schema of a company; a short one describes its fields."""
    properties: dict[str, Schema] = {}
    for field in company_fields.fields():
        if field.champ in names:
            items = {"items": {"type": "string"}} if field.json_type == "array" else {}
            text = {"description": field.definition["en"]} if names is _COMPACT else {}
            properties[field.champ] = {"type": field.json_type, **items, **text}
    return {"type": "object", "properties": properties}


def _outline(schema: Schema, levels: int) -> Schema:
    """A schema whose objects are written out to a depth; deeper ones have their type alone."""
    outline: Schema = {name: schema[name] for name in ("type", "description") if name in schema}
    if "items" in schema:
        outline["items"] = _outline(schema["items"], levels)
    elif levels and "properties" in schema:
        parts = {name: _outline(part, levels - 1) for name, part in schema["properties"].items()}
        outline["properties"] = parts
    elif levels and "additionalProperties" in schema:
        outline["additionalProperties"] = _outline(schema["additionalProperties"], levels - 1)
    return outline


def _prune_value(value: Any, schema: Schema) -> Any:
    """The part of a value that its schema has."""
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
        return results.first(items, schema.get("maxItems", len(items)))
    return results.shorten(value, results.LONGEST_TEXT)
