"""GET /api/v1/suggestions over a socket (X4)."""

import pytest

from tests import oracle
from tests.serve.client import Served
from tests.serve.features.search.test_explorer_page import links
from tests.serve.surfaces.mcp.client import shown
from tests.serve.surfaces.site.visitor import Visitor
from tests.serve.world import COMPANIES, CONTACT, LISTS

PATH = "/api/v1/suggestions"
KEYS = ["q", "societes", "mots", "secteurs", "villes", "activites"]


@pytest.mark.parametrize(
    "q", ["b", "bäck", "BÄCKEREI n", "lab", "sans s", "õun", "ψ", "zz", "!", "P", "tar"]
)
@pytest.mark.parametrize("pays", ["", "DE", "fr,UK"])
def test_companies_and_words_are_those_of_the_oracle(served: Served, q: str, pays: str) -> None:
    chosen = [code.upper() for code in pays.split(",") if code]
    reply = served.ask(PATH, params={"q": q, "pays": pays}, headers=served.customer("data").headers)

    assert (reply.status, list(reply.json)) == (200, KEYS)
    best = oracle.suggested(COMPANIES, q, chosen)[:8]
    fields = ("iso2", "id", "nom", "ville", "etat")
    assert reply.json["societes"] == [{name: one[name] for name in fields} for one in best]
    words = oracle.suggested_words(COMPANIES, q, chosen)[:5]
    assert reply.json["mots"] == [{"mot": word, "n": n} for word, n in words]
    towns = [(oracle.folded(one["ville"]), one["n"]) for one in reply.json["villes"]]
    assert towns == oracle.suggested_towns(COMPANIES, q, chosen)[:5]
    assert CONTACT not in reply.body.decode()


def test_sectors_begin_with_the_text_in_either_language(served: Served) -> None:
    found = served.ask(PATH, params={"q": "édit"}).json["secteurs"]
    english = served.ask(PATH, params={"q": "publ"}).json["secteurs"]

    expected = [one for one in LISTS.secteurs if oracle.folded(one.secteur).startswith("edit")]
    assert [one["slug"] for one in found] == [one.slug for one in expected] != []
    assert found[0] in english


def test_it_is_free_and_a_visitor_sees_few_companies(served: Served) -> None:
    """X0: counted by no meter; the rows of the plan"""
    customer = served.customer("free")

    visitor = served.ask(PATH, params={"q": "b"})
    member = served.ask(PATH, params={"q": "b"}, headers=customer.headers)
    refused = served.ask(PATH, params={"q": "b"}, headers={"Authorization": "Bearer soc_live_no"})

    assert [len(one.json["societes"]) for one in (visitor, member)] == [2, 5]
    assert visitor.json["mots"] == member.json["mots"] != []
    assert "X-Quota-Used" not in member.headers
    assert served.used(customer) == 0
    assert (refused.status, list(refused.json)) == (401, [*KEYS, "erreur"])
    assert refused.json["societes"] == visitor.json["societes"]


def test_what_is_wrong_is_named(served: Served) -> None:
    """X0: `version`, 304, the errors of §7"""
    reply = served.ask(PATH, params={"q": "b"})
    again = served.ask(
        PATH,
        params={"q": "b", "version": reply.headers["X-Donnees-Version"]},
        headers={"If-None-Match": reply.headers["ETag"]},
    )
    empty, country, unknown, old = (
        served.ask(PATH, params=params)
        for params in (
            {},
            {"q": "b", "pays": "EL"},
            {"query": "b"},
            {"q": "b", "version": "0" * 16},
        )
    )

    assert again.status == 304
    assert [one.status for one in (empty, country, unknown, old)] == [400, 400, 400, 409]
    assert (empty.code, country.code) == ("parametre_invalide", "pays_inconnu")


def test_the_tool_suggests_the_same(served: Served) -> None:
    route = served.ask(PATH, params={"q": "edit"}).json

    found = shown(served, "suggest", q="edit")

    assert found["mots"] == route["mots"]
    assert [one["slug"] for one in found["secteurs"]] == [one["slug"] for one in route["secteurs"]]


def test_a_search_that_finds_nothing_says_what_may_have_been_meant(served: Served) -> None:
    """X4: with the other filters, for people and for models as well"""
    asked = {"q": "Bäckerie nrod", "pays": "DE"}
    body = served.ask("/api/v1/societes", params=asked).json

    assert (body["total"], list(body)[-1]) == (0, "vouliez_vous_dire")
    assert body["vouliez_vous_dire"] == [{"q": "backerei nord", "total": 26}]
    found = shown(served, "search_companies", q=asked["q"], pays=["DE"])
    assert found["vouliez_vous_dire"] == body["vouliez_vous_dire"]
    seen = Visitor(served).get("/?q=B%C3%A4ckerie+nrod&pays=DE")
    assert "Vouliez-vous dire : backerei nord (26)" in seen.text
    assert any("q=backerei" in link and "pays=DE" in link for link in links(seen))
    zeros = served.ask("/api/v1/societes", params={"q": "8209948"}).json
    assert zeros["vouliez_vous_dire"] == [{"q": "08209948", "total": 1}]
    for number in ("FR 27 552 100 554", "55210055400013"):  # a VAT number, a SIRET
        within = served.ask("/api/v1/societes", params={"q": number}).json
        assert within["vouliez_vous_dire"] == [{"q": "552100554", "total": 1}]
    assert "vouliez_vous_dire" not in served.ask("/api/v1/societes", params={"q": "…"}).json
