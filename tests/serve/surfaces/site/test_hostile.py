"""Hostile names, parameters and forms are shown as text."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.surfaces.site.visitor import Visitor, new_email, sign_up_member

# Texts that would run code, or change the direction of a line, if a page did not escape or isolate them.
HOSTILE_TEXTS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7*7 }}{% raw %}",
    "</title></textarea><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "\u202egpj.exe\u2066\u200f",
    "&lt;b&gt;",
]
COMPANIES = [
    world.company_of_group(
        "FR", f"E{place}", f"{text} {place}", "62.0", ca_eur=1.0 + place, ville=text, adresse=text,
        url_registre=text, site_web=text, email=text, telephone=text, statut=text, forme=text,
        capital_devise="EUR", description=text,
    )
    for place, text in enumerate(HOSTILE_TEXTS)
]  # fmt: skip
LINES = [
    {"etat": "bilan_actif", "code": f"X{place}", "libelle": text, "valeur": 1.5, "devise": "EUR",
     "exercice": 2024, "ordre": place}
    for place, text in enumerate(HOSTILE_TEXTS)
]  # fmt: skip


class Elements(HTMLParser):
    """The start tags of a page and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the name and the attributes of an element."""
        self.tags.append((tag, dict(attrs)))


def is_harmless(html: str) -> bool:
    """Has the page only the script of the site, and no handlers, images or links that run code? Fails otherwise."""
    elements = Elements(html).tags
    scripts = [attributes for tag, attributes in elements if tag == "script"]
    # JSON-LD is data, which no browser runs.
    scripts = [
        attributes for attributes in scripts if attributes.get("type") != "application/ld+json"
    ]
    assert [re.sub(r"\w{8}-", "", attributes["src"] or "") for attributes in scripts] == [
        "/assets/script.js"
    ]
    for tag, attributes in elements:
        assert tag not in ("img", "iframe", "style", "textarea", "object"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (
            attributes
        )
        assert (
            not (attributes.get("href") or "").strip().lower().startswith(("javascript:", "data:"))
        )
    return True


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose companies and statements have hostile texts."""
    data: Path = tmp_path_factory.mktemp("hostile") / "data"
    data.mkdir()
    comptes = {("FR", f"E{place}"): LINES for place in range(len(HOSTILE_TEXTS))}
    world.publish(data, COMPANIES, comptes)
    with run_server(data) as server:
        yield server


def test_hostile_data_are_text_on_every_page(hostile: Server) -> None:
    visitor, _ = sign_up_member(hostile, "data")

    page = visitor.get("/?tri=nom")

    assert page.html.count('<th scope="row"><a') == len(HOSTILE_TEXTS)
    assert is_harmless(page.html)
    for place in range(len(HOSTILE_TEXTS)):
        visitor.get(f"/societes/FR/E{place}")
        full = visitor.send(f"/societes/FR/E{place}")
        assert "crédits débités" in full.text
        assert is_harmless(full.html)


def test_direction_marks_are_isolated_in_bdi_elements(hostile: Server) -> None:
    visitor, _ = sign_up_member(hostile, "data")
    name_with_marks = HOSTILE_TEXTS[6]  # of the company whose record is opened below
    results, record = visitor.get("/?tri=nom").html, visitor.get("/societes/FR/E6").html

    for html in (results, record):
        for mark in re.finditer("[\u202e\u2066\u200f]", html):
            html_before = html[: mark.start()]
            assert html_before.rfind("<bdi") > html_before.rfind("</bdi>"), html_before[-80:]
    assert name_with_marks in results
    assert "\u202e" not in record.partition("</title>")[0]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_parameters_are_text(hostile: Server, text: str) -> None:
    value = quote(text, safe="")
    sub_sector = f"secteur=edition&sous_secteur={value}"
    searches = [f"{name}={value}" for name in ("q", "pays", "tri", "ca_min", "lang", "offset")]
    for search in (*searches, sub_sector, f"{value}=1"):
        for path in ("/", "/chiffres", "/tarifs", "/connexion", "/societes/FR/E1", f"/{value}"):
            assert is_harmless(Visitor(hostile).get(f"{path}?{search}").html)
    assert is_harmless(Visitor(hostile).get(f"/connexion?suite={value}").html)
    assert is_harmless(Visitor(hostile).get(f"/societes/{value}/{value}").html)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_forms_are_text(hostile: Server, text: str) -> None:
    visitor = Visitor(hostile)
    email = new_email()
    visitor.sign_up(email, organisation=text if text.isprintable() else "x")
    visitor.log_in(email)

    assert is_harmless(visitor.get("/compte").html)
    assert is_harmless(Visitor(hostile).sign_up(text, organisation=text).html)
    assert is_harmless(Visitor(hostile).log_in(text, suite=text).html)


def test_a_hostile_host_is_text(hostile: Server) -> None:
    page = Visitor(hostile).get("/?q=a", Host='x"><script>alert(1)</script>')

    assert page.status == 400 or is_harmless(page.html)
