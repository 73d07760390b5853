"""The public lists (§2.5, §4.1 to §4.3, A2, G4, G5, G8)."""

import pytest

from tests.serve.client import Served
from tests.serve.world import COUNTRIES, IT, LISTS, RETAIL, TWO_SECTORS_LABEL


def test_the_25_countries_and_their_companies(served: Served) -> None:
    """§2.5, §4.1"""
    body = served.ask("/api/v1/pays").json

    assert list(body) == ["total", "pays"]
    assert body["total"] == len(body["pays"]) == 25
    assert [one["iso2"] for one in body["pays"]] == list(COUNTRIES)
    assert list(body["pays"][0]) == [
        "iso2", "slug", "nom_fr", "nom_en", "devise", "registre", "n_societes",
    ]  # fmt: skip
    counts = {one["iso2"]: one["n_societes"] for one in body["pays"] if one["n_societes"]}
    assert counts == {"FR": 8, "UK": 3, "EE": 2, "DE": 28}


def test_the_84_sectors_are_listed_also_without_a_company(served: Served) -> None:
    """§2.5, §4.2, G5"""
    body = served.ask("/api/v1/secteurs").json

    assert list(body) == ["total", "secteurs"]
    assert body["total"] == len(body["secteurs"]) == 84
    assert list(body["secteurs"][0]) == [
        "secteur", "secteur_en", "slug", "grand_secteur", "n_societes",
    ]  # fmt: skip
    counts = {one["secteur"]: one["n_societes"] for one in body["secteurs"]}
    assert list(counts) == [one.secteur for one in LISTS.secteurs]
    assert (counts[IT], counts[RETAIL], counts["Assurance"]) == (5, 2, 0)


def test_sectors_are_counted_in_the_countries_of_the_scope(served: Served) -> None:
    """§4.2, B1"""
    body = served.ask("/api/v1/secteurs", params={"pays": "gb, EE"}).json

    counts = {one["secteur"]: one["n_societes"] for one in body["secteurs"] if one["n_societes"]}
    assert body["total"] == 84
    assert counts[IT] == 2
    assert sum(counts.values()) == 5


def test_sub_sectors_that_are_there_with_their_scope(served: Served) -> None:
    """§2.5, §4.3"""
    body = served.ask("/api/v1/sous-secteurs", params={"secteur": RETAIL, "pays": "FR"}).json

    assert list(body) == ["total", "perimetre", "sous_secteurs"]
    assert body["perimetre"] == {"pays": ["FR"], "secteurs": [RETAIL]}
    assert body["total"] == 2
    assert body["sous_secteurs"][1] == {
        "sous_secteur": TWO_SECTORS_LABEL,
        "n_societes": 1,
        "sous_secteur_en": "Retail trade not in stores, stalls or markets",
    }


def test_without_countries_the_scope_is_all_of_them(served: Served) -> None:
    body = served.ask("/api/v1/sous-secteurs", params={"secteur": "EDITION|assurance"}).json

    assert body["perimetre"] == {"pays": list(COUNTRIES), "secteurs": ["Édition", "Assurance"]}
    assert (body["total"], body["sous_secteurs"]) == (0, [])


def test_a_sub_sector_of_two_sectors_is_one_entry(served: Served) -> None:
    """B10: its count is the total of the search for it"""
    both = f"{RETAIL}|commerce-de-gros-a-l-exception-des-automobiles-et-des-motocycles"

    entries = served.ask("/api/v1/sous-secteurs", params={"secteur": both}).json["sous_secteurs"]

    shared = [one for one in entries if one["sous_secteur"] == TWO_SECTORS_LABEL]
    assert [one["n_societes"] for one in shared] == [3]
    assert served.search(secteur=both, sous_secteur=TWO_SECTORS_LABEL)["total"] == 3


@pytest.mark.parametrize("query", ["", "?secteur=", "?secteur=%7C&pays=FR"])
def test_sub_sectors_need_a_sector(served: Served, query: str) -> None:
    """G4"""
    reply = served.ask(f"/api/v1/sous-secteurs{query}")

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
def test_what_a_list_does_not_know_is_refused(
    served: Served, path: str, params: dict[str, str], code: str
) -> None:
    """B6, G5, §1"""
    assert served.refused(f"/api/v1/{path}", **params)["erreur"]["code"] == code


@pytest.mark.parametrize("path", ["pays", "secteurs", "sous-secteurs?secteur=edition"])
@pytest.mark.parametrize("header", ["Bearer soc_live_xxx", "Basic abc", ""])
def test_a_key_is_not_looked_at(served: Served, path: str, header: str) -> None:
    """A2"""
    plain = served.ask(f"/api/v1/{path}")
    keyed = served.ask(f"/api/v1/{path}", headers={"Authorization": header})

    assert (keyed.status, keyed.body) == (200, plain.body)
    assert keyed.headers["ETag"] == plain.headers["ETag"]


@pytest.mark.parametrize("path", ["pays", "secteurs", "sous-secteurs?secteur=edition"])
def test_lists_may_be_cached_by_anyone_and_revalidated(served: Served, path: str) -> None:
    """G8"""
    first = served.ask(f"/api/v1/{path}")
    again = served.ask(f"/api/v1/{path}", headers={"If-None-Match": first.headers["ETag"]})

    assert first.headers["Cache-Control"] == "public, max-age=300"
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Cache-Control"] == "public, max-age=300"


def test_lists_of_different_scopes_have_different_tags(served: Served) -> None:
    """G8"""
    paths = [
        "pays",
        "secteurs",
        "secteurs?pays=FR",
        "sous-secteurs?secteur=edition",
        "sous-secteurs?secteur=edition&pays=FR",
        "sous-secteurs?secteur=assurance",
    ]

    tags = [served.ask(f"/api/v1/{path}").headers["ETag"] for path in paths]

    assert len(set(tags)) == len(paths)
    assert served.ask("/api/v1/secteurs?pays=fr,FR").headers["ETag"] == tags[2]
