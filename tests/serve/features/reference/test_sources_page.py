"""The page of sources (X9)."""

import re

from serve.contract import company_fields
from tests.serve.client import Served
from tests.serve.surfaces.site.visitor import Visitor


def test_the_sources_are_those_of_the_route(served: Served) -> None:
    """X9"""
    seen = Visitor(served).get("/sources")
    english = Visitor(served, {"Accept-Language": "en"}).get("/sources")

    body = served.ask("/api/v1/sources").json
    for country in body["pays"]:
        for one in country["sources"]:
            assert f'<a href="{one["licence"]["adresse"]}" rel="license">' in seen.html
            assert one["licence"]["attribution"] in seen.text
            assert one["licence"]["attribution_en"] in english.text
            assert all(file["nom"] in seen.text for file in one["fichiers"])
    assert "Aucune source n’est déclarée" in seen.text  # Germany
    assert "Autriche, " in seen.text.partition("Pays sans données")[2]
    row = re.search(r"Site web[^\n]*?</th>((<td class=\"h\d\">(<?\d+|–|·)</td>)+)", seen.html)
    assert row
    assert row[1].count("<td") == sum(country["n_societes"] > 0 for country in body["pays"])


def test_fields_of_the_same_companies_share_a_row_and_none_is_left_out(served: Served) -> None:
    seen = Visitor(served, {"Accept-Language": "en"}).get("/sources")

    body = served.ask("/api/v1/sources").json
    counted = {champ for country in body["pays"] for champ in country["champs"]}
    _, _, fields = seen.text.partition("Known fields Share")
    for field in company_fields.fields():
        assert field.champ not in counted or field.title["en"] in fields
    filled = [country["champs"] for country in body["pays"] if country["n_societes"]]
    groups = {tuple(own.get(champ) for own in filled) for champ in counted}
    everywhere = {tuple(1.0 for _ in filled)}
    assert seen.html.partition('id="champs"')[2].count('<th scope="row">') == len(
        groups - everywhere
    )


def test_a_time_of_import_is_told_once(served: Served) -> None:
    seen = Visitor(served).get("/sources")

    days = {
        one["importe"][:10]
        for country in served.ask("/api/v1/sources").json["pays"]
        for one in country["sources"]
    }
    assert len(days) == 1
    assert seen.text.count(", lus le ") == 1
    assert "Importé" not in seen.text


def test_a_source_leads_to_the_companies_of_its_country(served: Served) -> None:
    page = Visitor(served).get("/sources").html

    assert '<a href="/?pays=FR">' in page
    assert ">·</td>" in page
    assert ">0</td>" not in page.partition('id="champs"')[2]
