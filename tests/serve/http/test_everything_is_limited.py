"""Each route and page has a burst limit: pages, documents, errors and the handshakes of MCP too (D7)."""

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
from tests.serve.client import Served, serving
from tests.serve.surfaces.site.visitor import FORM, HTML

FEW = BurstLimits(visiteur=3, visiteur_jour=1_000, listes=3, pages=3, fichiers=3)
_VALUES = {
    "{iso}": "FR", "{id}": "552100554", "{valeur}": "552100554", "{jeton}": "visiteur", "{quoi}": "type",
    "{societe}": "FR:552100554", "{file}": "index.css",
}  # fmt: skip


_NETWORKS = count(1)


def filled(path: str) -> str:
    for variable, value in _VALUES.items():
        path = path.replace(variable, value)
    return path


API = sorted({(one.method, filled(one.path)) for one in PRODUCT.operations if one.kind != "check"})
PAGES = sorted(
    (method, path)
    for path, route in pages_of(PRODUCT).examples().items()
    for method, handler in (("GET", route.get), ("POST", route.post))
    if handler
)
NOWHERE = [
    ("GET", "/absente"), ("GET", "/api/v1/absente"), ("GET", "/docs/absente"), ("GET", "/assets/absente"),
    ("DELETE", "/api/v1/societes"), ("DELETE", "/"),
    ("GET", "/api/v1/reconciliation/soc_rec_absente"), ("POST", "/paiement/evenements"),
]  # fmt: skip


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("limited") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data, debit=FEW, trusted=[ip_network("127.0.0.0/8")]) as server:
        yield server


@pytest.mark.parametrize(("method", "path"), [*API, *PAGES, *NOWHERE])
@pytest.mark.parametrize("known", [{}, {"Authorization": "Bearer x", "Cookie": "session=x"}])
def test_nobody_has_more_than_a_limit_of_anything(
    strict: Served, method: str, path: str, known: dict[str, str]
) -> None:
    """From an address of its own; a key or a session that is none changes nothing"""
    address = f"2001:db8:0:{next(_NETWORKS):x}::1"
    kind = FORM if path in dict.fromkeys(path for _, path in PAGES) else "application/json"
    sent = {**known, "X-Forwarded-For": address, "Content-Type": kind, **HTML}
    body = b"{}" if method == "POST" else None

    statuses = [strict.ask(path, method, sent, body=body).status for _ in range(5)]

    assert statuses[-1] == 429, statuses
    assert 429 not in statuses[:3]


def test_the_page_of_a_refusal_is_that_of_the_site(strict: Served) -> None:
    """It is made once, and says the limit, the time to wait and its own request"""
    seen = []
    for name in ("a-1", "b-2"):
        for _ in range(5):
            sent = {**HTML, "X-Forwarded-For": "198.51.100.9", "X-Request-Id": name}
            last = strict.ask("/tarifs", headers=sent)
        seen.append(last)

    for name, reply in zip(("a-1", "b-2"), seen, strict=True):
        text = reply.body.decode()
        assert reply.status == 429
        assert 0 < int(reply.headers["Retry-After"]) <= 60
        assert reply.headers["Cache-Control"] == "no-store"
        assert name in text
        assert "Plus de 3 requêtes par minute" in text
        assert 'href="/tarifs"' in text


def test_a_page_that_is_not_there_is_made_once_for_all(served: Served) -> None:
    first, second = (served.ask(f"/{name}", headers=HTML) for name in ("absente", "aussi?x=1"))

    assert (first.status, second.status) == (404, 404)
    assert first.headers["X-Request-Id"] in first.body.decode()
    assert second.headers["X-Request-Id"] in second.body.decode()
    assert first.headers["X-Request-Id"] not in second.body.decode()


@pytest.mark.parametrize("path", ["/tarifs", "/docs", "/docs/routes/searchCompanies", "/sources"])
def test_a_kept_page_is_in_the_language_of_its_reader(served: Served, path: str) -> None:
    french = [served.ask(path, headers=HTML) for _ in range(2)]
    english = [served.ask(f"{path}?lang=en", headers=HTML) for _ in range(2)]
    other = served.ask(path, headers={**HTML, "Host": "ailleurs.example"})

    assert french[0].body == french[1].body
    assert english[0].body == english[1].body
    assert b'<html lang="en">' in english[0].body
    assert all("visite=en" in one.headers["Set-Cookie"] for one in english)
    assert all("Set-Cookie" not in one.headers for one in french)
    assert b'<link rel="canonical" href="http://ailleurs.example' in other.body
    assert b"ailleurs.example" not in served.ask(path, headers=HTML).body


def test_a_page_has_few_parameters_and_repeats_those_that_it_knows(served: Served) -> None:
    many = served.ask("/tarifs?" + "a&" * 64 + "a", headers=HTML)
    unknown = served.ask("/tarifs?" + "a=" + "b" * 9_000, headers=HTML)
    search = served.ask("/?q=lab&pays=EE&tri=nom", headers=HTML)
    countries = served.ask(
        "/?" + "&".join(f"pays={iso}" for iso in ("EE", "FR")) + "&q=" * 90, headers=HTML
    )

    assert (many.status, unknown.status, search.status, countries.status) == (400, 200, 200, 200)
    assert b"bbb" not in unknown.body
    assert b"q=lab&amp;pays=EE&amp;tri=nom&amp;lang=en" in search.body


def test_bodies_of_one_network_leave_room_for_others(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {"Content-Type": "application/json"}
    monkeypatch.setattr(body_reader, "MOST_OF_NETWORK", 1_000)
    monkeypatch.setattr(
        body_reader._BodyMemory, "_of_networks", type(body_reader._BodyMemory._of_networks)()
    )

    refused = served.ask("/api/v1/rapprochement", "POST", kind, body=b" " * 1_001)
    taken = served.ask("/api/v1/rapprochement", "POST", kind, body=b" " * 1_000)

    assert (refused.status, refused.code) == (503, "indisponible")
    assert (taken.status, taken.code) == (400, "corps_invalide")
    assert not body_reader._BodyMemory._of_networks


def test_requests_that_cannot_be_parsed_wait_for_one_another_and_not_before_a_key(
    strict: Served,
) -> None:
    """No limit is counted for them: each takes a place of its network for a while"""
    customer = strict.customer("integral")
    sockets = [socket.create_connection(("127.0.0.1", strict.port), timeout=30) for _ in range(20)]
    since = time.monotonic()
    for one in sockets:
        one.sendall(b"GET / HTTP/9.9\r\n\r\n")
    searched = strict.ask("/api/v1/societes", headers=customer.headers)
    answered = time.monotonic() - since
    replies = [one.recv(12) for one in sockets]
    ended = time.monotonic() - since
    for one in sockets:
        one.close()

    assert set(replies) == {b"HTTP/1.1 400"}
    assert ended > 0.05 * (20 / BurstLimits().simultanes - 1) * 0.9
    assert searched.status == 200
    assert answered < ended / 2


def test_a_proxy_that_is_not_trusted_is_named_once(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """All its visitors share the limits of its address, and nothing would say so"""
    with caplog.at_level(logging.WARNING, "serve.http.app"):
        for number in range(3):
            served.ask("/healthz", headers={"X-Forwarded-For": f"192.0.2.{number}"})

    (said,) = [one.getMessage() for one in caplog.records if "X-Forwarded-For" in one.getMessage()]
    assert "127.0.0.0/24" in said
    assert "--trusted-proxies" in said


def test_a_trusted_proxy_is_no_reason_to_warn(
    strict: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "serve.http.app"):
        strict.ask("/healthz", headers={"X-Forwarded-For": "192.0.2.7"})

    assert not [one for one in caplog.records if "X-Forwarded-For" in one.getMessage()]


def test_handshakes_of_mcp_are_limited_for_a_key_too(strict: Served) -> None:
    customer = strict.customer("integral", api_tool=True)
    sent = {
        **customer.headers, "X-Forwarded-For": "203.0.113.77", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
    }  # fmt: skip
    ping = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    statuses = [strict.ask("/api/mcp", "POST", sent, body=ping).status for _ in range(4)]

    assert statuses == [200, 200, 200, 429]


def test_limits_of_nobody_do_not_slow_a_key(strict: Served) -> None:
    """An account has the calls of its plan, however many places its address has"""
    customer = strict.customer("integral")

    statuses = {strict.ask("/api/v1/societes", headers=customer.headers).status for _ in range(9)}

    assert statuses == {200}
