"""Paths (G3)."""

import pytest

from serve.app import PRODUCT
from serve.http.router import Router

_ROUTER = Router(PRODUCT.operations)


@pytest.mark.parametrize(
    ("raw", "name", "parts"),
    [
        ("/api/v1/pays", "pays", ()),
        ("/api/v1/pays/", "pays", ()),
        ("/api/v1/p%61ys", "pays", ()),
        ("/api/v1/secteurs", "secteurs", ()),
        ("/api/v1/sous-secteurs/", "sous-secteurs", ()),
        ("/api/v1/societes", "societes", ()),
        ("/api/v1/societes/", "societes", ()),
        ("/api/v1/societes/FR/552100554", "societe", ("FR", "552100554")),
        ("/api/v1/societes/FR/552100554/", "societe", ("FR", "552100554")),
        ("/api/v1/societes/AT/FN%2F1%20a", "societe", ("AT", "FN/1 a")),
        ("/api/v1/societes/DE/%C3%A9+1", "societe", ("DE", "é+1")),
        ("/api/v1/societes/FR/", "societe", ("FR", "")),
        ("/api/v1/societes//", "societe", ("", "")),
        ("/healthz", "healthz", ()),
        ("/readyz/", "readyz", ()),
        ("/api/v1/compte", "compte", ()),
        ("/api/v1/export/", "export", ()),
        ("/metrics", "metrics", ()),
        ("/openapi.json", "openapi", ()),
        ("/docs/essai", "docs-file", ("essai",)),
        ("/docs/start.js", "docs-file", ("start.js",)),
    ],
)
def test_a_path_leads_to_its_route(raw: str, name: str, parts: tuple[str, ...]) -> None:
    """G3, E2"""
    found = _ROUTER.resolve(raw)

    assert found is not None
    assert (found[0].name, found[1]) == (name, parts)


def test_a_segment_that_is_not_utf_8_holds_replacement_characters() -> None:
    """E1: what aiohttp lets through as a lone surrogate could not be said in an error"""
    found = _ROUTER.resolve("/api/v1/societes/\udcff/%FFa")

    assert found is not None
    assert found[1] == ("\ufffd", "\ufffda")


@pytest.mark.parametrize(
    "raw",
    ["", "/", "/api", "/api/v1", "/api/v1/", "/api/v1/exports", "/api/v1/comptes", "/metrics/x",
     "/API/v1/pays", "/api/v1/pays//", "//api/v1/pays", "/api/v1/societes/FR",
     "/api/v1/societes/FR/1/2", "/api%2Fv1/pays", "/healthz/x", "*", "exemple.eu:443"],
)  # fmt: skip
def test_any_other_path_is_unknown(raw: str) -> None:
    """G3"""
    assert _ROUTER.resolve(raw) is None


def test_the_api_is_open_to_all_origins_and_the_rest_is_not() -> None:
    """G2"""
    assert _ROUTER.open_to_all("/api/v1")
    assert _ROUTER.open_to_all("/api/v1/inconnue")
    assert not _ROUTER.open_to_all("/api/v10")
    assert not _ROUTER.open_to_all("/healthz")
