"""The examples of the documentation run unchanged, against the bundled data."""

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
from tests.serve.client import Server, run_server

# Operations with an answer in JSON for any key. The generation of an example is replaced by the served one.
OPERATIONS = [
    operation.name
    for operation in manual(PRODUCT).references["en"].operations.values()
    if operation.tag in ("Companies", "Lists", "Account") and operation.request.json
]


@pytest.fixture(scope="module")
def demo(demo_data: Path) -> Iterator[Server]:
    """A server of the bundled data."""
    with run_server(demo_data) as server:
        yield server


@pytest.mark.parametrize("name", OPERATIONS)
def test_curl_and_python_get_the_same_keys(demo: Server, name: str) -> None:
    """The two example programs of a route run as printed; Python prints the answer"""
    call = manual(PRODUCT).references["en"].operations[name].request
    generation = str(demo.context.published.generation)
    texts = {
        # The examples have a made-up name of a generation.
        example.slug: example.text.replace("81c09a7b6c5d4e3f", generation)
        for example in call.texts(f"http://127.0.0.1:{demo.port}")
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
    assert _has_content(answer)
    printed = eval(by_python.stdout, {"__builtins__": {}})
    assert list(printed) == list(answer)


def _has_content(answer: Any) -> bool:
    """Has the answer rows, figures or links, as its route should have?"""
    if "depuis" in answer:  # there are no changes before the first generation
        return True
    rows = ("societes", "pays", "sous_secteurs", "candidats", "comparables")
    empty_lists = [name for name in rows if name in answer and not answer[name]]
    ratios = [
        value["valeur"] for ratio in answer.get("ratios", ()) for value in ratio.get("valeurs", ())
    ]
    has_ratios = "rangs" not in answer or any(value is not None for value in ratios)
    has_links = "parents" not in answer or answer["parents"] or answer["enfants"]
    return not empty_lists and has_ratios and bool(has_links) and answer.get("total") != 0


def test_a_given_key_is_in_the_example_of_every_language(demo: Server) -> None:
    key = demo.customer("data").key
    call = manual(PRODUCT).references["en"].operations["searchCompanies"].request
    texts = {
        example.slug: example.text for example in call.texts(f"http://127.0.0.1:{demo.port}", key)
    }

    assert [text.count(f"Bearer {key}") for text in texts.values()] == [1, 1, 1]
    assert not [slug for slug, text in texts.items() if "KEY" in text]
    by_python = subprocess.run(
        [sys.executable, "-c", texts["python"]], env={}, capture_output=True, check=True
    )
    assert eval(by_python.stdout, {"__builtins__": {}})["plan"] == "data"


def test_every_example_of_a_parameter_and_of_a_body_can_be_sent(demo: Server) -> None:
    """X0.2: each example alone, with the required parameters"""
    described, headers = demo.ask("/openapi.json").json, demo.customer("integral").headers
    failures = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            for target, body in _example_requests(path, operation, described["components"]):
                reply = demo.ask(
                    target,
                    method.upper(),
                    headers=headers | ({"Content-Type": "application/json"} if body else {}),
                    body=body,
                )
                if reply.status >= 400:
                    failures.append((target, body, reply.body[:200]))

    assert failures == []


def _example_requests(
    path: str, operation: dict[str, Any], components: dict[str, Any]
) -> Iterator[tuple[str, bytes | None]]:
    """The paths and bodies of requests, one for each example of the operation."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    for example in content.get("examples", {}).values():
        yield path, orjson.dumps(example["value"])
    if "requestBody" in operation:
        return
    parameters = [
        components["parameters"][reference["$ref"].rpartition("/")[2]]
        for reference in operation["parameters"]
    ]
    query: dict[str, Any] = {"limit": 1} if path.endswith("/export") else {}
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(
                f"{{{parameter['name']}}}", quote(str(_parameter_examples(parameter)[0]), safe="")
            )
        elif parameter["in"] == "query" and parameter.get("required"):
            query[parameter["name"]] = _parameter_examples(parameter)[0]
    yield f"{path}?{urlencode(query)}", None
    for parameter in parameters:
        # B7: a sub-sector needs its sector
        sector = {"secteur": "restauration"} if parameter["name"] == "sous_secteur" else {}
        for example in _parameter_examples(parameter) if parameter["in"] == "query" else ():
            yield f"{path}?{urlencode({**query, **sector, parameter['name']: example})}", None


def _parameter_examples(parameter: dict[str, Any]) -> list[Any]:
    """The examples and the values of the enum of a parameter."""
    schema = parameter["schema"]
    return [*schema.get("examples", ()), *schema.get("enum", ())]
