"""GET /api/v1/compte (D15)."""

import pytest

from quota.ledger import account_rows, calls
from quota.periods import iso
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Server

COMPTE = "/api/v1/compte"


def test_an_account_sees_its_plan_its_counters_and_its_keys(server: Server) -> None:
    """D15: after a record and a search, with a key in use and a revoked key"""
    customer = server.customer("data")
    server.store.submit(calls.add_credits, customer.account, 40).result()
    (first_key,) = server.store.read(account_rows.keys_of, customer.account).result()
    revoked_key, _ = create_key(
        server.store, customer.account, PLANS, server.context.now(), label="Atelier d'été"
    ).result()
    server.store.submit(account_rows.revoke_key, revoked_key.id, iso(server.context.now())).result(
        10
    )
    server.ask("/api/v1/societes/FR/552100554", headers=customer.headers)
    server.ask("/api/v1/societes", headers=customer.headers)

    reply = server.ask(COMPTE, headers=customer.headers)

    body = reply.json
    assert (reply.status, reply.headers["Cache-Control"]) == (200, "no-store")
    assert (body["plan"], body["plan_souscrit"], body["outil_api"]) == ("data", "data", True)
    assert body["compte"]["id"] == customer.account
    assert body["limites"] == {
        "resultats_par_recherche": 200, "lignes_par_appel": 200,
        "appels_api_par_minute": 1_000_000,  # a burst limit that no test reaches
        "appels_api_par_jour": 1_000,
        "exports_par_mois": 40, "lignes_par_export": 2_500,
        "societes_avec_comptes_par_export": 100, "credits_par_mois": 5_000, "cles_actives": 3,
        "coordonnees": True, "etats_financiers": True, "essais_par_mois": 3,
    }  # fmt: skip
    appels, exports = body["compteurs"]["appels_jour"], body["compteurs"]["exports_mois"]
    assert (appels["limite"], appels["utilise"], appels["restant"]) == (1_000, 2, 998)
    assert (exports["limite"], exports["utilise"], exports["restant"]) == (40, 0, 40)
    assert body["compteurs"]["essais_mois"]["limite"] == 3
    assert appels["reinitialisation"].endswith("T00:00:00Z")
    assert exports["reinitialisation"].endswith("-01T00:00:00Z")
    credits = body["credits"]
    assert credits.pop("reinitialisation") == exports["reinitialisation"]
    # The record cost 5 credits, and 40 were added as a pack.
    assert credits == {"dotation": 5_000, "utilises": 5, "packs": 40, "restants": 5_035}
    assert body["offre_suivante"]["plan"] == "corporate"
    keys = {key["id"]: key for key in body["cles"]}
    assert set(keys) == {first_key.id, revoked_key.id}
    assert keys[first_key.id]["fin"] == customer.key[-4:]
    assert keys[first_key.id]["revocation"] is None
    assert keys[revoked_key.id]["revocation"]
    assert keys[revoked_key.id]["libelle"] == "Atelier d'été"
    assert customer.key.encode() not in reply.body


def test_without_the_tool_the_plan_of_the_key_differs_from_the_paid_plan(server: Server) -> None:
    """A7, D15: calls and credits are those of `free`, the number of keys is that of `corporate`"""
    customer = server.customer("corporate", api_tool=False)

    body = server.ask(COMPTE, headers=customer.headers).json

    assert (body["plan"], body["plan_souscrit"], body["outil_api"]) == ("free", "corporate", False)
    assert body["limites"]["appels_api_par_jour"] == 50
    assert body["limites"]["cles_actives"] == 10
    assert body["credits"]["dotation"] == 250


def test_reading_the_account_is_free(server: Server) -> None:
    """D15, D1"""
    customer = server.customer("free")

    replies = [server.ask(COMPTE, headers=customer.headers) for _ in range(3)]

    assert {reply.headers["X-Quota-Used"] for reply in replies} == {"0"}
    assert server.calls_used(customer) == 0


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        ({}, "Bearer"),
        ({"Authorization": "Bearer soc_live_x"}, 'Bearer error="invalid_token"'),
        ({"Authorization": "Basic dTpw"}, 'Bearer error="invalid_token"'),
    ],
)
def test_without_a_valid_key_there_is_no_account(
    server: Server, headers: dict[str, str], challenge: str
) -> None:
    """As A3, §7"""
    reply = server.ask(COMPTE, headers=headers)

    assert (reply.status, reply.code) == (401, "compte_requis")
    assert reply.headers["WWW-Authenticate"] == challenge
    assert reply.headers["Cache-Control"] == "no-store"


def test_the_account_has_no_parameters(server: Server) -> None:
    """B6: so an unknown one is an error, as on any route"""
    customer = server.customer("free")

    reply = server.ask(f"{COMPTE}?x=1", headers=customer.headers)

    assert (reply.status, reply.code) == (400, "parametre_inconnu")


def test_other_origins_may_read_the_account_and_it_has_no_etag(server: Server) -> None:
    """G2"""
    customer = server.customer("free")

    headers = server.ask(COMPTE, headers=customer.headers).headers

    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "ETag" not in headers
