"""The language of errors (X0): `Accept-Language`, French by default; codes and values never change."""

import orjson
import pytest

from tests.serve.client import REFUSED_PATHS, Server

WRONG_COUNTRY = "/api/v1/societes?pays=XX"


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        (None, "fr"), ("", "fr"), ("fr", "fr"), ("en", "en"), ("EN-gb", "en"), ("*", "fr"),
        ("de", "fr"), ("de, en;q=0.8, fr;q=0.5", "en"), ("en;q=0.5, fr;q=0.6", "fr"),
        ("en;q=0", "fr"), ("en;q=x, fr;q=0.1", "fr"),
    ],
)  # fmt: skip
def test_an_error_is_in_the_preferred_language(
    server: Server, header: str | None, lang: str
) -> None:
    reply = server.ask(WRONG_COUNTRY, headers={} if header is None else {"Accept-Language": header})

    words = {"fr": "Pays inconnu : XX.", "en": "Unknown country: XX."}
    assert reply.json["erreur"]["message"].startswith(words[lang])
    assert reply.code == "pays_inconnu"
    assert reply.headers["Content-Language"] == lang
    assert reply.headers["Vary"] == "Accept-Language, Accept-Encoding"


@pytest.mark.parametrize("path", [*REFUSED_PATHS, "/api/v1/compte", "/nulle/part"])
def test_only_the_message_depends_on_the_language(server: Server, path: str) -> None:
    french, english = server.ask(path), server.ask(path, headers={"Accept-Language": "en"})

    assert english.status == french.status
    assert english.headers["Content-Language"] == "en"
    bodies = [french.json, english.json]
    messages = [body["erreur"].pop("message") for body in bodies]
    assert messages[0] != messages[1]
    assert bodies[0] == bodies[1]


def test_the_error_of_an_invalid_key_is_in_the_preferred_language(server: Server) -> None:
    """A1; the errors of D10 are in test_credits.py"""
    headers = {"Authorization": "Bearer soc_live_x", "Accept-Language": "en"}

    reply = server.ask("/api/v1/societes", headers=headers)

    assert reply.json["erreur"]["message"].startswith("Invalid or revoked API key")
    assert (reply.status, reply.headers["Content-Language"]) == (401, "en")
    message = server.ask(WRONG_COUNTRY, headers=headers).json["erreur"]["message"]
    assert "Also: Unknown country: XX" in message


def test_the_reason_for_missing_statements_is_in_the_preferred_language(server: Server) -> None:
    """X0, A6"""
    path, english = "/api/v1/societes/FR/552100554", {"Accept-Language": "en"}
    conditional = {"If-None-Match": server.ask(path).headers["ETag"]}

    reply = server.ask(path, headers=english | conditional)

    assert reply.status == 200  # the French record has another tag
    assert reply.json["comptes_message"].startswith(
        "Financial statements are served to calls with a key"
    )
    assert reply.headers["Content-Language"] == "en"
    assert reply.headers["Vary"] == "Authorization, Accept-Language, Accept-Encoding"
    refused = server.ask(path, headers=english | {"Authorization": "Bearer soc_live_x"})
    assert (refused.status, refused.json["comptes_message"]) == (401, reply.json["comptes_message"])
    assert refused.headers["Vary"] == "Accept-Language, Accept-Encoding"


def test_a_record_with_statements_is_the_same_in_both_languages(server: Server) -> None:
    """It has no message in a language"""
    path, key = "/api/v1/societes/FR/552100554", server.customer("data").headers

    replies = [server.ask(path, headers={**key, "Accept-Language": lang}) for lang in ("fr", "en")]

    assert replies[0].body == replies[1].body
    assert replies[0].headers["ETag"] == replies[1].headers["ETag"]
    assert "Content-Language" not in replies[1].headers


@pytest.mark.parametrize("size", [70_000, 300_000])
@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("", "Ligne de requête de plus de"),
        ("en", "The request line is longer than"),
    ],
)
def test_a_request_whose_line_is_too_long_is_answered_in_its_language(
    server: Server, size: int, language: str, message: str
) -> None:
    header = f"Accept-Language: {language}\r\n" if language else ""
    answer = server.send_raw(
        f"GET /api/v1/societes?q={'x' * size} HTTP/1.1\r\nHost: a\r\n{header}\r\n"
    )

    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 414 " in head.partition(b"\r\n")[0]
    assert f"Content-Language: {language or 'fr'}\r\n".encode() in head
    assert b"Vary: Accept-Language\r\n" in head
    assert orjson.loads(body)["erreur"]["message"].startswith(message)


def test_a_request_line_without_an_end_is_answered_in_both_languages(server: Server) -> None:
    """X0.4: the answer depends on no header, since no header was read"""
    answer = server.send_raw(f"GET /api/v1/societes?q={'x' * 300_000} HTTP/1.1\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 414 " in head.partition(b"\r\n")[0]
    assert b"Content-Language: fr, en\r\n" in head
    assert b"Vary" not in head
    message = orjson.loads(body)["erreur"]["message"]
    assert message.startswith("Ligne de requête de plus de")
    assert " / The request line is longer than" in message


def test_a_request_that_cannot_be_read_and_names_no_language_is_answered_in_french(
    server: Server,
) -> None:
    answer = server.send_raw("GET / HTTP/1.1\r\nHost : a\r\n\r\n")

    assert b"Content-Language: fr\r\n" in answer
    assert b"Vary: Accept-Language\r\n" in answer


@pytest.mark.parametrize(
    "request_head",
    [
        f"GET / HTTP/1.1\r\nX: {'a' * 9_000}",
        "GET / HTTP/1.1\r\nHost : a",
        "GET / HTTP/9.x\r\nHost: a",
        "BREW / HTTP/1.1\r\nHost: a",
    ],
    ids=["header", "blank", "version", "method"],
)
def test_the_language_of_an_unreadable_request_is_still_read(
    server: Server, request_head: str
) -> None:
    answer = server.send_raw(f"{request_head}\r\nACCEPT-LANGUAGE: de, en;q=0.5\r\nHost: a\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 4")
    assert b"Content-Language: en" in answer
