"""A test fails if it gets a response that /openapi.json does not describe."""

import orjson
import pytest
from jsonschema import ValidationError

from tests.serve import conformance
from tests.serve.client import Server

PATH = "/api/v1/societes"


@pytest.mark.parametrize(
    ("status", "other_headers", "other_keys"),
    [
        (418, {}, {}),  # an unknown status
        (200, {"X-Inconnu": "1"}, {}),  # an unknown header
        (200, {"X-Quota-Used": "-1"}, {}),  # a header below its minimum
        (200, {"X-Quota-Used": "beaucoup"}, {}),  # a header of another type
        (200, {"Content-Type": "text/csv"}, {}),  # an unknown media type
        (200, {}, {"de_plus": 1}),  # an unknown key
        (200, {}, {"societes": [{"de_plus": 1}]}),  # an unknown key of a company
        (200, {}, {"total": "12"}),  # a value of another type
    ],
)
def test_a_response_that_is_not_described_fails(
    server: Server, status: int, other_headers: dict[str, str], other_keys: dict[str, object]
) -> None:
    reply = server.ask(PATH)  # this response is described
    changed_body = orjson.dumps({**reply.json, **other_keys})

    with pytest.raises((AssertionError, ValidationError, ValueError)):
        conformance.check("GET", PATH, status, {**reply.headers, **other_headers}, changed_body)
