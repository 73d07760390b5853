"""Compression: the coding that a client gets, a tag for each coding, responses that are never compressed (X0)."""

import gzip

import pytest
import zstandard

from serve.http import compression
from tests.serve.client import DATA_PATHS, Server
from tests.serve.conformance import decode
from tests.serve.surfaces.site.visitor import sign_up_member

SECTORS = "/api/v1/secteurs"
SEARCH = "/api/v1/societes?pays=FR"
ALL_PATHS = [
    *DATA_PATHS,
    "/openapi.json",
    "/docs/swagger-ui-5.35.0.js",
    "/llms.txt",
    "/",
    "/tarifs",
]


def accept_encoding(codings: str) -> dict[str, str]:
    """The header of a client that accepts these codings."""
    return {"Accept-Encoding": codings}


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("gzip", "gzip"), ("x-gzip", "gzip"), ("GZIP;Q=0.5", "gzip"), ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"), ("gzip, zstd;q=0.9", "gzip"), ("*", "zstd"),
        ("*, zstd;q=0", "gzip"), ("gzip;q=0.5, *;q=0.1", "gzip"), ("identity, gzip", "gzip"),
        ("identity;q=0.5, gzip;q=0.1", None), ("gzip;q=0", None), ("br", None), ("", None),
        ("gzip;q=2", None), ("gzip;q=nan", None), ("identity;q=0, gzip;q=0.001", "gzip"),
        ("*;q=0", None), ("identity;q=0", None),
    ],
)  # fmt: skip
def test_the_client_gets_its_preferred_coding(
    server: Server, header: str, coding: str | None
) -> None:
    """RFC 9110 §12.5.3"""
    plain = server.ask(SECTORS)
    reply = server.ask(SECTORS, headers=accept_encoding(header))

    assert reply.headers.get("Content-Encoding") == coding
    assert decode(reply.headers, reply.body) == plain.body
    assert (len(reply.body) < len(plain.body) / 3) == (coding is not None)
    assert plain.headers["Vary"] == reply.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("path", ALL_PATHS)
def test_the_body_is_the_plain_body_and_head_has_the_headers_of_get(
    server: Server, path: str, coding: str
) -> None:
    plain = server.ask(path)
    get = server.ask(path, headers=accept_encoding(coding))
    head = server.ask(path, "HEAD", headers=accept_encoding(coding))

    assert decode(get.headers, get.body) == plain.body
    assert get.headers["Content-Length"] == str(len(get.body))
    for name in ("Content-Length", "Content-Encoding", "Content-Type", "ETag", "Vary"):
        assert head.headers.get(name) == get.headers.get(name)
    is_long = len(plain.body) > compression.SHORTEST
    assert get.headers.get("Content-Encoding") == (coding if is_long else None)


@pytest.mark.parametrize("path", [SECTORS, "/openapi.json", f"{SEARCH}&limit=50"])
def test_each_coding_has_its_own_tag_which_leads_to_a_304(server: Server, path: str) -> None:
    """RFC 9110 §8.8.3.3: a strong tag names exact bytes"""
    replies = {
        name: server.ask(path, headers=accept_encoding(name)) for name in ("", "gzip", "zstd")
    }
    tags = {name: reply.headers["ETag"] for name, reply in replies.items()}
    assert len(set(tags.values())) == 3

    for name, tag in tags.items():
        for accepted in (name, f"{name}, zstd;q=0.1, gzip;q=0.1"):
            conditional = {"If-None-Match": f'"x", W/{tag}', **accept_encoding(accepted)}
            not_modified = server.ask(path, headers=conditional)
            assert (not_modified.status, not_modified.body) == (304, b"")
            assert not_modified.headers["ETag"] == tag
            assert not_modified.headers["Vary"] == replies[name].headers["Vary"]
            assert "Content-Encoding" not in not_modified.headers


def test_the_tag_of_a_coding_that_is_not_accepted_leads_to_a_200(server: Server) -> None:
    tag = server.ask(SECTORS, headers=accept_encoding("zstd")).headers["ETag"]

    reply = server.ask(SECTORS, headers={"If-None-Match": tag, **accept_encoding("gzip")})

    assert (reply.status, reply.headers["Content-Encoding"]) == (200, "gzip")


def test_a_short_answer_is_compressed_only_if_the_client_refuses_a_plain_one(
    server: Server,
) -> None:
    path = f"{SEARCH}&q=zzzz"
    assert len(server.ask(path).body) < compression.SHORTEST

    assert "Content-Encoding" not in server.ask(path, headers=accept_encoding("gzip")).headers
    reply = server.ask(path, headers=accept_encoding("gzip, identity;q=0"))
    assert reply.headers["Content-Encoding"] == "gzip"


def test_a_page_with_a_secret_of_its_caller_is_not_compressed(server: Server) -> None:
    """BREACH: the length must not reveal a session or the token of a form"""
    accepted = accept_encoding("gzip, zstd")
    visitor, _ = sign_up_member(server)

    replies = [
        server.ask("/connexion", headers=accepted),
        server.ask("/inscription", headers=accepted),
        server.ask("/compte", headers={**visitor._headers(), **accepted}),
        server.ask("/", headers={**visitor._headers(), **accepted}),
    ]

    assert all(
        len(reply.body) > 500 and "no-store" in reply.headers["Cache-Control"] for reply in replies
    )
    assert not [reply.headers for reply in replies if "Content-Encoding" in reply.headers]
    assert "Content-Encoding" in server.ask("/", headers=accepted).headers


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_the_account_is_compressed_like_other_answers_of_the_api(
    server: Server, coding: str
) -> None:
    """X0.5: only the caller sends the key, and the body repeats no text of the request"""
    headers = server.customer("data").headers
    plain = server.ask("/api/v1/compte", headers=headers)
    compressed = server.ask("/api/v1/compte", headers=headers | accept_encoding(coding))
    head = server.ask("/api/v1/compte", "HEAD", headers=headers | accept_encoding(coding))

    assert compressed.headers["Content-Encoding"] == head.headers["Content-Encoding"] == coding
    assert compressed.headers["Cache-Control"] == plain.headers["Cache-Control"] == "no-store"
    assert decode(compressed.headers, compressed.body) == plain.body
    assert len(compressed.body) < len(plain.body) * 0.7


def test_a_compressed_result_page_is_complete_and_under_a_third(server: Server) -> None:
    """Complete in both codings, with all companies that the plan shows; under a third with gzip"""
    headers = server.customer("data").headers
    plain = server.ask(f"{SEARCH}&limit=50", headers=headers)
    zipped = server.ask(f"{SEARCH}&limit=50", headers=headers | accept_encoding("gzip"))
    compressed = server.ask(f"{SEARCH}&limit=50", headers=headers | accept_encoding("zstd"))

    assert gzip.decompress(zipped.body) == zstandard.decompress(compressed.body) == plain.body
    assert zipped.headers["Vary"] == "Authorization, Accept-Encoding"
    assert len(zipped.body) < len(plain.body) / 3


def test_a_document_that_is_the_same_for_all_callers_is_compressed_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(body: bytes, level: int) -> bytes:
        """A compressor that must not be called."""
        raise AssertionError("compressed again")

    first = server.ask("/openapi.json", headers=accept_encoding("zstd"))
    monkeypatch.setattr(compression, "_COMPRESSORS", {"zstd": refuse, "gzip": refuse})

    assert server.ask("/openapi.json", headers=accept_encoding("zstd")).body == first.body


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [("GET", "/api/v1/export?colonnes=xx&q=steel", None, 400),
     ("POST", "/api/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 200)],
)  # fmt: skip
def test_errors_of_the_api_and_answers_to_tools_are_compressed(
    server: Server, method: str, path: str, body: bytes | None, status: int
) -> None:
    """X0.5"""
    headers = server.customer("data").headers | {"Content-Type": "application/json"}

    plain = server.ask(path, method, headers, body=body or b"")
    compressed = server.ask(path, method, {**headers, "Accept-Encoding": "gzip"}, body=body or b"")

    assert (plain.status, compressed.status, len(plain.body) > 1_000) == (status, status, True)
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    assert "Accept-Encoding" in compressed.headers["Vary"]


def test_the_answer_to_an_invalid_key_is_compressed(server: Server) -> None:
    """X0.5: the answer repeats no text of the request, so its length reveals no secret"""
    headers = {"Authorization": "Bearer soc_live_x"}

    compressed = server.ask("/api/v1/societes", headers=headers | accept_encoding("gzip"))

    assert (compressed.status, compressed.headers["Content-Encoding"]) == (401, "gzip")
