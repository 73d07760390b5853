"""The document /openapi.json: it has every route and agrees with the code (§4.8)."""

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from openapi_spec_validator import validate

from quota import plans
from serve.app import PRODUCT
from serve.config import BurstLimits
from serve.contract import parameters
from serve.contract.answers import DetailsErreur
from serve.contract.declaration import names_of
from serve.contract.errors import CODES
from serve.contract.parameters import Parameter
from serve.contract.text import Lang
from serve.features.changes import modifications
from serve.features.export import export
from serve.features.reference.operations import SECTORS, SUB_SECTORS
from serve.http.reply import EXPOSED
from serve.request import place_names
from serve.surfaces.docs import document, paths
from serve.surfaces.docs.paths import headers
from shards.codec import record
from tests import golden
from tests.serve.client import Server
from tests.serve.conformance import DOCUMENT, objects
from tests.serve.surfaces.docs.listing import listing
from tests.serve.world import LISTS

DOCUMENT_PATH = "/openapi.json"


def test_the_document_is_golden() -> None:
    """So a review shows each breaking change; `make golden` rewrites the file"""
    golden.check("openapi.txt", listing(DOCUMENT))


def test_the_document_is_valid_openapi_3_1_for_version_1_1_0_of_the_api() -> None:
    """§4.8, §9"""
    validate(DOCUMENT)

    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "1.1.0"


def test_the_document_has_no_extension() -> None:
    assert not [key for node in objects(DOCUMENT) for key in node if key.startswith("x-")]


def test_the_document_has_exactly_the_routes() -> None:
    described_methods = {
        path: {method.upper() for method in operations}
        for path, operations in DOCUMENT["paths"].items()
    }
    routes = [
        (operation.path, operation.method)
        for operation in PRODUCT.operations
        if operation.kind != "tools"
    ]

    assert sorted(routes) == sorted(
        (path, method) for path, methods in described_methods.items() for method in methods
    )


def test_every_operation_has_a_unique_id_and_a_summary() -> None:
    operations = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]

    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(
        operation["summary"] and operation["description"] and operation["tags"]
        for operation in operations
    )


def test_every_reference_resolves_and_every_component_is_used() -> None:
    used = {node["$ref"] for node in objects(DOCUMENT) if isinstance(node.get("$ref"), str)}
    components = {
        f"#/components/{kind}/{name}"
        for kind, members in DOCUMENT["components"].items()
        for name in members
        if kind != "securitySchemes"
    }

    assert used == components


# -- agreement with the code ------------------------------------------------------------


def test_the_parameters_of_an_operation_are_those_of_its_parser() -> None:
    """§4"""
    assert _parameter_names("/api/v1/pays") == ["version"]
    assert _parameter_names("/api/v1/secteurs") == list(parameters.names(SECTORS))
    assert _parameter_names("/api/v1/sous-secteurs") == list(parameters.names(SUB_SECTORS))
    assert _parameter_names("/api/v1/societes") == list(parameters.names(parameters.SEARCH))
    assert _parameter_names("/api/v1/export") == list(parameters.names(export.PARAMETERS))
    assert _parameter_names("/api/v1/societes/{iso}/{id}") == ["iso", "id", "version"]
    assert _parameter_names("/api/v1/modifications") == list(
        parameters.names(modifications.PARAMETERS)
    )


def test_a_required_parameter_is_not_described_as_optional() -> None:
    """G4"""
    described = DOCUMENT["components"]["parameters"].values()
    required = [parameter for parameter in described if parameter.get("required")]

    assert {parameter["name"] for parameter in required} == {
        "secteur", "depuis", "iso", "id", "valeur", "q", "par", "jeton", "quoi", "societe", "file",
    }  # fmt: skip
    assert not [
        parameter["name"] for parameter in required if "Without it" in parameter["description"]
    ]


def test_the_body_of_an_export_has_the_parameters_of_its_query() -> None:
    """§4.7, F3"""
    body = DOCUMENT["components"]["schemas"]["DemandeExport"]

    assert list(body["properties"]) == list(parameters.names(export.PARAMETERS))
    assert body["properties"]["pays"]["type"] == "string"
    assert body["properties"]["q"]["type"] == "string"


@pytest.mark.parametrize(
    "parameter",
    [*parameters.SEARCH, *export.PARAMETERS, *parameters.RECORD, *modifications.PARAMETERS],
)
def test_the_example_of_a_parameter_is_valid_in_its_schema(parameter: Parameter) -> None:
    schema = parameter.schema(parameters.words())
    text = str(parameter.example)

    assert parameter.example in schema.get("enum", [parameter.example])
    assert re.search(schema.get("pattern", ""), text)
    assert schema["type"] == "string" or float(text) >= schema.get("minimum", 0)


def test_the_enums_are_the_values_that_a_request_may_send() -> None:
    """B1, B11"""
    names = place_names.read(LISTS)
    words = parameters.words()

    assert {names.country(word) for word in words["pays"]} == set(names.pays)
    assert len({names.sector(word) for word in words["secteur"]}) == len(LISTS.secteurs) == 84
    assert not [word for word in words["secteur"] if names.sector(word) is None]


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("pays", ["", "FR", "UK,GB", "EE,UK,"], ["XX", "FRUK", "FR;UK", "FR,XX"]),
        ("secteur", ["", "edition", "Édition|restauration"], ["Magie", "edition restauration"]),
    ],
)
def test_the_pattern_of_a_list_is_exact(name: str, accepted: list[str], refused: list[str]) -> None:
    pattern = DOCUMENT["components"]["parameters"][name]["schema"]["pattern"]

    assert all(re.search(pattern, text) for text in accepted)
    assert not any(re.search(pattern, text) for text in refused)


def test_the_fields_of_a_company_are_the_stored_fields() -> None:
    """§2.1: the order is the same too"""
    schema = DOCUMENT["components"]["schemas"]["Societe"]

    assert tuple(schema["properties"]) == record.FIELDS
    assert "required" not in schema


def test_every_code_is_described_with_its_status_and_its_keys() -> None:
    """§7, G7"""
    schemas = DOCUMENT["components"]["schemas"]
    answered_codes = {code: declared for code, declared in CODES.items() if declared.status in (
        set(paths.STATUSES) - {402})}  # fmt: skip

    for code, declared in answered_codes.items():
        schema = schemas[f"Erreur{declared.status}"]
        assert code in schema["properties"]["erreur"]["properties"]["code"]["examples"]
        assert re.fullmatch(paths.CODE_PATTERN, code)
        assert set(declared.extra) <= set(schema["properties"])
    assert all(f"`{code}`" in DOCUMENT["info"]["description"] for code in CODES)
    assert {key for declared in CODES.values() for key in declared.extra} == set(
        names_of(DetailsErreur)
    )


def test_answers_have_no_closed_enums() -> None:
    """X0: a client generated today must accept later codes, plans and states"""
    answer_schemas = dict(DOCUMENT["components"]["schemas"])
    for request_body in ("DemandeExport", "DemandeRapprochement"):
        del answer_schemas[request_body]

    closed = {
        name: node["enum"]
        for name, schema in answer_schemas.items()
        for node in objects(schema)
        if len(node.get("enum", ())) > 1
    }

    assert closed == {}
    assert not [
        name
        for name, header in DOCUMENT["components"]["headers"].items()
        if len(header["schema"].get("enum", ())) > 1 and name != "X-Export-Coordonnees"
    ]


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_no_text_of_the_document_breaks_the_source_code_of_a_client(lang: Lang) -> None:
    """Generators write texts into comments and patterns into literals: tests/judges/openapi/test_generators.py."""
    texts = list(all_texts(document.document(PRODUCT, lang=lang)))

    assert not [
        text for text in texts if re.search(r"\*/|/\*|[\u2028\u2029]|\"{3}|\$\{|`{3}", text)
    ]
    assert not [text for text in texts if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)]
    assert not [text for text in texts if re.search(r"\\u20(28|29)|\\[rnvft0]", text)]


def test_the_codes_of_reasons_are_a_closed_list() -> None:
    """X19"""
    schemas = [node["raisons_codes"] for node in objects(DOCUMENT) if "raisons_codes" in node]
    described = [codes["items"]["description"] for codes in schemas if isinstance(codes, dict)]

    assert described
    assert all(" One of `" in text and "others may come" not in text for text in described)


def test_no_field_is_a_text_or_a_list() -> None:
    """Generators of clients cannot write a union of an array and another type"""
    types = [node["type"] for node in objects(DOCUMENT) if isinstance(node.get("type"), list)]

    assert types
    assert not [union for union in types if "array" in union and set(union) - {"array", "null"}]


def all_texts(value: Any) -> Iterator[str]:
    """The strings of a JSON value, without the names of members."""
    if isinstance(value, str):
        yield value
    members = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for member in members:
        yield from all_texts(member)


def test_every_header_that_browsers_may_read_is_described() -> None:
    """G2"""
    assert set(EXPOSED) <= set(headers(PRODUCT, "en"))


def test_every_plan_is_described_with_its_figures() -> None:
    """§8.1"""
    for plan in plans.load().values():
        row = f"| {plan.nom_en} (`{plan.slug}`) | {plan.resultats_par_recherche} "
        assert row in DOCUMENT["info"]["description"]


def test_every_limit_is_described_with_the_value_of_its_setting() -> None:
    """D7: each setting has another value here, so a limit cannot be described with a wrong one"""
    debit = BurstLimits(
        visiteur=31, free=32, data=33, carte=34, corporate=35, marches=36, integral=37, listes=38,
        pages=40, visiteur_jour=39, exports=41, fichiers=42, simultanes=43,
    )  # fmt: skip

    text = document.document(PRODUCT, debit=debit)["info"]["description"]

    for plan in plans.load().values():
        (row,) = (line for line in text.splitlines() if f"(`{plan.slug}`)" in line)
        assert f" | {getattr(debit, plan.slug)} | " in row
    assert "39 an address" in text
    assert "38 calls of public lists a minute" in text
    assert "41 exports at once" in text
    assert "40 pages, 42 documents" in text
    assert "43 requests of an address" in text


# -- responses ----------------------------------------------------------------------------


def test_the_document_is_served_with_the_current_generation(server: Server) -> None:
    reply = server.ask(DOCUMENT_PATH)

    described = orjson.dumps(document.document(PRODUCT, debit=server.context.config.debit))
    generation = str(server.context.published.generation)
    example = str(parameters.VERSION.example)
    assert reply.json == orjson.loads(described.replace(example.encode(), generation.encode()))
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.headers["Cache-Control"] == "public, max-age=300"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


def test_a_client_that_has_the_document_gets_304(server: Server) -> None:
    """G8"""
    tag = server.ask(DOCUMENT_PATH).headers["ETag"]
    reply = server.ask(DOCUMENT_PATH, headers={"If-None-Match": tag})

    assert (reply.status, reply.body, reply.headers["ETag"]) == (304, b"", tag)


def test_head_has_the_length_of_get(server: Server) -> None:
    """G1"""
    get, head = server.ask(DOCUMENT_PATH), server.ask(DOCUMENT_PATH, "HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(get.body))


def test_the_document_takes_no_parameters(server: Server) -> None:
    assert server.refusal(DOCUMENT_PATH, version="3")["erreur"]["code"] == "parametre_inconnu"


def test_links_begin_with_the_base_url() -> None:
    assert document.document(PRODUCT, "https://api.exemple.eu")["servers"][0]["url"] == (
        "https://api.exemple.eu"
    )
    assert DOCUMENT["servers"][0]["url"] == "/"


def _parameter_names(path: str) -> list[str]:
    """The names of the described parameters of a path, without headers."""
    components = DOCUMENT["components"]["parameters"]
    references = DOCUMENT["paths"][path]["get"]["parameters"]
    described = [components[reference["$ref"].rpartition("/")[2]] for reference in references]
    return [parameter["name"] for parameter in described if parameter["in"] != "header"]


def test_the_examples_of_a_generation_can_be_sent(server: Server) -> None:
    described = server.ask(DOCUMENT_PATH).json["components"]["parameters"]
    version, since = (described[name]["schema"]["examples"][0] for name in ("version", "depuis"))

    search = server.ask(f"/api/v1/societes?version={version}")
    changes = server.ask(
        f"/api/v1/modifications?depuis={since}", headers=server.customer("integral").headers
    )

    assert (search.status, changes.status) == (200, 200), changes.json


def test_the_codes_of_a_status_are_punctuated_by_language() -> None:
    """French has a space before a semicolon and a colon"""
    english, french = (paths._meanings(400, lang) for lang in ("en", "fr"))

    assert " ; " in french and "` : " in french
    assert " ; " not in english and "` : " not in english
