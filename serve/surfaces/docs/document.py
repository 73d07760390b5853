"""The OpenAPI document, put together once when a server starts."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import orjson

from quota import plans
from serve.access.call import Response
from serve.config import BurstLimits
from serve.contract import VERSION, company_fields, feature, parameters
from serve.contract.declaration import Keywords, KnownValues, Schema, schema
from serve.contract.feature import Product
from serve.contract.parameters import Parameter, SeedWords
from serve.contract.text import Lang, Text
from serve.surfaces.docs import prose
from serve.surfaces.docs.paths import error_components, headers, paths
from shards.codec.record import CONTACTS
from shards.query import STATES

OPENAPI: Final = "3.1.0"

_DEFAULT_DEBIT: Final = BurstLimits()
# Without escapes of line separators: generators of clients write the pattern into source code.
_NOT_BLANK: Final = r"\S"

_IF_NONE_MATCH: Final = Text(
    "L’`ETag` d’une réponse que l’appelant possède : s’il vaut toujours, 304.",
    "The `ETag` of an answer that the caller has: if it is still true, 304.",
)


def page(product: Product, base_url: str, debit: BurstLimits) -> Response:
    """The document as an answer.

    Args:
        base_url: the address of the service as callers write it; "" for that of the document.
        debit: the burst limits of this server.
    """
    return _answer(orjson.dumps(document(product, base_url, debit)))


def with_generation(described: bytes, generation: str) -> Response:
    """The document with `generation` as the example of `version` and `depuis`, so that every example can be sent."""
    example = str(parameters.VERSION.example).encode()
    return _answer(described.replace(example, generation.encode()))


def _answer(described: bytes) -> Response:
    return Response(200, described, {"Content-Type": "application/json; charset=utf-8"})


def document(
    product: Product,
    base_url: str = "",
    debit: BurstLimits = _DEFAULT_DEBIT,
    lang: Lang = "en",
) -> dict[str, Any]:
    """The document; only the address and the burst limits depend on the server.

    The one that is served is English. In French are the texts that the pages of the documentation show: of operations,
    parameters, objects, bodies, headers and examples.
    """
    words = parameters.words()
    error_schemas, error_responses = error_components(product, lang)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "European companies",
            "version": VERSION,
            "summary": "What 25 business registers publish, with an exact total for every search.",
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
                name: {"summary": example.summary.in_language(lang), "value": example.value}
                for name, example in product.examples.items()
            },
            "securitySchemes": {
                "cle": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "soc_live_ and 38 letters and digits",
                    "description": "A key of the account area; shown once, when it is made.",
                }
            },
        },
    }


def _parameters(product: Product, words: SeedWords, lang: Lang) -> dict[str, Schema]:
    """Every parameter by the name with which operations refer to it."""
    schemas = {
        one.component: _parameter(one, words, lang)
        for operation in product.operations
        for one in operation.parameters
    }
    in_paths = (one for operation in product.operations for one in operation.path_parameters)
    for parameter in in_paths:
        needed = {"in": "path", "required": True, "example": parameter.example}
        schemas[parameter.name] = {**_parameter(parameter, words, lang), **needed}
    schemas["If-None-Match"] = {
        "name": "If-None-Match",
        "in": "header",
        "description": _IF_NONE_MATCH.in_language(lang),
        "schema": {"type": "string", "examples": ['"6d0f1b2c3a4e5f60718293a4"']},
    }
    return schemas


def _parameter(parameter: Parameter, words: SeedWords, lang: Lang) -> Schema:
    schema = parameter.schema(words)
    parameter_object: Schema = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description.in_language(lang),
        # Examples beside the schema would make a viewer fill in every field of its form.
        "schema": {**schema, **parameter.examples},
    }
    if parameter.required:
        parameter_object |= {"required": True, "example": parameter.example}
        parameter_object["schema"] |= {"minLength": 1, "pattern": schema.get("pattern", _NOT_BLANK)}
    return parameter_object


# -- the schema of a company (§2.1), whose record is stored JSON -------------------------

_DATE: Final[Any] = Annotated[str, Keywords(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")]
_STATE: Final = Annotated[str, KnownValues(STATES)]
_COMPANY: Final = Text(
    "Une société. Chaque champ y est avec toute offre, null là où il n’est pas connu.",
    "A company (société). Every field is there on every plan, null where it is not known.",
)
_CONTACT: Final = Text(
    " Null sans le droit aux coordonnées (`coordonnees`) ; jamais approché.",
    " Null without the contact right (`coordonnees`); never approximated.",
)
_TYPES: Final[Mapping[str, Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": Sequence[str],
}  # fmt: skip


def company(lang: Lang) -> Schema:
    """A company, with texts in `lang`: the fields in the order in which they are served.

    §2.1: "all fields are optional in the schema".
    """
    fields = {field.champ: _field(field, lang) for field in company_fields.fields()}
    return {"type": "object", "description": _COMPANY.in_language(lang), "properties": fields}


def _field(field: company_fields.Field, lang: Lang) -> Schema:
    """The schema of a field of a company (serve/contract/tables/fields.csv)."""
    # As in the other texts of documents, an apostrophe is a typographic one.
    french = field.definition["fr"].replace("'", "’")
    contact = _CONTACT if field.champ in CONTACTS else Text("", "")
    text = Text(f"{french}.{contact.fr}", f"{field.definition['en']}.{contact.en}")
    if field.champ == "etat":
        return schema(_STATE, lang, text)
    if field.genre == company_fields.DATE:
        return schema(_DATE | None, lang, text)
    # §2.1 says `number`, though every score is whole today.
    kind = float if field.champ == "score" else _TYPES[field.json_type]
    return schema(kind | None if field.nullable else kind, lang, text)
