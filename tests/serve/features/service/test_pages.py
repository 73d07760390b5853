"""The status and the legal notice."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES


def test_the_status_tells_what_is_served(served: Served) -> None:
    seen = Visitor(served).get("/statut")

    assert str(served.context.published.generation) not in seen.html  # a buyer reads dates
    assert "/metrics" not in seen.html
    assert re.search(r"Sans arrêt depuis \d+ \w+ .* \d\d:\d\d UTC", seen.text)
    assert f"Sociétés {len(COMPANIES)}" in seen.text
    rows = re.findall(r"<li[^>]*><span>([^<]+)</span> <b>(\d+)</b>", seen.html)
    assert sum(int(number) for _, number in rows) == len(COMPANIES)
    assert dict(rows)["Allemagne"] == str(sum(one["iso2"] == "DE" for one in COMPANIES))
    assert "Première publication" in seen.text
    assert "Tous les pays répondent." in seen.text
    assert "Momentanément" not in seen.text


def test_the_status_has_the_last_publications_with_their_changes(tmp_path: Path) -> None:
    """A buyer reads what became new, and of which register, without a call"""
    fewer = [one for one in COMPANIES if one["iso2"] != "EE"][1:]
    older = {**world.SOURCES, "EE": [replace(world.SOURCES["EE"][0], fichiers=())]}
    estonian = len(COMPANIES) - len(fewer) - 1

    world.publish(tmp_path, COMPANIES[1:])
    world.publish(tmp_path, fewer, sources=older)
    world.publish(tmp_path)
    with serving(tmp_path) as served:
        text = Visitor(served).get("/statut").text
        english = Visitor(served, {"Accept-Language": "en"}).get("/statut").text

    _, _, last = text.partition("Dernières publications")
    assert f"{estonian + 1} nouvelles Fichiers plus récents : Estonie 15 janv. 2022" in last
    assert f"Avant {estonian} retirées" in last
    assert "Première publication" not in last
    assert f"Before {estonian} removed" in english


def test_the_status_names_the_countries_that_do_not_answer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = served.context.published.status._replace(missing=("DE", "FR"))
    monkeypatch.setattr(type(served.context.published), "status", property(lambda _: found))

    text = Visitor(served).get("/statut").text

    assert "Momentanément sans réponse : Allemagne, France. Les autres pays répondent." in text
    assert "en service" not in text


def test_the_status_names_the_countries_with_old_files_first(served: Served) -> None:
    text = Visitor(served).get("/statut").text
    first, _, rest = text.partition("Par pays")[2].partition("Tous les pays")

    assert "Estonie, 15 janv. 2022" in first  # years before the clock of the tests
    assert "France" not in first
    assert "France" in rest


def test_the_age_of_the_data_is_that_of_the_files_and_not_of_the_build(served: Served) -> None:
    """X9"""
    seen = Visitor(served).get("/statut")

    assert "Fichiers des registres janv. 2022 – nov. 2026 " in seen.text
    dates = re.findall(r'<a href="/sources#(..)">([^<]+)</a>', seen.html)
    assert dict(dates) == {"FR": "1 nov. 2026", "UK": "oct. 2026", "EE": "15 janv. 2022"}


def test_a_public_page_names_no_setting(served: Served) -> None:
    """The operator reads of them at the start of the server"""
    missing = Visitor(served).get("/mentions-legales")

    assert missing.status == 200
    assert "ne s’est pas encore nommé" in missing.text
    assert "editeur" not in missing.text


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        (
            "fr",
            ["peut s’y opposer", "l’historique des changements oublie la valeur", "grand public"],
        ),
        ("en", ["may object", "the history of changes forgets the value", "consumer provider"]),
    ],
)
def test_the_notice_says_how_to_object_and_which_mailboxes_stay(
    served: Served, lang: str, words: list[str]
) -> None:
    text = Visitor(served, {"Accept-Language": lang}).get("/mentions-legales").text

    assert [word for word in words if word not in text] == []


def test_the_address_of_the_privacy_notice_leads_to_it(served: Served) -> None:
    """Before: 404."""
    reply = Visitor(served).get("/confidentialite")

    assert (reply.status, reply.headers["Location"]) == (303, "/mentions-legales#confidentialite")
    html = Visitor(served).get("/mentions-legales").html
    section = html.split('id="confidentialite"')[1].split("<h2")[0]
    assert "peut s’y opposer" in section
