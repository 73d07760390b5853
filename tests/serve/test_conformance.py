"""Answers that the document does not describe are noticed."""

import orjson
import pytest
from jsonschema import ValidationError

from tests.serve import conformance
from tests.serve.client import Served

PATH = "/api/v1/societes"


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (418, {}, {}),
        (200, {"X-Inconnu": "1"}, {}),
        (200, {"X-Quota-Used": "-1"}, {}),
        (200, {"X-Quota-Used": "beaucoup"}, {}),
        (200, {"Content-Type": "text/csv"}, {}),
        (200, {}, {"de_plus": 1}),
        (200, {}, {"societes": [{"de_plus": 1}]}),
        (200, {}, {"total": "12"}),
    ],
)
def test_an_answer_that_differs_is_refused(
    served: Served, status: int, headers: dict[str, str], body: dict[str, object]
) -> None:
    reply = served.ask(PATH)  # is as described
    changed = orjson.dumps({**reply.json, **body})

    with pytest.raises((AssertionError, ValidationError, ValueError)):
        conformance.check("GET", PATH, status, {**reply.headers, **headers}, changed)
