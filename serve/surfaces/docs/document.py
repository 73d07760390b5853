"""The OpenAPI document, made once when a server starts."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import orjson

from quota import plans
from serve.access.call import Response
from serve.config import BurstLimits
from serve.contract import VERSION, company_fields, feature, parameters
from serve.contract.declaration import JsonSchema, Keywords, KnownValues, schema
from serve.contract.feature import Product
from serve.contract.parameters import Parameter, SeedWords
from serve.contract.text import Lang, Text
from serve.surfaces.docs import prose
from serve.surfaces.docs.paths import error_components, headers, paths
from shards.codec.record import CONTACTS
from shards.query import STATES

# The version of the OpenAPI Specification.
OPENAPI: Final = "3.1.0"

# The burst limits of a server without settings, for the pages of the documentation.
_DEFAULT_DEBIT: Final = BurstLimits()
# Without escapes of line separators, because generators of clients copy the pattern into source code.
_NOT_BLANK: Final = r"\S"

# The description of the header If-None-Match.
_IF_NONE_MATCH: Final = Text(
    "L’`ETag` d’une réponse que l’appelant possède déjà : 304 si elle n’a pas changé.",
    "The `ETag` of an answer that the caller already has: 304 if it is still current.",
)


def page(product: Product, base_url: str, debit: BurstLimits) -> Response:
    """The response for /openapi.json.

    Args:
        base_url: the address of the service for callers; "" for the host of the document.
        debit: the burst limits of this server.
    """
    return _json_response(orjson.dumps(document(product, base_url, debit)))


def set_generation(document_json: bytes, generation: str) -> Response:
    """The document with `generation` as the example of `version` and `depuis`, so that the examples work."""
    example = str(parameters.VERSION.example).encode()
    return _json_response(document_json.replace(example, generation.encode()))


def _json_response(document_json: bytes) -> Response:
    """The response with the document."""
    return Response(200, document_json, {"Content-Type": "application/json; charset=utf-8"})


def document(
    product: Product,
    base_url: str = "",
    debit: BurstLimits = _DEFAULT_DEBIT,
    lang: Lang = "en",
) -> dict[str, Any]:
    """The document; only the address and the burst limits depend on the server.

    /openapi.json is in English. The French document, for the pages of the documentation, has French texts only for
    operations, parameters, objects, bodies, headers and examples.
    """
    words = parameters.words()
    error_schemas, error_responses = error_components(product, lang)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "European companies",
            "version": VERSION,
            "summary": "Companies of 25 business registers, with an exact total for every search.",
            "description": prose.description(product, plans.load(), debit),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url or "/", "description": "This service"}],
        "tags": [{"name": name, "description": text} for name, text in prose.TAGS.items()],
        "paths": paths(product, lang),
        "components": {
            "schemas": {
                **feature.component_schemas(lang, product),
                "Societe": company(lang),
                **error_schemas,
            },
            "responses": error_responses,
            "parameters": _parameters(product, words, lang),
            "headers": headers(product, lang),
            "examples": {
                name: {"summary": example.summary.translation(lang), "value": example.value}
                for name, example in product.examples.items()
            },
            "securitySchemes": {
                "cle": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "soc_live_ and 38 letters and digits",
                    "description": "A key of the account area; shown once, when it is created.",
                }
            },
        },
    }


def _parameters(product: Product, words: SeedWords, lang: Lang) -> dict[str, JsonSchema]:
    """The Parameter Objects (OpenAPI) of all operations by component name, and that of If-None-Match."""
    schemas = {
        parameter.component: _query_parameter(parameter, words, lang)
        for operation in product.operations
        for parameter in operation.parameters
    }
    path_parameters = (
        parameter for operation in product.operations for parameter in operation.path_parameters
    )
    for parameter in path_parameters:
        path_keys = {"in": "path", "required": True, "example": parameter.example}
        schemas[parameter.name] = {**_query_parameter(parameter, words, lang), **path_keys}
    schemas["If-None-Match"] = {
        "name": "If-None-Match",
        "in": "header",
        "description": _IF_NONE_MATCH.translation(lang),
        "schema": {"type": "string", "examples": ['"6d0f1b2c3a4e5f60718293a4"']},
    }
    return schemas


def _query_parameter(parameter: Parameter, words: SeedWords, lang: Lang) -> JsonSchema:
    """The Parameter Object (OpenAPI) of a parameter in the query."""
    schema = parameter.schema(words)
    parameter_object: JsonSchema = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description.translation(lang),
        # The examples are in the schema: with examples of the parameter, a viewer would fill in every field.
        "schema": {**schema, **parameter.examples},
    }
    if parameter.required:
        parameter_object |= {"required": True, "example": parameter.example}
        parameter_object["schema"] |= {"minLength": 1, "pattern": schema.get("pattern", _NOT_BLANK)}
    return parameter_object


# -- the schema of a company (§2.1), whose record is stored JSON -------------------------

# A year, a month or a day.
_DATE: Final[Any] = Annotated[str, Keywords(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
_STATE: Final = Annotated[str, KnownValues(STATES)]
_COMPANY: Final = Text(
    "Une société. Toutes les offres ont tous les champs ; un champ est null si sa valeur n’est pas connue.",
    "A company (société). Every plan has every field; a field is null if its value is not known.",
)
# The sentence that ends the description of a contact field.
_CONTACT: Final = Text(
    " Null sans le droit aux coordonnées (`coordonnees`) ; jamais approché.",
    " Null without the contact right (`coordonnees`); never approximated.",
)
# The Python type of each JSON type of a field.
_TYPES: Final[Mapping[str, Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": Sequence[str],
}  # fmt: skip


def company(lang: Lang) -> JsonSchema:
    """The schema of a company, with texts in `lang` and the fields in the order of answers.

    No field is required, because §2.1 says "all fields are optional in the schema".
    """
    fields = {field.champ: _field(field, lang) for field in company_fields.fields()}
    return {"type": "object", "description": _COMPANY.translation(lang), "properties": fields}


def _field(field: company_fields.Field, lang: Lang) -> JsonSchema:
    """The schema of a field of a company (serve/contract/tables/fields.csv)."""
    # Typographic apostrophes, as in the other texts of documents.
    french = field.definition["fr"].replace("'", "’")
    contact = _CONTACT if field.champ in CONTACTS else Text("", "")
    text = Text(f"{french}.{contact.fr}", f"{field.definition['en']}.{contact.en}")
    if field.champ == "etat":
        return schema(_STATE, lang, text)
    if field.genre == company_fields.DATE:
        return schema(_DATE | None, lang, text)
    # §2.1 says `number`, although every score is an integer today.
    kind = float if field.champ == "score" else _TYPES[field.json_type]
    return schema(kind | None if field.nullable else kind, lang, text)
