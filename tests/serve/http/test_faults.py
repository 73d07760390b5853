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
from tests.serve.client import DATA_PATHS, Server, run_server
from tests.serve.processes import eventually, in_time
from tests.serve.surfaces.site.visitor import FORM


def test_the_labels_of_all_84_sectors_fit_into_a_request_line(server: Server) -> None:
    """F4"""
    labels = [sector["secteur"] for sector in server.ask("/api/v1/secteurs").json["secteurs"]]

    # 41 companies of the test data, except the only one without a sector.
    assert server.search(secteur="|".join(labels))["total"] == 40


def test_a_request_line_of_64_kib_is_read_and_a_longer_one_is_414(server: Server) -> None:
    """F4, G7"""
    assert server.ask("/api/v1/societes?q=" + "a" * 60_000).code == "parametre_invalide"
    reply = server.ask("/api/v1/societes?q=" + "a" * 66_000)

    assert (reply.status, reply.code) == (414, "uri_trop_longue")
    assert reply.headers["X-Request-Id"]
    assert reply.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /api/v1/pays HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 9_000 + b"\r\n\r\n",
    ],
)  # fmt: skip
def test_bytes_that_are_not_http_get_an_error_object_and_the_connection_closes(
    server: Server, request_bytes: bytes
) -> None:
    """§2.6, G7"""
    head, _, body = exchange(server, request_bytes).partition(b"\r\n\r\n")

    assert b" 400 " in head.splitlines()[0] or b" 414 " in head.splitlines()[0]
    assert b"X-Request-Id: " in head
    assert json.loads(body)["erreur"]["message"]


@pytest.mark.parametrize(
    "line",
    ["CONNECT example.org:443", "CONNECT /api/v1/pays", "BREW /api/v1/pays", "BREW /", "get /docs"],
)
def test_a_method_that_no_route_allows_is_405(server: Server, line: str) -> None:
    """G3"""
    head, _, body = exchange(
        server, f"{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    ).partition(b"\r\n\r\n")

    assert b" 405 " in head.splitlines()[0]
    assert b"\r\nAllow: GET, HEAD" in head
    assert json.loads(body)["erreur"]["code"] == "methode_non_autorisee"


@pytest.mark.parametrize("path", ["/api/v1/pays", "/", "/rien", "/api/mcp"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_expectation_is_417(server: Server, method: str, path: str) -> None:
    """RFC 9110 §10.1.1"""
    line = f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n"

    head, _, body = exchange(server, f"{line}Expect: 200-ok\r\n\r\n".encode()).partition(
        b"\r\n\r\n"
    )
    accepted = exchange(server, f"{line}Expect: 100-Continue\r\n\r\n".encode())

    assert b" 417 " in head.splitlines()[0]
    assert json.loads(body)["erreur"]["code"] == "attente_refusee"
    assert b" 417 " not in accepted.splitlines()[0]


@pytest.mark.parametrize("target", ["GET /api/v%31/pays", "GET /%61pi/v1/x", "OPTIONS /api/v%31/x"])
def test_an_escaped_path_is_open_to_all_origins_too(server: Server, target: str) -> None:
    """G2"""
    sent = f"{target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()

    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in exchange(server, sent)


@pytest.mark.parametrize(
    ("request_text", "parameter", "remedy"),
    [
        ("GET /api/v1/societes?q=société HTTP/1.1\r\nHost: a\r\n\r\n", "requête", "%XX"),
        (
            f"GET / HTTP/1.1\r\nHost: a\r\nX: {'a' * 9_000}\r\n\r\n",
            "en-tête",
            "il a plus de 8192 octets ; raccour",
        ),
        ("hello\r\n\r\n", "requête", "hello n'est pas du HTTP/1.1 valide ; envoyez du HTTP/1.1"),
        ("\x16\x03\x01\r\n\r\n", "requête", "https:// seulement si ce port accepte TLS"),
        (
            "GET / HTTP/1.1\r\nAuthorization: sec\x01ret\r\n\r\n",
            "requête",
            "requête : Authorization n'est",
        ),
    ],
)
def test_the_error_of_an_unreadable_request_names_the_remedy(
    server: Server, request_text: str, parameter: str, remedy: str
) -> None:
    _, _, body = exchange(server, request_text.encode()).partition(b"\r\n\r\n")

    answer = json.loads(body)
    assert (answer["erreur"]["code"], answer["parametre"]) == ("parametre_invalide", parameter)
    assert remedy in answer["erreur"]["message"]
    # "ret" is the end of the value of Authorization: a message must not repeat a header, which may hold a key.
    assert "ret" not in answer["erreur"]["message"]


def test_bytes_outside_ascii_in_a_request_line_never_break_the_server(server: Server) -> None:
    for line in (
        b"/api/v1/societes?q=\xff",
        b"/api/v1/societes/FR/\xff\xfe",
        b"/api/v1/societes/\xff/1",
        b"/\xff",
        b"/?\xff",
    ):
        sent = b"GET " + line + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        status = int(exchange(server, sent).split(b" ", 2)[1])
        assert status in (400, 404)


def test_an_absolute_request_target_is_understood(server: Server) -> None:
    """RFC 9112 §3.2.2: the host in the target is ignored"""
    sent = b"GET http://ailleurs.example/healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    answer = exchange(server, sent)

    assert b" 200 " in answer.splitlines()[0]
    assert b"ailleurs" not in answer


def test_bodies_that_arrive_at_once_share_a_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13: the memory of a body is released, also after a refusal"""
    json_header = {"Content-Type": "application/json"}
    room = 1_000  # bytes
    monkeypatch.setattr(body_reader, "MOST_AT_ONCE", room)

    refused = [
        server.ask("/api/v1/rapprochement", "POST", json_header, body=b" " * (room + 1))
        for _ in range(2)
    ]
    accepted = server.ask("/api/v1/rapprochement", "POST", json_header, body=b" " * room)

    assert [(reply.status, reply.code) for reply in refused] == [(503, "indisponible")] * 2
    assert (accepted.status, accepted.code) == (400, "corps_invalide")


@pytest.mark.parametrize(("chunk_bytes", "status"), [(100, b"400"), (1_000, b"403")])
def test_a_file_has_more_time_while_its_chunks_keep_arriving(
    server: Server, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int, status: bytes
) -> None:
    """R13: the chunks together take longer than BODY_SECONDS; chunks that are too small are 400.

    The complete form is 403, because it has no token.
    """
    monkeypatch.setattr(body_reader, "BODY_SECONDS", 3.0)
    monkeypatch.setattr(body_reader, "FILE_BYTES", 1_000)
    part_head = (
        '--b\r\nContent-Disposition: form-data; name="liste"; filename="a.csv"\r\n\r\nnom\r\n'
    )
    chunks = [part_head, *(["\n" * chunk_bytes] * 5), "\r\n--b--\r\n"]
    length = sum(map(len, chunks))
    type_header = "Content-Type: multipart/form-data; boundary=b"
    head = f"POST /rapprochement HTTP/1.1\r\nHost: a\r\n{type_header}\r\nContent-Length: {length}\r\n\r\n"

    def status_of_form() -> bytes:
        """The status of the form, whose chunks are sent 0.6 s apart."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
            connection.sendall(head.encode())
            with contextlib.suppress(ConnectionError):
                for chunk in chunks:
                    connection.sendall(chunk.encode())
                    time.sleep(0.6)
            return connection.recv(65_536).split(b" ")[1]

    assert in_time(lambda: status_of_form() == status)


def test_a_body_counts_as_memory_until_its_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that waits to be matched is still in memory"""
    sizes = []

    def record_size(_raw: bytes, _names: object) -> NoReturn:
        """Read no list, but record the memory that all bodies take at this moment."""
        sizes.append(body_reader._BodyMemory._taken)
        raise ApiError("corps_invalide", "liste_vide")

    taken_before = body_reader._BodyMemory._taken
    monkeypatch.setattr(line_list, "read", record_size)
    json_header = {"Content-Type": "application/json"}
    server.ask("/api/v1/rapprochement", "POST", json_header, body=b" " * 1_000)

    assert sizes == [taken_before + 1_000]
    assert body_reader._BodyMemory._taken == taken_before


def test_a_client_that_disconnects_before_the_end_of_its_body_is_logged_as_400(
    server: Server,
) -> None:
    """It announces 50 bytes and sends none"""
    lines_before = len(server.lines)
    with socket.create_connection(("127.0.0.1", server.port), 20) as client:
        client.sendall(
            b"POST /api/v1/rapprochement HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: 50\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
    assert eventually(lambda: len(server.lines) > lines_before)

    assert json.loads(server.lines[lines_before])["status"] == 400


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
def test_a_form_that_no_browser_sends_is_refused(server: Server, body: bytes) -> None:
    """A form begins with its boundary and has few parts, each with a name"""
    kind = {"Content-Type": "multipart/form-data; boundary=b"}

    reply = server.ask("/rapprochement", "POST", kind, body=body)

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
def test_an_empty_body_gets_the_same_status_each_time(server: Server, path: str, kind: str) -> None:
    """In a process, all requests without a body share one reader of aiohttp, so the first must not change it"""
    replies = [server.ask(path, "POST", {"Content-Type": kind}, body=b"") for _ in range(3)]

    assert len({reply.status for reply in replies}) == 1
    assert not [reply for reply in replies if b"chunked" in reply.body]


@pytest.mark.parametrize("path", ["/api/v1/rapprochement", "/api/v1/reconciliation"])
def test_a_visitor_may_send_only_a_small_body(server: Server, path: str) -> None:
    """A visitor matches two lines at most; the error also names the limit of a customer"""
    kind = "application/json" if path.endswith("rapprochement") else FORM
    body = b" " * 65_537  # one byte too many
    visitor = server.ask(path, "POST", {"Content-Type": kind}, body=body)
    customer_headers = {**server.customer("free").headers, "Content-Type": kind}

    assert (visitor.status, visitor.code) == (413, "corps_trop_grand")
    assert "65536" in visitor.json["erreur"]["message"]
    assert "1048576" in visitor.json["erreur"]["message"]
    assert server.ask(path, "POST", customer_headers, body=body).status in (200, 400)


def test_a_query_string_has_at_most_2048_parameters(server: Server) -> None:
    # 1,000 + 1,047 + 1 parameters.
    longest = "ids=FR:552100554&" * 1_000 + "q=&" * 1_047 + "q="
    reply = server.ask(f"/api/v1/societes?{'q=&' * 2_048}q=")

    assert server.ask(f"/api/v1/societes?{longest}").status == 200
    assert (reply.status, reply.code) == (400, "parametre_invalide")
    assert "2049 paramètres, 2048 au plus" in reply.json["erreur"]["message"]


def test_a_client_that_goes_on_sending_after_a_413_is_disconnected(server: Server) -> None:
    """After its error the server reads the body for a second at most"""
    head = (
        b"POST /api/v1/rapprochement HTTP/1.1\r\nHost: a\r\n"
        b"Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), 120) as client:
        client.sendall(head)
        assert b" 413 " in client.recv(65_536)
        until = time.monotonic() + 30  # the second, and time enough for a busy machine
        with pytest.raises(OSError):
            while time.monotonic() < until:
                client.sendall(b" " * 1_000)
                time.sleep(0.05)


def test_an_exception_is_500_with_an_id_and_a_logged_traceback(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G7"""
    # The route calls None, which raises a TypeError.
    monkeypatch.setattr("serve.features.search.societes.search_within", None)

    reply = server.ask("/api/v1/societes", headers={"X-Request-Id": "panne-1"})

    assert (reply.status, reply.code) == (500, "erreur_interne")
    assert "panne-1" in reply.json["erreur"]["message"]
    assert b"Traceback" not in reply.body
    failed = next(record for record in caplog.records if record.exc_info)
    assert json.loads(JsonLines().format(failed))["request_id"] == "panne-1"


def test_without_a_generation_data_is_503_and_the_process_lives(tmp_path: Path) -> None:
    """G9, G10: an unknown path stays 404, and even an invalid key gets the 503"""
    with run_server(tmp_path) as server:
        replies = [server.ask(path) for path in [*DATA_PATHS, "/readyz"]]
        alive = server.ask("/healthz")
        unknown = server.ask("/api/v1/inconnue")
        refused = server.ask("/api/v1/societes", headers={"Authorization": "Bearer x"})

    assert {(reply.status, reply.code) for reply in replies} == {(503, "indisponible")}
    assert all(int(reply.headers["Retry-After"]) > 0 for reply in replies)
    assert all(reply.headers["Cache-Control"] == "no-store" for reply in replies)
    assert (alive.status, alive.json) == (200, {"statut": "vivant"})
    assert (unknown.status, refused.status) == (404, 503)


def test_a_stopped_server_does_not_listen(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        server.ask("/healthz")

    with pytest.raises(ConnectionRefusedError):
        server.ask("/healthz")


def exchange(server: Server, request_bytes: bytes) -> bytes:
    """Send bytes; return all bytes of the reply, until the server closes the connection."""
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=120)) as connection:
        connection.sendall(request_bytes)
        connection.settimeout(120)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
        return received
