"""POST /export: the export of a page, counted for the account of the session (X10, amends A12)."""

import re
from html import unescape

from quota.ledger import exports
from shards.query import Query
from tests import oracle
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Server
from tests.serve.exports import EXPORT_PATH
from tests.serve.surfaces.site.visitor import Visitor, sign_up_member
from tests.serve.world import COMPANIES, CONTACT

# The name and the value of a field; the value of the field with the search.
HIDDEN_FIELD = re.compile(r'name="([a-z]+)" value="([^"]*)"')
SEARCH_FIELD = re.compile(r'name="recherche" value="([^"]*)"')


def search_of_form(html: str) -> str:
    """The search of the export form of a page."""
    match = SEARCH_FIELD.search(html)
    assert match
    return unescape(match[1])


def fields_of_repeat_form(html: str) -> dict[str, str]:
    """The fields of the first form of a page that repeats an export."""
    form = html.partition('action="/export"')[2].partition("</form>")[0]
    return {name: unescape(value) for name, value in HIDDEN_FIELD.findall(form)}


def used_exports(server: Server, account: str) -> int:
    """The exports of the month that an account has used."""
    usage = server.store.usage(account, PLANS["data"], server.context.now()).result()
    return usage.exports.used


def test_a_page_of_results_exports_its_search_and_shows_the_meter(server: Server) -> None:
    """X10: without the API tool only the keys have the rights of `free`; the pages have those of the paid plan."""
    visitor, account = sign_up_member(server, "data")
    page = visitor.get("/?pays=FR,UK&tri=nom&offset=2")

    form = {"recherche": search_of_form(page.html), "format": "csv"}
    file = visitor.send("/export", form)

    assert "Compte pour 1 export sur 40 ce mois-ci (déjà 0)" in page.text
    assert (file.status, file.headers["X-Export-Plafond"]) == (200, "2500")
    assert file.headers["Content-Type"].startswith("text/csv")
    assert file.headers["Content-Disposition"].startswith("attachment")
    expected = oracle.search(COMPANIES, Query(pays=("FR", "UK"), tri="nom"))
    ids = [line.split(",")[1] for line in file.html.splitlines()[1:]]
    assert ids == [company["id"] for company in expected]
    assert CONTACT in file.html
    assert used_exports(server, account) == 1
    assert "(déjà 1)" in visitor.get("/?pays=FR").text


def test_an_account_lists_its_last_exports_and_can_repeat_one(server: Server) -> None:
    """X10: the list has exports from pages and with keys. A repeated export has the same file and is counted."""
    visitor, account = sign_up_member(server, "data")
    form = {"recherche": "pays=FR,UK&tri=nom", "format": "csv", "colonnes": "nom,id", "limit": "3"}
    original = visitor.send("/export", form)
    _, key = create_key(server.store, account, PLANS, server.context.now()).result()
    many_ids = ",".join(["FR:552100554", *(f"FR:{number:09}" for number in range(200))])
    long_search = {"ids": many_ids, "format": "ndjson"}
    server.ask(EXPORT_PATH, headers={"Authorization": f"Bearer {key}"}, params=long_search)
    page = visitor.get("/compte")

    repeated = visitor.send("/export", fields_of_repeat_form(page.html))

    assert repeated.html == original.html
    assert repeated.html.splitlines()[0].endswith("nom,id")
    assert repeated.html.count("\n") == 4  # a heading and the three rows of the limit
    listed_exports = server.store.read(exports.counted_exports, account).result()
    rows = [(export.format, export.rows, export.key) for export in listed_exports]
    assert rows == [("csv", 3, ""), ("ndjson", 1, key[-4:]), ("csv", 3, "")]
    assert listed_exports[1].search is None  # too long to be stored
    assert f"clé …{key[-4:]}" in page.text
    assert "societes-FR-UK-" in page.text
    assert used_exports(server, account) == 3


def test_a_record_exports_its_company(server: Server) -> None:
    visitor, account = sign_up_member(server, "data")
    page = visitor.get("/societes/FR/A%201%2F2.b")

    file = visitor.send("/export", {"recherche": search_of_form(page.html), "format": "ndjson"})

    assert file.html.count("\n") == 1
    assert '"nom":"Étoile filante"' in file.html
    assert used_exports(server, account) == 1


def test_the_form_needs_its_session_and_its_token(server: Server) -> None:
    """A12: a cookie does not open the API, and another site, which has no token, cannot send the form."""
    visitor, account = sign_up_member(server, "data")
    visitor.get("/?pays=EE")
    stranger = Visitor(server)

    session_headers = {**visitor._headers()}
    forged = Visitor(server, cookies=dict(visitor.cookies)).send("/export", {"format": "csv"})

    assert not SEARCH_FIELD.search(stranger.get("/?pays=EE").html)
    assert forged.status == 403
    assert stranger.send("/export", {"format": "csv"}).status in (303, 403)
    assert server.ask(EXPORT_PATH, headers=session_headers).status == 401
    assert visitor.get("/export").status == 405
    assert used_exports(server, account) == 0


def test_errors_of_the_form_are_pages(server: Server) -> None:
    """`free` has two exports a month; the wrong search does not count"""
    visitor, account = sign_up_member(server)
    visitor.get("/?pays=EE")

    page_of_wrong_search = visitor.send("/export", {"recherche": "?pays=XX", "format": "csv"})
    pages = [visitor.send("/export", {"recherche": "?pays=EE", "format": "csv"}) for _ in range(3)]

    assert (page_of_wrong_search.status, page_of_wrong_search.headers["Content-Type"]) == (
        400,
        "text/html; charset=utf-8",
    )
    assert [page.status for page in pages] == [200, 200, 429]
    assert "Quota de 2 exports par mois atteint" in pages[2].text
    assert re.search(r"<button disabled>Télécharger", visitor.get("/?pays=EE").html)
    assert used_exports(server, account) == 2
