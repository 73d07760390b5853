"""POST /export: the export of a page, counted for the account of the session (X10, amends A12)."""

import re
from html import unescape

from shards.query import Query
from tests import oracle
from tests.serve.client import PLANS, Served
from tests.serve.exports import PATH
from tests.serve.website.visitor import Visitor, member
from tests.serve.world import COMPANIES, CONTACT

FIELD = re.compile(r'name="recherche" value="([^"]*)"')


def asked(html: str) -> str:
    """The search that the form of a page exports."""
    found = FIELD.search(html)
    assert found
    return unescape(found[1])


def used(served: Served, account: str) -> int:
    usage = served.store.usage(account, PLANS["data"], served.context.now()).result()
    return usage.exports.used


def test_a_page_of_results_exports_its_search_and_shows_the_meter(served: Served) -> None:
    """X10: without the API tool the keys of this account are at the free level, its pages are not."""
    visitor, account = member(served, "data")
    page = visitor.get("/?pays=FR,UK&tri=nom&offset=2")

    form = {"recherche": asked(page.html), "format": "csv"}
    file = visitor.send("/export", form)

    assert "Compte pour 1 export sur 40 ce mois-ci (déjà 0)" in page.text
    assert (file.status, file.headers["X-Export-Plafond"]) == (200, "2500")
    assert file.headers["Content-Type"].startswith("text/csv")
    assert file.headers["Content-Disposition"].startswith("attachment")
    expected = oracle.search(COMPANIES, Query(pays=("FR", "UK"), tri="nom"))
    found = [line.split(",")[1] for line in file.html.splitlines()[1:]]
    assert found == [one["id"] for one in expected]
    assert CONTACT in file.html
    assert used(served, account) == 1
    assert "(déjà 1)" in visitor.get("/?pays=FR").text


def test_a_record_exports_its_company(served: Served) -> None:
    visitor, account = member(served, "data")
    page = visitor.get("/societes/FR/A%201%2F2.b")

    file = visitor.send("/export", {"recherche": asked(page.html), "format": "ndjson"})

    assert file.html.count("\n") == 1
    assert '"nom":"Étoile filante"' in file.html
    assert used(served, account) == 1


def test_the_form_needs_its_session_and_its_token(served: Served) -> None:
    """A12: no cookie opens the API, and no other page sends the form."""
    visitor, account = member(served, "data")
    visitor.get("/?pays=EE")
    stranger = Visitor(served)

    kept = {**visitor._headers()}
    forged = Visitor(served, cookies=dict(visitor.cookies)).send("/export", {"format": "csv"})

    assert not FIELD.search(stranger.get("/?pays=EE").html)
    assert forged.status == 403
    assert stranger.send("/export", {"format": "csv"}).status in (303, 403)
    assert served.ask(PATH, headers=kept).status == 401
    assert visitor.get("/export").status == 405
    assert used(served, account) == 0


def test_a_wrong_form_and_a_used_up_month_are_pages(served: Served) -> None:
    visitor, account = member(served)
    visitor.get("/?pays=EE")

    wrong = visitor.send("/export", {"recherche": "?pays=XX", "format": "csv"})
    sent = [visitor.send("/export", {"recherche": "?pays=EE", "format": "csv"}) for _ in range(3)]

    assert (wrong.status, wrong.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert [one.status for one in sent] == [200, 200, 429]
    assert "Quota de 2 exports par mois atteint" in sent[2].text
    assert re.search(r"<button disabled>Télécharger", visitor.get("/?pays=EE").html)
    assert used(served, account) == 2
