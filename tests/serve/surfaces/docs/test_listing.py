"""The listing of the document shows changes that break a client, and no changes of texts and examples."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.serve.conformance import DOCUMENT
from tests.serve.surfaces.docs.listing import listing

MOST_LINES = 2_000  # so that a person can read it
SEARCH = "/api/v1/societes"


def copy_document() -> Any:
    """A copy of the document that a test may change."""
    return orjson.loads(orjson.dumps(DOCUMENT))


def schema_named(document: Any, name: str) -> Any:
    """A schema of the components."""
    return document["components"]["schemas"][name]


def search_operation(document: Any) -> Any:
    """The description of GET /api/v1/societes."""
    return document["paths"][SEARCH]["get"]


def parameter_named(document: Any, name: str) -> Any:
    """A parameter of the components."""
    return document["components"]["parameters"][name]


def test_the_listing_can_be_read_in_a_review() -> None:
    lines = listing(DOCUMENT).splitlines()

    assert len(lines) <= MOST_LINES
    assert f"GET {SEARCH} = searchCompanies, tagged Companies" in lines


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["paths"].pop(SEARCH),
        lambda document: search_operation(document).update(operationId="search"),
        lambda document: search_operation(document).pop("security"),
        lambda document: search_operation(document)["parameters"].pop(),
        lambda document: search_operation(document)["responses"].pop("304"),
        lambda document: search_operation(document)["responses"].pop("400"),
        lambda document: search_operation(document)["responses"]["200"]["headers"].pop("ETag"),
        lambda document: document["paths"]["/api/v1/export"]["post"].pop("requestBody"),
        lambda document: parameter_named(document, "tri")["schema"]["enum"].remove("score"),
        lambda document: parameter_named(document, "limit")["schema"].update(maximum=100),
        lambda document: parameter_named(document, "limit").update(required=True),
        lambda document: schema_named(document, "Recherche")["properties"].pop("total"),
        lambda document: schema_named(document, "Recherche")["required"].remove("total"),
        lambda document: schema_named(document, "Recherche")["properties"]["total"].update(
            type="string"
        ),
        lambda document: schema_named(document, "Recherche")["properties"]["noms_trouves"].pop(
            "additionalProperties"
        ),
        lambda document: schema_named(document, "Recherche")["properties"]["offre_suivante"][
            "anyOf"
        ].pop(),
        lambda document: schema_named(document, "Repartition")["properties"]["repartitions"][
            "properties"
        ].pop("etat"),
        lambda document: schema_named(document, "CodePlan").update(later="a key that is new"),
    ],
)
def test_a_change_for_clients_changes_the_listing(change: Callable[[Any], object]) -> None:
    changed = copy_document()

    change(changed)

    assert listing(changed) != listing(DOCUMENT)


def test_texts_and_examples_are_not_listed() -> None:
    changed = copy_document()
    changed["info"]["description"] = "another text"
    search_operation(changed).update(summary="another text", description="another text")
    search_operation(changed)["responses"]["200"]["content"]["application/json"].pop("examples")
    parameter_named(changed, "tri").update(description="another text")
    total = schema_named(changed, "Recherche")["properties"]["total"]
    total.update(description="another text", examples=[1])

    assert listing(changed) == listing(DOCUMENT)
