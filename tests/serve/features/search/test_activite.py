"""The words of `activite` on every route that searches, in tools, on pages and in files (extension X13)."""

import io
from typing import Any

import openpyxl
import pytest

from serve.contract import activities
from tests import oracle
from tests.serve.client import Customer, Server
from tests.serve.contract.test_activities import labels, terms
from tests.serve.features.search.test_explorer_page import links_on
from tests.serve.surfaces.mcp.client import tool_content, tool_refusal
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES

BAKERY_WORD = "Boulangeries"
# The NACE classes that the word means: manufacture of bread, and its retail sale.
BAKERY_CLASSES = ("10.71", "47.24")


def bakeries() -> list[str]:
    """The companies of BAKERY_CLASSES, as `country:identifier`."""
    return [
        f"{company['iso2']}:{company['id']}"
        for company in COMPANIES
        if company["nace_code"] in BAKERY_CLASSES
    ]


def answer_of(server: Server, customer: Customer, path: str, **params: str) -> Any:
    """The answer of a route of the API."""
    reply = server.ask(f"/api/v1/{path}", headers=customer.headers, params=params)
    assert reply.status == 200, reply.body
    return reply.json


def test_every_route_finds_the_same_companies_and_lists_the_activities(
    server: Server, customer: Customer
) -> None:
    """X0.3"""
    answer = answer_of(server, customer, "societes", activite=BAKERY_WORD)
    counts = answer_of(server, customer, "repartition", activite=BAKERY_WORD, par="nace")
    market = answer_of(server, customer, "analyses/marche", activite=BAKERY_WORD)

    assert answer["total"] == counts["total"] == market["total"] == len(bakeries()) == 27
    assert {f"{company['iso2']}:{company['id']}" for company in answer["societes"]} == {*bakeries()}
    [bread, shop] = answer["activites_comprises"]
    assert [bread["nace"], shop["nace"]] == [*BAKERY_CLASSES]
    assert bread["libelle"].startswith("Fabrication de pain")
    assert bread["libelle_en"].startswith("Manufacture of bread")
    assert counts["activites_comprises"] == market["activites_comprises"] == [bread, shop]
    assert [entry["valeur"] for entry in counts["repartitions"]["nace"]] == [*BAKERY_CLASSES]
    assert list(answer)[-1] == list(counts)[-1] == list(market)[-1] == "activites_comprises"


def test_an_export_has_the_same_companies_and_lists_the_activities(
    server: Server, customer: Customer
) -> None:
    params = {"activite": "boulangerie", "lang": "en", "colonnes": "iso2,id"}
    lines = server.ask(
        "/api/v1/export", headers=customer.headers, params={**params, "format": "ndjson"}
    )
    book = server.ask("/api/v1/export", headers=customer.headers, params=params)

    assert len(lines.body.splitlines()) == len(bakeries())
    sheet = openpyxl.load_workbook(io.BytesIO(book.body))["Scope"]
    fields = {line[0]: line[1] for line in sheet.iter_rows(values_only=True)}
    assert str(fields["Activity in words"]).startswith("10.71 Manufacture of bread")
    assert " ; 47.24 Retail sale of bread" in str(fields["Activity in words"])


def test_other_filters_apply_too(server: Server, customer: Customer) -> None:
    """A company must pass the filter of countries or of NACE codes, and also that of the activity."""
    answer = answer_of(server, customer, "societes", activite="boulangerie", pays="FR")
    within_retail = answer_of(server, customer, "societes", activite="boulangerie", nace="47")
    unrelated = answer_of(server, customer, "societes", activite="boulangerie", nace="62")

    assert [company["id"] for company in answer["societes"]] == ["552059024"]
    assert within_retail["societes"] == answer["societes"]
    assert (unrelated["total"], len(unrelated["activites_comprises"])) == (0, 2)
    assert "activites_comprises" not in answer_of(server, customer, "societes", nace="47")


@pytest.mark.parametrize(
    ("words", "known_words"),
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
def test_unknown_words_are_refused_with_suggestions(
    server: Server, words: str, known_words: list[str]
) -> None:
    reply = server.ask("/api/v1/societes", params={"activite": words})

    assert (reply.status, reply.code) == (400, "activite_inconnue")
    assert reply.json["activites_inconnues"] == [words]
    suggestions = reply.json["suggestions"][words]
    assert {*known_words} <= {*suggestions}
    assert bool(suggestions) == bool(known_words)
    assert all(activities.classes(label) for label in suggestions)


def test_an_error_is_in_the_language_of_the_caller_and_a_long_text_is_refused(
    server: Server,
) -> None:
    path = "/api/v1/societes?activite=xyzzy"
    english = server.ask(path, headers={"Accept-Language": "en"})

    assert english.json["erreur"]["message"].startswith("Unknown activity: xyzzy.")
    assert server.refusal(activite="a" * 121)["erreur"]["code"] == "parametre_invalide"
    assert server.search(activite=" ")["total"] == len(COMPANIES)
    assert server.refusal(activity="steel")["suggestions"] == {"activity": ["activite"]}


def test_activities_complete_a_text(server: Server) -> None:
    """X13: activities whose label matches come first, then the most frequent"""
    for text in ("boul", "bakery", "bread man", "commerce d", "b", "m", "law fi", "xyzzy", "!"):
        for pays in ("", "FR", "DE,UK"):
            answer = server.ask("/api/v1/suggestions", params={"q": text, "pays": pays}).json
            chosen = [code for code in pays.split(",") if code]
            expected = oracle.suggested_activities(COMPANIES, labels(), terms(), text, chosen)[:5]
            assert [
                (activity["nace"], activity["n"]) for activity in answer["activites"]
            ] == expected, text
    [activity] = server.ask("/api/v1/suggestions", params={"q": "law fi"}).json["activites"]
    assert activity == {
        "nace": "69.10", "libelle": "Activités juridiques", "libelle_en": "Legal activities", "n": 1,
    }  # fmt: skip
    tool = tool_content(server, "suggest", q="law fi")["activites"]
    assert tool == [{"nace": "69.10", "libelle_en": "Legal activities", "n": 1}]
    assert "/?nace=69.10" in Visitor(server).get("/propositions?q=law+fi").html


def test_an_empty_search_proposes_the_activity_and_the_town(server: Server) -> None:
    """The route, the tools and the page make the same proposal."""
    body = server.search(q="bakery Orléans")

    assert (body["total"], list(body)[-1]) == (0, "recherches_proposees")
    assert body["recherches_proposees"] == [{"activite": "bakery", "ville": "ORLEANS", "total": 1}]
    answer = tool_content(server, "search_companies", q="bakery Orléans")
    count_answer = tool_content(server, "count_companies", q="bakery Orléans")
    assert answer["recherches_proposees"] == body["recherches_proposees"]
    assert count_answer["recherches_proposees"] == body["recherches_proposees"]
    page = Visitor(server).get("/?q=bakery+Orl%C3%A9ans&effectif_min=1")
    assert "activité bakery · ville ORLEANS : 1" in page.text
    [link] = [link for link in links_on(page) if "activite=bakery" in link]
    assert "effectif_min=1" in link
    assert "q=" not in link
    assert "Boulangerie Lefèvre" in Visitor(server).get(link).text
    for words in ("royal Orléans", "house Orléans"):
        assert server.search(q=words)["recherches_proposees"] == [
            {"ville": "ORLEANS", "total": 2}
        ], words
    assert "recherches_proposees" not in server.search(q="lab")
    assert "recherches_proposees" not in server.search(q="xyzzy")


def test_tools_take_words_and_list_the_activities(server: Server, customer: Customer) -> None:
    """The test data have 27 bakeries"""
    answer = tool_content(server, "search_companies", customer.headers, activite="boulangerie")
    count_answer = tool_content(server, "count_companies", customer.headers, activite="boulangerie")
    breakdown = tool_content(
        server, "break_down_companies", customer.headers, activite="boulangerie", par=["pays"]
    )
    market = tool_content(server, "analyse_market", customer.headers, activite="boulangerie")

    expected = [{"nace": code} for code in BAKERY_CLASSES]
    for body in (answer, count_answer, breakdown, market):
        assert body["total"] == 27
        assert [{"nace": entry["nace"]} for entry in body["activites_comprises"]] == expected
    assert "activite_inconnue" in tool_refusal(server, "count_companies", activite="xyzzy")
    many_classes = tool_content(server, "count_companies", customer.headers, activite="manufacture")
    assert len(many_classes["activites_comprises"]) == 20  # an answer of a tool lists at most 20


def test_a_page_has_a_field_a_chip_and_the_activities(server: Server) -> None:
    page = Visitor(server).get("/?activite=boulangerie")
    wrong = Visitor(server).get("/?activite=boulangrie")

    assert 'name="activite"' in page.html
    assert "Activité : boulangerie" in page.text
    assert "Activités reconnues : 2" in page.text
    assert "Fabrication de pain" in page.text
    assert wrong.status == 400
    assert "Activité inconnue : boulangrie" in wrong.text
