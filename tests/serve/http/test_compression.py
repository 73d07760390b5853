"""Compressed answers: who gets which coding, tags of their own, and what is never compressed (X0)."""

import gzip

import pytest
import zstandard

from serve.http import compression
from tests.serve.client import PATHS, Served
from tests.serve.conformance import decoded
from tests.serve.surfaces.site.visitor import member

LISTS = "/api/v1/secteurs"
SEARCH = "/api/v1/societes?pays=FR"
ALL = [*PATHS, "/openapi.json", "/docs/swagger-ui-5.35.0.js", "/llms.txt", "/", "/tarifs"]


def codings(header: str) -> dict[str, str]:
    return {"Accept-Encoding": header}


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
def test_the_coding_is_the_one_the_client_likes_best(
    served: Served, header: str, coding: str | None
) -> None:
    """RFC 9110 §12.5.3"""
    plain = served.ask(LISTS)
    reply = served.ask(LISTS, headers=codings(header))

    assert reply.headers.get("Content-Encoding") == coding
    assert decoded(reply.headers, reply.body) == plain.body
    assert (len(reply.body) < len(plain.body) / 3) == (coding is not None)
    assert plain.headers["Vary"] == reply.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("path", ALL)
def test_head_is_get_and_the_bytes_are_those_of_the_plain_answer(
    served: Served, path: str, coding: str
) -> None:
    plain = served.ask(path)
    get = served.ask(path, headers=codings(coding))
    head = served.ask(path, "HEAD", headers=codings(coding))

    assert decoded(get.headers, get.body) == plain.body
    assert get.headers["Content-Length"] == str(len(get.body))
    for name in ("Content-Length", "Content-Encoding", "Content-Type", "ETag", "Vary"):
        assert head.headers.get(name) == get.headers.get(name)
    long = len(plain.body) > compression.SHORTEST
    assert get.headers.get("Content-Encoding") == (coding if long else None)


@pytest.mark.parametrize("path", [LISTS, "/openapi.json", f"{SEARCH}&limit=50"])
def test_each_coding_has_a_tag_of_its_own_that_leads_to_a_304(served: Served, path: str) -> None:
    """RFC 9110 §8.8.3.3: a strong tag names exact bytes"""
    replies = {name: served.ask(path, headers=codings(name)) for name in ("", "gzip", "zstd")}
    tags = {name: reply.headers["ETag"] for name, reply in replies.items()}
    assert len(set(tags.values())) == 3

    for name, tag in tags.items():
        for accepted in (name, f"{name}, zstd;q=0.1, gzip;q=0.1"):
            known = {"If-None-Match": f'"x", W/{tag}', **codings(accepted)}
            again = served.ask(path, headers=known)
            assert (again.status, again.body) == (304, b"")
            assert again.headers["ETag"] == tag
            assert again.headers["Vary"] == replies[name].headers["Vary"]
            assert "Content-Encoding" not in again.headers


def test_a_client_that_cannot_read_what_it_keeps_gets_it_again(served: Served) -> None:
    tag = served.ask(LISTS, headers=codings("zstd")).headers["ETag"]

    again = served.ask(LISTS, headers={"If-None-Match": tag, **codings("gzip")})

    assert (again.status, again.headers["Content-Encoding"]) == (200, "gzip")


def test_a_short_answer_is_compressed_only_for_who_refuses_it_plain(served: Served) -> None:
    path = f"{SEARCH}&q=zzzz"
    assert len(served.ask(path).body) < compression.SHORTEST

    assert "Content-Encoding" not in served.ask(path, headers=codings("gzip")).headers
    refusing = served.ask(path, headers=codings("gzip, identity;q=0"))
    assert refusing.headers["Content-Encoding"] == "gzip"


def test_an_answer_with_a_secret_of_its_caller_is_not_compressed(served: Served) -> None:
    """BREACH: the length must not tell of a session or the token of a form"""
    wanted = codings("gzip, zstd")
    visitor, _ = member(served)

    bodies = [
        served.ask("/connexion", headers=wanted),
        served.ask("/inscription", headers=wanted),
        served.ask("/compte", headers={**visitor._headers(), **wanted}),
        served.ask("/", headers={**visitor._headers(), **wanted}),
    ]

    assert all(len(one.body) > 500 and "no-store" in one.headers["Cache-Control"] for one in bodies)
    assert not [one.headers for one in bodies if "Content-Encoding" in one.headers]
    assert "Content-Encoding" in served.ask("/", headers=wanted).headers


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_the_account_is_compressed_like_every_answer_of_the_api(
    served: Served, coding: str
) -> None:
    """X0.5; a key is sent by the caller alone, and no text of a request is in the body"""
    headers = served.customer("data").headers
    plain = served.ask("/api/v1/compte", headers=headers)
    packed = served.ask("/api/v1/compte", headers=headers | codings(coding))
    head = served.ask("/api/v1/compte", "HEAD", headers=headers | codings(coding))

    assert packed.headers["Content-Encoding"] == head.headers["Content-Encoding"] == coding
    assert packed.headers["Cache-Control"] == plain.headers["Cache-Control"] == "no-store"
    assert decoded(packed.headers, packed.body) == plain.body
    assert len(packed.body) < len(plain.body) * 0.7


def test_a_page_of_companies_is_a_fifth_and_whole(served: Served) -> None:
    """Every company that a plan shows, through both codings"""
    headers = served.customer("data").headers
    plain = served.ask(f"{SEARCH}&limit=50", headers=headers)
    zipped = served.ask(f"{SEARCH}&limit=50", headers=headers | codings("gzip"))
    packed = served.ask(f"{SEARCH}&limit=50", headers=headers | codings("zstd"))

    assert gzip.decompress(zipped.body) == zstandard.decompress(packed.body) == plain.body
    assert zipped.headers["Vary"] == "Authorization, Accept-Encoding"
    assert len(zipped.body) < len(plain.body) / 3


def test_what_is_the_same_for_everybody_is_compressed_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(body: bytes, level: int) -> bytes:
        raise AssertionError("compressed again")

    first = served.ask("/openapi.json", headers=codings("zstd"))
    monkeypatch.setattr(compression, "_COMPRESS", {"zstd": refuse, "gzip": refuse})

    assert served.ask("/openapi.json", headers=codings("zstd")).body == first.body


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [("GET", "/api/v1/export?colonnes=xx&q=steel", None, 400),
     ("POST", "/api/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 200)],
)  # fmt: skip
def test_errors_of_the_api_and_answers_to_tools_are_compressed(
    served: Served, method: str, path: str, body: bytes | None, status: int
) -> None:
    """X0.5"""
    headers = served.customer("data").headers | {"Content-Type": "application/json"}

    plain = served.ask(path, method, headers, body=body or b"")
    packed = served.ask(path, method, {**headers, "Accept-Encoding": "gzip"}, body=body or b"")

    assert (plain.status, packed.status, len(plain.body) > 1_000) == (status, status, True)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert "Accept-Encoding" in packed.headers["Vary"]


def test_the_answer_to_an_invalid_key_is_compressed(served: Served) -> None:
    """X0.5: it repeats no text of the request"""
    headers = {"Authorization": "Bearer soc_live_x"}

    packed = served.ask("/api/v1/societes", headers=headers | codings("gzip"))

    assert (packed.status, packed.headers["Content-Encoding"]) == (401, "gzip")
