"""The page of sources (X9)."""

import re

from serve.contract import company_fields
from tests.serve.client import Server
from tests.serve.surfaces.site.visitor import Visitor


def test_the_page_has_the_sources_of_the_route(server: Server) -> None:
    """X9"""
    page = Visitor(server).get("/sources")
    english = Visitor(server, {"Accept-Language": "en"}).get("/sources")

    body = server.ask("/api/v1/sources").json
    for country in body["pays"]:
        for source in country["sources"]:
            assert f'<a href="{source["licence"]["adresse"]}" rel="license">' in page.html
            assert source["licence"]["attribution"] in page.text
            assert source["licence"]["attribution_en"] in english.text
            assert all(file["nom"] in page.text for file in source["fichiers"])
    assert "Aucune source n’est déclarée" in page.text  # Germany
    assert "Autriche, " in page.text.partition("Pays sans données")[2]
    # A cell per country with companies: a percentage; `·`: no company has the field; `–`: no figure.
    row = re.search(r"Site web[^\n]*?</th>((<td class=\"h\d\">(<?\d+|–|·)</td>)+)", page.html)
    assert row
    assert row[1].count("<td") == sum(country["n_societes"] > 0 for country in body["pays"])


def test_fields_with_the_same_shares_have_one_row_and_no_field_is_left_out(server: Server) -> None:
    page = Visitor(server, {"Accept-Language": "en"}).get("/sources")

    body = server.ask("/api/v1/sources").json
    shown_fields = {champ for country in body["pays"] for champ in country["champs"]}
    _, _, fields = page.text.partition("Known fields Share")
    for field in company_fields.fields():
        assert field.champ not in shown_fields or field.title["en"] in fields
    shares_by_country = [country["champs"] for country in body["pays"] if country["n_societes"]]
    share_rows = {
        tuple(shares.get(champ) for shares in shares_by_country) for champ in shown_fields
    }
    always_filled = {tuple(1.0 for _ in shares_by_country)}
    assert page.html.partition('id="champs"')[2].count('<th scope="row">') == len(
        share_rows - always_filled
    )


def test_a_shared_time_of_import_is_shown_once(server: Server) -> None:
    page = Visitor(server).get("/sources")

    days = {
        source["importe"][:10]
        for country in server.ask("/api/v1/sources").json["pays"]
        for source in country["sources"]
    }
    assert len(days) == 1
    assert page.text.count(", lus le ") == 1
    assert "Importé" not in page.text


def test_a_country_links_to_its_companies(server: Server) -> None:
    page = Visitor(server).get("/sources").html

    assert '<a href="/?pays=FR">' in page
    assert ">·</td>" in page  # a field without values is a dot, not 0
    assert ">0</td>" not in page.partition('id="champs"')[2]
