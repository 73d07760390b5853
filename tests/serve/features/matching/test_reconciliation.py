"""/api/v1/reconciliation: the Reconciliation Service API 0.2 with requests as OpenRefine sends them (extensions X5)."""

from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import orjson
import pytest
from jsonschema import ValidationError

from quota.ledger import account_rows
from quota.ledger.account_rows import ADDRESSES
from quota.periods import iso
from serve.contract import company_fields
from serve.features.matching import reconciliation
from tests.quota.filling import create_key
from tests.serve import world
from tests.serve.client import PLANS, Customer, Reply, Server
from tests.serve.features.matching.reconciliation_shapes import validator

PATH = "/api/v1/reconciliation"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MUELLER_QUERY = {
    "query": "Mueller Maschinenbau",
    "type": "societe",
    "type_strict": "should",
    "properties": [{"pid": "pays", "v": "Allemagne"}],
}
GENERALE_ID = "FR:552100554"


def valid_body(reply: Reply, name: str) -> Any:
    """The body of a reply, validated by its JSON Schema."""
    assert reply.status == 200, reply.body
    validator(name).validate(reply.json)
    return reply.json


@pytest.fixture(scope="module")
def customer(server: Server) -> Customer:
    """A customer with the plan `data`, the same for all tests of this file."""
    return server.customer("data")


@pytest.fixture(scope="module")
def address(server: Server, customer: Customer) -> str:
    """A reconciliation address of the customer."""
    return create_address(server, customer)


def create_address(server: Server, customer: Customer) -> str:
    """Create a reconciliation address, which contains a secret; return its path."""
    now = server.context.now()
    _, token = create_key(server.store, customer.account, PLANS, now, kind=ADDRESSES).result()
    return f"{PATH}/{token}"


def send_form(server: Server, path: str, **parameters: Any) -> Reply:
    """Send a form whose fields are JSON."""
    body = urlencode({name: orjson.dumps(value).decode() for name, value in parameters.items()})
    return server.ask(path, "POST", FORM, body=body.encode())


def test_the_manifest_describes_the_service_at_its_address(server: Server, address: str) -> None:
    for path, place in ((address, address), (PATH, f"{PATH}/visiteur")):
        manifest = valid_body(server.ask(path), "manifest")

        assert manifest["versions"] == ["0.2"]
        assert manifest["view"]["url"].endswith("/reconciliation/visiteur/view/{{id}}")
        assert manifest["suggest"]["entity"]["service_url"].endswith(place)
        # A visitor may send two queries at once.
        assert manifest["batchSize"] == (2 if path == PATH else 50)
        assert server.ask(f"{path}/").json == manifest


def test_the_manifest_for_a_key_has_the_batch_size_of_an_account(
    server: Server, customer: Customer
) -> None:
    """50 queries, but two for an invalid key, as for a visitor"""
    reply = server.ask(PATH, headers=customer.headers)
    manifest = valid_body(reply, "manifest")

    assert (manifest["batchSize"], manifest["name"]) == (50, "Sociétés européennes")
    assert reply.headers["ETag"] != server.ask(PATH).headers["ETag"]
    assert reply.headers["Vary"].startswith("Authorization")
    refused = server.ask(PATH, headers={"Authorization": "Bearer soc_live_x"})
    assert (refused.status, refused.json["batchSize"]) == (200, 2)


@pytest.mark.parametrize(
    "path", ["", "/properties", "/suggest/type", "/suggest/property?prefix=v", "/suggest/entity?prefix=fitl",
             f"/preview/{quote(GENERALE_ID, safe='')}"]
)  # fmt: skip
def test_a_free_answer_has_an_etag_and_is_304_the_second_time(
    server: Server, customer: Customer, address: str, path: str
) -> None:
    """X0.2: ETag and 304"""
    first_reply = server.ask(f"{address}{path}")
    calls_before = server.calls_used(customer)
    revalidated = server.ask(
        f"{address}{path}", headers={"If-None-Match": first_reply.headers["ETag"]}
    )
    calls_after = server.calls_used(customer)
    head_reply = server.ask(f"{address}{path}", "HEAD")

    assert (first_reply.status, revalidated.status, revalidated.body) == (200, 304, b"")
    assert head_reply.headers["ETag"] == first_reply.headers["ETag"]
    assert first_reply.headers["Cache-Control"] == "private, no-cache"
    assert calls_after == calls_before


def test_an_unchanged_batch_is_304_and_not_counted_again(
    server: Server, customer: Customer, address: str
) -> None:
    text = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    first_reply = server.ask(f"{address}?queries={text}")
    other_batch = server.ask(f"{address}?queries={text.replace('Fitlab', 'Fitla')}")
    calls_before = server.calls_used(customer)
    headers = {"If-None-Match": first_reply.headers["ETag"]}

    assert server.ask(f"{address}?queries={text}", headers=headers).status == 304
    assert server.calls_used(customer) == calls_before
    assert other_batch.headers["ETag"] != first_reply.headers["ETag"]
    assert "ETag" not in send_form(server, address, queries={"q": MUELLER_QUERY}).headers


def test_queries_are_answered_and_counted_like_lines(
    server: Server, customer: Customer, address: str
) -> None:
    calls_before = server.calls_used(customer)
    queries = {f"q{i}": MUELLER_QUERY for i in range(11)}
    validator("queries").validate(queries)
    results = valid_body(send_form(server, address, queries=queries), "results")

    assert list(results) == list(queries)
    best = results["q0"]["result"][0]
    assert (best["id"], best["type"]) == (
        "DE:F1103R_HRB218916",
        [{"id": "societe", "name": "Société"}],
    )
    assert 50 < best["score"] <= 100
    assert isinstance(best["match"], bool)
    assert server.calls_used(customer) == calls_before + 2  # 11 queries; ten count as a call


def test_a_batch_may_be_sent_as_a_query_string(server: Server, address: str) -> None:
    text = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    results = server.ask(f"{address}?queries={text}").json

    assert results["q0"]["result"][0]["id"] == "FR:309634954"


def test_a_visitor_gets_two_queries_answered(server: Server) -> None:
    reply = send_form(server, PATH, queries={f"q{i}": MUELLER_QUERY for i in range(3)})
    results = valid_body(reply, "results")

    assert [bool(result["result"]) for result in results.values()] == [True, True, False]
    assert results["q2"]["erreur"]["code"] == "compte_requis"


def test_a_query_without_a_name_or_number_is_an_error_in_its_place(
    server: Server, address: str
) -> None:
    reply = send_form(server, address, queries={"a": {"query": " ?"}, "b": MUELLER_QUERY})
    results = valid_body(reply, "results")

    assert results["a"] == {"result": [], "erreur": results["a"]["erreur"]}
    assert results["a"]["erreur"]["code"] == "ligne_invalide"
    assert results["b"]["result"]


@pytest.mark.parametrize(
    "queries", [[], {"q": 1}, {"q": {"query": "A", "properties": ["couleur"]}}]
)  # fmt: skip
def test_an_invalid_batch_is_refused(server: Server, address: str, queries: Any) -> None:
    assert send_form(server, address, queries=queries).code == "parametre_invalide"


@pytest.mark.parametrize(
    ("extend", "beginning"),
    [
        ({"ids": "UK:1", "properties": []}, "`ids` :"),
        ({"ids": []}, "`properties` :"),
        ({}, "`ids`, `properties` :"),
    ],
)
def test_a_member_that_is_not_an_array_is_named(
    server: Server, address: str, extend: dict[str, Any], beginning: str
) -> None:
    reply = send_form(server, address, extend=extend)

    assert (reply.code, reply.json["parametre"]) == ("parametre_invalide", "extend")
    assert f" {beginning} il faut un tableau" in reply.json["erreur"]["message"]


def test_values_of_companies_depend_on_the_rights_of_the_plan(server: Server, address: str) -> None:
    """A visitor gets no contact, and an unknown company has empty values"""
    query = {"ids": [GENERALE_ID, "FR:absente"], "properties": [{"id": "ca_eur"}, {"id": "email"}]}
    validator("extension query").validate(query)
    extension = valid_body(send_form(server, address, extend=query), "extension")
    all_fields = [{"id": field.champ} for field in company_fields.fields()]
    long_query = {"ids": [GENERALE_ID, "EE:12652512"], "properties": all_fields}
    valid_body(send_form(server, address, extend=long_query), "extension")
    visitor = send_form(server, PATH, extend=query).json

    assert [field["id"] for field in extension["meta"]] == ["ca_eur", "email"]
    assert extension["rows"][GENERALE_ID]["ca_eur"] == [{"float": 3_250_000_000.5}]
    assert world.CONTACT in extension["rows"][GENERALE_ID]["email"][0]["str"]
    assert extension["rows"]["FR:absente"] == {"ca_eur": [], "email": []}
    assert visitor["rows"][GENERALE_ID]["email"] == []


def test_a_field_requested_many_times_is_read_once(server: Server) -> None:
    """A body of 1 MiB can name 78 000 fields for 1 000 companies. To read each of them would take seconds."""
    query = {"ids": [GENERALE_ID, "UK:1"], "properties": [{"id": "nom"}, {"id": "ville"}] * 500}
    extension = valid_body(send_form(server, PATH, extend=query), "extension")

    assert [field["id"] for field in extension["meta"]] == ["nom", "ville"]
    assert list(extension["rows"][GENERALE_ID]) == ["nom", "ville"]


def test_companies_properties_and_types_are_suggested(server: Server, address: str) -> None:
    def read_suggestions(path: str, name: str) -> Any:
        """The valid answer of a path of the service; `name` is its JSON Schema."""
        return valid_body(server.ask(f"{address}/{path}"), name)

    entities = read_suggestions("suggest/entity?prefix=fitl", "suggested entities")["result"]
    fields = read_suggestions("suggest/property?prefix=vil", "suggested properties")["result"]
    types = read_suggestions("suggest/type?prefix=so", "suggested types")["result"]
    proposed = read_suggestions("properties?type=societe", "proposed properties")

    assert entities[0]["id"] == "FR:309634954"
    assert [field["id"] for field in fields] == ["ville"]
    assert read_suggestions("suggest/property?prefix=cod", "suggested properties")["result"][0] == {
        "id": "code_postal", "name": "Code postal", "description": "pour rapprocher",
    }  # fmt: skip
    assert types[0]["id"] == "societe"
    assert len(proposed["properties"]) > 30
    three_proposed = read_suggestions("properties?type=societe&limit=3", "proposed properties")
    assert (three_proposed["properties"], three_proposed["limit"]) == (
        proposed["properties"][:3],
        3,
    )
    assert server.ask(f"{address}/properties?limit=0").code == "parametre_invalide"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("manifest", {"versions": ["0.1"], "name": "A"}),
        ("results", {"q0": {"result": [{"id": "A", "name": "B"}]}}),
        ("suggested types", {"result": [{"id": "societe"}]}),
        ("extension", {"meta": [], "rows": {"A": {"nom": "B"}}}),
    ],
)
def test_a_json_schema_refuses_a_wrong_answer(name: str, wrong: Any) -> None:
    with pytest.raises(ValidationError):
        validator(name).validate(wrong)


def test_a_company_has_a_preview_and_a_view_that_leads_to_its_page(
    server: Server, address: str
) -> None:
    preview = server.ask(f"{address}/preview/{quote(GENERALE_ID, safe='')}")
    view = server.ask(f"{address}/view/{GENERALE_ID}")

    assert preview.headers["Content-Type"].startswith("text/html")
    assert b"<h3>Soci" in preview.body and world.CONTACT.encode() not in preview.body
    # OpenRefine shows a preview in a frame of its page, and follows a view.
    assert "X-Frame-Options" not in preview.headers
    assert preview.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors *"
    assert (view.status, view.headers["Location"]) == (303, "/societes/FR/552100554")
    assert server.ask(f"{address}/preview/FR:absente").code == "societe_introuvable"


def test_previews_and_views_are_free(server: Server) -> None:
    """X0.6: clients load previews on their own"""
    customer = server.customer("data")
    path = create_address(server, customer)

    statuses = [
        server.ask(f"{path}/{place}").status
        for place in (f"preview/{GENERALE_ID}", f"view/{GENERALE_ID}", "preview/FR:absente")
    ]

    assert statuses == [200, 303, 404]
    assert server.calls_used(customer) == 0


@pytest.mark.parametrize("kind", ["preview", "view"])
def test_an_invalid_key_is_a_json_error_for_previews_and_views(server: Server, kind: str) -> None:
    """§7: all errors have the shape of §2.6"""
    refused = {"Authorization": "Bearer soc_live_x"}

    reply = server.ask(f"{PATH}/visiteur/{kind}/{GENERALE_ID}", headers=refused)

    assert (reply.status, reply.code, list(reply.json)) == (401, "cle_invalide", ["erreur"])
    assert reply.headers["Content-Type"].startswith("application/json")
    assert "Location" not in reply.headers


@pytest.mark.parametrize(
    "path", ["?foo=bar", "/properties?foo=1", "/suggest/entity?prefix=roy&pays=zz",
             f"/preview/{GENERALE_ID}?x=1", f"/view/{GENERALE_ID}?x=1", "/suggest/type?foo=1"]
)  # fmt: skip
def test_an_unknown_parameter_is_refused(server: Server, address: str, path: str) -> None:
    """B6: nothing is ignored, except the parameters that clients of the protocol add"""
    assert server.ask(f"{address}{path}").code == "parametre_inconnu"


@pytest.mark.parametrize("form_text", ["=", "x=", "=1", "queries=&x=+", "x"])
def test_an_unknown_parameter_without_a_value_is_refused_too(
    server: Server, address: str, form_text: str
) -> None:
    """Fixed: the body `=` was answered like an empty form (found by schemathesis)."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    replies = [
        server.ask(f"{address}?{form_text}"),
        server.ask(address, "POST", form, body=form_text.encode()),
    ]

    assert [reply.code for reply in replies] == ["parametre_inconnu"] * 2


def test_conflicting_parameters_are_refused(server: Server, address: str) -> None:
    """B5: a repeated parameter needs one value; a request has `queries` or `extend`"""
    queries, other_queries = quote('{"a": {"query": "lab"}}'), quote('{"b": {"query": "lab"}}')
    extend = quote('{"ids": ["FR:552100554"], "properties": [{"id": "ville"}]}')

    replies = [
        server.ask(f"{address}{path}")
        for path in (
            f"?queries={queries}&queries={other_queries}",
            f"?queries={queries}&extend={extend}",
            "/suggest/entity?prefix=lab&prefix=bo",
            f"/preview/{GENERALE_ID}?version=0123456789abcdef&version=1123456789abcdef",
        )
    ]

    assert [reply.code for reply in replies] == ["parametre_invalide"] * 4
    assert [reply.json["parametre"] for reply in replies] == [
        "queries",
        "extend",
        "prefix",
        "version",
    ]
    same_value_twice = server.ask(f"{address}?queries={queries}&queries={queries}")
    assert list(same_value_twice.json) == ["a"]


@pytest.mark.parametrize("kind", ["preview", "view"])
def test_a_preview_of_no_company_names_the_fault(server: Server, address: str, kind: str) -> None:
    """E1"""
    unknown_country = server.ask(f"{address}/{kind}/XX:1")
    without_country = server.ask(f"{address}/{kind}/552100554")

    assert (unknown_country.status, unknown_country.code) == (400, "pays_inconnu")
    assert (without_country.status, without_country.code) == (400, "parametre_invalide")
    assert "'552100554' n'est pas de la forme" in without_country.json["erreur"]["message"]


def test_an_answer_can_be_pinned_to_a_generation(server: Server, address: str) -> None:
    """X0.2"""
    current = server.ask("/readyz").json["generation"]
    queries = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    extend = quote('{"ids": ["FR:552100554"], "properties": [{"id": "ville"}]}')
    paths = [
        f"?queries={queries}", f"?extend={extend}", "/suggest/entity?prefix=fitl&callback=f",
        f"/preview/{GENERALE_ID}",
    ]  # fmt: skip

    for path in paths:
        pinned = f"{address}{path}{'&' if '?' in path else '?'}version="
        assert server.ask(f"{pinned}{current}").body == server.ask(f"{address}{path}").body
        assert server.ask(f"{pinned}0123456789abcdef").code == "version_expiree"
        assert server.ask(f"{pinned}x").code == "parametre_invalide"


def test_an_address_can_be_revoked_opens_nothing_else_and_is_never_logged(server: Server) -> None:
    """Its token is not a key of the API, and a token that differs in a letter is refused"""
    customer = server.customer("data")
    path = create_address(server, customer)
    token = path.rpartition("/")[2]
    assert send_form(server, path, queries={"q": MUELLER_QUERY}).status == 200
    key = {"Authorization": f"Bearer {token}"}
    assert server.ask("/api/v1/compte", headers=key).status == 401
    (address_row,) = server.store.read(account_rows.keys_of, customer.account, ADDRESSES).result()
    server.store.submit(
        account_rows.revoke_key, address_row.id, iso(server.context.now()), ADDRESSES
    ).result()

    assert send_form(server, path, queries={"q": MUELLER_QUERY}).code == "cle_invalide"
    assert server.ask(f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}").code == "cle_invalide"
    log = b"".join(server.lines)
    assert token.encode() not in log
    assert b"/api/v1/reconciliation/soc_rec_" in log


# -- requests of OpenRefine: 3.6.2, and 3.10 by its source -------------------------------------------


def send_as_openrefine(server: Server, path: str, queries: str) -> Reply:
    """Send a form as the Java client of OpenRefine does: encoded by java.net.URLEncoder, with its headers."""
    headers = {
        "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
        "Accept-Encoding": "gzip, x-gzip, deflate",
        "Connection": "keep-alive",
        "User-Agent": "OpenRefine/3.6.2 [62de008]",
    }
    return server.ask(path, "POST", headers, body=b"queries=" + quote_plus(queries).encode())


def test_openrefine_guesses_the_types_of_a_column(server: Server, address: str) -> None:
    queries = '{"q0":{"query":"Mueller Maschinenbau","limit":3},"q1":{"query":"Müller","limit":1}}'
    results = valid_body(send_as_openrefine(server, address, queries), "results")

    assert 1 <= len(results["q0"]["result"]) <= 3
    assert len(results["q1"]["result"]) == 1
    assert {candidate["type"][0]["id"] for candidate in results["q0"]["result"]} == {"societe"}


def test_openrefine_sends_cells_that_are_numbers_times_or_reconciled_elsewhere(
    server: Server, address: str
) -> None:
    """A cell that OpenRefine matched with Wikidata counts as its name, and one matched here as its identifier."""
    queries = (
        '{"q0":{"query":"Mueller Maschinenbau","type":"societe","type_strict":"should","properties":['
        '{"pid":"iso2","v":{"id":"Q183","name":"Germany"}},{"pid":"code_postal","v":80331.0},'
        '{"pid":"date_creation","v":"1998-03-04T00:00:00Z"}]},'
        '"q1":{"query":"?","properties":[{"pid":"id","v":{"id":"FR:552100554","name":"Orléans"}}]}}'
    )
    results = valid_body(send_as_openrefine(server, address, queries), "results")

    assert results["q0"]["result"][0]["id"] == "DE:F1103R_HRB218916"
    assert [candidate["id"] for candidate in results["q1"]["result"]] == [GENERALE_ID]


@pytest.mark.parametrize("limit", ["0", "-1", "true", '"3"', "1.5"])
def test_a_limit_that_is_not_a_whole_number_over_0_is_refused(
    server: Server, address: str, limit: str
) -> None:
    reply = send_as_openrefine(server, address, f'{{"q0":{{"query":"Fitlab","limit":{limit}}}}}')

    assert reply.code == "parametre_invalide"


@pytest.mark.parametrize("name", ["queries", "extend"])
def test_an_empty_parameter_counts_as_an_absent_one(
    server: Server, address: str, name: str
) -> None:
    """Contract B"""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    get_reply = server.ask(f"{address}?{name}=")
    post_reply = server.ask(address, "POST", form, body=f"{name}=".encode())

    assert (get_reply.status, post_reply.status) == (200, 200)
    assert "versions" in get_reply.json
    assert "versions" in post_reply.json
    assert server.ask(f"{address}/properties?limit=").status == 200


def test_an_exhausted_quota_has_no_retry_after(server: Server) -> None:
    """With Retry-After, OpenRefine would wait for hours without a message to its user."""
    customer = server.customer("free")
    path = create_address(server, customer)
    # 1 000 queries are 100 calls, and the plan allows 50 a day.
    batch = orjson.dumps({f"q{i}": {"query": "Fitlab"} for i in range(1_000)}).decode()
    reply = send_as_openrefine(server, path, batch)

    assert (reply.status, reply.code) == (429, "quota_api")
    assert "Retry-After" not in reply.headers


def test_integers_of_more_than_32_bits_are_sent_as_floats() -> None:
    assert reconciliation.cell(2**31 - 1) == [{"int": 2**31 - 1}]
    assert reconciliation.cell(2**31) == [{"float": 2**31}]
