"""The OpenAPI document, put together once when a server starts."""

from functools import lru_cache
from typing import Any, Final

import orjson

from quota import plans
from serve.config import BurstLimits
from serve.contract import VERSION, components, parameters
from serve.contract.feature import Product
from serve.contract.json_schema import Schema
from serve.contract.parameters import Parameter, SeedWords
from serve.contract.text import Lang, Text
from serve.http import static_pages
from serve.http.static_pages import StaticPage
from serve.surfaces.docs import prose, responses
from serve.surfaces.docs.company_schema import company
from serve.surfaces.docs.examples import EXAMPLES
from serve.surfaces.docs.headers import headers
from serve.surfaces.docs.paths import paths

OPENAPI: Final = "3.1.0"

_DEFAULT_DEBIT: Final = BurstLimits()
_JSON: Final = "application/json; charset=utf-8"
# Without escapes of line separators: generators of clients write the pattern into source code.
_NOT_BLANK: Final = r"\S"

_IF_NONE_MATCH: Final = Text(
    "L’`ETag` d’une réponse que l’appelant possède : s’il vaut toujours, 304.",
    "The `ETag` of an answer that the caller has: if it is still true, 304.",
)


def page(product: Product, base_url: str, debit: BurstLimits) -> StaticPage:
    """The document as a page.

    Args:
        base_url: the address of the service as callers write it; "" for that of the document.
        debit: the burst limits of this server.
    """
    return static_pages.page(orjson.dumps(document(product, base_url, debit)), _JSON)


@lru_cache(maxsize=2)
def with_generation(described: bytes, generation: str) -> StaticPage:
    """The document with `generation` as the example of `version` and `depuis`, so that every example can be sent."""
    example = str(parameters.VERSION.example).encode()
    return static_pages.page(described.replace(example, generation.encode()), _JSON)


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
    error_schemas, error_responses = responses.components(product, lang)
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "European companies",
            "version": VERSION,
            "summary": "What 25 business registers publish, with an exact total for every search.",
            "description": prose.description(plans.load(), debit),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": base_url or "/", "description": "This service"}],
        "tags": [{"name": name, "description": text} for name, text in prose.TAGS.items()],
        "paths": paths(product, lang),
        "components": {
            "schemas": {
                **components.schemas(lang, product),
                "Societe": company(lang),
                **error_schemas,
            },
            "responses": error_responses,
            "parameters": _parameters(product, words, lang),
            "headers": headers(lang),
            "examples": {
                name: {"summary": example.summary.in_language(lang), "value": example.value}
                for name, example in EXAMPLES.items()
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
