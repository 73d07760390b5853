"""The checks of Origin and Host, against DNS rebinding."""

import pytest

from serve.surfaces.mcp import operations
from serve.surfaces.mcp.protocol import RpcError
from tests.serve.client import Server
from tests.serve.surfaces.mcp.client import send_legacy

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
def test_these_origins_and_hosts_are_allowed(origin: str | None, host: str | None) -> None:
    operations.check_origin(origin, host, BASE, [APP])


@pytest.mark.parametrize("base", ["", "http://localhost:8080", "https://127.0.0.1"])
@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:1"])
def test_local_pages_may_call_a_local_server(origin: str, base: str) -> None:
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
def test_these_origins_and_hosts_are_refused(origin: str | None, host: str) -> None:
    with pytest.raises(RpcError) as caught:
        operations.check_origin(origin, host, BASE, [APP])

    assert (caught.value.status, caught.value.code) == (403, -32600)


def test_without_a_base_url_a_public_host_name_is_refused() -> None:
    with pytest.raises(RpcError):
        operations.check_origin(None, "api.exemple.eu", "", [])


def test_an_operator_may_allow_every_origin() -> None:
    operations.check_origin("https://anything.example", "127.0.0.1", "", ["*"])


def test_a_foreign_origin_and_a_foreign_host_are_403(server: Server) -> None:
    """Streamable HTTP, "Security & Endpoint\""""
    foreign_origin = send_legacy(server, "ping", headers={"Origin": "http://evil.example"})
    foreign_host = send_legacy(server, "ping", headers={"Host": "evil.example"})

    assert (foreign_origin.status, foreign_host.status) == (403, 403)
    assert "--mcp-origins" in foreign_origin.json["error"]["message"]
    assert "--base-url" in foreign_host.json["error"]["message"]
    assert "id" not in foreign_origin.json
