"""/docs: the guides, the pages of routes and objects, their search and their links."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

import pytest

from serve.app import PRODUCT
from serve.surfaces.docs.manual import guides_of, manual
from tests.serve.client import Served
from tests.serve.conformance import DOCUMENT, nodes
from tests.serve.surfaces.site.test_small_pages import FORBIDDEN
from tests.serve.surfaces.site.visitor import Visitor, member

REFERENCE: Final = manual(PRODUCT).references["en"]
ENGLISH: Final = {"Accept-Language": "en"}
TOOLS: Final = "/docs/guides/modeles"  # what models read is English


def paths() -> Iterator[str]:
    yield "/docs"
    yield from (f"/docs/guides/{one.slug}" for one in guides_of(PRODUCT).values())
    yield from (f"/docs/routes/{name}" for name in REFERENCE.operations)
    yield from (f"/docs/objets/{name}" for name in REFERENCE.objects)


def words(text: str) -> str:
    """The words alone: marks of code are other ones on a page."""
    return " ".join(re.findall(r"\w+", text))


@pytest.mark.parametrize("lang", ["fr", "en"])
def test_every_page_is_light_and_every_link_leads_somewhere(served: Served, lang: str) -> None:
    """Links within the documentation, with their fragments."""
    visitor = Visitor(served, {"Accept-Language": lang})
    pages = {path: visitor.get(path) for path in paths()}
    places = {
        path: {unescape(one) for one in re.findall(r' id="([^"]*)"', seen.html)}
        for path, seen in pages.items()
    }

    assert {seen.status for seen in pages.values()} == {200}
    assert not [path for path, seen in pages.items() if len(seen.html.encode()) >= 60_000]
    without_code = {
        path: re.sub(r"(?s)<code>.*?</code>", "", seen.html) for path, seen in pages.items()
    }
    assert not [path for path, html in without_code.items() if FORBIDDEN.search(html)]
    broken = set()
    for path, seen in pages.items():
        for link in map(unescape, re.findall(r'href="(/docs[^"]*|#[^"]*)"', seen.html)):
            target, _, part = link.partition("#")
            target = "/docs/essai" if target.startswith("/docs/essai") else target
            known = not target or target in pages or served.ask(target).status == 200
            missing = (
                part and target != "/docs/essai" and part not in places.get(target or path, ())
            )
            if missing or not known:
                broken.add((path, link))
    assert not broken


def test_every_route_and_object_of_the_description_has_a_page() -> None:
    described = [one for one in nodes(DOCUMENT["paths"]) if "operationId" in one]

    assert set(REFERENCE.operations) == {one["operationId"] for one in described}
    assert set(REFERENCE.objects) == set(DOCUMENT["components"]["schemas"])


def test_a_route_says_all_that_its_description_says(served: Served) -> None:
    text = words(Visitor(served, ENGLISH).get("/docs/routes/searchCompanies").text)

    operation = DOCUMENT["paths"]["/api/v1/societes"]["get"]
    assert words(operation["description"]) in text
    for one in operation["parameters"]:
        name = one["$ref"].rpartition("/")[2]
        if name != "If-None-Match":
            parameter = DOCUMENT["components"]["parameters"][name]
            assert words(parameter["description"]) in text
    for status in operation["responses"]:
        assert re.search(rf"\b{status}\b", text)


def test_a_status_is_described_on_one_page_alone(served: Served) -> None:
    errors = Visitor(served, ENGLISH).get("/docs/guides/erreurs").text
    search = Visitor(served, ENGLISH).get("/docs/routes/searchCompanies").text

    meaning = "a parameter that the route does not have"
    assert meaning in errors
    assert meaning not in search


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("ca_eur", "/docs/objets/Societe#ca_eur"),
        ("quota_api", "/docs/guides/erreurs#quota_api"),
        ("RAPPROCHER une LISTE", "/docs/guides/rapprochement"),
        ("searchCompanies", "/docs/routes/searchCompanies"),
        ("x-quota-used", "/docs/guides/http#X-Quota-Used"),
        ("turnover minimum", "/docs/routes/searchCompanies#ca_min"),
    ],
)
def test_the_search_finds(served: Served, wanted: str, path: str) -> None:
    seen = Visitor(served).get(f"/docs?q={wanted.replace(' ', '+')}")

    first = re.findall(r'<li><a href="([^"]+)"[^>]*>[^<]*</a> <span class="badge"', seen.html)
    assert path in first[:3]


def test_a_search_without_a_hit_says_so_and_a_hostile_one_is_text(served: Served) -> None:
    nothing = Visitor(served).get("/docs?q=xyzzy")
    hostile = Visitor(served).get("/docs?q=%3Cscript%3Ealert(1)%3C/script%3E")

    assert nothing.text.count("0 réponse") == 1
    assert "Rien ne contient tous ces mots" in nothing.text
    assert "<script>alert" not in hostile.html


def test_a_person_who_is_logged_in_sees_which_keys_there_are(served: Served) -> None:
    visitor, _ = member(served)
    key = visitor.get("/compte")
    last = re.search(r"soc_live_…(\w{4})", key.html)
    assert last

    seen = visitor.get("/docs/routes/searchCompanies")

    assert f"export KEY=soc_live_…{last[1]}" in seen.text
    assert "soc_live_…" in Visitor(served).get("/docs/routes/searchCompanies").text
    assert not re.search(r"soc_live_[0-9A-Za-z]{38}", seen.html)


@pytest.mark.parametrize("path", ["/docs", "/docs/guides/demarrage"])
def test_the_first_call_needs_no_key(served: Served, path: str) -> None:
    calls = re.findall(r"<pre[^>]*>(.*?)</pre>", Visitor(served).get(path).html, re.DOTALL)

    assert [("KEY" in one, "/api/v1/societes?" in one) for one in calls[:3]] == [(False, True)] * 3


def test_a_trailing_slash_is_dropped(served: Served) -> None:
    assert "/docs/guides/demarrage" in Visitor(served).get("/docs/").html


@pytest.mark.parametrize(
    "path", ["/docs/guides/rien", "/docs/routes/x", "/docs/objets/%00", "/docs/x/y"]
)
def test_no_other_page_is_there(served: Served, path: str) -> None:
    assert Visitor(served).get(path).status == 404


def test_every_text_of_the_reference_has_its_french() -> None:
    """Beside the English one, in serve/contract or serve/surfaces/docs."""
    assert not [en for fr, en in {one.texts for one in manual(PRODUCT).entries} if en and fr == en]
    french = manual(PRODUCT).references["fr"].operations.values()
    recorded = [one.summary for page in french for one in page.recorded]
    assert not [one for one in recorded if one.startswith(("The ", "Plan ", "Without "))]


def test_the_try_it_page_takes_the_language_of_a_link_as_every_page_does(served: Served) -> None:
    assert served.ask("/docs/essai?lang=en").status == 200
    assert served.ask("/docs/essai?x=1").status == 400
