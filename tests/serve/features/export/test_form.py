"""POST /export: the export of a page, counted for the account of the session (X10, amends A12)."""

import re
from html import unescape

from quota.ledger import exports
from shards.query import Query
from tests import oracle
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Served
from tests.serve.exports import PATH
from tests.serve.surfaces.site.visitor import Visitor, member
from tests.serve.world import COMPANIES, CONTACT

HIDDEN = re.compile(r'name="([a-z]+)" value="([^"]*)"')
FIELD = re.compile(r'name="recherche" value="([^"]*)"')


def asked(html: str) -> str:
    """The search that the form of a page exports."""
    found = FIELD.search(html)
    assert found
    return unescape(found[1])


def fields(html: str) -> dict[str, str]:
    """The fields of the first form of a page that makes an export again."""
    form = html.partition('action="/export"')[2].partition("</form>")[0]
    return {name: unescape(value) for name, value in HIDDEN.findall(form)}


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


def test_an_account_lists_its_last_exports_and_makes_one_again(served: Served) -> None:
    """X10: of pages and of keys; the file that is made again is the same, and is counted."""
    visitor, account = member(served, "data")
    form = {"recherche": "pays=FR,UK&tri=nom", "format": "csv", "colonnes": "nom,id", "limit": "3"}
    first = visitor.send("/export", form)
    _, key = create_key(served.store, account, PLANS, served.context.now()).result()
    many = ",".join(["FR:552100554", *(f"FR:{n:09}" for n in range(200))])
    long = {"ids": many, "format": "ndjson"}
    served.ask(PATH, headers={"Authorization": f"Bearer {key}"}, params=long)
    page = visitor.get("/compte")

    again = visitor.send("/export", fields(page.html))

    assert again.html == first.html
    assert again.html.splitlines()[0].endswith("nom,id")
    assert again.html.count("\n") == 4
    listed = served.store.read(exports.counted_exports, account).result()
    told = [(one.format, one.rows, one.key) for one in listed]
    assert told == [("csv", 3, ""), ("ndjson", 1, key[-4:]), ("csv", 3, "")]
    assert listed[1].search is None  # too long to keep
    assert f"clé …{key[-4:]}" in page.text
    assert "societes-FR-UK-" in page.text
    assert used(served, account) == 3


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
