"""The guard against DNS rebinding."""

import pytest

from serve.surfaces.mcp import operations
from serve.surfaces.mcp.protocol import RpcError
from tests.serve.client import Served
from tests.serve.surfaces.mcp.client import legacy

BASE = "https://api.exemple.eu"
APP = "https://app.example"


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        (None, None),
        (None, "127.0.0.1:8080"),
        (None, "[::1]:8080"),
        (None, "localhost"),
        (None, "LOCALHOST:1"),
        (None, "10.0.0.7:8080"),
        (None, "api.exemple.eu"),
        (None, "API.exemple.eu:443"),
        (BASE, "api.exemple.eu"),
        (APP, "api.exemple.eu"),
    ],
)
def test_these_may_ask(origin: str | None, host: str | None) -> None:
    operations.check_origin(origin, host, BASE, [APP])


@pytest.mark.parametrize("base", ["", "http://localhost:8080", "https://127.0.0.1"])
@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:1"])
def test_pages_of_this_machine_may_ask_a_server_of_this_machine(origin: str, base: str) -> None:
    operations.check_origin(origin, "127.0.0.1", base, [])


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:6274", "localhost:8080"),
        ("http://127.0.0.1", "127.0.0.1:8080"),
        ("https://[::1]:1", "127.0.0.1"),
        (None, "evil.example"),
        (None, "api.exemple.eu.evil.example"),
        (None, "evil.example@127.0.0.1.evil"),
        (None, "["),
        (None, ""),
        ("http://evil.example", "127.0.0.1"),
        ("null", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("file://localhost", "127.0.0.1"),
        ("http://10.0.0.7", "127.0.0.1"),
        ("https://api.exemple.eu:8443", "api.exemple.eu"),
        ("http://api.exemple.eu", "api.exemple.eu"),
        ("https://app.example.evil.example", "api.exemple.eu"),
        ("http://localhost.evil.example", "127.0.0.1"),
        ("http://[", "127.0.0.1"),
    ],
)
def test_these_may_not(origin: str | None, host: str) -> None:
    with pytest.raises(RpcError) as caught:
        operations.check_origin(origin, host, BASE, [APP])

    assert (caught.value.status, caught.value.code) == (403, -32600)


def test_without_a_base_url_no_name_is_known() -> None:
    with pytest.raises(RpcError):
        operations.check_origin(None, "api.exemple.eu", "", [])


def test_an_operator_may_let_every_page_ask() -> None:
    operations.check_origin("https://anything.example", "127.0.0.1", "", ["*"])


def test_a_foreign_page_and_a_foreign_name_are_403(served: Served) -> None:
    """Streamable HTTP, "Security & Endpoint\""""
    page = legacy(served, "ping", headers={"Origin": "http://evil.example"})
    name = legacy(served, "ping", headers={"Host": "evil.example"})

    assert (page.status, name.status) == (403, 403)
    assert "--mcp-origins" in page.json["error"]["message"]
    assert "--base-url" in name.json["error"]["message"]
    assert "id" not in page.json
