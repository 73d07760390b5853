"""The listing of the document shows each change that breaks a client, and no change of a text for people."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.serve.conformance import DOCUMENT
from tests.serve.surfaces.docs.listing import listing

MOST_LINES = 2_000
SEARCH = "/api/v1/societes"


def copy() -> Any:
    return orjson.loads(orjson.dumps(DOCUMENT))


def schema(document: Any, name: str) -> Any:
    return document["components"]["schemas"][name]


def operation(document: Any) -> Any:
    return document["paths"][SEARCH]["get"]


def parameter(document: Any, name: str) -> Any:
    return document["components"]["parameters"][name]


def test_the_listing_can_be_read_in_a_review() -> None:
    lines = listing(DOCUMENT).splitlines()

    assert len(lines) <= MOST_LINES
    assert f"GET {SEARCH} = searchCompanies, tagged Companies" in lines


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["paths"].pop(SEARCH),
        lambda document: operation(document).update(operationId="search"),
        lambda document: operation(document).pop("security"),
        lambda document: operation(document)["parameters"].pop(),
        lambda document: operation(document)["responses"].pop("304"),
        lambda document: operation(document)["responses"].pop("400"),
        lambda document: operation(document)["responses"]["200"]["headers"].pop("ETag"),
        lambda document: document["paths"]["/api/v1/export"]["post"].pop("requestBody"),
        lambda document: parameter(document, "tri")["schema"]["enum"].remove("score"),
        lambda document: parameter(document, "limit")["schema"].update(maximum=100),
        lambda document: parameter(document, "limit").update(required=True),
        lambda document: schema(document, "Recherche")["properties"].pop("total"),
        lambda document: schema(document, "Recherche")["required"].remove("total"),
        lambda document: schema(document, "Recherche")["properties"]["total"].update(type="string"),
        lambda document: schema(document, "Recherche")["properties"]["noms_trouves"].pop(
            "additionalProperties"
        ),
        lambda document: schema(document, "Recherche")["properties"]["offre_suivante"][
            "anyOf"
        ].pop(),
        lambda document: schema(document, "Repartition")["properties"]["repartitions"][
            "properties"
        ].pop("etat"),
        lambda document: schema(document, "CodePlan").update(later="a key that is new"),
    ],
)
def test_a_change_for_clients_changes_the_listing(change: Callable[[Any], object]) -> None:
    changed = copy()

    change(changed)

    assert listing(changed) != listing(DOCUMENT)


def test_texts_and_examples_are_not_listed() -> None:
    changed = copy()
    changed["info"]["description"] = "another text"
    operation(changed).update(summary="another text", description="another text")
    operation(changed)["responses"]["200"]["content"]["application/json"].pop("examples")
    parameter(changed, "tri").update(description="another text")
    total = schema(changed, "Recherche")["properties"]["total"]
    total.update(description="another text", examples=[1])

    assert listing(changed) == listing(DOCUMENT)
