"""/docs: the guides, the pages of routes and objects, their search and their links."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

import pytest

from serve.app import PRODUCT
from serve.surfaces.docs.manual import guides_of, manual
from tests.serve.client import Server
from tests.serve.conformance import DOCUMENT, objects
from tests.serve.surfaces.site.test_small_pages import FORBIDDEN
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member

REFERENCE: Final = manual(PRODUCT).references["en"]
ENGLISH: Final = {"Accept-Language": "en"}


def page_paths() -> Iterator[str]:
    """The paths of all pages of the documentation."""
    yield "/docs"
    yield from (f"/docs/guides/{guide.slug}" for guide in guides_of(PRODUCT).values())
    yield from (f"/docs/routes/{name}" for name in REFERENCE.operations)
    yield from (f"/docs/objets/{name}" for name in REFERENCE.objects)


def words_only(text: str) -> str:
    """The words without punctuation, which differs: a page marks code by elements, the description by backticks."""
    return " ".join(re.findall(r"\w+", text))


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_every_page_is_small_and_every_link_resolves(server: Server, lang: str) -> None:
    """Links within the documentation, with their fragments."""
    visitor = Visitor(server, {"Accept-Language": lang})
    pages = {path: visitor.get(path) for path in page_paths()}
    anchors = {
        path: {unescape(anchor) for anchor in re.findall(r' id="([^"]*)"', page.html)}
        for path, page in pages.items()
    }

    assert {page.status for page in pages.values()} == {200}
    assert not [path for path, page in pages.items() if len(page.html.encode()) >= 60_000]
    without_code = {
        path: re.sub(r"(?s)<code>.*?</code>", "", page.html) for path, page in pages.items()
    }
    assert not [path for path, html in without_code.items() if FORBIDDEN.search(html)]
    broken_links = set()
    for path, page in pages.items():
        for link in map(unescape, re.findall(r'href="(/docs[^"]*|#[^"]*)"', page.html)):
            target, _, fragment = link.partition("#")
            target = "/docs/essai" if target.startswith("/docs/essai") else target
            resolves = not target or target in pages or server.ask(target).status == 200
            missing = (
                fragment
                and target != "/docs/essai"
                and fragment not in anchors.get(target or path, ())
            )
            if missing or not resolves:
                broken_links.add((path, link))
    assert not broken_links


def test_every_route_and_object_of_the_description_has_a_page() -> None:
    described = [node for node in objects(DOCUMENT["paths"]) if "operationId" in node]

    assert set(REFERENCE.operations) == {operation["operationId"] for operation in described}
    assert set(REFERENCE.objects) == set(DOCUMENT["components"]["schemas"])


def test_the_page_of_a_route_has_its_complete_description(server: Server) -> None:
    text = words_only(Visitor(server, ENGLISH).get("/docs/routes/searchCompanies").text)

    operation = DOCUMENT["paths"]["/api/v1/societes"]["get"]
    assert words_only(operation["description"]) in text
    for reference in operation["parameters"]:
        name = reference["$ref"].rpartition("/")[2]
        if name != "If-None-Match":
            parameter = DOCUMENT["components"]["parameters"][name]
            assert words_only(parameter["description"]) in text
    for status in operation["responses"]:
        assert re.search(rf"\b{status}\b", text)


def test_a_status_is_described_on_one_page_only(server: Server) -> None:
    errors = Visitor(server, ENGLISH).get("/docs/guides/erreurs").text
    search = Visitor(server, ENGLISH).get("/docs/routes/searchCompanies").text

    meaning = "a parameter that the route does not have"
    assert meaning in errors
    assert meaning not in search


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("ca_eur", "/docs/objets/Societe#ca_eur"),
        ("quota_api", "/docs/guides/erreurs#quota_api"),
        ("RAPPROCHER une LISTE", "/docs/guides/rapprochement"),
        ("searchCompanies", "/docs/routes/searchCompanies"),
        ("x-quota-used", "/docs/guides/http#X-Quota-Used"),
        ("turnover minimum", "/docs/routes/searchCompanies#ca_min"),
    ],
)
def test_the_search_finds_pages(server: Server, query: str, path: str) -> None:
    page = Visitor(server).get(f"/docs?q={query.replace(' ', '+')}")

    results = re.findall(r'<li><a href="([^"]+)"[^>]*>[^<]*</a> <span class="badge"', page.html)
    assert path in results[:3]


def test_a_search_without_results_says_so_and_a_hostile_search_is_shown_as_text(
    server: Server,
) -> None:
    empty = Visitor(server).get("/docs?q=xyzzy")
    hostile = Visitor(server).get("/docs?q=%3Cscript%3Ealert(1)%3C/script%3E")

    assert empty.text.count("0 réponse") == 1
    assert "Rien ne contient tous ces mots" in empty.text
    assert "<script>alert" not in hostile.html


def test_a_person_who_is_logged_in_sees_the_last_characters_of_a_key(server: Server) -> None:
    visitor, _ = sign_up_member(server)
    account_page = visitor.get("/compte")
    last_characters = re.search(r"soc_live_…(\w{4})", account_page.html)
    assert last_characters

    page = visitor.get("/docs/routes/searchCompanies")

    assert f"export KEY=soc_live_…{last_characters[1]}" in page.text
    assert "soc_live_…" in Visitor(server).get("/docs/routes/searchCompanies").text
    assert not re.search(r"soc_live_[0-9A-Za-z]{38}", page.html)


@pytest.mark.parametrize("path", ["/docs", "/docs/guides/demarrage"])
def test_the_first_call_needs_no_key(server: Server, path: str) -> None:
    calls = re.findall(r"<pre[^>]*>(.*?)</pre>", Visitor(server).get(path).html, re.DOTALL)

    assert [("KEY" in call, "/api/v1/societes?" in call) for call in calls[:3]] == [
        (False, True)
    ] * 3


def test_a_trailing_slash_is_dropped(server: Server) -> None:
    assert "/docs/guides/demarrage" in Visitor(server).get("/docs/").html


@pytest.mark.parametrize(
    "path", ["/docs/guides/rien", "/docs/routes/x", "/docs/objets/%00", "/docs/x/y"]
)
def test_an_unknown_page_is_404(server: Server, path: str) -> None:
    assert Visitor(server).get(path).status == 404


def test_every_text_of_the_reference_is_translated_into_french() -> None:
    """A French text that equals the English one was not translated"""
    assert not [
        en for fr, en in {entry.texts for entry in manual(PRODUCT).entries} if en and fr == en
    ]
    french = manual(PRODUCT).references["fr"].operations.values()
    recorded = [example.summary for page in french for example in page.recorded]
    assert not [
        summary for summary in recorded if summary.startswith(("The ", "Plan ", "Without "))
    ]


def test_the_try_it_page_takes_only_the_parameter_lang(server: Server) -> None:
    assert server.ask("/docs/essai?lang=en").status == 200
    assert server.ask("/docs/essai?x=1").status == 400
