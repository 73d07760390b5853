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
from tests.serve.client import PLANS, UNREACHABLE_LIMITS, Server, run_server, wait_for_log_lines
from tests.serve.clock import Clock
from tests.serve.exports import (
    EXPORT_PATH,
    JSON_HEADER,
    export_count,
    get_export,
    list_rows,
    post_json,
    spool_files,
)
from tests.serve.world import COMPANIES, IT, RETAIL, TWO_SECTORS_LABEL

TWO_AT_ONCE = replace(UNREACHABLE_LIMITS, exports=2)
RESERVATION_TIME = timedelta(minutes=5)  # after which a reservation expires
PLANS_WITH_EXPORTS = [slug for slug, plan in PLANS.items() if plan.exports_par_mois]


@pytest.fixture(scope="module")
def clock() -> Clock:
    """A day of November from which nine and a half days of the month are left."""
    return Clock("2026-11-21T12:00:00")


@pytest.fixture(scope="module")
def separate_server(separate_data: Path, clock: Clock) -> Iterator[Server]:
    """A server of this file alone, with a fixed time and at most two exports at once; it must leave no file."""
    state = separate_data.with_name("state")
    with run_server(separate_data, state=state, now=clock, debit=TWO_AT_ONCE) as separate_server:
        yield separate_server
    assert not list(spool_files(state))


# -- the file ---------------------------------------------------------------------------


@pytest.mark.parametrize("slug", PLANS_WITH_EXPORTS)
def test_every_plan_gets_its_file_and_headers_with_its_counts(
    separate_server: Server, slug: str
) -> None:
    """§4.6, §8.1, F7, F13"""
    customer, plan = separate_server.customer(slug), PLANS[slug]

    reply = get_export(separate_server, customer, pays="FR,UK")

    expected = oracle.search(COMPANIES, Query(pays=("FR", "UK")))
    assert [row["Identifiant"] for row in list_rows(reply)] == [
        company["id"] for company in expected
    ]
    export_headers = {
        name: value for name, value in reply.headers.items() if name.startswith("X-Export")
    }
    assert export_headers == {
        "X-Export-Lignes": "11",  # 8 French and 3 British companies
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
    assert export_count(separate_server, customer) == 1
    assert separate_server.calls_used(customer) == 0  # D2: exports do not count as calls of the day


def test_the_file_is_an_attachment_that_no_cache_stores(separate_server: Server) -> None:
    """F6"""
    reply = get_export(separate_server, separate_server.customer("data"), pays="EE")

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
    header_names = {name for name in headers if name.startswith(("X-", "Content-D", "RateLimit"))}
    assert header_names - {"X-Content-Type-Options"} <= set(EXPOSED)


def test_the_quota_headers_are_those_of_the_month(separate_server: Server) -> None:
    """D3: nine and a half days of November are left."""
    headers = get_export(separate_server, separate_server.customer("data"), pays="EE").headers

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
def test_a_table_is_chosen_by_format_or_accept_and_counted_like_a_workbook(
    separate_server: Server, params: dict[str, str], accept: str, media_type: str, extension: str
) -> None:
    """X7"""
    customer = separate_server.customer("data")
    query = urlencode({"pays": "FR,UK", **params})

    reply = separate_server.ask(
        f"{EXPORT_PATH}?{query}", headers={**customer.headers, "Accept": accept}
    )

    assert (reply.status, reply.headers["Content-Type"]) == (200, media_type)
    assert reply.headers["Content-Disposition"].endswith(f"-2026-11-21.{extension}")
    assert reply.headers["Vary"] == "Authorization, Accept"
    assert reply.headers["Link"] == '</sources>; rel="license"'  # X9
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    assert reply.headers["X-Export-Lignes"] == "11"
    assert reply.headers["X-Export-Comptes"] == (
        "1" if "comptes" in params or extension == "xlsx" else "0"
    )
    assert export_count(separate_server, customer) == 1


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/parquet", "text/html", "*/*;q=0", "application/json, text/csv;q=0"],
)  # fmt: skip
def test_an_accept_without_a_known_format_is_406_and_costs_nothing(
    separate_server: Server, accept: str
) -> None:
    """X7, RFC 9110 §15.5.7"""
    customer = separate_server.customer("data")
    headers = {**customer.headers, "Accept": accept}

    for reply in (
        separate_server.ask(EXPORT_PATH, headers=headers),
        separate_server.ask(EXPORT_PATH, "POST", {**headers, **JSON_HEADER}, body=b"{}"),
    ):
        assert (reply.status, reply.code) == (406, "format_non_acceptable")
        assert "text/csv" in reply.json["valeurs"]
        assert accept in reply.json["erreur"]["message"]
    assert export_count(separate_server, customer) == 0


def test_a_body_that_names_a_format_needs_no_accept(separate_server: Server) -> None:
    """X7"""
    headers = {
        **separate_server.customer("data").headers,
        **JSON_HEADER,
        "Accept": "application/json",
    }

    reply = separate_server.ask(
        EXPORT_PATH, "POST", headers, body=b'{"format": "csv", "pays": "EE"}'
    )

    assert (reply.status, reply.headers["Content-Type"]) == (
        200,
        "text/csv; charset=utf-8; header=present",
    )


def test_a_table_has_the_rows_of_a_search_and_the_requested_columns(
    separate_server: Server,
) -> None:
    """X7, F1: a column that is requested twice is in the table once"""
    body = {"secteur": IT, "tri": "nom", "format": "csv", "colonnes": "nom, iso2,nom", "limit": 2}

    reply = post_json(separate_server, separate_server.customer("data"), orjson.dumps(body))

    expected = oracle.search(COMPANIES, Query(secteurs=("62",), tri="nom"))[:2]
    lines = reply.body.decode("utf-8-sig").splitlines()
    assert lines == ["nom,iso2", *(f"{company['nom']},{company['iso2']}" for company in expected)]


def test_the_list_of_a_workbook_has_only_the_requested_columns(
    separate_server: Server,
) -> None:
    """X7: requested raw amounts are visible, contacts need the right, and other sheets keep their columns."""
    params = {"pays": "FR", "colonnes": "id,telephone,total_actif_last,nom"}

    book, book_without_contacts = (
        load_workbook(
            BytesIO(get_export(separate_server, separate_server.customer(plan), **params).body)
        )
        for plan in ("data", "free")
    )

    expected = oracle.search(COMPANIES, Query(pays=("FR",)))
    rows = [[cell.value for cell in line] for line in book["Liste"].iter_rows()]
    assert rows[0] == ["Identifiant", "Téléphone", "Total de l'actif publié", "Nom"]
    fields = params["colonnes"].split(",")
    assert rows[1:] == [[company[name] for name in fields] for company in expected]
    assert not any(letter.hidden for letter in book["Liste"].column_dimensions.values())
    assert book["Liste"].freeze_panes == "B2"
    assert {cell.value for cell in book_without_contacts["Liste"]["B"][1:]} == {None}
    assert book["Contacts"].max_column > len(fields)


def test_an_unknown_column_is_an_error_with_suggestions(separate_server: Server) -> None:
    """X7"""
    customer = separate_server.customer("data")

    refused = get_export(separate_server, customer, format="csv", colonnes="id,turnover,nomm,Ville")

    assert (refused.status, refused.code) == (400, "parametre_invalide")
    assert refused.json["parametre"] == "colonnes"
    assert refused.json["suggestions"]["nomm"][0] == "nom"
    assert refused.json["suggestions"]["turnover"][0] == "ca_eur"
    assert refused.json["suggestions"]["Ville"] == ["ville"]
    assert len(refused.json["valeurs"]) == 48  # the names of all columns
    assert export_count(separate_server, customer) == 0


def test_an_empty_table_is_not_counted(separate_server: Server) -> None:
    """F5"""
    customer = separate_server.customer("free")

    reply = get_export(separate_server, customer, q="introuvable", format="csv", colonnes="id")

    assert (reply.status, reply.body, reply.headers["X-Quota-Used"]) == (
        200,
        b"\xef\xbb\xbfid\r\n",
        "0",
    )


# -- parameters --------------------------------------------------------------------------


def test_filters_and_order_work_as_in_a_search(separate_server: Server) -> None:
    """§4.6"""
    bounds = (Range("ca_eur", 0.0), Range("effectif", 5))
    query = Query(secteurs=("62",), q="e", tri="ca_asc", ranges=bounds)

    reply = get_export(
        separate_server,
        separate_server.customer("data"),
        secteur=IT,
        q="e",
        tri="ca_asc",
        ca_min="0",
        effectif_min="5",
    )

    expected = oracle.search(COMPANIES, query)
    assert expected
    assert [row["Identifiant"] for row in list_rows(reply)] == [
        company["id"] for company in expected
    ]


def test_an_export_takes_the_filters_of_the_extensions(separate_server: Server) -> None:
    """X2, X0.3"""
    customer = separate_server.customer("data")
    ids = "fr:552 100 554,GB:08209948,FR:absente"

    by_ids = post_json(
        separate_server, customer, orjson.dumps({"ids": ids, "cree_max": 2012, "etat": "active"})
    )

    assert [row["Identifiant"] for row in list_rows(by_ids)] == ["552100554", "08209948"]
    scope = load_workbook(BytesIO(by_ids.body))["Périmètre"]
    filters = {line[0]: line[1] for line in scope.iter_rows(max_row=15, values_only=True)}
    assert filters["Sociétés nommées"] == "2 trouvées par identifiant"
    assert filters["Identifiants inconnus"] == "FR:absente"
    assert filters["État"] == "Active"
    assert filters["Date de création"] == "jusqu'à 2012-12-31"
    by_place = list_rows(
        get_export(separate_server, customer, secteur=RETAIL, sous_secteur=TWO_SECTORS_LABEL)
    )
    assert [row["Identifiant"] for row in by_place] == ["784671695"]


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "xlsx"])
def test_the_headers_of_a_file_name_the_unknown_companies(
    separate_server: Server, form: str
) -> None:
    """X2: a table has only columns of companies, so its headers list the identifiers without a company."""
    customer, total_header, ids_header = (
        separate_server.customer("data"),
        "X-Export-Ids-Inconnus-Total",
        "X-Export-Ids-Inconnus",
    )
    absent_ids = ",".join(f"FR:absente {number:03}" for number in range(200))

    two_unknown = get_export(
        separate_server, customer, ids="FR:absent é,FR:552100554,UK:1/2", format=form
    ).headers
    none_unknown = get_export(separate_server, customer, ids="FR:552100554", format=form).headers
    many_unknown = get_export(
        separate_server, customer, ids=f"{absent_ids},FR:552100554", format=form
    ).headers

    assert (two_unknown["X-Export-Lignes"], two_unknown[total_header]) == ("1", "2")
    assert two_unknown[ids_header] == "FR:absent%20%C3%A9,UK:1%2F2"
    assert (none_unknown[total_header], none_unknown.get(ids_header)) == ("0", None)
    assert many_unknown[total_header] == "200"
    assert (
        absent_ids.startswith(unquote(many_unknown[ids_header]) + ",")
        and 1_900 < len(many_unknown[ids_header]) <= 2_000
    )
    assert total_header not in get_export(separate_server, customer, pays="EE", format=form).headers


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "xlsx"])
def test_the_headers_of_a_file_name_the_classes_of_an_activity(
    separate_server: Server, form: str
) -> None:
    """X13: the words stand for the same NACE classes as in a search."""
    customer = separate_server.customer("data")
    path = f"/api/v1/societes?{urlencode({'activite': 'boulangerie'})}"
    classes = separate_server.ask(path, headers=customer.headers).json["activites_comprises"]

    headers = get_export(separate_server, customer, activite="boulangerie", format=form).headers

    assert headers["X-Export-Activites"] == ",".join(activity["nace"] for activity in classes)
    assert headers["X-Export-Activites-Total"] == str(len(classes))
    assert (
        "X-Export-Activites"
        not in get_export(separate_server, customer, pays="EE", format=form).headers
    )


@pytest.mark.parametrize(
    ("slug", "limit", "exported"),
    [("free", "", 25), ("free", "3", 3), ("free", "9999", 25), ("data", "26", 26),
     ("data", "9" * 50, 41), ("data", "1", 1)],
)  # fmt: skip
def test_the_limit_is_clamped_to_the_plan(
    separate_server: Server, slug: str, limit: str, exported: int
) -> None:
    """F1: the plan `free` exports 25 rows, and `data` more than the 41 companies of the generation"""
    reply = get_export(separate_server, separate_server.customer(slug), limit=limit)

    assert (reply.headers["X-Export-Lignes"], reply.headers["X-Export-Total"]) == (
        str(exported),
        "41",
    )
    assert len(list_rows(reply)) == exported


def test_lang_en_gives_english_sheets(separate_server: Server) -> None:
    """F11: the sheet is named List and has the two Estonian companies"""
    assert (
        len(
            list_rows(
                get_export(separate_server, separate_server.customer("data"), lang="en", pays="EE"),
                "List",
            )
        )
        == 2
    )


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
def test_a_wrong_parameter_costs_nothing(
    separate_server: Server, params: dict[str, str], code: str
) -> None:
    """F2, D5"""
    customer = separate_server.customer("free")

    by_get = get_export(separate_server, customer, **params)
    by_post = post_json(separate_server, customer, orjson.dumps(params))

    for reply in (by_get, by_post):
        assert (reply.status, reply.code) == (400, code)
    assert by_get.json == by_post.json
    assert export_count(separate_server, customer) == 0


def test_a_post_takes_parameters_as_text_or_number(separate_server: Server) -> None:
    """F3: the three ways export the same two companies"""
    customer = separate_server.customer("data")

    texts = post_json(
        separate_server, customer, b'{"pays":"FR","limit":"2","ca_min":"1e6","avec_ca":"1"}'
    )
    numbers = post_json(
        separate_server, customer, b'{"pays":"FR","limit":2.0,"ca_min":1e6,"avec_ca":1}'
    )
    by_get = get_export(separate_server, customer, pays="FR", limit="2", ca_min="1e6", avec_ca="1")

    assert list_rows(texts) == list_rows(numbers) == list_rows(by_get)
    assert len(list_rows(texts)) == 2


def test_a_list_in_a_body_may_be_an_array(separate_server: Server) -> None:
    """F3, X8: a parameter with several values is an array or a text with commas, as in POST /modifications."""
    customer = separate_server.customer("data")

    array = post_json(
        separate_server, customer, b'{"pays":["FR","DE"],"nace":[64,"62"],"etat":[],"limit":[2]}'
    )
    text = post_json(separate_server, customer, b'{"pays":"FR,DE","nace":"64,62","limit":2}')
    refused_bodies = {
        b'{"pays":[["FR"]]}': "un tableau",
        b'{"q":["a","b"]}': "'a', 'b'",
        b'{"ids":[]}': "[]",
        b'{"ids":[""," "]}': '["", " "]',
        b'{"ids":[","]}': "','",
        b'{"ids":","}': "','",
    }

    assert list_rows(array) == list_rows(text) != []
    for body, value in refused_bodies.items():
        reply = post_json(separate_server, customer, body)
        assert (reply.status, reply.code) == (400, "parametre_invalide")
        assert value in reply.json["erreur"]["message"]


def test_an_empty_object_exports_all_companies(separate_server: Server) -> None:
    """F3"""
    assert (
        post_json(separate_server, separate_server.customer("data"), b"{}").headers[
            "X-Export-Lignes"
        ]
        == "41"
    )


def test_a_wrong_body_is_an_error_and_costs_nothing(separate_server: Server) -> None:
    """F3"""
    customer = separate_server.customer("free")
    form = {**customer.headers, "Content-Type": "application/x-www-form-urlencoded"}

    answers = [
        (post_json(separate_server, customer, b"pays=FR"), 400, "corps_invalide"),
        (post_json(separate_server, customer, b""), 400, "corps_invalide"),
        (
            post_json(separate_server, customer, b"{}", f"{EXPORT_PATH}?pays=FR"),
            400,
            "parametre_invalide",
        ),
        (separate_server.ask(EXPORT_PATH, "POST", form, body=b"{}"), 415, "type_non_supporte"),
        (
            separate_server.ask(EXPORT_PATH, "POST", customer.headers, body=b"{}"),
            415,
            "type_non_supporte",
        ),
        (
            post_json(separate_server, customer, b'{"q":"' + b"x" * 65_536 + b'"}'),
            413,
            "corps_trop_grand",
        ),
        (post_json(separate_server, customer, b'{"pays":null}'), 400, "parametre_invalide"),
    ]

    for reply, status, code in answers:
        assert (reply.status, reply.code) == (status, code)
    assert export_count(separate_server, customer) == 0


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
def test_a_body_may_be_chunked_or_wait_for_a_continue(
    separate_server: Server, headers: str, body: str, status: bytes
) -> None:
    """F3, RFC 9112"""
    key = separate_server.customer("free").key

    answer = separate_server.send_raw(
        f"POST {EXPORT_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\n{headers}\r\n\r\n{body}"
    )

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert status != b"100" or b"\r\n\r\nHTTP/1.1 200 OK\r\n" in answer


def test_a_request_line_may_be_64_kib_long(separate_server: Server) -> None:
    """F4"""
    customer = separate_server.customer("data")

    fits = get_export(separate_server, customer, pays=",".join(["FR"] * 10_000), limit="1")
    too_long = get_export(separate_server, customer, pays=",".join(["FR"] * 20_000))

    assert fits.headers["X-Export-Lignes"] == "1"
    assert (too_long.status, too_long.code) == (414, "uri_trop_longue")


# -- keys and quotas --------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer soc_live_x"}, {"Authorization": "Basic x"}]
)
def test_without_a_valid_key_there_is_no_file(
    separate_server: Server, headers: dict[str, str]
) -> None:
    """A3"""
    for reply in (
        separate_server.ask(EXPORT_PATH, headers=headers),
        separate_server.ask(EXPORT_PATH, "POST", {**headers, **JSON_HEADER}, body=b"{}"),
    ):
        assert (reply.status, reply.code) == (401, "compte_requis")
        assert reply.headers["WWW-Authenticate"].startswith("Bearer")


def test_an_account_without_the_tool_exports_at_the_free_level(separate_server: Server) -> None:
    """A7"""
    reply = get_export(separate_server, separate_server.customer("corporate", api_tool=False))

    assert reply.headers["X-Export-Plafond"] == "25"
    assert reply.headers["X-Export-Coordonnees"] == "false"


def test_the_methods_are_get_and_post(separate_server: Server) -> None:
    """G1, G2, G3: HEAD is refused too, unlike on other routes"""
    for method in ("HEAD", "PUT", "DELETE"):
        reply = separate_server.ask(EXPORT_PATH, method, separate_server.customer().headers)
        assert (reply.status, reply.headers["Allow"]) == (405, "GET, POST, OPTIONS")
    preflight = separate_server.ask(EXPORT_PATH, "OPTIONS")
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Methods"] == "GET, POST, OPTIONS"
    assert "Content-Type" in preflight.headers["Access-Control-Allow-Headers"]


def test_an_export_over_the_limit_of_the_month_is_429(separate_server: Server) -> None:
    """§4.6, D4, F10: `free` has two exports a month"""
    customer = separate_server.customer("free")
    allowed = [get_export(separate_server, customer, limit="1") for _ in range(2)]
    assert [reply.headers["X-Quota-Used"] for reply in allowed] == ["1", "2"]

    refused = get_export(separate_server, customer, limit="1")

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
    # Nine and a half days to 1 December.
    assert refused.headers["Retry-After"] == str(9 * 86_400 + 43_200)
    assert export_count(separate_server, customer) == 2


def test_on_the_highest_plan_the_remedy_is_the_date(separate_server: Server) -> None:
    """F10"""
    customer, now = separate_server.customer("integral"), separate_server.context.now()
    for _ in range(200):  # all exports of a month of this plan
        reservation = separate_server.store.reserve(
            customer.account, 200, 1, RESERVATION_TIME, now
        ).result()
        assert isinstance(reservation, Reservation)
        separate_server.store.commit(reservation, now).result()

    refused = get_export(separate_server, customer)

    assert "2026-12-01T00:00:00Z" in refused.json["erreur"]["message"]
    assert "tarifs" not in refused.json["erreur"]["message"]


def test_a_third_export_at_once_is_refused_and_not_counted(separate_server: Server) -> None:
    """D7"""
    customer, now = separate_server.customer("data"), separate_server.context.now()
    for _ in range(2):  # exports in progress
        separate_server.store.reserve(customer.account, 40, 2, RESERVATION_TIME, now).result()

    refused = get_export(separate_server, customer, limit="1")

    assert (refused.status, refused.code) == (429, "trop_de_requetes")
    assert refused.json["quota"]["type"] == "debit"
    assert refused.json["quota"]["limite"] == 2
    assert refused.headers["Retry-After"] == "10"
    assert (refused.headers["X-Quota-Used"], refused.headers["X-Quota-Limit"]) == ("2", "40")
    assert export_count(separate_server, customer) == 2


def test_an_empty_workbook_is_not_counted(separate_server: Server) -> None:
    """F5: three exports, although `free` has two a month"""
    customer = separate_server.customer("free")

    replies = [get_export(separate_server, customer, q="introuvable") for _ in range(3)]

    for reply in replies:
        assert list_rows(reply) == []
        assert (reply.headers["X-Export-Lignes"], reply.headers["X-Export-Total"]) == ("0", "0")
        assert reply.headers["X-Quota-Used"] == "0"
    assert export_count(separate_server, customer) == 0


def test_the_log_names_the_parameters_and_the_size(separate_server: Server) -> None:
    """G11"""
    separate_server.lines.clear()
    reply = post_json(separate_server, separate_server.customer("data"), b'{"pays":"EE"}')

    (line,) = wait_for_log_lines(separate_server, lambda line: line["method"] == "POST", 1)
    assert (line["route"], line["method"], line["quota"]) == ("export", "POST", "taken")
    assert line["query"] == {"pays": ["EE"]}
    assert line["bytes"] > len(reply.body)
    assert re.search(rb'societes_requests_total\{plan="data",route="export",status="2xx"\}',
                     separate_server.ask("/metrics").body)  # fmt: skip
