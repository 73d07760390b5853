"""The status and the legal notice."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES


def test_the_status_shows_the_served_data(server: Server) -> None:
    page = Visitor(server).get("/statut")

    assert str(server.context.published.generation) not in page.html  # readers want dates
    assert "/metrics" not in page.html
    assert re.search(r"Sans arrêt depuis \d+ \w+ .* \d\d:\d\d UTC", page.text)
    assert f"Sociétés {len(COMPANIES)}" in page.text
    rows = re.findall(r"<li[^>]*><span>([^<]+)</span> <b>(\d+)</b>", page.html)
    assert sum(int(number) for _, number in rows) == len(COMPANIES)
    assert dict(rows)["Allemagne"] == str(sum(company["iso2"] == "DE" for company in COMPANIES))
    assert "Première publication" in page.text
    assert "Tous les pays répondent." in page.text
    assert "Momentanément" not in page.text


def test_the_status_has_the_last_publications_with_their_changes(tmp_path: Path) -> None:
    """A visitor reads which companies and which files are new, without a call of the API"""
    fewer = [company for company in COMPANIES if company["iso2"] != "EE"][1:]
    older = {**world.SOURCES, "EE": [replace(world.SOURCES["EE"][0], fichiers=())]}
    estonian = len(COMPANIES) - len(fewer) - 1

    world.publish(tmp_path, COMPANIES[1:])
    world.publish(tmp_path, fewer, sources=older)
    world.publish(tmp_path)
    with run_server(tmp_path) as server:
        text = Visitor(server).get("/statut").text
        english = Visitor(server, {"Accept-Language": "en"}).get("/statut").text

    _, _, publications = text.partition("Dernières publications")
    assert f"{estonian + 1} nouvelles Fichiers plus récents : Estonie 15 janv. 2022" in publications
    assert f"Avant {estonian} retirées" in publications
    assert "Première publication" not in publications
    assert f"Before {estonian} removed" in english


def test_the_status_names_the_countries_that_do_not_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = server.context.published.status._replace(missing=("DE", "FR"))
    monkeypatch.setattr(type(server.context.published), "status", property(lambda _: status))

    text = Visitor(server).get("/statut").text

    assert "Momentanément sans réponse : Allemagne, France. Les autres pays répondent." in text
    assert "en service" not in text


def test_the_status_names_the_countries_with_old_files_first(server: Server) -> None:
    text = Visitor(server).get("/statut").text
    old_files, _, other_files = text.partition("Par pays")[2].partition("Tous les pays")

    assert "Estonie, 15 janv. 2022" in old_files  # years before the time of the tests
    assert "France" not in old_files
    assert "France" in other_files


def test_the_age_of_the_data_is_the_age_of_the_files_and_not_of_the_build(server: Server) -> None:
    """X9"""
    page = Visitor(server).get("/statut")

    assert "Fichiers des registres janv. 2022 – nov. 2026 " in page.text
    dates = re.findall(r'<a href="/sources#(..)">([^<]+)</a>', page.html)
    assert dict(dates) == {"FR": "1 nov. 2026", "UK": "oct. 2026", "EE": "15 janv. 2022"}


def test_a_public_page_names_no_setting(server: Server) -> None:
    """The legal notice does not name settings that the operator left out; the log of the start does."""
    notice = Visitor(server).get("/mentions-legales")

    assert notice.status == 200
    assert "ne s’est pas encore nommé" in notice.text
    assert "editeur" not in notice.text


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
def test_the_notice_explains_objections_and_mailboxes(
    server: Server, lang: str, words: list[str]
) -> None:
    text = Visitor(server, {"Accept-Language": lang}).get("/mentions-legales").text

    assert [word for word in words if word not in text] == []


def test_the_address_of_the_privacy_notice_leads_to_it(server: Server) -> None:
    """Fixed: the address was a 404."""
    reply = Visitor(server).get("/confidentialite")

    assert (reply.status, reply.headers["Location"]) == (303, "/mentions-legales#confidentialite")
    html = Visitor(server).get("/mentions-legales").html
    section = html.split('id="confidentialite"')[1].split("<h2")[0]
    assert "peut s’y opposer" in section
