"""The page /docs/essai: its policy, and the files of the viewer (§4.8)."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from serve.surfaces.docs.viewer import FILES, VENDORED, VERSION, viewer
from tests.serve.client import Server

VIEWER_SCRIPT = f"/docs/swagger-ui-{VERSION}.js"


def test_the_page_may_run_only_scripts_of_this_server(server: Server) -> None:
    reply = server.ask("/docs/essai")
    policy = reply.headers["Content-Security-Policy"].split("; ")

    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= set(policy)
    assert "frame-ancestors 'none'" in policy
    assert b"<script>" not in reply.body


def test_the_page_may_also_call_the_base_url() -> None:
    """Behind a proxy the address of the API may differ from that of the page"""
    policy = viewer("https://api.exemple.eu")["docs/essai"].headers["Content-Security-Policy"]

    assert "connect-src 'self' https://api.exemple.eu;" in policy


def test_every_file_that_the_page_names_is_served(server: Server) -> None:
    paths = re.findall(rb'(?:href|src)="(/docs/[^"]+)"', server.ask("/docs/essai").body)

    assert len(paths) == len(FILES)
    assert {server.ask(path.decode()).status for path in paths} == {200}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_unchanged(server: Server, name: str) -> None:
    path, kind = FILES[name]

    reply = server.ask(f"/docs/{name}")

    assert reply.body == path.read_bytes()
    assert reply.headers["Content-Type"].partition(";")[0] == kind
    assert ("immutable" in reply.headers["Cache-Control"]) == (VERSION in name)


def test_a_client_that_has_a_file_gets_304(server: Server) -> None:
    """A 304 repeats the headers of the response that it confirms (RFC 9111 §4.3.4)."""
    for path in (VIEWER_SCRIPT, "/docs/essai"):
        reply = server.ask(path)
        not_modified = server.ask(path, headers={"If-None-Match": reply.headers["ETag"]})

        assert (not_modified.status, not_modified.body) == (304, b"")
        for name in ("Cache-Control", "Content-Security-Policy", "ETag"):
            assert not_modified.headers[name] == reply.headers[name]


@pytest.mark.parametrize("name", ["LICENSE", "..%2Findex.html", "swagger-ui.js", "", "%00"])
def test_no_other_file_is_served(server: Server, name: str) -> None:
    reply = server.ask(f"/docs/{name}") if name else server.ask("/docs/x/y")

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_the_page_takes_no_parameters(server: Server) -> None:
    assert server.refusal("/docs/essai", v="1")["erreur"]["code"] == "parametre_inconnu"


def test_the_viewer_is_the_published_release() -> None:
    """`tests/judges/openapi/viewer.py` fetches it, with its licence."""
    digests = dict(line.split("  ")[::-1] for line in _text("SHA256SUMS").splitlines())
    files = {path.name for path in VENDORED.iterdir()} - {"README.md", "SHA256SUMS"}

    assert set(digests) == files
    assert {name: sha256((VENDORED / name).read_bytes()).hexdigest() for name in files} == digests
    assert f"swagger-ui-dist {VERSION}, Apache-2.0" in _text("README.md")
    assert "Apache License" in _text("LICENSE")


def _text(name: str) -> str:
    """The text of a file next to the vendored viewer."""
    return Path(VENDORED / name).read_text()
