"""The log of a running server: one line a request, without a key (G11, A5)."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from serve.log import JsonLines
from tests.serve.client import Served


def logged(
    caplog: pytest.LogCaptureFixture, wanted: Callable[[Any], bool], number: int
) -> list[Any]:
    """The first lines that are wanted; a line is written just after its answer has been sent."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        lines = [json.loads(JsonLines().format(record)) for record in list(caplog.records)]
        found = [line for line in lines if wanted(line)]
        if len(found) >= number:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{number} lines were awaited, {len(found)} came")


def test_a_request_is_one_line_of_the_log(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """G11"""
    with caplog.at_level(logging.INFO, "serve.access"):
        reply = served.ask(
            "/api/v1/societes/?pays=FR&q=Orl%C3%A9ans", headers={"X-Request-Id": "r1"}
        )
        (line,) = logged(caplog, lambda line: line.get("request_id") == "r1", 1)

    assert line.pop("ms") >= 0
    assert line.pop("time").endswith("+00:00")
    assert line.pop("bytes") > len(reply.body)
    assert line == {
        "level": "info",
        "event": "request",
        "method": "GET",
        "path": "/api/v1/societes/",
        "route": "societes",
        "query": {"pays": ["FR"], "q": ["Orléans"]},
        "status": 200,
        "request_id": "r1",
        "plan": "visiteur",
        "generation": reply.headers["X-Donnees-Version"],
        "ip": "127.0.0.0/24",
    }


def test_no_line_of_the_log_holds_a_key(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """G11, A5"""
    key = "soc_live_" + "Zq9" * 12
    with caplog.at_level(logging.INFO):
        for path in (f"?cle={key}", f"?{key}=1", f"?q={key}", f"/FR/{key}", f"/{key}/1", f"/{key}"):
            served.ask(f"/api/v1/societes{path}", headers={"Authorization": f"Bearer {key}"})
        lines = logged(caplog, lambda line: line["event"] == "request", 6)

    assert "Zq9" not in str(lines)
