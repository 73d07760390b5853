"""The operation of a path (G3)."""

import pytest

from serve.app import PRODUCT
from serve.http.router import Router

_ROUTER = Router(PRODUCT.operations)


@pytest.mark.parametrize(
    ("raw", "name", "variables"),
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
def test_a_path_leads_to_its_route(raw: str, name: str, variables: tuple[str, ...]) -> None:
    """G3, E2"""
    match = _ROUTER.resolve(raw)

    assert match is not None
    assert (match[0].name, match[1]) == (name, variables)


def test_a_segment_that_is_not_utf_8_has_replacement_characters() -> None:
    """E1: aiohttp passes such bytes as lone surrogates, which the text of an error cannot contain"""
    match = _ROUTER.resolve("/api/v1/societes/\udcff/%FFa")

    assert match is not None
    assert match[1] == ("\ufffd", "\ufffda")


@pytest.mark.parametrize(
    "raw",
    ["", "/", "/api", "/api/v1", "/api/v1/", "/api/v1/exports", "/api/v1/comptes", "/metrics/x",
     "/API/v1/pays", "/api/v1/pays//", "//api/v1/pays", "/api/v1/societes/FR",
     "/api/v1/societes/FR/1/2", "/api%2Fv1/pays", "/healthz/x", "*", "exemple.eu:443"],
)  # fmt: skip
def test_any_other_path_is_unknown(raw: str) -> None:
    """G3"""
    assert _ROUTER.resolve(raw) is None


def test_only_paths_of_the_api_are_open_to_all_origins() -> None:
    """G2"""
    assert _ROUTER.open_to_all("/api/v1")
    assert _ROUTER.open_to_all("/api/v1/inconnue")
    assert not _ROUTER.open_to_all("/api/v10")
    assert not _ROUTER.open_to_all("/healthz")
