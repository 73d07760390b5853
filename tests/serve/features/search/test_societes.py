"""GET /api/v1/societes as a visitor (§4.4, B, C)."""

from typing import Any

import pytest

from serve.contract import parameters
from serve.request import reader
from serve.request.place_names import read
from shards.codec.record import FIELDS
from tests import oracle
from tests.serve.access.test_envelope import ENVELOPE
from tests.serve.client import Server
from tests.serve.world import COMPANIES, IT, LISTS, RETAIL, TWO_SECTORS_LABEL

NAMES = read(LISTS)


def ids_of(body: Any) -> list[tuple[str, str]]:
    """The country and the identifier of each company of an answer."""
    return [(company["iso2"], company["id"]) for company in body["societes"]]


def test_a_visitor_gets_the_preview(server: Server) -> None:
    """§2.2, §5 rule 2, C, A4"""
    body = server.search()

    assert list(body) == ENVELOPE
    assert body["total"] == len(COMPANIES) == 41
    assert (body["limit"], body["offset"], body["plan"]) == (2, 0, "visiteur")
    assert (body["plafond_resultats"], body["visibles"], body["restantes"]) == (2, 2, 39)
    assert (body["tronque"], body["apercu"], body["coordonnees"]) == (True, True, False)
    assert body["offre_suivante"]["plan"] == "free"
    assert ids_of(body) == [("FR", "552100554"), ("DE", "F1103R_HRB218916")]


def test_every_company_has_every_field_in_order(server: Server) -> None:
    """§2.1, C6"""
    for company in server.search()["societes"]:
        assert tuple(company) == FIELDS


def test_the_quota_headers_of_a_visitor(server: Server) -> None:
    """A10, §2.2"""
    headers = server.ask("/api/v1/societes").headers

    assert headers["X-Plafond-Resultats"] == "2"
    assert (headers["X-Quota-Limit"], headers["X-Quota-Used"]) == ("0", "0")


@pytest.mark.parametrize(
    ("params", "total"),
    [
        ({"pays": "FR"}, 8),
        ({"pays": " gb , ee,,EE"}, 5),  # B1
        ({"pays": "AT"}, 0),
        ({"secteur": IT}, 5),
        ({"secteur": f"{IT}|{RETAIL}", "pays": "FR"}, 5),
        ({"secteur": RETAIL, "sous_secteur": TWO_SECTORS_LABEL}, 1),  # B10
        ({"secteur": "edition", "sous_secteur": TWO_SECTORS_LABEL}, 0),  # B9
        ({"q": "lab"}, 2),  # B15
        ({"q": "strasse sons"}, 1),  # B15
        ({"q": "societe generale"}, 1),  # B15
        ({"q": "OEUVRE"}, 1),  # B15
        ({"q": "ψυχη"}, 1),  # B15
        ({"q": "zazolc"}, 1),  # B15
        ({"q": "5521"}, 1),  # B15
        ({"q": "f1103r hrb"}, 2),  # B15
        ({"q": "a"}, 38),  # B14
        ({"q": "!?"}, 0),  # B16
        ({"q": "   "}, 41),  # B12
        ({"ca_min": "0"}, 36),  # B22
        ({"ca_min": "0.5", "ca_max": "0.5"}, 1),  # B22
        ({"ca_max": "-1"}, 1),  # B22
        ({"avec_ca": "1"}, 37),  # B24
        ({"avec_ca": ""}, 41),  # B23
        ({"site_web": "1"}, 6),  # B25
        ({"effectif_min": "0"}, 12),  # B33
        ({"effectif_min": "12", "effectif_max": "12"}, 2),  # B33
        ({"effectif_min": "9" * 30}, 0),
    ],
)
def test_the_total_is_exact(server: Server, params: dict[str, str], total: int) -> None:
    """§8.2 rule 3; B1, B9, B10, B12 to B16, B22 to B25, B33"""
    body = server.search(**params)

    assert body["total"] == total
    assert body["restantes"] == total - min(2, total)  # a visitor sees two companies


@pytest.mark.parametrize(
    ("tri", "first_companies"),
    [
        ("ca_desc", [("FR", "552100554"), ("DE", "F1103R_HRB218916")]),
        ("ca_asc", [("FR", "428268023"), ("FR", "784671695")]),
        ("nom", [("DE", "F1103R_HRB1"), ("DE", "K1101R_HRB000")]),  # B29: Ærø before Bäckerei
        ("effectif_desc", [("FR", "552100554"), ("DE", "F1103R_HRB218916")]),
        ("recent", [("DE", "F1103R_HRB218916"), ("FR", "732829320")]),  # B30
        ("capital_desc", [("FR", "552100554"), ("DE", "F1103R_HRB1")]),
        ("score", [("FR", "552100554"), ("DE", "F1103R_HRB218916")]),
    ],
)
def test_the_seven_orders(server: Server, tri: str, first_companies: list[tuple[str, str]]) -> None:
    """B27 to B32"""
    assert ids_of(server.search(tri=tri)) == first_companies


def test_ties_are_broken_by_country_then_identifier(server: Server) -> None:
    """B28: three companies have this turnover, of which a visitor sees two"""
    body = server.search(ca_min="1000000", ca_max="1000000")

    assert body["total"] == 3
    assert ids_of(body) == [("FR", "309634954"), ("FR", "732829320")]


def test_the_rows_match_the_oracle(server: Server) -> None:
    """B15, B27 to B31"""
    searches: list[dict[str, str]] = [
        {"q": "b", "tri": "nom"},
        {"avec_ca": "1", "tri": "recent", "pays": "FR,UK"},
    ]
    for params in searches:
        query = reader.read(list(params.items()), parameters.SEARCH, NAMES).query
        expected = oracle.search(COMPANIES, query)
        body = server.search(**params)
        assert body["total"] == len(expected)
        assert ids_of(body) == [(company["iso2"], company["id"]) for company in expected[:2]]


def test_a_visitors_offset_is_locked_at_0(server: Server) -> None:
    """§5 rule 2, B20: so he gets the first row whatever he asks for"""
    body = server.search(offset="10", limit="1")

    assert (body["offset"], body["limit"]) == (0, 1)
    assert ids_of(body) == [("FR", "552100554")]


def test_a_limit_over_1000_is_clamped(server: Server) -> None:
    """B18: it counts as 1 000, and the answer has the limit 2, because a visitor sees two rows"""
    assert server.search(limit="5000")["limit"] == 2


def test_a_huge_offset_is_not_an_error(server: Server) -> None:
    """B21: the offset of a visitor is always 0"""
    assert server.search(offset="9" * 4_000)["offset"] == 0


@pytest.mark.parametrize(
    ("params", "code"),
    [
        # The letters are rules of the contract (`seeds/spec/contract.md`).
        ({"pays": "XX"}, "pays_inconnu"),  # B3
        ({"pays": "XX", "secteur": "Y"}, "pays_inconnu"),  # B4
        ({"secteur": "Y"}, "secteur_inconnu"),
        ({"secteur": "edition", "sous_secteur": "Y"}, "secteur_inconnu"),  # B8
        ({"sous_secteur": "Y"}, "parametre_invalide"),  # B7
        ({"page": "2"}, "parametre_inconnu"),  # B6
        ({"q": "é" * 121}, "parametre_invalide"),  # B13
        ({"limit": "0"}, "parametre_invalide"),  # B17
        ({"offset": "-1"}, "parametre_invalide"),  # B21
        ({"ca_min": "1,5"}, "parametre_invalide"),  # B22
        ({"ca_min": "2", "ca_max": "1"}, "parametre_invalide"),  # B22
        ({"site_web": "0"}, "parametre_invalide"),  # B23
        ({"tri": "prix"}, "parametre_invalide"),  # B26
    ],
)
def test_a_wrong_parameter_is_400(server: Server, params: dict[str, str], code: str) -> None:
    """B3 to B8, B13, B17, B21 to B23, B26"""
    assert server.refusal(**params)["erreur"]["code"] == code


def test_an_error_lists_unknown_countries_and_unknown_sectors(server: Server) -> None:
    """B4"""
    body = server.refusal(pays="FR,XX", secteur="Magie|edition")

    assert body["pays_inconnus"] == ["XX"]
    assert body["secteurs_inconnus"] == ["Magie"]
    assert body["suggestions"]["XX"] is not None


def test_repeated_lists_merge_and_repeated_scalars_may_not_differ(server: Server) -> None:
    """B5"""
    merged = server.ask("/api/v1/societes?pays=FR&pays=EE&limit=1&limit=1")
    differing = server.ask("/api/v1/societes?limit=1&limit=2")

    assert merged.json["total"] == 10  # 8 French and 2 Estonian companies
    assert (differing.status, differing.code) == (400, "parametre_invalide")


def test_a_key_in_the_url_is_refused_and_not_repeated(server: Server) -> None:
    """A5"""
    key = "soc_live_" + "a" * 36

    reply = server.ask("/api/v1/societes", params={"cle": key})

    assert (reply.status, reply.code) == (400, "parametre_inconnu")
    assert b"aaaa" not in reply.body


def test_a_dissolved_company_is_found(server: Server) -> None:
    """B34: a search without a filter of states finds companies of every state"""
    assert server.search(q="sans secteur")["total"] == 1


def test_a_company_found_by_a_former_name_is_marked(server: Server) -> None:
    """X4: a company is not marked if its current name or its identifier matches too"""
    former = server.search(q="õunapuu")
    current = server.search(q="OÜ", pays="EE")

    assert ids_of(former) == [("EE", "12652512")]
    assert former["noms_trouves"] == {"EE:12652512": "Õunapuu OÜ"}
    assert list(former) == [*ENVELOPE, "noms_trouves"]
    assert list(current) == ENVELOPE


@pytest.mark.parametrize("raw", ["q=%FF", "q=%C3%28", "%E9=1"])
def test_bytes_that_are_not_utf_8_are_400(server: Server, raw: str) -> None:
    reply = server.ask(f"/api/v1/societes?{raw}")

    assert (reply.status, reply.code) == (400, "parametre_invalide")


def test_a_visitor_has_no_next_page_to_link_to(server: Server) -> None:
    """B20"""
    assert "Link" not in server.ask("/api/v1/societes?limit=1").headers
