"""The public lists (§2.5, §4.1 to §4.3, A2, G4, G5, G8)."""

import pytest

from tests.serve.client import Server
from tests.serve.world import COUNTRIES, IT, LISTS, RETAIL, TWO_SECTORS_LABEL


def test_the_25_countries_and_their_companies(server: Server) -> None:
    """§2.5, §4.1"""
    body = server.ask("/api/v1/pays").json

    assert list(body) == ["total", "pays"]
    assert body["total"] == len(body["pays"]) == 25
    assert [country["iso2"] for country in body["pays"]] == list(COUNTRIES)
    assert list(body["pays"][0]) == [
        "iso2", "slug", "nom_fr", "nom_en", "devise", "registre", "n_societes",
    ]  # fmt: skip
    counts = {
        country["iso2"]: country["n_societes"] for country in body["pays"] if country["n_societes"]
    }
    assert counts == {"FR": 8, "UK": 3, "EE": 2, "DE": 28}


def test_the_84_sectors_are_listed_even_without_companies(server: Server) -> None:
    """§2.5, §4.2, G5"""
    body = server.ask("/api/v1/secteurs").json

    assert list(body) == ["total", "secteurs"]
    assert body["total"] == len(body["secteurs"]) == 84
    assert list(body["secteurs"][0]) == [
        "secteur", "secteur_en", "slug", "grand_secteur", "n_societes",
    ]  # fmt: skip
    counts = {sector["secteur"]: sector["n_societes"] for sector in body["secteurs"]}
    assert list(counts) == [sector.secteur for sector in LISTS.secteurs]
    assert (counts[IT], counts[RETAIL], counts["Assurance"]) == (5, 2, 0)


def test_sectors_are_counted_in_the_countries_of_the_scope(server: Server) -> None:
    """§4.2, B1"""
    body = server.ask("/api/v1/secteurs", params={"pays": "gb, EE"}).json

    counts = {
        sector["secteur"]: sector["n_societes"]
        for sector in body["secteurs"]
        if sector["n_societes"]
    }
    assert body["total"] == 84
    assert counts[IT] == 2
    assert sum(counts.values()) == 5  # 3 British and 2 Estonian companies


def test_sub_sectors_with_companies_are_listed_with_their_scope(server: Server) -> None:
    """§2.5, §4.3"""
    body = server.ask("/api/v1/sous-secteurs", params={"secteur": RETAIL, "pays": "FR"}).json

    assert list(body) == ["total", "perimetre", "sous_secteurs"]
    assert body["perimetre"] == {"pays": ["FR"], "secteurs": [RETAIL]}
    assert body["total"] == 2
    assert body["sous_secteurs"][1] == {
        "sous_secteur": TWO_SECTORS_LABEL,
        "n_societes": 1,
        "sous_secteur_en": "Retail trade not in stores, stalls or markets",
    }


def test_without_countries_the_scope_is_all_of_them(server: Server) -> None:
    body = server.ask("/api/v1/sous-secteurs", params={"secteur": "EDITION|assurance"}).json

    assert body["perimetre"] == {"pays": list(COUNTRIES), "secteurs": ["Édition", "Assurance"]}
    assert (body["total"], body["sous_secteurs"]) == (0, [])


def test_a_sub_sector_of_two_sectors_is_one_entry(server: Server) -> None:
    """B10: the count of the entry is the total of a search for this sub-sector"""
    two_sectors = f"{RETAIL}|commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles"

    entries = server.ask("/api/v1/sous-secteurs", params={"secteur": two_sectors}).json[
        "sous_secteurs"
    ]

    shared = [entry for entry in entries if entry["sous_secteur"] == TWO_SECTORS_LABEL]
    assert [entry["n_societes"] for entry in shared] == [3]
    assert server.search(secteur=two_sectors, sous_secteur=TWO_SECTORS_LABEL)["total"] == 3


@pytest.mark.parametrize("query", ["", "?secteur=", "?secteur=%7C&pays=FR"])
def test_sub_sectors_need_a_sector(server: Server, query: str) -> None:
    """G4"""
    reply = server.ask(f"/api/v1/sous-secteurs{query}")

    assert (reply.status, reply.code) == (400, "secteur_inconnu")
    assert reply.json["secteurs_inconnus"] == []
    assert "secteur requis" in reply.json["erreur"]["message"]


@pytest.mark.parametrize(
    ("path", "params", "code"),
    [
        ("secteurs", {"pays": "XX"}, "pays_inconnu"),  # G5
        ("sous-secteurs", {"secteur": "Magie"}, "secteur_inconnu"),
        ("sous-secteurs", {"secteur": "Magie", "pays": "XX"}, "pays_inconnu"),
        ("pays", {"pays": "FR"}, "parametre_inconnu"),
        ("secteurs", {"secteur": "edition"}, "parametre_inconnu"),
        ("sous-secteurs", {"secteur": "edition", "q": "a"}, "parametre_inconnu"),
    ],
)
def test_unknown_values_and_parameters_of_a_list_are_refused(
    server: Server, path: str, params: dict[str, str], code: str
) -> None:
    """B6, G5, §1"""
    assert server.refusal(f"/api/v1/{path}", **params)["erreur"]["code"] == code


@pytest.mark.parametrize("path", ["pays", "secteurs", "sous-secteurs?secteur=edition"])
@pytest.mark.parametrize("header", ["Bearer soc_live_xxx", "Basic abc", ""])
def test_a_key_is_ignored(server: Server, path: str, header: str) -> None:
    """A2"""
    without_key = server.ask(f"/api/v1/{path}")
    with_key = server.ask(f"/api/v1/{path}", headers={"Authorization": header})

    assert (with_key.status, with_key.body) == (200, without_key.body)
    assert with_key.headers["ETag"] == without_key.headers["ETag"]


@pytest.mark.parametrize("path", ["pays", "secteurs", "sous-secteurs?secteur=edition"])
def test_lists_may_be_cached_by_anyone_and_revalidated(server: Server, path: str) -> None:
    """G8"""
    first_reply = server.ask(f"/api/v1/{path}")
    revalidated = server.ask(
        f"/api/v1/{path}", headers={"If-None-Match": first_reply.headers["ETag"]}
    )

    assert first_reply.headers["Cache-Control"] == "public, max-age=300"
    assert (revalidated.status, revalidated.body) == (304, b"")
    assert revalidated.headers["ETag"] == first_reply.headers["ETag"]
    assert revalidated.headers["Cache-Control"] == "public, max-age=300"


def test_lists_of_different_scopes_have_different_tags(server: Server) -> None:
    """G8"""
    paths = [
        "pays",
        "secteurs",
        "secteurs?pays=FR",
        "sous-secteurs?secteur=edition",
        "sous-secteurs?secteur=edition&pays=FR",
        "sous-secteurs?secteur=assurance",
    ]

    tags = [server.ask(f"/api/v1/{path}").headers["ETag"] for path in paths]

    assert len(set(tags)) == len(paths)
    assert server.ask("/api/v1/secteurs?pays=fr,FR").headers["ETag"] == tags[2]
