"""The page /docs/essai: its policy, and the files of the viewer (§4.8)."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from serve.surfaces.docs.viewer import FILES, VENDORED, VERSION, viewer
from tests.serve.client import Served

FILE = f"/docs/swagger-ui-{VERSION}.js"


def test_the_page_may_run_only_what_this_server_sends(served: Served) -> None:
    reply = served.ask("/docs/essai")
    policy = reply.headers["Content-Security-Policy"].split("; ")

    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= set(policy)
    assert "frame-ancestors 'none'" in policy
    assert b"<script>" not in reply.body


def test_what_is_tried_may_be_sent_to_the_base_url_as_well() -> None:
    policy = viewer("https://api.exemple.eu")["docs/essai"].headers["Content-Security-Policy"]

    assert "connect-src 'self' https://api.exemple.eu;" in policy


def test_every_file_that_the_page_names_is_served(served: Served) -> None:
    named = re.findall(rb'(?:href|src)="(/docs/[^"]+)"', served.ask("/docs/essai").body)

    assert len(named) == len(FILES)
    assert {served.ask(path.decode()).status for path in named} == {200}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_as_it_is_on_disk(served: Served, name: str) -> None:
    path, kind = FILES[name]

    reply = served.ask(f"/docs/{name}")

    assert reply.body == path.read_bytes()
    assert reply.headers["Content-Type"].partition(";")[0] == kind
    assert ("immutable" in reply.headers["Cache-Control"]) == (VERSION in name)


def test_a_file_is_sent_once(served: Served) -> None:
    """A 304 keeps the headers of the answer that it stands for (RFC 9111 §4.3.4)."""
    for path in (FILE, "/docs/essai"):
        first = served.ask(path)
        again = served.ask(path, headers={"If-None-Match": first.headers["ETag"]})

        assert (again.status, again.body) == (304, b"")
        for name in ("Cache-Control", "Content-Security-Policy", "ETag"):
            assert again.headers[name] == first.headers[name]


@pytest.mark.parametrize("name", ["LICENSE", "..%2Findex.html", "swagger-ui.js", "", "%00"])
def test_no_other_file_is_served(served: Served, name: str) -> None:
    reply = served.ask(f"/docs/{name}") if name else served.ask("/docs/x/y")

    assert (reply.status, reply.code) == (404, "route_inconnue")


def test_a_page_has_no_parameter(served: Served) -> None:
    assert served.refused("/docs/essai", v="1")["erreur"]["code"] == "parametre_inconnu"


def test_the_viewer_is_the_one_that_its_makers_publish() -> None:
    """`tests/judges/openapi/viewer.py` fetches it; its licence comes with it."""
    sums = dict(line.split("  ")[::-1] for line in _text("SHA256SUMS").splitlines())
    files = {path.name for path in VENDORED.iterdir()} - {"README.md", "SHA256SUMS"}

    assert set(sums) == files
    assert {name: sha256((VENDORED / name).read_bytes()).hexdigest() for name in files} == sums
    assert f"swagger-ui-dist {VERSION}, Apache-2.0" in _text("README.md")
    assert "Apache License" in _text("LICENSE")


def _text(name: str) -> str:
    return Path(VENDORED / name).read_text()
