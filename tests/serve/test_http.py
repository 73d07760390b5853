"""HTTP itself: methods, CORS, caching, health, limits, the log (contract G)."""

import json
import logging
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from serve.headers import EXPOSED
from serve.log import JsonLines
from tests.serve.client import Served, serving

PATHS = ["/api/v1/pays", "/api/v1/secteurs", "/api/v1/sous-secteurs?secteur=edition",
         "/api/v1/societes", "/api/v1/societes/FR/552100554"]  # fmt: skip
REFUSED = ["/api/v1/societes?x=1", "/api/v1/inconnue", "/api/v1/societes/FR/absente", "/api/v1"]


def raw(served: Served, sent: bytes) -> bytes:
    """Whatever the server says to these bytes, until it closes."""
    with closing(socket.create_connection(("127.0.0.1", served.port), timeout=10)) as connection:
        connection.sendall(sent)
        connection.settimeout(10)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received


# -- methods -----------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED, "/healthz"])
def test_head_is_get_without_a_body(served: Served, path: str) -> None:
    """G1"""
    get, head = served.ask(path), served.ask(path, "HEAD")

    assert (head.status, head.body) == (get.status, b"")
    changing = {"Date", "X-Request-Id"}
    assert {name: value for name, value in head.headers.items() if name not in changing} == {
        name: value for name, value in get.headers.items() if name not in changing
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", [*PATHS, "/healthz"])
def test_another_method_is_405_with_those_allowed(served: Served, method: str, path: str) -> None:
    """G3"""
    reply = served.ask(path, method)

    assert (reply.status, reply.code) == (405, "methode_non_autorisee")
    assert reply.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/api/v1/", "/api/v1/export", "/api/v1/compte", "/metrics", "/favicon.ico"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_an_unknown_path_is_404_whatever_the_method(served: Served, path: str, method: str) -> None:
    """G3, D5"""
    reply = served.ask(path, method)

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_a_trailing_slash_is_accepted(served: Served) -> None:
    """G3"""
    for path in ("/api/v1/pays", "/api/v1/societes", "/api/v1/societes/FR/552100554", "/healthz"):
        assert served.ask(f"{path}/").body == served.ask(path).body


# -- cross-origin ------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED])
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_every_answer_is_open_to_every_origin(served: Served, path: str, method: str) -> None:
    """§1, G2"""
    headers = served.ask(path, method, headers={"Origin": "https://exemple.eu"}).headers

    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Expose-Headers"].split(", ") == list(EXPOSED)
    assert "Access-Control-Allow-Credentials" not in headers


def test_every_header_that_is_sent_can_be_read_by_a_browser(served: Served) -> None:
    """G2"""
    safe = {"cache-control", "content-language", "content-length", "content-type", "date"}
    ours = {"x-", "ratelimit", "retry-after", "etag", "link", "content-location", "www-auth"}
    exposed = {name.lower() for name in EXPOSED}
    for path in [*PATHS, *REFUSED]:
        sent = {name.lower() for name in served.ask(path, headers={"Authorization": "x"}).headers}
        read = {name for name in sent if name.startswith(tuple(ours))} - {"x-content-type-options"}
        assert read - safe <= exposed


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_preflight_is_204(served: Served, path: str, method: str) -> None:
    """G2"""
    asked = {
        "Origin": "https://exemple.eu",
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization",
    }
    reply = served.ask(path, "OPTIONS", headers=asked)

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert (
        reply.headers["Access-Control-Allow-Headers"]
        == "Authorization, Content-Type, If-None-Match"
    )
    assert reply.headers["Access-Control-Max-Age"] == "86400"
    assert "Content-Type" not in reply.headers


# -- caching -----------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS[3:])
def test_what_depends_on_the_caller_is_private_and_revalidated(served: Served, path: str) -> None:
    """G8"""
    first = served.ask(path)
    again = served.ask(path, headers={"If-None-Match": f'"x", W/{first.headers["ETag"]}'})

    assert first.headers["ETag"].startswith('"')
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["Vary"] == "Authorization"
    assert (again.status, again.body) == (304, b"")
    for name in ("ETag", "Cache-Control", "Vary", "X-Donnees-Version"):
        assert again.headers[name] == first.headers[name]
    assert again.headers.get("Content-Location") == first.headers.get("Content-Location")
    assert "Content-Type" not in again.headers


def test_a_304_needs_no_search(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8, D13: the tag is compared before the work"""
    tag = served.ask("/api/v1/societes?q=lab").headers["ETag"]
    monkeypatch.setattr("serve.societes.search", None)

    assert served.ask("/api/v1/societes?q=lab", headers={"If-None-Match": tag}).status == 304
    assert served.ask("/api/v1/societes?q=lab").status == 500


def test_searches_that_mean_the_same_have_one_tag(served: Served) -> None:
    """G8"""
    same = ["?pays=FR,DE&limit=50", "?limit=1000&pays=de,fr,FR", "?pays=DE&pays=FR&q=&tri=ca_desc",
            "?pays=FR,DE&ca_min=&offset=7"]  # fmt: skip
    other = ["?pays=FR", "?pays=FR,DE&limit=1", "?pays=FR,DE&q=a", "?pays=FR,DE&tri=nom"]

    tags = {served.ask(f"/api/v1/societes{query}").headers["ETag"] for query in same}
    others = {served.ask(f"/api/v1/societes{query}").headers["ETag"] for query in other}

    assert len(tags) == 1
    assert len(others | tags) == 5


def test_any_tag_does_not_make_an_absent_company_exist(served: Served) -> None:
    """E1, RFC 9110 §13.1.2"""
    anything = {"If-None-Match": "*"}

    assert served.ask("/api/v1/societes/FR/absente", headers=anything).status == 404
    assert served.ask("/api/v1/societes/FR/552100554", headers=anything).status == 304
    assert served.ask("/api/v1/societes?x=1", headers=anything).status == 400


@pytest.mark.parametrize("path", REFUSED)
def test_an_error_is_not_kept(served: Served, path: str) -> None:
    headers = served.ask(path).headers

    assert headers["Cache-Control"] == "no-store"
    assert "ETag" not in headers


# -- every answer ------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED, "/healthz", "/readyz", "/nulle/part"])
def test_every_answer_is_safe_json_with_an_id(served: Served, path: str) -> None:
    """G7, §1"""
    reply = served.ask(path)

    assert reply.json is not None
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Server"] == "societes"
    assert len(reply.headers["X-Request-Id"]) == 16


def test_the_id_of_a_request_is_echoed_if_it_is_fit(served: Served) -> None:
    """G7"""
    fit = served.ask("/healthz", headers={"X-Request-Id": "essai-1.2:3"})
    unfit = served.ask("/healthz", headers={"X-Request-Id": "<script>"})

    assert fit.headers["X-Request-Id"] == "essai-1.2:3"
    assert "<" not in unfit.headers["X-Request-Id"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_of_data_names_its_generation(served: Served, path: str) -> None:
    """G10"""
    assert served.ask(path).headers["X-Donnees-Version"] == generation(served)


def generation(served: Served) -> str:
    return str(served.ask("/readyz").json["generation"])


# -- limits and broken requests ----------------------------------------------------


def test_84_labels_fit_into_a_request_line(served: Served) -> None:
    """F4"""
    labels = [one["secteur"] for one in served.ask("/api/v1/secteurs").json["secteurs"]]

    assert served.search(secteur="|".join(labels))["total"] == 40


def test_a_request_line_of_64_kib_is_read_and_a_longer_one_is_414(served: Served) -> None:
    """F4, G7"""
    assert served.ask("/api/v1/societes?q=" + "a" * 60_000).code == "parametre_invalide"
    reply = served.ask("/api/v1/societes?q=" + "a" * 66_000)

    assert (reply.status, reply.code) == (414, "uri_trop_longue")
    assert reply.headers["X-Request-Id"]
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /api/v1/pays HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9_000 + b"\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_not_http_gets_an_error_object_and_is_closed(served: Served, sent: bytes) -> None:
    """§2.6, G7"""
    head, _, body = raw(served, sent).partition(b"\r\n\r\n")

    assert b" 400 " in head.splitlines()[0] or b" 414 " in head.splitlines()[0]
    assert b"X-Request-Id: " in head
    assert json.loads(body)["erreur"]["message"]


def test_bytes_outside_ascii_in_a_request_line_never_break_the_server(served: Served) -> None:
    for line in (
        b"/api/v1/societes?q=\xff",
        b"/api/v1/societes/FR/\xff\xfe",
        b"/api/v1/societes/\xff/1",
        b"/\xff",
        b"/?\xff",
    ):
        sent = b"GET " + line + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        status = int(raw(served, sent).split(b" ", 2)[1])
        assert status in (400, 404)


def test_an_absolute_request_target_is_understood(served: Served) -> None:
    """RFC 9112 §3.2.2: and the host in it is not believed"""
    sent = b"GET http://ailleurs.example/healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    answer = raw(served, sent)

    assert b" 200 " in answer.splitlines()[0]
    assert b"ailleurs" not in answer


def test_a_fault_of_ours_is_500_with_an_id_and_a_logged_traceback(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G7"""
    monkeypatch.setattr("serve.societes.search", None)

    reply = served.ask("/api/v1/societes", headers={"X-Request-Id": "panne-1"})

    assert (reply.status, reply.code) == (500, "erreur_interne")
    assert "panne-1" in reply.json["erreur"]["message"]
    assert b"Traceback" not in reply.body
    failed = next(record for record in caplog.records if record.exc_info)
    assert json.loads(JsonLines().format(failed))["request_id"] == "panne-1"


# -- no data -----------------------------------------------------------------------


def test_without_a_generation_data_is_503_and_the_process_lives(tmp_path: Path) -> None:
    """G9, G10"""
    with serving(tmp_path) as served:
        replies = [served.ask(path) for path in [*PATHS, "/readyz"]]
        alive = served.ask("/healthz")
        unknown = served.ask("/api/v1/inconnue")
        refused = served.ask("/api/v1/societes", headers={"Authorization": "Bearer x"})

    assert {(reply.status, reply.code) for reply in replies} == {(503, "indisponible")}
    assert all(int(reply.headers["Retry-After"]) > 0 for reply in replies)
    assert all(reply.headers["Cache-Control"] == "no-store" for reply in replies)
    assert (alive.status, alive.json) == (200, {"statut": "vivant"})
    assert (unknown.status, refused.status) == (404, 503)


# -- the log -----------------------------------------------------------------------


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


def test_a_server_that_has_stopped_listens_no_more(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.ask("/healthz")

    with pytest.raises(ConnectionRefusedError):
        served.ask("/healthz")
