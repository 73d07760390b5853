"""Faults: unreadable requests, missing data, errors of the server itself (F4, G7, G9)."""

import contextlib
import json
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from serve.contract.errors import ApiError
from serve.features.matching import line_list
from serve.http import body_reader
from serve.observe.log import JsonLines
from tests.serve.client import PATHS, Served, serving
from tests.serve.surfaces.site.visitor import FORM


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


@pytest.mark.parametrize(
    "line",
    ["CONNECT example.org:443", "CONNECT /api/v1/pays", "BREW /api/v1/pays", "BREW /", "get /docs"],
)
def test_a_method_that_is_nowhere_allowed_is_405(served: Served, line: str) -> None:
    """G3"""
    head, _, body = raw(
        served, f"{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    ).partition(b"\r\n\r\n")

    assert b" 405 " in head.splitlines()[0]
    assert b"\r\nAllow: GET, HEAD" in head
    assert json.loads(body)["erreur"]["code"] == "methode_non_autorisee"


@pytest.mark.parametrize("path", ["/api/v1/pays", "/", "/rien", "/api/mcp"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_expectation_that_is_not_known_is_417(served: Served, method: str, path: str) -> None:
    """RFC 9110 §10.1.1"""
    line = f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n"

    head, _, body = raw(served, f"{line}Expect: 200-ok\r\n\r\n".encode()).partition(b"\r\n\r\n")
    known = raw(served, f"{line}Expect: 100-Continue\r\n\r\n".encode())

    assert b" 417 " in head.splitlines()[0]
    assert json.loads(body)["erreur"]["code"] == "attente_refusee"
    assert b" 417 " not in known.splitlines()[0]


@pytest.mark.parametrize("target", ["GET /api/v%31/pays", "GET /%61pi/v1/x", "OPTIONS /api/v%31/x"])
def test_an_escaped_path_is_open_to_all_too(served: Served, target: str) -> None:
    """G2"""
    sent = f"{target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()

    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in raw(served, sent)


@pytest.mark.parametrize(
    ("sent", "named", "remedy"),
    [
        ("GET /api/v1/societes?q=société HTTP/1.1\r\nHost: a\r\n\r\n", "requête", "%XX"),
        (
            f"GET / HTTP/1.1\r\nHost: a\r\nX: {'a' * 9_000}\r\n\r\n",
            "en-tête",
            "8192 octets en un seul ; raccour",
        ),
        ("hello\r\n\r\n", "requête", "hello n'est pas du HTTP/1.1 lisible ; envoyez du HTTP/1.1"),
        ("\x16\x03\x01\r\n\r\n", "requête", "https:// seulement là où TLS est parlé"),
        (
            "GET / HTTP/1.1\r\nAuthorization: sec\x01ret\r\n\r\n",
            "requête",
            "requête : Authorization n'est",
        ),
    ],
)
def test_what_is_almost_http_is_told_what_to_mend(
    served: Served, sent: str, named: str, remedy: str
) -> None:
    _, _, body = raw(served, sent.encode()).partition(b"\r\n\r\n")

    answer = json.loads(body)
    assert (answer["erreur"]["code"], answer["parametre"]) == ("parametre_invalide", named)
    assert remedy in answer["erreur"]["message"]
    assert "ret" not in answer["erreur"]["message"]  # the value of a header may be a key


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


def test_bodies_that_arrive_at_once_have_a_bound_together(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13: the room of a body is given back, whatever becomes of it"""
    kind = {"Content-Type": "application/json"}
    room = 1_000
    monkeypatch.setattr(body_reader, "MOST_AT_ONCE", room)

    refused = [
        served.ask("/api/v1/rapprochement", "POST", kind, body=b" " * (room + 1)) for _ in range(2)
    ]
    taken = served.ask("/api/v1/rapprochement", "POST", kind, body=b" " * room)

    assert [(one.status, one.code) for one in refused] == [(503, "indisponible")] * 2
    assert (taken.status, taken.code) == (400, "corps_invalide")


@pytest.mark.parametrize(("size", "status"), [(100, b"400"), (1_000, b"403")])
def test_a_file_has_time_as_long_as_it_keeps_coming(
    served: Served, monkeypatch: pytest.MonkeyPatch, size: int, status: bytes
) -> None:
    """R13: five pieces take longer than BODY_SECONDS in all; small ones are 400.

    The whole form is 403, as a form without its token.
    """
    monkeypatch.setattr(body_reader, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(body_reader, "FILE_BYTES", 1_000)
    part = '--b\r\nContent-Disposition: form-data; name="liste"; filename="a.csv"\r\n\r\nnom\r\n'
    pieces = [part, *(["\n" * size] * 5), "\r\n--b--\r\n"]
    length = sum(map(len, pieces))
    kind = "Content-Type: multipart/form-data; boundary=b"
    head = f"POST /rapprochement HTTP/1.1\r\nHost: a\r\n{kind}\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece.encode())
                time.sleep(0.2)
        answer = connection.recv(65_536)

    assert answer.split(b" ")[1] == status


def test_the_room_of_a_body_is_taken_until_its_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that waits to be matched is still in memory: it counts until then"""
    taken = []

    def watched(_raw: bytes, _names: object) -> NoReturn:
        taken.append(body_reader._BodyMemory._taken)
        raise ApiError("corps_invalide", "liste_vide")

    before = body_reader._BodyMemory._taken
    monkeypatch.setattr(line_list, "read", watched)
    kind = {"Content-Type": "application/json"}
    served.ask("/api/v1/rapprochement", "POST", kind, body=b" " * 1_000)

    assert taken == [before + 1_000]
    assert body_reader._BodyMemory._taken == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\r\n" * 10 + b'--b\r\nContent-Disposition: form-data; name="jeton"\r\n\r\nx\r\n--b--\r\n',
        b'--b\r\nContent-Disposition: form-data; name="jeton"\r\n\r\nx\r\n',
        b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n",
        b"--b\r\n" + b"a: b\r\n" * 2_000 + b"\r\nx\r\n--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 300 + b"--b--\r\n",
    ],
    ids=["empty", "preamble", "no end", "no name", "many headers", "many parts"],
)
def test_a_form_that_no_browser_sends_is_refused(served: Served, body: bytes) -> None:
    """A form begins with its boundary, and has few parts with a name"""
    kind = {"Content-Type": "multipart/form-data; boundary=b"}

    reply = served.ask("/rapprochement", "POST", kind, body=body)

    assert (reply.status, reply.code) == (400, "corps_invalide")
    assert "multipart/form-data" in reply.json["erreur"]["message"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/rapprochement", "multipart/form-data; boundary=b"),
        ("/api/v1/rapprochement", "application/json"),
        ("/api/v1/reconciliation", FORM),
    ],
)
def test_an_empty_body_is_answered_alike_each_time(served: Served, path: str, kind: str) -> None:
    """The requests of a process that have no body share one reader of aiohttp"""
    replies = [served.ask(path, "POST", {"Content-Type": kind}, body=b"") for _ in range(3)]

    assert len({reply.status for reply in replies}) == 1
    assert not [reply for reply in replies if b"chunked" in reply.body]


@pytest.mark.parametrize("path", ["/api/v1/rapprochement", "/api/v1/reconciliation"])
def test_a_caller_without_a_key_sends_a_small_body(served: Served, path: str) -> None:
    """Two lines of it are answered; the error says what a key permits"""
    kind = "application/json" if path.endswith("rapprochement") else FORM
    body = b" " * 65_537
    visitor = served.ask(path, "POST", {"Content-Type": kind}, body=body)
    keyed = {**served.customer("free").headers, "Content-Type": kind}

    assert (visitor.status, visitor.code) == (413, "corps_trop_grand")
    assert "65536" in visitor.json["erreur"]["message"]
    assert "1048576" in visitor.json["erreur"]["message"]
    assert served.ask(path, "POST", keyed, body=body).status in (200, 400)


def test_a_query_string_has_so_many_parameters(served: Served) -> None:
    few = "ids=FR:552100554&" * 1_000 + "q=&" * 1_047 + "q="
    many = served.ask(f"/api/v1/societes?{'q=&' * 2_048}q=")

    assert served.ask(f"/api/v1/societes?{few}").status == 200
    assert (many.status, many.code) == (400, "parametre_invalide")
    assert "2049 paramètres, 2048 au plus" in many.json["erreur"]["message"]


def test_what_follows_an_answer_is_read_for_a_second_at_most(served: Served) -> None:
    """A client that goes on sending after 413 is cut off"""
    head = (
        b"POST /api/v1/rapprochement HTTP/1.1\r\nHost: a\r\n"
        b"Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", served.port), 20) as client:
        client.sendall(head)
        started = time.monotonic()
        assert b" 413 " in client.recv(65_536)
        try:
            while time.monotonic() < started + 9:
                client.sendall(b" " * 1_000)
                time.sleep(0.05)
        except OSError:
            pass
        seconds = time.monotonic() - started

    assert seconds < 5


def test_a_fault_of_ours_is_500_with_an_id_and_a_logged_traceback(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G7"""
    monkeypatch.setattr("serve.features.search.societes.search_within", None)

    reply = served.ask("/api/v1/societes", headers={"X-Request-Id": "panne-1"})

    assert (reply.status, reply.code) == (500, "erreur_interne")
    assert "panne-1" in reply.json["erreur"]["message"]
    assert b"Traceback" not in reply.body
    failed = next(record for record in caplog.records if record.exc_info)
    assert json.loads(JsonLines().format(failed))["request_id"] == "panne-1"


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


def test_a_server_that_has_stopped_listens_no_more(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.ask("/healthz")

    with pytest.raises(ConnectionRefusedError):
        served.ask("/healthz")


def raw(served: Served, sent: bytes) -> bytes:
    """Whatever the server says to these bytes, until it closes."""
    with closing(socket.create_connection(("127.0.0.1", served.port), timeout=10)) as connection:
        connection.sendall(sent)
        connection.settimeout(10)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received
