"""Caching: tags, revalidation, Cache-Control (G8, D13)."""

import pytest

from tests.serve.client import PATHS, REFUSED, Served


@pytest.mark.parametrize(
    ("path", "vary"),
    [(PATHS[3], "Authorization"), (PATHS[4], "Authorization, Accept-Language")],
)
def test_what_depends_on_the_caller_is_private_and_revalidated(
    served: Served, path: str, vary: str
) -> None:
    """G8; a visitor's record says in a language why it has no statements"""
    first = served.ask(path)
    again = served.ask(path, headers={"If-None-Match": f'"x", W/{first.headers["ETag"]}'})

    assert first.headers["ETag"].startswith('"')
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["Vary"] == f"{vary}, Accept-Encoding"
    assert (again.status, again.body) == (304, b"")
    for name in ("ETag", "Cache-Control", "Vary", "X-Donnees-Version"):
        assert again.headers[name] == first.headers[name]
    assert again.headers.get("Content-Location") == first.headers.get("Content-Location")
    assert "Content-Type" not in again.headers


def test_a_304_needs_no_search(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """G8, D13: the tag is compared before the work"""
    tag = served.ask("/api/v1/societes?q=lab").headers["ETag"]
    monkeypatch.setattr("serve.features.search.societes.search_within", None)

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
