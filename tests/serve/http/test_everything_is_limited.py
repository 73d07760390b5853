"""Each route and page has a burst limit, as have documents, errors and the handshakes of MCP (D7)."""

import logging
import socket
import time
from collections.abc import Iterator
from ipaddress import ip_network
from itertools import count
from pathlib import Path

import orjson
import pytest

from serve.app import PRODUCT
from serve.config import BurstLimits
from serve.http import body_reader
from serve.surfaces.site.page_request import pages_of
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.processes import in_time
from tests.serve.surfaces.site.visitor import FORM, HTML

LOW_LIMITS = BurstLimits(visiteur=3, visiteur_jour=1_000, listes=3, pages=3, fichiers=3)
_PATH_VALUES = {
    "{iso}": "FR", "{id}": "552100554", "{valeur}": "552100554", "{jeton}": "visiteur", "{quoi}": "type",
    "{societe}": "FR:552100554", "{file}": "index.css",
}  # fmt: skip


_NETWORK_NUMBERS = count(1)  # a network for each case, since visitors of one share its limits


def fill_path(path: str) -> str:
    """A path with a value for each of its variables."""
    for variable, value in _PATH_VALUES.items():
        path = path.replace(variable, value)
    return path


API_REQUESTS = sorted(
    {
        (operation.method, fill_path(operation.path))
        for operation in PRODUCT.operations
        if operation.kind != "check"
    }
)
PAGE_REQUESTS = sorted(
    (method, path)
    for path, route in pages_of(PRODUCT).examples().items()
    for method, handler in (("GET", route.get), ("POST", route.post))
    if handler
)
# Unknown paths, methods that no route has, an unknown token, and an event without a signature.
REFUSED_REQUESTS = [
    ("GET", "/absente"), ("GET", "/api/v1/absente"), ("GET", "/docs/absente"), ("GET", "/assets/absente"),
    ("DELETE", "/api/v1/societes"), ("DELETE", "/"),
    ("GET", "/api/v1/reconciliation/soc_rec_absente"), ("POST", "/paiement/evenements"),
]  # fmt: skip


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with low limits. It trusts the address of a visitor that a test gives in X-Forwarded-For."""
    data: Path = tmp_path_factory.mktemp("limited") / "data"
    data.mkdir()
    world.publish(data)
    with run_server(data, debit=LOW_LIMITS, trusted=[ip_network("127.0.0.0/8")]) as server:
        yield server


@pytest.mark.parametrize(("method", "path"), [*API_REQUESTS, *PAGE_REQUESTS, *REFUSED_REQUESTS])
@pytest.mark.parametrize("credentials", [{}, {"Authorization": "Bearer x", "Cookie": "session=x"}])
def test_every_route_and_page_is_limited(
    strict: Server, method: str, path: str, credentials: dict[str, str]
) -> None:
    """Also with an invalid key or session. Each case has an address whose limits are unused"""
    address = f"2001:db8:0:{next(_NETWORK_NUMBERS):x}::1"
    content_type = (
        FORM if path in dict.fromkeys(path for _, path in PAGE_REQUESTS) else "application/json"
    )
    headers = {**credentials, "X-Forwarded-For": address, "Content-Type": content_type, **HTML}
    body = b"{}" if method == "POST" else None

    statuses = [strict.ask(path, method, headers, body=body).status for _ in range(5)]

    assert statuses[-1] == 429, statuses
    assert 429 not in statuses[:3]


def test_the_429_of_a_page_is_a_page_of_the_site(strict: Server) -> None:
    """The cached page has the limit, the time to wait and the id of its own request"""
    refusals = []
    for name in ("a-1", "b-2"):
        for _ in range(5):
            headers = {**HTML, "X-Forwarded-For": "198.51.100.9", "X-Request-Id": name}
            reply = strict.ask("/tarifs", headers=headers)
        refusals.append(reply)  # the last reply: the first ones are within the limit

    for name, reply in zip(("a-1", "b-2"), refusals, strict=True):
        text = reply.body.decode()
        assert reply.status == 429
        assert 0 < int(reply.headers["Retry-After"]) <= 60
        assert reply.headers["Cache-Control"] == "no-store"
        assert name in text
        assert "Plus de 3 requêtes par minute" in text
        assert 'href="/tarifs"' in text


def test_each_404_page_has_the_id_of_its_own_request(server: Server) -> None:
    """The page is cached, so its id must be replaced in each response"""
    first, second = (server.ask(f"/{name}", headers=HTML) for name in ("absente", "aussi?x=1"))

    assert (first.status, second.status) == (404, 404)
    assert first.headers["X-Request-Id"] in first.body.decode()
    assert second.headers["X-Request-Id"] in second.body.decode()
    assert first.headers["X-Request-Id"] not in second.body.decode()


@pytest.mark.parametrize("path", ["/tarifs", "/docs", "/docs/routes/searchCompanies", "/sources"])
def test_a_cached_page_is_in_the_language_of_its_reader(server: Server, path: str) -> None:
    french = [server.ask(path, headers=HTML) for _ in range(2)]
    english = [server.ask(f"{path}?lang=en", headers=HTML) for _ in range(2)]
    on_another_host = server.ask(path, headers={**HTML, "Host": "ailleurs.example"})

    assert french[0].body == french[1].body
    assert english[0].body == english[1].body
    assert b'<html lang="en">' in english[0].body
    assert all("visite=en" in reply.headers["Set-Cookie"] for reply in english)
    assert all("Set-Cookie" not in reply.headers for reply in french)
    assert b'<link rel="canonical" href="http://ailleurs.example' in on_another_host.body
    assert b"ailleurs.example" not in server.ask(path, headers=HTML).body


def test_a_page_refuses_many_parameters_and_repeats_only_those_that_it_has(server: Server) -> None:
    """The link to the other language repeats parameters of the page, not an unknown value"""
    # A page reads up to 64 parameters, and the page of a search up to 512.
    too_many = server.ask("/tarifs?" + "a&" * 64 + "a", headers=HTML)
    unknown = server.ask("/tarifs?" + "a=" + "b" * 9_000, headers=HTML)
    search = server.ask("/?q=lab&pays=EE&tri=nom", headers=HTML)
    countries = server.ask(
        "/?" + "&".join(f"pays={iso}" for iso in ("EE", "FR")) + "&q=" * 90, headers=HTML
    )

    assert (too_many.status, unknown.status, search.status, countries.status) == (
        400,
        200,
        200,
        200,
    )
    assert b"bbb" not in unknown.body
    assert b"q=lab&amp;pays=EE&amp;tri=nom&amp;lang=en" in search.body


def test_a_body_over_the_memory_of_its_network_is_refused_and_frees_its_memory(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bodies of a network have MOST_OF_NETWORK bytes together, so that other networks find memory too"""
    json_header = {"Content-Type": "application/json"}
    monkeypatch.setattr(body_reader, "MOST_OF_NETWORK", 1_000)
    # An empty counter, in which no body of another test is counted.
    monkeypatch.setattr(
        body_reader._BodyMemory, "_of_networks", type(body_reader._BodyMemory._of_networks)()
    )

    refused = server.ask("/api/v1/rapprochement", "POST", json_header, body=b" " * 1_001)
    accepted = server.ask("/api/v1/rapprochement", "POST", json_header, body=b" " * 1_000)

    assert (refused.status, refused.code) == (503, "indisponible")
    assert (accepted.status, accepted.code) == (
        400,
        "corps_invalide",
    )  # it was read, and blanks are not JSON
    assert not body_reader._BodyMemory._of_networks


def test_unreadable_requests_wait_for_each_other_and_do_not_delay_a_customer(
    strict: Server,
) -> None:
    """Unreadable requests count against no limit: each takes a place of its network for 50 ms"""
    customer = strict.customer("integral")

    def is_in_time() -> bool:
        """Whether a search needs less than half the time of 20 unreadable requests that were sent before it."""
        address = ("127.0.0.1", strict.port)
        clients = [socket.create_connection(address, timeout=120) for _ in range(20)]
        since = time.monotonic()
        for client in clients:
            client.sendall(b"GET / HTTP/9.9\r\n\r\n")
        searched = strict.ask("/api/v1/societes", headers=customer.headers)
        search_seconds = time.monotonic() - since
        replies = [client.recv(12) for client in clients]
        all_seconds = time.monotonic() - since
        for client in clients:
            client.close()

        assert set(replies) == {b"HTTP/1.1 400"}
        # The 20 requests pass in groups as large as the places of a network. Each group but the first waits 50 ms for
        # the group before it; the last factor is a tolerance.
        assert all_seconds > 0.05 * (20 / BurstLimits().simultanes - 1) * 0.9
        assert searched.status == 200
        return search_seconds < all_seconds / 2

    assert in_time(is_in_time)


def test_a_proxy_that_is_not_trusted_is_named_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """All visitors behind the proxy share the limits of its address; without the warning nobody would notice"""
    with caplog.at_level(logging.WARNING, "serve.http.app"):
        for number in range(3):
            server.ask("/healthz", headers={"X-Forwarded-For": f"192.0.2.{number}"})

    (warning,) = [
        record.getMessage() for record in caplog.records if "X-Forwarded-For" in record.getMessage()
    ]
    assert "127.0.0.0/24" in warning
    assert "--trusted-proxies" in warning


def test_there_is_no_warning_about_a_trusted_proxy(
    strict: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "serve.http.app"):
        strict.ask("/healthz", headers={"X-Forwarded-For": "192.0.2.7"})

    assert not [record for record in caplog.records if "X-Forwarded-For" in record.getMessage()]


def test_handshakes_of_mcp_are_limited_for_a_customer_too(strict: Server) -> None:
    customer = strict.customer("integral", api_tool=True)
    headers = {
        **customer.headers, "X-Forwarded-For": "203.0.113.77", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
    }  # fmt: skip
    ping = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    statuses = [strict.ask("/api/mcp", "POST", headers, body=ping).status for _ in range(4)]

    assert statuses == [200, 200, 200, 429]


def test_the_limits_of_visitors_do_not_apply_to_a_key(strict: Server) -> None:
    """An account has the calls of its plan; the limits of its address do not count"""
    customer = strict.customer("integral")

    statuses = {strict.ask("/api/v1/societes", headers=customer.headers).status for _ in range(9)}

    assert statuses == {200}
