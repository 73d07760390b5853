"""The examples of the documentation run as they stand, against the bundled data."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest

from serve.app import PRODUCT
from serve.surfaces.docs.manual import manual
from tests.proof.tools import need
from tests.serve.client import Served, serving

# Those of an answer in JSON whose key may be any; a generation that nobody has is told in the page.
RUN = [
    one.name
    for one in manual(PRODUCT).references["en"].operations.values()
    if one.tag in ("Companies", "Lists", "Account") and one.request.json
]


@pytest.fixture(scope="module")
def demo(demo_data: Path) -> Iterator[Served]:
    with serving(demo_data) as server:
        yield server


@pytest.mark.parametrize("name", RUN)
def test_curl_and_python_say_the_same(demo: Served, name: str) -> None:
    call = manual(PRODUCT).references["en"].operations[name].request
    served = str(demo.context.published.generation)
    texts = {
        one.slug: one.text.replace("81c09a7b6c5d4e3f", served)
        for one in call.texts(f"http://127.0.0.1:{demo.port}")
    }
    key = demo.customer("integral").key
    curl = need("curl", "curl")
    environment = {**os.environ, "KEY": key, "PATH": f"{Path(curl).parent}:/usr/bin:/bin"}

    by_curl = subprocess.run(
        ["sh", "-c", f"{texts['curl']} -s"], env=environment, capture_output=True, check=True
    )
    by_python = subprocess.run(
        [sys.executable, "-c", texts["python"]], env=environment, capture_output=True, check=True
    )

    answer = orjson.loads(by_curl.stdout)
    assert "erreur" not in answer
    assert _finds_something(answer)
    told = eval(by_python.stdout, {"__builtins__": {}})
    assert list(told) == list(answer)


def _finds_something(answer: Any) -> bool:
    """Whether an answer shows what its route is for: rows where it counts, figures where it computes."""
    if "depuis" in answer:  # no change leads to the first generation
        return True
    rows = ("societes", "pays", "sous_secteurs", "candidats", "comparables")
    empty = [name for name in rows if name in answer and not answer[name]]
    ratios = [
        value["valeur"] for one in answer.get("ratios", ()) for value in one.get("valeurs", ())
    ]
    computed = "rangs" not in answer or any(value is not None for value in ratios)
    linked = "parents" not in answer or answer["parents"] or answer["enfants"]
    return not empty and computed and bool(linked) and answer.get("total") != 0


def test_a_key_that_is_given_stands_in_every_language(demo: Served) -> None:
    key = demo.customer("data").key
    call = manual(PRODUCT).references["en"].operations["searchCompanies"].request
    texts = {one.slug: one.text for one in call.texts(f"http://127.0.0.1:{demo.port}", key)}

    assert [text.count(f"Bearer {key}") for text in texts.values()] == [1, 1, 1]
    assert not [slug for slug, text in texts.items() if "KEY" in text]
    by_python = subprocess.run(
        [sys.executable, "-c", texts["python"]], env={}, capture_output=True, check=True
    )
    assert eval(by_python.stdout, {"__builtins__": {}})["plan"] == "data"


def test_every_example_of_a_parameter_and_of_a_body_can_be_sent(demo: Served) -> None:
    """X0.2: alone, with what must be sent beside it"""
    described, headers = demo.ask("/openapi.json").json, demo.customer("integral").headers
    refused = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            for target, body in _requests(path, operation, described["components"]):
                reply = demo.ask(
                    target,
                    method.upper(),
                    headers=headers | ({"Content-Type": "application/json"} if body else {}),
                    body=body,
                )
                if reply.status >= 400:
                    refused.append((target, body, reply.body[:200]))

    assert refused == []


def _requests(
    path: str, operation: dict[str, Any], components: dict[str, Any]
) -> Iterator[tuple[str, bytes | None]]:
    """The paths and bodies of an operation, each with an example of its own."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for one in content.get("examples", {}).values():
        yield path, orjson.dumps(one["value"])
    if "requestBody" in operation:
        return
    given = [
        components["parameters"][one["$ref"].rpartition("/")[2]] for one in operation["parameters"]
    ]
    query: dict[str, Any] = {"limit": 1} if path.endswith("/export") else {}
    for one in given:
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", quote(str(_examples(one)[0]), safe=""))
        elif one["in"] == "query" and one.get("required"):
            query[one["name"]] = _examples(one)[0]
    yield f"{path}?{urlencode(query)}", None
    for one in given:
        # B7: a sub-sector is sent with its sector
        beside = {"secteur": "restauration"} if one["name"] == "sous_secteur" else {}
        for example in _examples(one) if one["in"] == "query" else ():
            yield f"{path}?{urlencode({**query, **beside, one['name']: example})}", None


def _examples(parameter: dict[str, Any]) -> list[Any]:
    schema = parameter["schema"]
    return [*schema.get("examples", ()), *schema.get("enum", ())]
