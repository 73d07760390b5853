"""GET /api/v1/sources, and `pays_sans_donnees` of a search (X9)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from shards.codec.record import FIELDS
from tests import oracle
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.world import COMPANIES, CONTACT, COUNTRIES

PATH = "/api/v1/sources"


def _country(served: Served, iso2: str) -> dict[str, Any]:
    [found] = served.ask(PATH, params={"pays": iso2}).json["pays"]
    return dict(found)


def test_every_country_is_there_and_those_without_data_say_so(served: Served) -> None:
    body = served.ask(PATH).json

    assert list(body) == ["total", "date_min", "date_max", "pays_sans_donnees", "pays"]
    assert [one["iso2"] for one in body["pays"]] == list(COUNTRIES)
    assert body["total"] == 25
    assert body["pays_sans_donnees"] == oracle.without_data(COMPANIES, COUNTRIES)
    without = [one for one in body["pays"] if one["iso2"] in body["pays_sans_donnees"]]
    assert {(one["n_societes"], one["date_source"]) for one in without} == {(0, None)}
    assert all(one["sources"] == [] and one["champs"] == {} for one in without)


def test_a_source_says_licence_attribution_files_and_dates(served: Served) -> None:
    france = _country(served, "FR")

    tables = [(one["source"], one["table"], one["complement"]) for one in france["sources"]]
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


def test_the_date_of_a_country_is_that_of_its_companies(served: Served) -> None:
    """Not that of its statements or of a complement, and not that of the build."""
    body = served.ask(PATH).json

    days = {one["iso2"]: one["date_source"] for one in body["pays"] if one["date_source"]}
    assert days == {"FR": "2026-11-01", "UK": "2026-10", "EE": "2022-01-15"}
    assert (body["date_min"], body["date_max"]) == ("2022-01-15", "2026-11-01")


def test_companies_of_no_declared_source_are_counted_all_the_same(served: Served) -> None:
    germany = _country(served, "DE")

    assert (germany["n_societes"], germany["sources"], germany["date_source"]) == (28, [], None)


@pytest.mark.parametrize("iso2", ["FR", "UK", "EE", "DE"])
def test_the_share_of_every_field_is_that_of_the_companies(served: Served, iso2: str) -> None:
    country = _country(served, iso2)

    n = country["n_societes"]
    expected = {field: round(oracle.filled(COMPANIES, iso2, field) / n, 4) for field in FIELDS}
    assert country["champs"] == expected
    assert CONTACT not in str(country)


def test_the_scope_is_that_of_the_parameter(served: Served) -> None:
    body = served.ask(PATH, params={"pays": "gb, at,EE"}).json

    assert [one["iso2"] for one in body["pays"]] == ["UK", "AT", "EE"]
    assert (body["total"], body["pays_sans_donnees"]) == (3, ["AT"])


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"pays": "XX"}, "pays_inconnu"),
        ({"q": "a"}, "parametre_inconnu"),
        ({"version": "x"}, "parametre_invalide"),
    ],
)
def test_what_it_does_not_know_is_refused(served: Served, given: dict[str, str], code: str) -> None:
    assert served.refused(PATH, **given)["erreur"]["code"] == code


def test_a_version_that_is_not_open_is_409_and_the_open_one_answers(served: Served) -> None:
    current = served.ask(PATH)
    version = current.headers["X-Donnees-Version"]

    gone = served.ask(PATH, params={"version": "0123456789abcdef"})
    same = served.ask(PATH, params={"version": version})

    assert (gone.status, gone.code) == (409, "version_expiree")
    assert same.body == current.body
    assert same.headers["X-Donnees-Version"] == version


def test_it_is_free_public_cached_and_open_to_every_origin(served: Served) -> None:
    first = served.ask(PATH)
    keyed = served.ask(PATH, headers={"Authorization": "Bearer soc_live_xxx"})
    again = served.ask(PATH, headers={"If-None-Match": first.headers["ETag"]})
    head = served.ask(PATH, method="HEAD")

    assert (keyed.status, keyed.body) == (200, first.body)
    assert (again.status, again.body) == (304, b"")
    assert (head.status, head.body) == (200, b"")
    assert first.headers["Cache-Control"] == "public, max-age=300"
    assert first.headers["Access-Control-Allow-Origin"] == "*"
    assert not any(name.lower().startswith("x-quota") for name in first.headers)


def test_a_generation_without_sources_is_served(tmp_path: Path) -> None:
    """One that was built of one's own Parquet, or before there were any."""
    world.publish(tmp_path, sources={})
    with serving(tmp_path) as served:
        body = served.ask(PATH).json

    assert (body["date_min"], body["date_max"]) == (None, None)
    assert {tuple(one["sources"]) for one in body["pays"]} == {()}


# -- a search over countries without data -------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"pays": "AT,FR,NL"}, ["AT", "NL"]),
        ({"pays": "BG"}, ["BG"]),
        ({"pays": "FR,UK", "q": "zzz"}, None),  # nothing found, but there are data
        ({}, None),
    ],
)
def test_a_search_names_the_countries_of_its_scope_without_data(
    served: Served, given: dict[str, str], expected: list[str] | None
) -> None:
    body = served.search(**given)

    assert body.get("pays_sans_donnees") == expected
    assert oracle.without_data(COMPANIES, given.get("pays", "FR").split(",")) == (expected or [])
    if expected:
        assert list(body)[-2:] == ["societes", "pays_sans_donnees"]


def test_it_stands_before_the_refusal_of_a_key(served: Served) -> None:
    reply = served.ask(
        "/api/v1/societes",
        params={"pays": "AT"},
        headers={"Authorization": "Bearer soc_live_revoked"},
    )

    body = orjson.loads(reply.body)
    assert (reply.status, list(body)[-2:]) == (401, ["pays_sans_donnees", "erreur"])


def test_a_file_of_an_unknown_date_says_so_everywhere(tmp_path: Path) -> None:
    """The list, its page, and the sheet of sources of a workbook."""
    [estonian] = world.SOURCES["EE"]
    [file] = estonian.fichiers
    undated = replace(estonian, fichiers=(replace(file, date=None, origine_date="inconnue"),))
    world.publish(tmp_path, sources={"EE": [undated]})

    with serving(tmp_path) as served:
        estonia = _country(served, "EE")
        page = served.ask("/sources", params={"lang": "en"}).body.decode()
        key = served.customer("integral").headers
        book = served.ask("/api/v1/export", headers=key, params={"pays": "EE", "limit": "1"})

    [source] = estonia["sources"]
    assert (estonia["date_source"], source["date_source"]) == (None, None)
    assert [(one["date"], one["origine_date"]) for one in source["fichiers"]] == [
        (None, "inconnue")
    ]
    assert "unknown date" in page
    assert book.status == 200, book.body[:200]
