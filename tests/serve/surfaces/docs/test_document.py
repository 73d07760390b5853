"""The document /openapi.json: it names every route, and says what the code does (§4.8)."""

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
from tests.serve.client import Served
from tests.serve.conformance import DOCUMENT, nodes
from tests.serve.surfaces.docs.listing import listing
from tests.serve.world import LISTS

PATH = "/openapi.json"


def test_the_document_is_golden() -> None:
    """A breaking change is seen in review; `make golden` rewrites it."""
    golden.check("openapi.txt", listing(DOCUMENT))


def test_the_document_is_openapi_3_1_of_version_1_1_0() -> None:
    """§4.8, §9"""
    validate(DOCUMENT)

    assert DOCUMENT["openapi"] == "3.1.0"
    assert DOCUMENT["info"]["version"] == "1.1.0"


def test_the_document_has_no_extension() -> None:
    assert not [key for node in nodes(DOCUMENT) for key in node if key.startswith("x-")]


def test_routes_and_document_name_each_other() -> None:
    described = {
        path: {method.upper() for method in operations}
        for path, operations in DOCUMENT["paths"].items()
    }
    known = [(one.path, one.method) for one in PRODUCT.operations if one.kind != "tools"]

    assert sorted(known) == sorted(
        (path, method) for path, methods in described.items() for method in methods
    )


def test_every_operation_has_a_name_of_its_own_and_a_summary() -> None:
    operations = [one for path in DOCUMENT["paths"].values() for one in path.values()]

    assert len({one["operationId"] for one in operations}) == len(operations)
    assert all(one["summary"] and one["description"] and one["tags"] for one in operations)


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    used = {node["$ref"] for node in nodes(DOCUMENT) if isinstance(node.get("$ref"), str)}
    known = {
        f"#/components/{kind}/{name}"
        for kind, components in DOCUMENT["components"].items()
        for name in components
        if kind != "securitySchemes"
    }

    assert used == known


# -- what the code knows ----------------------------------------------------------------


def test_the_parameters_of_an_operation_are_those_that_its_parser_takes() -> None:
    """§4"""
    assert _names("/api/v1/pays") == ["version"]
    assert _names("/api/v1/secteurs") == list(parameters.names(SECTORS))
    assert _names("/api/v1/sous-secteurs") == list(parameters.names(SUB_SECTORS))
    assert _names("/api/v1/societes") == list(parameters.names(parameters.SEARCH))
    assert _names("/api/v1/export") == list(parameters.names(export.PARAMETERS))
    assert _names("/api/v1/societes/{iso}/{id}") == ["iso", "id", "version"]
    assert _names("/api/v1/modifications") == list(parameters.names(modifications.PARAMETERS))


def test_a_parameter_that_is_required_is_not_said_to_be_optional() -> None:
    """G4"""
    described = DOCUMENT["components"]["parameters"].values()
    required = [one for one in described if one.get("required")]

    assert {one["name"] for one in required} == {
        "secteur", "depuis", "iso", "id", "valeur", "q", "par", "jeton", "quoi", "societe", "file",
    }  # fmt: skip
    assert not [one["name"] for one in required if "Without it" in one["description"]]


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
def test_the_example_of_a_parameter_is_one_that_its_schema_admits(parameter: Parameter) -> None:
    schema = parameter.schema(parameters.words())
    text = str(parameter.example)

    assert parameter.example in schema.get("enum", [parameter.example])
    assert re.search(schema.get("pattern", ""), text)
    assert schema["type"] == "string" or float(text) >= schema.get("minimum", 0)


def test_the_words_are_those_that_a_request_may_send() -> None:
    """B1, B11"""
    known = place_names.read(LISTS)
    words = parameters.words()

    assert {known.country(word) for word in words["pays"]} == set(known.pays)
    assert len({known.sector(word) for word in words["secteur"]}) == len(LISTS.secteurs) == 84
    assert not [word for word in words["secteur"] if known.sector(word) is None]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("pays", ["", "FR", "UK,GB", "EE,UK,"], ["XX", "FRUK", "FR;UK", "FR,XX"]),
        ("secteur", ["", "edition", "Édition|restauration"], ["Magie", "edition restauration"]),
    ],
)
def test_the_pattern_of_a_list_is_exact(name: str, good: list[str], bad: list[str]) -> None:
    pattern = DOCUMENT["components"]["parameters"][name]["schema"]["pattern"]

    assert all(re.search(pattern, text) for text in good)
    assert not any(re.search(pattern, text) for text in bad)


def test_the_fields_of_a_company_are_those_that_are_stored() -> None:
    """§2.1: in one order."""
    schema = DOCUMENT["components"]["schemas"]["Societe"]

    assert tuple(schema["properties"]) == record.FIELDS
    assert "required" not in schema


def test_every_code_is_described_with_its_status_and_its_keys() -> None:
    """§7, G7"""
    schemas = DOCUMENT["components"]["schemas"]
    answered = {code: declared for code, declared in CODES.items() if declared.status in (
        set(paths.STATUSES) - {402})}  # fmt: skip

    for code, declared in answered.items():
        schema = schemas[f"Erreur{declared.status}"]
        assert code in schema["properties"]["erreur"]["properties"]["code"]["examples"]
        assert re.fullmatch(paths.CODE_PATTERN, code)
        assert set(declared.extra) <= set(schema["properties"])
    assert all(f"`{code}`" in DOCUMENT["info"]["description"] for code in CODES)
    assert {key for declared in CODES.values() for key in declared.extra} == set(
        names_of(DetailsErreur)
    )


def test_no_value_of_an_answer_is_closed_to_later_ones() -> None:
    """X0: a client that is generated today survives the codes, plans and states of tomorrow"""
    answered = dict(DOCUMENT["components"]["schemas"])
    for sent in ("DemandeExport", "DemandeRapprochement"):  # bodies
        del answered[sent]

    closed = {
        name: node["enum"]
        for name, schema in answered.items()
        for node in nodes(schema)
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

    assert not [one for one in texts if re.search(r"\*/|/\*|[\u2028\u2029]|\"{3}|\$\{|`{3}", one)]
    assert not [one for one in texts if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", one)]
    assert not [one for one in texts if re.search(r"\\u20(28|29)|\\[rnvft0]", one)]


def test_the_codes_of_reasons_are_a_closed_list() -> None:
    """X19"""
    found = [one["raisons_codes"] for one in nodes(DOCUMENT) if "raisons_codes" in one]
    described = [one["items"]["description"] for one in found if isinstance(one, dict)]

    assert described
    assert all(" One of `" in one and "others may come" not in one for one in described)


def test_no_field_is_a_text_or_a_list() -> None:
    """Generators of clients cannot write such a union of types."""
    types = [one["type"] for one in nodes(DOCUMENT) if isinstance(one.get("type"), list)]

    assert types
    assert not [one for one in types if "array" in one and set(one) - {"array", "null"}]


def all_texts(value: Any) -> Iterator[str]:
    """Every text of a JSON value, names apart."""
    if isinstance(value, str):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from all_texts(part)


def test_every_header_that_browsers_may_read_is_described() -> None:
    """G2"""
    assert set(EXPOSED) <= set(headers(PRODUCT, "en"))


def test_every_plan_is_described_with_its_figures() -> None:
    """§8.1"""
    for plan in plans.load().values():
        row = f"| {plan.nom_en} (`{plan.slug}`) | {plan.resultats_par_recherche} "
        assert row in DOCUMENT["info"]["description"]


def test_every_limit_is_described_as_the_server_keeps_it() -> None:
    """D7: numeric everywhere"""
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


# -- how it is served ---------------------------------------------------------------------


def test_it_is_served_as_it_is(served: Served) -> None:
    reply = served.ask(PATH)

    described = orjson.dumps(document.document(PRODUCT, debit=served.context.config.debit))
    generation = str(served.context.published.generation)
    example = str(parameters.VERSION.example)
    assert reply.json == orjson.loads(described.replace(example.encode(), generation.encode()))
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.headers["Cache-Control"] == "public, max-age=300"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


def test_it_is_sent_once(served: Served) -> None:
    """G8"""
    tag = served.ask(PATH).headers["ETag"]
    again = served.ask(PATH, headers={"If-None-Match": tag})

    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)


def test_its_head_is_that_of_get(served: Served) -> None:
    """G1"""
    got, head = served.ask(PATH), served.ask(PATH, "HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(got.body))


def test_it_has_no_parameter(served: Served) -> None:
    assert served.refused(PATH, version="3")["erreur"]["code"] == "parametre_inconnu"


def test_links_begin_with_the_base_url() -> None:
    assert document.document(PRODUCT, "https://api.exemple.eu")["servers"][0]["url"] == (
        "https://api.exemple.eu"
    )
    assert DOCUMENT["servers"][0]["url"] == "/"


def _names(path: str) -> list[str]:
    components = DOCUMENT["components"]["parameters"]
    given = DOCUMENT["paths"][path]["get"]["parameters"]
    found = [components[one["$ref"].rpartition("/")[2]] for one in given]
    return [one["name"] for one in found if one["in"] != "header"]


def test_the_examples_of_a_generation_can_be_sent(served: Served) -> None:
    described = served.ask(PATH).json["components"]["parameters"]
    version, since = (described[name]["schema"]["examples"][0] for name in ("version", "depuis"))

    pinned = served.ask(f"/api/v1/societes?version={version}")
    changes = served.ask(
        f"/api/v1/modifications?depuis={since}", headers=served.customer("integral").headers
    )

    assert (pinned.status, changes.status) == (200, 200), changes.json


def test_the_codes_of_a_status_are_parted_as_each_language_does() -> None:
    english, french = (paths._meanings(400, lang) for lang in ("en", "fr"))

    assert " ; " in french and "` : " in french
    assert " ; " not in english and "` : " not in english
