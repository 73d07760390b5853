"""Caching of answers: ETags, revalidation, Cache-Control (G8, D13)."""

import pytest

from tests.serve.client import DATA_PATHS, REFUSED_PATHS, Server


@pytest.mark.parametrize(
    ("path", "vary"),
    [(DATA_PATHS[3], "Authorization"), (DATA_PATHS[4], "Authorization, Accept-Language")],
)
def test_answers_that_depend_on_the_caller_are_private_and_revalidated(
    server: Server, path: str, vary: str
) -> None:
    """G8; a visitor's record depends on the language, because it explains why it has no statements"""
    first_reply = server.ask(path)
    revalidated = server.ask(
        path, headers={"If-None-Match": f'"x", W/{first_reply.headers["ETag"]}'}
    )

    assert first_reply.headers["ETag"].startswith('"')
    assert first_reply.headers["Cache-Control"] == "private, no-cache"
    assert first_reply.headers["Vary"] == f"{vary}, Accept-Encoding"
    assert (revalidated.status, revalidated.body) == (304, b"")
    for name in ("ETag", "Cache-Control", "Vary", "X-Donnees-Version"):
        assert revalidated.headers[name] == first_reply.headers[name]
    assert revalidated.headers.get("Content-Location") == first_reply.headers.get(
        "Content-Location"
    )
    assert "Content-Type" not in revalidated.headers


def test_a_304_needs_no_search(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8, D13: the ETag is compared before the search, so a search that is broken does not matter"""
    tag = server.ask("/api/v1/societes?q=lab").headers["ETag"]
    monkeypatch.setattr("serve.features.search.societes.search_within", None)

    assert server.ask("/api/v1/societes?q=lab", headers={"If-None-Match": tag}).status == 304
    assert server.ask("/api/v1/societes?q=lab").status == 500


def test_equivalent_searches_have_the_same_tag(server: Server) -> None:
    """G8"""
    equivalent = ["?pays=FR,DE&limit=50", "?limit=1000&pays=de,fr,FR", "?pays=DE&pays=FR&q=&tri=ca_desc",
            "?pays=FR,DE&ca_min=&offset=7"]  # fmt: skip
    different = ["?pays=FR", "?pays=FR,DE&limit=1", "?pays=FR,DE&q=a", "?pays=FR,DE&tri=nom"]

    tags = {server.ask(f"/api/v1/societes{query}").headers["ETag"] for query in equivalent}
    different_tags = {server.ask(f"/api/v1/societes{query}").headers["ETag"] for query in different}

    assert len(tags) == 1
    assert len(different_tags | tags) == 5  # one tag of all equivalent searches, and four others


def test_if_none_match_star_does_not_hide_a_404(server: Server) -> None:
    """E1, RFC 9110 §13.1.2"""
    anything = {"If-None-Match": "*"}

    assert server.ask("/api/v1/societes/FR/absente", headers=anything).status == 404
    assert server.ask("/api/v1/societes/FR/552100554", headers=anything).status == 304
    assert server.ask("/api/v1/societes?x=1", headers=anything).status == 400


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_an_error_is_not_cached(server: Server, path: str) -> None:
    headers = server.ask(path).headers

    assert headers["Cache-Control"] == "no-store"
    assert "ETag" not in headers
