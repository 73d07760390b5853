"""GET and POST /api/v1/export: parameters, rights, headers, counters (§4.6, §4.7, F1 to F13)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlencode

import orjson
import pytest
from openpyxl import load_workbook

from quota.ledger.exports import Reservation
from serve.contract import files
from serve.http.reply import EXPOSED
from shards.query import Query, Range
from tests import oracle
from tests.serve.client import GENEROUS, PLANS, Served, serving
from tests.serve.clock import Clock
from tests.serve.exports import JSON, PATH, exports, get, left_behind, listed, post
from tests.serve.processes import eventually
from tests.serve.world import COMPANIES, IT, RETAIL, TWO_SECTORS_LABEL

TWO_AT_ONCE = replace(GENEROUS, exports=2)
HELD = timedelta(minutes=5)
SLUGS = [slug for slug, plan in PLANS.items() if plan.exports_par_mois]


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock("2026-11-21T12:00:00")


@pytest.fixture(scope="module")
def own(data_of_its_own: Path, clock: Clock) -> Iterator[Served]:
    state = data_of_its_own.with_name("state")
    with serving(data_of_its_own, state=state, now=clock, debit=TWO_AT_ONCE) as server:
        yield server
    assert not list(left_behind(state))


# -- the file ---------------------------------------------------------------------------


@pytest.mark.parametrize("slug", SLUGS)
def test_every_plan_gets_its_file_and_is_told_what_is_in_it(own: Served, slug: str) -> None:
    """§4.6, §8.1, F7, F13"""
    customer, plan = own.customer(slug), PLANS[slug]

    reply = get(own, customer, pays="FR,UK")

    expected = oracle.search(COMPANIES, Query(pays=("FR", "UK")))
    assert [row["Identifiant"] for row in listed(reply)] == [one["id"] for one in expected]
    told = {name: value for name, value in reply.headers.items() if name.startswith("X-Export")}
    assert told == {
        "X-Export-Lignes": "11",
        "X-Export-Total": "11",
        "X-Export-Plafond": str(plan.lignes_par_export),
        "X-Export-Comptes": "1",
        "X-Export-Comptes-Plafond": str(plan.societes_avec_comptes_par_export),
        "X-Export-Coordonnees": "true" if plan.coordonnees else "false",
    }
    assert (reply.headers["X-Quota-Used"], reply.headers["X-Quota-Limit"]) == (
        "1",
        str(plan.exports_par_mois),
    )
    assert exports(own, customer) == 1
    assert own.used(customer) == 0  # D2: an export is no daily call


def test_the_file_is_an_attachment_that_no_cache_keeps(own: Served) -> None:
    """F6"""
    reply = get(own, own.customer("data"), pays="EE")

    headers = reply.headers
    assert headers["Content-Type"] == (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    )
    assert int(headers["Content-Length"]) == len(reply.body)
    assert headers["Content-Disposition"] == (
        'attachment; filename="societes-EE-2026-11-21.xlsx"; '
        "filename*=UTF-8''societes-EE-2026-11-21.xlsx"
    )
    assert headers["Cache-Control"] == "private, no-store"
    assert "ETag" not in headers
    sent = {name for name in headers if name.startswith(("X-", "Content-D", "RateLimit"))}
    assert sent - {"X-Content-Type-Options"} <= set(EXPOSED)


def test_the_month_is_the_meter_of_the_route(own: Served) -> None:
    """D3: nine days and a half are left of November"""
    headers = get(own, own.customer("data"), pays="EE").headers

    reset = 9 * 86_400 + 43_200
    assert headers["X-Quota-Reset"] == str(reset)
    assert headers["RateLimit-Policy"].startswith(f'"mois";q=40;w={30 * 86_400}, "minute"')
    assert headers["RateLimit"].startswith(f'"mois";r=39;t={reset}, "minute"')


# -- formats -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "accept", "media_type", "extension"),
    [
        ({"format": "csv"}, "", "text/csv; charset=utf-8; header=present", "csv"),
        ({"format": "ndjson"}, "text/csv", "application/x-ndjson", "ndjson"),
        ({}, "text/html;q=0.9, application/vnd.apache.parquet", "application/vnd.apache.parquet",
         "parquet"),
        ({"comptes": "1"}, "text/csv", "application/zip", "csv.zip"),
        ({"comptes": "1"}, "*/*", files.MEDIA_TYPES["xlsx"], "xlsx"),
        ({}, "application/json, application/*;q=0.1", files.MEDIA_TYPES["xlsx"], "xlsx"),
        ({}, f"*/*, {files.MEDIA_TYPES['xlsx']};q=0", "text/csv; charset=utf-8; header=present",
         "csv"),
        ({"format": "csv"}, "application/json", "text/csv; charset=utf-8; header=present", "csv"),
    ],
)  # fmt: skip
def test_a_table_is_chosen_by_name_or_by_accept_and_counted_as_a_workbook(
    own: Served, params: dict[str, str], accept: str, media_type: str, extension: str
) -> None:
    """X7"""
    customer = own.customer("data")
    wanted = urlencode({"pays": "FR,UK", **params})

    reply = own.ask(f"{PATH}?{wanted}", headers={**customer.headers, "Accept": accept})

    assert (reply.status, reply.headers["Content-Type"]) == (200, media_type)
    assert reply.headers["Content-Disposition"].endswith(f"-2026-11-21.{extension}")
    assert reply.headers["Vary"] == "Authorization, Accept"
    assert reply.headers["Link"] == '</sources>; rel="license"'  # X9
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    assert reply.headers["X-Export-Lignes"] == "11"
    assert reply.headers["X-Export-Comptes"] == (
        "1" if "comptes" in params or extension == "xlsx" else "0"
    )
    assert exports(own, customer) == 1


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/parquet", "text/html", "*/*;q=0", "application/json, text/csv;q=0"],
)  # fmt: skip
def test_an_accept_that_no_format_meets_is_refused_and_costs_nothing(
    own: Served, accept: str
) -> None:
    """X7, RFC 9110 §15.5.7"""
    customer = own.customer("data")
    headers = {**customer.headers, "Accept": accept}

    for reply in (
        own.ask(PATH, headers=headers),
        own.ask(PATH, "POST", {**headers, **JSON}, body=b"{}"),
    ):
        assert (reply.status, reply.code) == (406, "format_non_acceptable")
        assert "text/csv" in reply.json["valeurs"]
        assert accept in reply.json["erreur"]["message"]
    assert exports(own, customer) == 0


def test_a_body_that_names_a_format_needs_no_accept(own: Served) -> None:
    """X7"""
    headers = {**own.customer("data").headers, **JSON, "Accept": "application/json"}

    reply = own.ask(PATH, "POST", headers, body=b'{"format": "csv", "pays": "EE"}')

    assert (reply.status, reply.headers["Content-Type"]) == (
        200,
        "text/csv; charset=utf-8; header=present",
    )


def test_a_table_has_the_rows_of_a_search_and_the_columns_that_are_wanted(own: Served) -> None:
    """X7, F1"""
    body = {"secteur": IT, "tri": "nom", "format": "csv", "colonnes": "nom, iso2,nom", "limit": 2}

    reply = post(own, own.customer("data"), orjson.dumps(body))

    expected = oracle.search(COMPANIES, Query(secteurs=("62",), tri="nom"))[:2]
    lines = reply.body.decode("utf-8-sig").splitlines()
    assert lines == ["nom,iso2", *(f"{one['nom']},{one['iso2']}" for one in expected)]


def test_the_list_of_a_workbook_has_the_columns_that_are_wanted_and_nothing_more(
    own: Served,
) -> None:
    """X7: raw amounts in view, contacts by right only, the other sheets as ever."""
    wanted = {"pays": "FR", "colonnes": "id,telephone,total_actif_last,nom"}

    book, refused = (
        load_workbook(BytesIO(get(own, own.customer(plan), **wanted).body))
        for plan in ("data", "free")
    )

    expected = oracle.search(COMPANIES, Query(pays=("FR",)))
    rows = [[cell.value for cell in line] for line in book["Liste"].iter_rows()]
    assert rows[0] == ["Identifiant", "Téléphone", "Total de l'actif publié", "Nom"]
    fields = wanted["colonnes"].split(",")
    assert rows[1:] == [[one[name] for name in fields] for one in expected]
    assert not any(letter.hidden for letter in book["Liste"].column_dimensions.values())
    assert book["Liste"].freeze_panes == "B2"
    assert {cell.value for cell in refused["Liste"]["B"][1:]} == {None}
    assert book["Contacts"].max_column > len(fields)


def test_an_unknown_column_is_named_with_those_that_were_meant(own: Served) -> None:
    """X7"""
    customer = own.customer("data")

    unknown = get(own, customer, format="csv", colonnes="id,turnover,nomm,Ville")

    assert (unknown.status, unknown.code) == (400, "parametre_invalide")
    assert unknown.json["parametre"] == "colonnes"
    assert unknown.json["suggestions"]["nomm"][0] == "nom"
    assert unknown.json["suggestions"]["turnover"][0] == "ca_eur"
    assert unknown.json["suggestions"]["Ville"] == ["ville"]
    assert len(unknown.json["valeurs"]) == 48
    assert exports(own, customer) == 0


def test_a_table_of_nothing_is_not_counted(own: Served) -> None:
    """F5"""
    customer = own.customer("free")

    reply = get(own, customer, q="introuvable", format="csv", colonnes="id")

    assert (reply.status, reply.body, reply.headers["X-Quota-Used"]) == (
        200,
        b"\xef\xbb\xbfid\r\n",
        "0",
    )


# -- parameters --------------------------------------------------------------------------


def test_all_filters_and_the_order_are_those_of_a_search(own: Served) -> None:
    """§4.6"""
    bounds = (Range("ca_eur", 0.0), Range("effectif", 5))
    query = Query(secteurs=("62",), q="e", tri="ca_asc", ranges=bounds)

    reply = get(
        own, own.customer("data"), secteur=IT, q="e", tri="ca_asc", ca_min="0", effectif_min="5"
    )

    expected = oracle.search(COMPANIES, query)
    assert expected
    assert [row["Identifiant"] for row in listed(reply)] == [one["id"] for one in expected]


def test_every_filter_of_a_search_is_one_of_an_export(own: Served) -> None:
    """X2, X0.3"""
    customer = own.customer("data")
    named = "fr:552 100 554,GB:08209948,FR:absente"

    by_name = post(own, customer, orjson.dumps({"ids": named, "cree_max": 2012, "etat": "active"}))

    assert [row["Identifiant"] for row in listed(by_name)] == ["552100554", "08209948"]
    scope = load_workbook(BytesIO(by_name.body))["Périmètre"]
    told = {line[0]: line[1] for line in scope.iter_rows(max_row=15, values_only=True)}
    assert told["Sociétés nommées"] == "2 trouvées par identifiant"
    assert told["Identifiants inconnus"] == "FR:absente"
    assert told["État"] == "Active"
    assert told["Date de création"] == "jusqu'à 2012-12-31"
    by_place = listed(get(own, customer, secteur=RETAIL, sous_secteur=TWO_SECTORS_LABEL))
    assert [row["Identifiant"] for row in by_place] == ["784671695"]


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "xlsx"])
def test_the_headers_of_a_file_name_the_unknown_companies(own: Served, form: str) -> None:
    """X2: a table has no place for them"""
    customer, total, named = (
        own.customer("data"),
        "X-Export-Ids-Inconnus-Total",
        "X-Export-Ids-Inconnus",
    )
    many = ",".join(f"FR:absente {number:03}" for number in range(200))

    some = get(own, customer, ids="FR:absent é,FR:552100554,UK:1/2", format=form).headers
    all_known = get(own, customer, ids="FR:552100554", format=form).headers
    long = get(own, customer, ids=f"{many},FR:552100554", format=form).headers

    assert (some["X-Export-Lignes"], some[total]) == ("1", "2")
    assert some[named] == "FR:absent%20%C3%A9,UK:1%2F2"
    assert (all_known[total], all_known.get(named)) == ("0", None)
    assert long[total] == "200"
    assert many.startswith(unquote(long[named]) + ",") and 1_900 < len(long[named]) <= 2_000
    assert total not in get(own, customer, pays="EE", format=form).headers


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "xlsx"])
def test_the_headers_of_a_file_name_the_classes_of_an_activity(own: Served, form: str) -> None:
    """X13: they are those that a search with the same words says"""
    customer = own.customer("data")
    path = f"/api/v1/societes?{urlencode({'activite': 'boulangerie'})}"
    searched = own.ask(path, headers=customer.headers).json["activites_comprises"]

    headers = get(own, customer, activite="boulangerie", format=form).headers

    assert headers["X-Export-Activites"] == ",".join(one["nace"] for one in searched)
    assert headers["X-Export-Activites-Total"] == str(len(searched))
    assert "X-Export-Activites" not in get(own, customer, pays="EE", format=form).headers


@pytest.mark.parametrize(
    ("slug", "limit", "lignes"),
    [("free", "", 25), ("free", "3", 3), ("free", "9999", 25), ("data", "26", 26),
     ("data", "9" * 50, 41), ("data", "1", 1)],
)  # fmt: skip
def test_the_limit_is_clamped_to_the_plan(own: Served, slug: str, limit: str, lignes: int) -> None:
    """F1"""
    reply = get(own, own.customer(slug), limit=limit)

    assert (reply.headers["X-Export-Lignes"], reply.headers["X-Export-Total"]) == (
        str(lignes),
        "41",
    )
    assert len(listed(reply)) == lignes


def test_lang_en_gives_english_sheets(own: Served) -> None:
    """F11"""
    assert len(listed(get(own, own.customer("data"), lang="en", pays="EE"), "List")) == 2


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"sous_secteur": "x"}, "parametre_invalide"),
        ({"offset": "0"}, "parametre_inconnu"),
        ({"x": "1"}, "parametre_inconnu"),
        ({"lang": "de"}, "parametre_invalide"),
        ({"lang": "FR"}, "parametre_invalide"),
        ({"format": "json"}, "parametre_invalide"),
        ({"comptes": "0"}, "parametre_invalide"),
        ({"limit": "0"}, "parametre_invalide"),
        ({"tri": "x"}, "parametre_invalide"),
        ({"q": "x" * 121}, "parametre_invalide"),
        ({"pays": "XX", "secteur": "y"}, "pays_inconnu"),
        ({"secteur": "y"}, "secteur_inconnu"),
    ],
)
def test_a_wrong_parameter_costs_nothing(own: Served, params: dict[str, str], code: str) -> None:
    """F2, D5"""
    customer = own.customer("free")

    by_get = get(own, customer, **params)
    by_post = post(own, customer, orjson.dumps(params))

    for reply in (by_get, by_post):
        assert (reply.status, reply.code) == (400, code)
    assert by_get.json == by_post.json
    assert exports(own, customer) == 0


def test_a_post_takes_every_parameter_as_text_or_number(own: Served) -> None:
    """F3"""
    customer = own.customer("data")

    texts = post(own, customer, b'{"pays":"FR","limit":"2","ca_min":"1e6","avec_ca":"1"}')
    numbers = post(own, customer, b'{"pays":"FR","limit":2.0,"ca_min":1e6,"avec_ca":1}')
    by_get = get(own, customer, pays="FR", limit="2", ca_min="1e6", avec_ca="1")

    assert listed(texts) == listed(numbers) == listed(by_get)
    assert len(listed(texts)) == 2


def test_a_list_of_a_body_may_be_an_array(own: Served) -> None:
    """F3, X8: as in the body of /modifications"""
    customer = own.customer("data")

    array = post(own, customer, b'{"pays":["FR","DE"],"nace":[64,"62"],"etat":[],"limit":[2]}')
    text = post(own, customer, b'{"pays":"FR,DE","nace":"64,62","limit":2}')
    refused = {
        b'{"pays":[["FR"]]}': "un tableau",
        b'{"q":["a","b"]}': "'a', 'b'",
        b'{"ids":[]}': "[]",
        b'{"ids":[""," "]}': '["", " "]',
        b'{"ids":[","]}': "','",
        b'{"ids":","}': "','",
    }

    assert listed(array) == listed(text) != []
    for body, shown in refused.items():
        reply = post(own, customer, body)
        assert (reply.status, reply.code) == (400, "parametre_invalide")
        assert shown in reply.json["erreur"]["message"]


def test_an_empty_object_is_the_whole_base(own: Served) -> None:
    """F3"""
    assert post(own, own.customer("data"), b"{}").headers["X-Export-Lignes"] == "41"


def test_a_wrong_body_is_told_and_costs_nothing(own: Served) -> None:
    """F3"""
    customer = own.customer("free")
    form = {**customer.headers, "Content-Type": "application/x-www-form-urlencoded"}

    answers = [
        (post(own, customer, b"pays=FR"), 400, "corps_invalide"),
        (post(own, customer, b""), 400, "corps_invalide"),
        (post(own, customer, b"{}", f"{PATH}?pays=FR"), 400, "parametre_invalide"),
        (own.ask(PATH, "POST", form, body=b"{}"), 415, "type_non_supporte"),
        (own.ask(PATH, "POST", customer.headers, body=b"{}"), 415, "type_non_supporte"),
        (post(own, customer, b'{"q":"' + b"x" * 65_536 + b'"}'), 413, "corps_trop_grand"),
        (post(own, customer, b'{"pays":null}'), 400, "parametre_invalide"),
    ]

    for reply, status, code in answers:
        assert (reply.status, reply.code) == (status, code)
    assert exports(own, customer) == 0


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ("Transfer-Encoding: chunked", "5\r\n{}   \r\n0\r\n\r\n", b"200"),
        ("Transfer-Encoding: chunked", "zz\r\n{}\r\n0\r\n\r\n", b"400"),
        ("Transfer-Encoding: chunked", "ffff\r\n" + " " * 65_535 + "\r\n5\r\n{}   \r\n0\r\n\r\n",
         b"413"),
        ("Content-Length: 2\r\nContent-Encoding: gzip", "{}", b"415"),
        ("Content-Length: 2\r\nExpect: 100-continue", "{}", b"100"),
    ],
)  # fmt: skip
def test_a_body_may_come_in_any_form_that_http_has(
    own: Served, headers: str, body: str, status: bytes
) -> None:
    """F3, RFC 9112"""
    key = own.customer("free").key

    answer = own.raw(
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\n{headers}\r\n\r\n{body}"
    )

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert status != b"100" or b"\r\n\r\nHTTP/1.1 200 OK\r\n" in answer


def test_a_request_line_may_be_64_kib_long(own: Served) -> None:
    """F4"""
    customer = own.customer("data")

    fits = get(own, customer, pays=",".join(["FR"] * 10_000), limit="1")
    too_long = get(own, customer, pays=",".join(["FR"] * 20_000))

    assert fits.headers["X-Export-Lignes"] == "1"
    assert (too_long.status, too_long.code) == (414, "uri_trop_longue")


# -- who, and how often --------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer soc_live_x"}, {"Authorization": "Basic x"}]
)
def test_without_a_valid_key_there_is_no_file(own: Served, headers: dict[str, str]) -> None:
    """A3"""
    for reply in (
        own.ask(PATH, headers=headers),
        own.ask(PATH, "POST", {**headers, **JSON}, body=b"{}"),
    ):
        assert (reply.status, reply.code) == (401, "compte_requis")
        assert reply.headers["WWW-Authenticate"].startswith("Bearer")


def test_an_account_without_the_tool_exports_at_the_free_level(own: Served) -> None:
    """A7"""
    reply = get(own, own.customer("corporate", api_tool=False))

    assert reply.headers["X-Export-Plafond"] == "25"
    assert reply.headers["X-Export-Coordonnees"] == "false"


def test_the_methods_are_get_and_post(own: Served) -> None:
    """G1, G2, G3"""
    for method in ("HEAD", "PUT", "DELETE"):
        reply = own.ask(PATH, method, own.customer().headers)
        assert (reply.status, reply.headers["Allow"]) == (405, "GET, POST, OPTIONS")
    preflight = own.ask(PATH, "OPTIONS")
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Methods"] == "GET, POST, OPTIONS"
    assert "Content-Type" in preflight.headers["Access-Control-Allow-Headers"]


def test_the_last_export_of_the_month_is_the_last(own: Served) -> None:
    """§4.6, D4, F10"""
    customer = own.customer("free")
    assert [get(own, customer, limit="1").headers["X-Quota-Used"] for _ in "ab"] == ["1", "2"]

    refused = get(own, customer, limit="1")

    assert (refused.status, refused.code) == (429, "quota_export")
    assert "Données, 40 exports par mois" in refused.json["erreur"]["message"]
    assert refused.json["quota"] == {
        "type": "exports_mois",
        "limite": 2,
        "utilise": 2,
        "restant": 0,
        "reinitialisation": "2026-12-01T00:00:00Z",
    }
    assert (refused.headers["X-Quota-Used"], refused.headers["X-Quota-Limit"]) == ("2", "2")
    assert refused.headers["Retry-After"] == str(9 * 86_400 + 43_200)
    assert exports(own, customer) == 2


def test_on_the_highest_plan_the_remedy_is_the_date(own: Served) -> None:
    """F10"""
    customer, now = own.customer("integral"), own.context.now()
    for _ in range(200):
        held = own.store.reserve(customer.account, 200, 1, HELD, now).result(10)
        assert isinstance(held, Reservation)
        own.store.commit(held, now).result(10)

    refused = get(own, customer)

    assert "2026-12-01T00:00:00Z" in refused.json["erreur"]["message"]
    assert "tarifs" not in refused.json["erreur"]["message"]


def test_a_third_export_at_once_is_refused_and_not_counted(own: Served) -> None:
    """D7"""
    customer, now = own.customer("data"), own.context.now()
    for _ in range(2):
        own.store.reserve(customer.account, 40, 2, HELD, now).result(10)

    refused = get(own, customer, limit="1")

    assert (refused.status, refused.code) == (429, "trop_de_requetes")
    assert refused.json["quota"]["type"] == "debit"
    assert refused.json["quota"]["limite"] == 2
    assert refused.headers["Retry-After"] == "10"
    assert (refused.headers["X-Quota-Used"], refused.headers["X-Quota-Limit"]) == ("2", "40")
    assert exports(own, customer) == 2


def test_a_search_that_finds_nothing_is_a_workbook_and_is_not_counted(own: Served) -> None:
    """F5"""
    customer = own.customer("free")

    replies = [get(own, customer, q="introuvable") for _ in range(3)]

    for reply in replies:
        assert listed(reply) == []
        assert (reply.headers["X-Export-Lignes"], reply.headers["X-Export-Total"]) == ("0", "0")
        assert reply.headers["X-Quota-Used"] == "0"
    assert exports(own, customer) == 0


def test_the_log_names_the_parameters_and_the_size(own: Served) -> None:
    """G11"""
    own.lines.clear()
    reply = post(own, own.customer("data"), b'{"pays":"EE"}')

    assert eventually(lambda: len(own.lines) == 1)
    line = orjson.loads(own.lines[-1])
    assert (line["route"], line["method"], line["quota"]) == ("export", "POST", "taken")
    assert line["query"] == {"pays": ["EE"]}
    assert line["bytes"] > len(reply.body)
    assert re.search(rb'societes_requests_total\{plan="data",route="export",status="2xx"\}',
                     own.ask("/metrics").body)  # fmt: skip
