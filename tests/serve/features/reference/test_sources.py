"""GET /api/v1/sources, and `pays_sans_donnees` of a search (X9)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from shards.codec.record import FIELDS
from tests import oracle
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.world import COMPANIES, CONTACT, COUNTRIES

PATH = "/api/v1/sources"


def _sources_of(server: Server, iso2: str) -> dict[str, Any]:
    """The sources of a country, as the route lists them."""
    [country] = server.ask(PATH, params={"pays": iso2}).json["pays"]
    return dict(country)


def test_every_country_is_listed_and_countries_without_data_are_marked(server: Server) -> None:
    body = server.ask(PATH).json

    assert list(body) == ["total", "date_min", "date_max", "pays_sans_donnees", "pays"]
    assert [country["iso2"] for country in body["pays"]] == list(COUNTRIES)
    assert body["total"] == 25
    assert body["pays_sans_donnees"] == oracle.countries_without_data(COMPANIES, COUNTRIES)
    without_data = [
        country for country in body["pays"] if country["iso2"] in body["pays_sans_donnees"]
    ]
    assert {(country["n_societes"], country["date_source"]) for country in without_data} == {
        (0, None)
    }
    assert all(country["sources"] == [] and country["champs"] == {} for country in without_data)


def test_a_source_has_its_licence_attribution_files_and_dates(server: Server) -> None:
    france = _sources_of(server, "FR")

    tables = [
        (source["source"], source["table"], source["complement"]) for source in france["sources"]
    ]
    assert tables == [
        ("fr-registre", "societes", False),
        ("lei", "societes", True),
        ("fr-comptes", "comptes", False),
    ]
    assert france["sources"][0] == {
        "source": "fr-registre",
        "table": "societes",
        "complement": False,
        "registre": "Registre fr-registre",
        "adresse": None,
        "licence": {
            "nom": "Licence Ouverte 2.0",
            "adresse": "https://licence.example/fr-registre",
            "attribution": "Source : fr-registre & Cie",
            "attribution_en": "Source: fr-registre & Co",
        },
        "date_source": "2026-11-01",
        "importe": "2026-11-20T04:05:06+00:00",
        "lignes": 8,
        "fichiers": [
            {"nom": "fr-registre-2026-11-01.zip", "date": "2026-11-01", "origine_date": "nom"}
        ],
    }


def test_the_date_of_a_country_is_the_date_of_its_companies(server: Server) -> None:
    """The dates of statements, of complements and of the build do not count."""
    body = server.ask(PATH).json

    days = {
        country["iso2"]: country["date_source"]
        for country in body["pays"]
        if country["date_source"]
    }
    assert days == {"FR": "2026-11-01", "UK": "2026-10", "EE": "2022-01-15"}
    assert (body["date_min"], body["date_max"]) == ("2022-01-15", "2026-11-01")


def test_companies_without_a_declared_source_are_counted(server: Server) -> None:
    germany = _sources_of(server, "DE")

    assert (germany["n_societes"], germany["sources"], germany["date_source"]) == (28, [], None)


@pytest.mark.parametrize("iso2", ["FR", "UK", "EE", "DE"])
def test_the_share_of_every_field_matches_the_companies(server: Server, iso2: str) -> None:
    country = _sources_of(server, iso2)

    companies = country["n_societes"]
    expected = {
        field: round(oracle.count_filled(COMPANIES, iso2, field) / companies, 4) for field in FIELDS
    }
    assert country["champs"] == expected
    assert CONTACT not in str(country)


def test_the_parameter_pays_limits_the_countries(server: Server) -> None:
    body = server.ask(PATH, params={"pays": "gb, at,EE"}).json

    assert [country["iso2"] for country in body["pays"]] == ["UK", "AT", "EE"]
    assert (body["total"], body["pays_sans_donnees"]) == (3, ["AT"])


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"pays": "XX"}, "pays_inconnu"),
        ({"q": "a"}, "parametre_inconnu"),
        ({"version": "x"}, "parametre_invalide"),
    ],
)
def test_wrong_parameters_are_refused(server: Server, params: dict[str, str], code: str) -> None:
    assert server.refusal(PATH, **params)["erreur"]["code"] == code


def test_an_expired_version_is_409_and_the_current_version_answers(server: Server) -> None:
    current = server.ask(PATH)
    version = current.headers["X-Donnees-Version"]

    expired = server.ask(PATH, params={"version": "0123456789abcdef"})
    pinned = server.ask(PATH, params={"version": version})

    assert (expired.status, expired.code) == (409, "version_expiree")
    assert pinned.body == current.body
    assert pinned.headers["X-Donnees-Version"] == version


def test_sources_are_free_public_cached_and_open_to_every_origin(server: Server) -> None:
    first_reply = server.ask(PATH)
    with_key = server.ask(PATH, headers={"Authorization": "Bearer soc_live_xxx"})
    revalidated = server.ask(PATH, headers={"If-None-Match": first_reply.headers["ETag"]})
    head_reply = server.ask(PATH, method="HEAD")

    assert (with_key.status, with_key.body) == (200, first_reply.body)
    assert (revalidated.status, revalidated.body) == (304, b"")
    assert (head_reply.status, head_reply.body) == (200, b"")
    assert first_reply.headers["Cache-Control"] == "public, max-age=300"
    assert first_reply.headers["Access-Control-Allow-Origin"] == "*"
    assert not any(name.lower().startswith("x-quota") for name in first_reply.headers)


def test_a_generation_without_sources_is_served(tmp_path: Path) -> None:
    """A generation has no sources if its Parquet files are not of our import, or if it is older than sources."""
    world.publish(tmp_path, sources={})
    with run_server(tmp_path) as server:
        body = server.ask(PATH).json

    assert (body["date_min"], body["date_max"]) == (None, None)
    assert {tuple(country["sources"]) for country in body["pays"]} == {()}


# -- a search over countries without data -------------------------------------------------


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"pays": "AT,FR,NL"}, ["AT", "NL"]),
        ({"pays": "BG"}, ["BG"]),
        ({"pays": "FR,UK", "q": "zzz"}, None),  # no company matches, but there are data
        ({}, None),
    ],
)
def test_a_search_names_the_countries_of_its_scope_without_data(
    server: Server, params: dict[str, str], expected: list[str] | None
) -> None:
    body = server.search(**params)

    assert body.get("pays_sans_donnees") == expected
    assert oracle.countries_without_data(COMPANIES, params.get("pays", "FR").split(",")) == (
        expected or []
    )
    if expected:
        assert list(body)[-2:] == ["societes", "pays_sans_donnees"]


def test_countries_without_data_come_before_the_error_of_an_invalid_key(server: Server) -> None:
    reply = server.ask(
        "/api/v1/societes",
        params={"pays": "AT"},
        headers={"Authorization": "Bearer soc_live_revoked"},
    )

    body = orjson.loads(reply.body)
    assert (reply.status, list(body)[-2:]) == (401, ["pays_sans_donnees", "erreur"])


def test_a_file_without_a_date_is_marked_everywhere(tmp_path: Path) -> None:
    """The list and the page of sources mark the file, and an export of its companies works."""
    [estonian] = world.SOURCES["EE"]
    [file] = estonian.fichiers
    undated = replace(estonian, fichiers=(replace(file, date=None, origine_date="inconnue"),))
    world.publish(tmp_path, sources={"EE": [undated]})

    with run_server(tmp_path) as server:
        estonia = _sources_of(server, "EE")
        page = server.ask("/sources", params={"lang": "en"}).body.decode()
        key = server.customer("integral").headers
        book = server.ask("/api/v1/export", headers=key, params={"pays": "EE", "limit": "1"})

    [source] = estonia["sources"]
    assert (estonia["date_source"], source["date_source"]) == (None, None)
    assert [(file["date"], file["origine_date"]) for file in source["fichiers"]] == [
        (None, "inconnue")
    ]
    assert "unknown date" in page
    assert book.status == 200, book.body[:200]
