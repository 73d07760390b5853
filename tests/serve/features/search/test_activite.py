"""The words of `activite` on every route that searches, in tools, on pages and in files (extension X13)."""

import io
from typing import Any

import openpyxl
import pytest

from serve.contract import activities
from tests import oracle
from tests.serve.client import Customer, Served
from tests.serve.contract.test_activities import labels, terms
from tests.serve.features.search.test_explorer_page import links
from tests.serve.surfaces.mcp.client import refused, shown
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES

WORDS = "Boulangeries"
CODES = ("10.71", "47.24")


def named() -> list[str]:
    return [f"{one['iso2']}:{one['id']}" for one in COMPANIES if one["nace_code"] in CODES]


def ask(served: Served, customer: Customer, path: str, **params: str) -> Any:
    reply = served.ask(f"/api/v1/{path}", headers=customer.headers, params=params)
    assert reply.status == 200, reply.body
    return reply.json


def test_every_route_finds_the_same_and_says_what_it_understood(
    served: Served, customer: Customer
) -> None:
    """X0.3"""
    found = ask(served, customer, "societes", activite=WORDS)
    counts = ask(served, customer, "repartition", activite=WORDS, par="nace")
    market = ask(served, customer, "analyses/marche", activite=WORDS)

    assert found["total"] == counts["total"] == market["total"] == len(named()) == 27
    assert {f"{one['iso2']}:{one['id']}" for one in found["societes"]} == {*named()}
    [bread, shop] = found["activites_comprises"]
    assert [bread["nace"], shop["nace"]] == [*CODES]
    assert bread["libelle"].startswith("Fabrication de pain")
    assert bread["libelle_en"].startswith("Manufacture of bread")
    assert counts["activites_comprises"] == market["activites_comprises"] == [bread, shop]
    assert [one["valeur"] for one in counts["repartitions"]["nace"]] == [*CODES]
    assert list(found)[-1] == list(counts)[-1] == list(market)[-1] == "activites_comprises"


def test_an_export_has_the_same_companies_and_tells_the_activities(
    served: Served, customer: Customer
) -> None:
    asked = {"activite": "boulangerie", "lang": "en", "colonnes": "iso2,id"}
    lines = served.ask(
        "/api/v1/export", headers=customer.headers, params={**asked, "format": "ndjson"}
    )
    book = served.ask("/api/v1/export", headers=customer.headers, params=asked)

    assert len(lines.body.splitlines()) == len(named())
    scope = openpyxl.load_workbook(io.BytesIO(book.body))["Scope"]
    told = {line[0]: line[1] for line in scope.iter_rows(values_only=True)}
    assert str(told["Activity in words"]).startswith("10.71 Manufacture of bread")
    assert " ; 47.24 Retail sale of bread" in str(told["Activity in words"])


def test_other_filters_hold_as_well(served: Served, customer: Customer) -> None:
    """With `nace`: both at once"""
    found = ask(served, customer, "societes", activite="boulangerie", pays="FR")
    group = ask(served, customer, "societes", activite="boulangerie", nace="47")
    other = ask(served, customer, "societes", activite="boulangerie", nace="62")

    assert [one["id"] for one in found["societes"]] == ["552059024"]
    assert group["societes"] == found["societes"]
    assert (other["total"], len(other["activites_comprises"])) == (0, 2)
    assert "activites_comprises" not in ask(served, customer, "societes", nace="47")


@pytest.mark.parametrize(
    ("words", "alike"),
    [
        ("bakary", ["bakery"]),
        ("boulangrie", ["boulangerie"]),
        ("stee", ["steel"]),
        ("steel boulangerie", ["steel", "boulangerie"]),
        ("steel xyzzy", ["steel"]),
        ("xyzzy", []),
        ("de la", []),
    ],
)
def test_words_that_name_nothing_are_refused_with_what_may_have_been_meant(
    served: Served, words: str, alike: list[str]
) -> None:
    reply = served.ask("/api/v1/societes", params={"activite": words})

    assert (reply.status, reply.code) == (400, "activite_inconnue")
    assert reply.json["activites_inconnues"] == [words]
    found = reply.json["suggestions"][words]
    assert {*alike} <= {*found}
    assert bool(found) == bool(alike)
    assert all(activities.classes(one) for one in found)


def test_an_error_speaks_the_language_and_a_long_text_is_refused(served: Served) -> None:
    path = "/api/v1/societes?activite=xyzzy"
    english = served.ask(path, headers={"Accept-Language": "en"})

    assert english.json["erreur"]["message"].startswith("Unknown activity: xyzzy.")
    assert served.refused(activite="a" * 121)["erreur"]["code"] == "parametre_invalide"
    assert served.search(activite=" ")["total"] == len(COMPANIES)
    assert served.refused(activity="steel")["suggestions"] == {"activity": ["activite"]}


def test_activities_complete_a_text(served: Served) -> None:
    """X13: of a label first, then the most frequent"""
    for q in ("boul", "bakery", "bread man", "commerce d", "b", "m", "law fi", "xyzzy", "!"):
        for pays in ("", "FR", "DE,UK"):
            found = served.ask("/api/v1/suggestions", params={"q": q, "pays": pays}).json
            chosen = [code for code in pays.split(",") if code]
            expected = oracle.suggested_activities(COMPANIES, labels(), terms(), q, chosen)[:5]
            assert [(one["nace"], one["n"]) for one in found["activites"]] == expected, q
    [one] = served.ask("/api/v1/suggestions", params={"q": "law fi"}).json["activites"]
    assert one == {
        "nace": "69.10", "libelle": "Activités juridiques", "libelle_en": "Legal activities", "n": 1,
    }  # fmt: skip
    tool = shown(served, "suggest", q="law fi")["activites"]
    assert tool == [{"nace": "69.10", "libelle_en": "Legal activities", "n": 1}]
    assert "/?nace=69.10" in Visitor(served).get("/propositions?q=law+fi").html


def test_a_search_that_finds_nothing_proposes_the_activity_and_the_town(served: Served) -> None:
    """For people and for models as well"""
    body = served.search(q="bakery Orléans")

    assert (body["total"], list(body)[-1]) == (0, "recherches_proposees")
    assert body["recherches_proposees"] == [{"activite": "bakery", "ville": "ORLEANS", "total": 1}]
    found = shown(served, "search_companies", q="bakery Orléans")
    counted = shown(served, "count_companies", q="bakery Orléans")
    assert found["recherches_proposees"] == body["recherches_proposees"]
    assert counted["recherches_proposees"] == body["recherches_proposees"]
    seen = Visitor(served).get("/?q=bakery+Orl%C3%A9ans&effectif_min=1")
    assert "activité bakery · ville ORLEANS : 1" in seen.text
    [link] = [one for one in links(seen) if "activite=bakery" in one]
    assert "effectif_min=1" in link
    assert "q=" not in link
    assert "Boulangerie Lefèvre" in Visitor(served).get(link).text
    for q in ("royal Orléans", "house Orléans"):
        assert served.search(q=q)["recherches_proposees"] == [{"ville": "ORLEANS", "total": 2}], q
    assert "recherches_proposees" not in served.search(q="lab")
    assert "recherches_proposees" not in served.search(q="xyzzy")


def test_tools_take_words_and_tell_what_they_understood(served: Served, customer: Customer) -> None:
    found = shown(served, "search_companies", customer.headers, activite="boulangerie")
    counted = shown(served, "count_companies", customer.headers, activite="boulangerie")
    broken = shown(
        served, "break_down_companies", customer.headers, activite="boulangerie", par=["pays"]
    )
    market = shown(served, "analyse_market", customer.headers, activite="boulangerie")

    expected = [{"nace": code} for code in CODES]
    for one in (found, counted, broken, market):
        assert one["total"] == 27
        assert [{"nace": entry["nace"]} for entry in one["activites_comprises"]] == expected
    assert "activite_inconnue" in refused(served, "count_companies", activite="xyzzy")
    many = shown(served, "count_companies", customer.headers, activite="manufacture")
    assert len(many["activites_comprises"]) == 20


def test_a_page_has_a_field_a_chip_and_what_was_understood(served: Served) -> None:
    seen = Visitor(served).get("/?activite=boulangerie")
    wrong = Visitor(served).get("/?activite=boulangrie")

    assert 'name="activite"' in seen.html
    assert "Activité : boulangerie" in seen.text
    assert "Activités comprises : 2" in seen.text
    assert "Fabrication de pain" in seen.text
    assert wrong.status == 400
    assert "Activité inconnue : boulangrie" in wrong.text
