"""Hostile names, parameters and forms: they stay text, in their place."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.site.visitor import Visitor, address, member

EVIL = [
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
    world._of(
        "FR", f"E{place}", f"{text} {place}", "62.0", ca_eur=1.0 + place, ville=text, adresse=text,
        url_registre=text, site_web=text, email=text, telephone=text, statut=text, forme=text,
        capital_devise="EUR", description=text,
    )
    for place, text in enumerate(EVIL)
]  # fmt: skip
LINES = [
    {"etat": "bilan_actif", "code": f"X{place}", "libelle": text, "valeur": 1.5, "devise": "EUR",
     "exercice": 2024, "ordre": place}
    for place, text in enumerate(EVIL)
]  # fmt: skip


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def is_harmless(html: str) -> bool:
    """One script, ours; no handler, no image, no link that is none."""
    elements = Elements(html).found
    scripts = [given for tag, given in elements if tag == "script"]
    scripts = [given for given in scripts if given.get("type") != "application/ld+json"]  # data
    assert [re.sub(r"\w{8}-", "", given["src"] or "") for given in scripts] == ["/assets/script.js"]
    for tag, given in elements:
        assert tag not in ("img", "iframe", "style", "textarea", "object"), tag
        assert not [name for name in given if name.startswith("on") or name == "style"], given
        assert not (given.get("href") or "").strip().lower().startswith(("javascript:", "data:"))
    return True


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("hostile") / "data"
    data.mkdir()
    comptes = {("FR", f"E{place}"): LINES for place in range(len(EVIL))}
    world.publish(data, COMPANIES, comptes)
    with serving(data) as server:
        yield server


def test_hostile_data_are_text_on_every_page(hostile: Served) -> None:
    visitor, _ = member(hostile, "data")

    seen = visitor.get("/?tri=nom")

    assert seen.html.count('<th scope="row"><a') == len(EVIL)
    assert is_harmless(seen.html)
    for place in range(len(EVIL)):
        visitor.get(f"/societes/FR/E{place}")
        full = visitor.send(f"/societes/FR/E{place}")
        assert "crédits débités" in full.text
        assert is_harmless(full.html)


def test_what_turns_the_direction_of_writing_stays_within_its_element(hostile: Served) -> None:
    visitor, _ = member(hostile, "data")
    turned = EVIL[6]
    listed, record = visitor.get("/?tri=nom").html, visitor.get("/societes/FR/E6").html

    for html in (listed, record):
        for found in re.finditer("[\u202e\u2066\u200f]", html):
            before = html[: found.start()]
            assert before.rfind("<bdi") > before.rfind("</bdi>"), before[-80:]
    assert turned in listed
    assert "\u202e" not in record.partition("</title>")[0]


@pytest.mark.parametrize("text", EVIL)
def test_hostile_parameters_are_text(hostile: Served, text: str) -> None:
    value = quote(text, safe="")
    of_lists = f"secteur=edition&sous_secteur={value}"
    searches = [f"{name}={value}" for name in ("q", "pays", "tri", "ca_min", "lang", "offset")]
    for search in (*searches, of_lists, f"{value}=1"):
        for path in ("/", "/chiffres", "/tarifs", "/connexion", "/societes/FR/E1", f"/{value}"):
            assert is_harmless(Visitor(hostile).get(f"{path}?{search}").html)
    assert is_harmless(Visitor(hostile).get(f"/connexion?suite={value}").html)
    assert is_harmless(Visitor(hostile).get(f"/societes/{value}/{value}").html)


@pytest.mark.parametrize("text", EVIL)
def test_hostile_forms_are_text(hostile: Served, text: str) -> None:
    visitor = Visitor(hostile)
    email = address()
    visitor.sign_up(email, organisation=text if text.isprintable() else "x")
    visitor.log_in(email)

    assert is_harmless(visitor.get("/compte").html)
    assert is_harmless(Visitor(hostile).sign_up(text, organisation=text).html)
    assert is_harmless(Visitor(hostile).log_in(text, suite=text).html)


def test_a_hostile_host_is_text(hostile: Served) -> None:
    seen = Visitor(hostile).get("/?q=a", Host='x"><script>alert(1)</script>')

    assert seen.status == 400 or is_harmless(seen.html)
