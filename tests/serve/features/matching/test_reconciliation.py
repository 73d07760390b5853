"""/api/v1/reconciliation: the Reconciliation Service API 0.2, asked as OpenRefine asks it (extensions X5)."""

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
from tests.serve.client import PLANS, Customer, Reply, Served
from tests.serve.features.matching.reconciliation_shapes import shape

PATH = "/api/v1/reconciliation"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MULLER = {
    "query": "Mueller Maschinenbau",
    "type": "societe",
    "type_strict": "should",
    "properties": [{"pid": "pays", "v": "Allemagne"}],
}
GENERALE = "FR:552100554"


def valid(reply: Reply, name: str) -> Any:
    """The body of a reply, which must have its shape."""
    assert reply.status == 200, reply.body
    shape(name).validate(reply.json)
    return reply.json


@pytest.fixture(scope="module")
def customer(served: Served) -> Customer:
    return served.customer("data")


@pytest.fixture(scope="module")
def address(served: Served, customer: Customer) -> str:
    """A reconciliation address of the customer."""
    return made(served, customer)


def made(served: Served, customer: Customer) -> str:
    now = served.context.now()
    _, token = create_key(served.store, customer.account, PLANS, now, kind=ADDRESSES).result(10)
    return f"{PATH}/{token}"


def send(served: Served, path: str, **given: Any) -> Reply:
    body = urlencode({name: orjson.dumps(value).decode() for name, value in given.items()})
    return served.ask(path, "POST", FORM, body=body.encode())


def test_the_manifest_describes_the_service_of_its_own_address(
    served: Served, address: str
) -> None:
    for path, place in ((address, address), (PATH, f"{PATH}/visiteur")):
        found = valid(served.ask(path), "manifest")

        assert found["versions"] == ["0.2"]
        assert found["view"]["url"].endswith("/reconciliation/visiteur/view/{{id}}")
        assert found["suggest"]["entity"]["service_url"].endswith(place)
        assert found["batchSize"] == (2 if path == PATH else 50)
        assert served.ask(f"{path}/").json == found


def test_the_manifest_for_a_key_has_the_batches_of_its_account(
    served: Served, customer: Customer
) -> None:
    reply = served.ask(PATH, headers=customer.headers)
    found = valid(reply, "manifest")

    assert (found["batchSize"], found["name"]) == (50, "Sociétés européennes")
    assert reply.headers["ETag"] != served.ask(PATH).headers["ETag"]
    assert reply.headers["Vary"].startswith("Authorization")
    refused = served.ask(PATH, headers={"Authorization": "Bearer soc_live_x"})
    assert (refused.status, refused.json["batchSize"]) == (200, 2)


@pytest.mark.parametrize(
    "path", ["", "/properties", "/suggest/type", "/suggest/property?prefix=v", "/suggest/entity?prefix=fitl",
             f"/preview/{quote(GENERALE, safe='')}"]
)  # fmt: skip
def test_what_is_asked_by_an_address_has_a_tag_and_is_sent_once(
    served: Served, customer: Customer, address: str, path: str
) -> None:
    """X0.2: ETag and 304"""
    got = served.ask(f"{address}{path}")
    before = served.used(customer)
    again = served.ask(f"{address}{path}", headers={"If-None-Match": got.headers["ETag"]})
    after = served.used(customer)
    head = served.ask(f"{address}{path}", "HEAD")

    assert (got.status, again.status, again.body) == (200, 304, b"")
    assert head.headers["ETag"] == got.headers["ETag"]
    assert got.headers["Cache-Control"] == "private, no-cache"
    assert after == before


def test_a_batch_that_was_answered_is_not_counted_again(
    served: Served, customer: Customer, address: str
) -> None:
    text = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    got = served.ask(f"{address}?queries={text}")
    other = served.ask(f"{address}?queries={text.replace('Fitlab', 'Fitla')}")
    before = served.used(customer)
    known = {"If-None-Match": got.headers["ETag"]}

    assert served.ask(f"{address}?queries={text}", headers=known).status == 304
    assert served.used(customer) == before
    assert other.headers["ETag"] != got.headers["ETag"]
    assert "ETag" not in send(served, address, queries={"q": MULLER}).headers


def test_queries_are_answered_and_counted_as_lines(
    served: Served, customer: Customer, address: str
) -> None:
    before = served.used(customer)
    queries = {f"q{i}": MULLER for i in range(11)}
    shape("queries").validate(queries)
    found = valid(send(served, address, queries=queries), "results")

    assert list(found) == list(queries)
    best = found["q0"]["result"][0]
    assert (best["id"], best["type"]) == (
        "DE:F1103R_HRB218916",
        [{"id": "societe", "name": "Société"}],
    )
    assert 50 < best["score"] <= 100
    assert isinstance(best["match"], bool)
    assert served.used(customer) == before + 2


def test_a_batch_may_be_sent_as_a_query_string(served: Served, address: str) -> None:
    text = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    found = served.ask(f"{address}?queries={text}").json

    assert found["q0"]["result"][0]["id"] == "FR:309634954"


def test_a_visitor_has_two_queries_answered(served: Served) -> None:
    reply = send(served, PATH, queries={f"q{i}": MULLER for i in range(3)})
    found = valid(reply, "results")

    assert [bool(one["result"]) for one in found.values()] == [True, True, False]
    assert found["q2"]["erreur"]["code"] == "compte_requis"


def test_a_query_without_anything_to_go_by_is_told_in_its_place(
    served: Served, address: str
) -> None:
    reply = send(served, address, queries={"a": {"query": " ?"}, "b": MULLER})
    found = valid(reply, "results")

    assert found["a"] == {"result": [], "erreur": found["a"]["erreur"]}
    assert found["a"]["erreur"]["code"] == "ligne_invalide"
    assert found["b"]["result"]


@pytest.mark.parametrize(
    "queries", [[], {"q": 1}, {"q": {"query": "A", "properties": ["couleur"]}}]
)  # fmt: skip
def test_what_is_no_batch_is_refused(served: Served, address: str, queries: Any) -> None:
    assert send(served, address, queries=queries).code == "parametre_invalide"


@pytest.mark.parametrize(
    ("extend", "named"),
    [
        ({"ids": "UK:1", "properties": []}, "`ids` :"),
        ({"ids": []}, "`properties` :"),
        ({}, "`ids`, `properties` :"),
    ],
)
def test_what_is_no_array_is_named(
    served: Served, address: str, extend: dict[str, Any], named: str
) -> None:
    reply = send(served, address, extend=extend)

    assert (reply.code, reply.json["parametre"]) == ("parametre_invalide", "extend")
    assert f" {named} il faut un tableau" in reply.json["erreur"]["message"]


def test_fields_of_companies_are_had_with_the_rights_of_the_plan(
    served: Served, address: str
) -> None:
    asked = {"ids": [GENERALE, "FR:absente"], "properties": [{"id": "ca_eur"}, {"id": "email"}]}
    shape("extension query").validate(asked)
    found = valid(send(served, address, extend=asked), "extension")
    every = [{"id": field.champ} for field in company_fields.fields()]
    whole = {"ids": [GENERALE, "EE:12652512"], "properties": every}
    valid(send(served, address, extend=whole), "extension")
    visitor = send(served, PATH, extend=asked).json

    assert [one["id"] for one in found["meta"]] == ["ca_eur", "email"]
    assert found["rows"][GENERALE]["ca_eur"] == [{"float": 3_250_000_000.5}]
    assert world.CONTACT in found["rows"][GENERALE]["email"][0]["str"]
    assert found["rows"]["FR:absente"] == {"ca_eur": [], "email": []}
    assert visitor["rows"][GENERALE]["email"] == []


def test_a_field_asked_for_many_times_is_read_once(served: Served) -> None:
    """A body of 1 MiB may name fields 78 000 times, for 1 000 companies: seconds of work for a visitor."""
    asked = {"ids": [GENERALE, "UK:1"], "properties": [{"id": "nom"}, {"id": "ville"}] * 500}
    found = valid(send(served, PATH, extend=asked), "extension")

    assert [one["id"] for one in found["meta"]] == ["nom", "ville"]
    assert list(found["rows"][GENERALE]) == ["nom", "ville"]


def test_companies_properties_and_types_are_suggested(served: Served, address: str) -> None:
    def asked(path: str, name: str) -> Any:
        return valid(served.ask(f"{address}/{path}"), name)

    entities = asked("suggest/entity?prefix=fitl", "suggested entities")["result"]
    fields = asked("suggest/property?prefix=vil", "suggested properties")["result"]
    types = asked("suggest/type?prefix=so", "suggested types")["result"]
    proposed = asked("properties?type=societe", "proposed properties")

    assert entities[0]["id"] == "FR:309634954"
    assert [one["id"] for one in fields] == ["ville"]
    assert asked("suggest/property?prefix=cod", "suggested properties")["result"][0] == {
        "id": "code_postal", "name": "Code postal", "description": "pour rapprocher",
    }  # fmt: skip
    assert types[0]["id"] == "societe"
    assert len(proposed["properties"]) > 30
    some = asked("properties?type=societe&limit=3", "proposed properties")
    assert (some["properties"], some["limit"]) == (proposed["properties"][:3], 3)
    assert served.ask(f"{address}/properties?limit=0").code == "parametre_invalide"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("manifest", {"versions": ["0.1"], "name": "A"}),
        ("results", {"q0": {"result": [{"id": "A", "name": "B"}]}}),
        ("suggested types", {"result": [{"id": "societe"}]}),
        ("extension", {"meta": [], "rows": {"A": {"nom": "B"}}}),
    ],
)
def test_a_shape_refuses_what_is_wrong(name: str, wrong: Any) -> None:
    with pytest.raises(ValidationError):
        shape(name).validate(wrong)


def test_a_company_is_shown_in_a_few_lines_and_on_its_page(served: Served, address: str) -> None:
    preview = served.ask(f"{address}/preview/{quote(GENERALE, safe='')}")
    view = served.ask(f"{address}/view/{GENERALE}")

    assert preview.headers["Content-Type"].startswith("text/html")
    assert b"<h3>Soci" in preview.body and world.CONTACT.encode() not in preview.body
    # OpenRefine shows a preview in a frame of its page, and follows a view.
    assert "X-Frame-Options" not in preview.headers
    assert preview.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors *"
    assert (view.status, view.headers["Location"]) == (303, "/societes/FR/552100554")
    assert served.ask(f"{address}/preview/FR:absente").code == "societe_introuvable"


def test_previews_and_views_are_free(served: Served) -> None:
    """X0.6: a client asks for previews by itself"""
    customer = served.customer("data")
    path = made(served, customer)

    statuses = [
        served.ask(f"{path}/{shown}").status
        for shown in (f"preview/{GENERALE}", f"view/{GENERALE}", "preview/FR:absente")
    ]

    assert statuses == [200, 303, 404]
    assert served.used(customer) == 0


@pytest.mark.parametrize("shown", ["preview", "view"])
def test_an_invalid_key_is_told_as_json_where_the_answer_is_none(
    served: Served, shown: str
) -> None:
    """§7: all errors have the shape of 2.6"""
    refused = {"Authorization": "Bearer soc_live_x"}

    reply = served.ask(f"{PATH}/visiteur/{shown}/{GENERALE}", headers=refused)

    assert (reply.status, reply.code, list(reply.json)) == (401, "cle_invalide", ["erreur"])
    assert reply.headers["Content-Type"].startswith("application/json")
    assert "Location" not in reply.headers


@pytest.mark.parametrize(
    "path", ["?foo=bar", "/properties?foo=1", "/suggest/entity?prefix=roy&pays=zz",
             f"/preview/{GENERALE}?x=1", f"/view/{GENERALE}?x=1", "/suggest/type?foo=1"]
)  # fmt: skip
def test_an_unknown_parameter_is_refused(served: Served, address: str, path: str) -> None:
    """B6: nothing is ignored, but what clients of the protocol send beside"""
    assert served.ask(f"{address}{path}").code == "parametre_inconnu"


@pytest.mark.parametrize("sent", ["=", "x=", "=1", "queries=&x=+", "x"])
def test_an_unknown_parameter_without_a_value_is_refused_too(
    served: Served, address: str, sent: str
) -> None:
    """schemathesis: the body `=` was answered as an empty form"""
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    replies = [
        served.ask(f"{address}?{sent}"),
        served.ask(address, "POST", form, body=sent.encode()),
    ]

    assert [reply.code for reply in replies] == ["parametre_inconnu"] * 2


def test_an_answer_can_be_pinned_to_a_generation(served: Served, address: str) -> None:
    """X0.2"""
    current = served.ask("/readyz").json["generation"]
    queries = quote(orjson.dumps({"q0": {"query": "Fitlab"}}).decode())
    extend = quote('{"ids": ["FR:552100554"], "properties": [{"id": "ville"}]}')
    paths = [
        f"?queries={queries}", f"?extend={extend}", "/suggest/entity?prefix=fitl&callback=f",
        f"/preview/{GENERALE}",
    ]  # fmt: skip

    for path in paths:
        pinned = f"{address}{path}{'&' if '?' in path else '?'}version="
        assert served.ask(f"{pinned}{current}").body == served.ask(f"{address}{path}").body
        assert served.ask(f"{pinned}0123456789abcdef").code == "version_expiree"
        assert served.ask(f"{pinned}x").code == "parametre_invalide"


def test_an_address_can_be_revoked_opens_nothing_else_and_is_never_logged(served: Served) -> None:
    customer = served.customer("data")
    path = made(served, customer)
    token = path.rpartition("/")[2]
    assert send(served, path, queries={"q": MULLER}).status == 200
    key = {"Authorization": f"Bearer {token}"}
    assert served.ask("/api/v1/compte", headers=key).status == 401
    (address,) = served.store.read(account_rows.keys_of, customer.account, ADDRESSES).result()
    served.store.submit(
        account_rows.revoke_key, address.id, iso(served.context.now()), ADDRESSES
    ).result(10)

    assert send(served, path, queries={"q": MULLER}).code == "cle_invalide"
    assert served.ask(f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}").code == "cle_invalide"
    logged = b"".join(served.lines)
    assert token.encode() not in logged
    assert b"/api/v1/reconciliation/soc_rec_" in logged


# -- as OpenRefine 3.6.2 and the source of 3.10 send it ---------------------------------------------


def openrefine(served: Served, path: str, queries: str) -> Reply:
    """What its Java client posts: a form in the encoding of java.net.URLEncoder, with its own headers."""
    headers = {
        "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
        "Accept-Encoding": "gzip, x-gzip, deflate",
        "Connection": "keep-alive",
        "User-Agent": "OpenRefine/3.6.2 [62de008]",
    }
    return served.ask(path, "POST", headers, body=b"queries=" + quote_plus(queries).encode())


def test_openrefine_guesses_the_types_of_a_column(served: Served, address: str) -> None:
    queries = '{"q0":{"query":"Mueller Maschinenbau","limit":3},"q1":{"query":"Müller","limit":1}}'
    found = valid(openrefine(served, address, queries), "results")

    assert 1 <= len(found["q0"]["result"]) <= 3
    assert len(found["q1"]["result"]) == 1
    assert {one["type"][0]["id"] for one in found["q0"]["result"]} == {"societe"}


def test_openrefine_sends_cells_that_are_numbers_times_or_reconciled_elsewhere(
    served: Served, address: str
) -> None:
    """A country that was matched with Wikidata is its name, a company that was matched here its identifier."""
    queries = (
        '{"q0":{"query":"Mueller Maschinenbau","type":"societe","type_strict":"should","properties":['
        '{"pid":"iso2","v":{"id":"Q183","name":"Germany"}},{"pid":"code_postal","v":80331.0},'
        '{"pid":"date_creation","v":"1998-03-04T00:00:00Z"}]},'
        '"q1":{"query":"?","properties":[{"pid":"id","v":{"id":"FR:552100554","name":"Orléans"}}]}}'
    )
    found = valid(openrefine(served, address, queries), "results")

    assert found["q0"]["result"][0]["id"] == "DE:F1103R_HRB218916"
    assert [one["id"] for one in found["q1"]["result"]] == [GENERALE]


@pytest.mark.parametrize("limit", ["0", "-1", "true", '"3"', "1.5"])
def test_a_limit_that_is_no_number_over_0_is_refused(
    served: Served, address: str, limit: str
) -> None:
    reply = openrefine(served, address, f'{{"q0":{{"query":"Fitlab","limit":{limit}}}}}')

    assert reply.code == "parametre_invalide"


@pytest.mark.parametrize("name", ["queries", "extend"])
def test_an_empty_parameter_counts_as_an_absent_one(
    served: Served, address: str, name: str
) -> None:
    """Contract B"""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    got = served.ask(f"{address}?{name}=")
    sent = served.ask(address, "POST", form, body=f"{name}=".encode())

    assert (got.status, sent.status) == (200, 200)
    assert "versions" in got.json
    assert "versions" in sent.json
    assert served.ask(f"{address}/properties?limit=").status == 200


def test_a_client_is_not_told_to_sleep_until_midnight(served: Served) -> None:
    """OpenRefine sleeps for as long as Retry-After says, and shows nothing meanwhile."""
    customer = served.customer("free")
    path = made(served, customer)
    batch = orjson.dumps({f"q{i}": {"query": "Fitlab"} for i in range(1_000)}).decode()
    reply = openrefine(served, path, batch)

    assert (reply.status, reply.code) == (429, "quota_api")
    assert "Retry-After" not in reply.headers


def test_integers_of_more_than_32_bits_are_sent_as_numbers_with_a_fraction() -> None:
    assert reconciliation.cell(2**31 - 1) == [{"int": 2**31 - 1}]
    assert reconciliation.cell(2**31) == [{"float": 2**31}]
