"""GET /api/v1/suggestions (X4)."""

import pytest

from tests import oracle
from tests.serve.client import Server
from tests.serve.features.search.test_explorer_page import links_on
from tests.serve.surfaces.mcp.client import tool_content
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES, CONTACT, LISTS

PATH = "/api/v1/suggestions"
# The keys of an answer, in their order.
KEYS = ["q", "societes", "mots", "secteurs", "villes", "activites"]


@pytest.mark.parametrize(
    "text", ["b", "bäck", "BÄCKEREI n", "lab", "sans s", "õun", "ψ", "zz", "!", "P", "tar"]
)
@pytest.mark.parametrize("pays", ["", "DE", "fr,UK"])
def test_companies_and_words_match_the_oracle(server: Server, text: str, pays: str) -> None:
    chosen = [code.upper() for code in pays.split(",") if code]
    reply = server.ask(
        PATH, params={"q": text, "pays": pays}, headers=server.customer("data").headers
    )

    assert (reply.status, list(reply.json)) == (200, KEYS)
    best = oracle.suggested_companies(COMPANIES, text, chosen)[:8]
    fields = ("iso2", "id", "nom", "ville", "etat")
    assert reply.json["societes"] == [{name: company[name] for name in fields} for company in best]
    words = oracle.suggested_words(COMPANIES, text, chosen)[:5]
    assert reply.json["mots"] == [{"mot": word, "n": companies} for word, companies in words]
    towns = [(oracle.folded_text(town["ville"]), town["n"]) for town in reply.json["villes"]]
    assert towns == oracle.suggested_towns(COMPANIES, text, chosen)[:5]
    assert CONTACT not in reply.body.decode()


def test_sectors_begin_with_the_text_in_either_language(server: Server) -> None:
    sectors = server.ask(PATH, params={"q": "édit"}).json["secteurs"]
    english = server.ask(PATH, params={"q": "publ"}).json["secteurs"]

    expected = [
        sector for sector in LISTS.secteurs if oracle.folded_text(sector.secteur).startswith("edit")
    ]
    assert [sector["slug"] for sector in sectors] == [sector.slug for sector in expected] != []
    assert sectors[0] in english


def test_suggestions_are_free_and_a_visitor_sees_two_companies(server: Server) -> None:
    """X0: no call is counted; the plan limits the rows"""
    customer = server.customer("free")

    visitor = server.ask(PATH, params={"q": "b"})
    member = server.ask(PATH, params={"q": "b"}, headers=customer.headers)
    refused = server.ask(PATH, params={"q": "b"}, headers={"Authorization": "Bearer soc_live_no"})

    assert [len(reply.json["societes"]) for reply in (visitor, member)] == [2, 5]
    assert visitor.json["mots"] == member.json["mots"] != []
    assert "X-Quota-Used" not in member.headers
    assert server.calls_used(customer) == 0
    assert (refused.status, list(refused.json)) == (401, [*KEYS, "erreur"])
    assert refused.json["societes"] == visitor.json["societes"]


def test_an_unchanged_answer_is_304_and_wrong_parameters_are_refused(server: Server) -> None:
    """X0: `version`, 304, the errors of §7"""
    reply = server.ask(PATH, params={"q": "b"})
    revalidated = server.ask(
        PATH,
        params={"q": "b", "version": reply.headers["X-Donnees-Version"]},
        headers={"If-None-Match": reply.headers["ETag"]},
    )
    without_text, unknown_country, unknown_parameter, old_version = (
        server.ask(PATH, params=params)
        for params in (
            {},
            {"q": "b", "pays": "EL"},
            {"query": "b"},
            {"q": "b", "version": "0" * 16},
        )
    )

    assert revalidated.status == 304
    assert [
        reply.status for reply in (without_text, unknown_country, unknown_parameter, old_version)
    ] == [
        400,
        400,
        400,
        409,
    ]
    assert (without_text.code, unknown_country.code) == ("parametre_invalide", "pays_inconnu")


def test_the_tool_suggests_the_same(server: Server) -> None:
    route = server.ask(PATH, params={"q": "edit"}).json

    answer = tool_content(server, "suggest", q="edit")

    assert answer["mots"] == route["mots"]
    assert [sector["slug"] for sector in answer["secteurs"]] == [
        sector["slug"] for sector in route["secteurs"]
    ]


def test_an_empty_search_proposes_spellings(server: Server) -> None:
    """X4: the route, the tools and the page propose spellings that find companies within the other filters"""
    params = {"q": "Bäckerie nrod", "pays": "DE"}
    body = server.ask("/api/v1/societes", params=params).json

    assert (body["total"], list(body)[-1]) == (0, "vouliez_vous_dire")
    assert body["vouliez_vous_dire"] == [{"q": "backerei nord", "total": 26}]
    answer = tool_content(server, "search_companies", q=params["q"], pays=["DE"])
    assert answer["vouliez_vous_dire"] == body["vouliez_vous_dire"]
    page = Visitor(server).get("/?q=B%C3%A4ckerie+nrod&pays=DE")
    assert "Vouliez-vous dire : backerei nord (26)" in page.text
    assert any("q=backerei" in link and "pays=DE" in link for link in links_on(page))
    zeros = server.ask("/api/v1/societes", params={"q": "8209948"}).json
    assert zeros["vouliez_vous_dire"] == [{"q": "08209948", "total": 1}]
    for number in ("FR 27 552 100 554", "55210055400013"):  # a VAT number, a SIRET
        within = server.ask("/api/v1/societes", params={"q": number}).json
        assert within["vouliez_vous_dire"] == [{"q": "552100554", "total": 1}]
    assert "vouliez_vous_dire" not in server.ask("/api/v1/societes", params={"q": "…"}).json
