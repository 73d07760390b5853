"""HTTP: methods, cross-origin access, the headers of every response (G1 to G3, G7, G10)."""

import pytest

from serve.http.reply import EXPOSED
from tests.serve.client import PATHS, REFUSED, Served

# -- methods --------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, *REFUSED, "/healthz"])
def test_head_is_get_without_a_body(served: Served, path: str) -> None:
    """G1"""
    get, head = served.ask(path), served.ask(path, "HEAD")

    assert (head.status, head.body) == (get.status, b"")
    changing = {"Date", "X-Request-Id", "X-Quota-Reset", "RateLimit"}
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
    ["/rien", "/api", "/api/v1/", "/api/v1/exports", "/api/v1/comptes", "/icone.ico"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_404_whatever_the_method(served: Served, path: str, method: str) -> None:
    """G3, D5"""
    reply = served.ask(path, method)

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_a_trailing_slash_is_accepted(served: Served) -> None:
    """G3"""
    for path in ("/api/v1/pays", "/api/v1/societes", "/api/v1/societes/FR/552100554", "/healthz"):
        assert served.ask(f"{path}/").body == served.ask(path).body


# -- cross-origin ---------------------------------------------------------------------


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


@pytest.mark.parametrize("path", ["/healthz", "/nulle/part"])
def test_what_is_not_the_api_is_not_open_to_other_origins(served: Served, path: str) -> None:
    """G2"""
    assert "Access-Control-Allow-Origin" not in served.ask(path).headers


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


@pytest.mark.parametrize(
    "path", ["/api/v1/inconnue", "/api/v1", "/api/v1/societes/FR", "/api/mcp/x", "/llms.txt/x"]
)
def test_a_preflight_of_an_unknown_path_lets_a_page_read_the_404(served: Served, path: str) -> None:
    """G2: errors included"""
    asked = {"Origin": "https://exemple.eu", "Access-Control-Request-Method": "GET"}
    reply = served.ask(path, "OPTIONS", headers=asked)

    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "Authorization" in reply.headers["Access-Control-Allow-Headers"]
    assert "GET" in reply.headers["Access-Control-Allow-Methods"]
    assert served.ask(path).code == "route_inconnue"


# -- every answer ---------------------------------------------------------------------


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
