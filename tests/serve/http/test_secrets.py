"""Errors repeat values of the request, except the keys in them (contract A5; SECURITY.md)."""

from collections.abc import Mapping

import orjson
import pytest

from tests.serve.client import Server
from tests.serve.surfaces.site.visitor import FORM, HTML

# The secret part of each key. In KEYS, the prefix is plain or percent-encoded, also several times.
SECRET = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
KEYS = [f"soc_live_{SECRET}", f"soc_rec_{SECRET}", f"soc_lien_{SECRET}", f"SOC%5Flive%5F{SECRET}"]
KEYS += [f"s%25256fc%25255flive%25255f{SECRET}", f"%%37%33oc_rec_{SECRET}"]
PATHS = [
    "/api/v1/identifiants/{}", "/api/v1/societes/FR/{}", "/api/v1/societes/{}/1", "/api/v1/{}", "/{}", "/docs/{}",
    "/api/v1/reconciliation/{}/x", "/api/v1/reconciliation/{}", "/invitation/{}/x", "/invitation/{}",
    "/mot-de-passe/{}", "/api/v1/reconciliation/visiteur/view/{}", "/api/v1/societes?{}=1",
    "/api/v1/societes?pays={}", "/api/v1/societes?secteur={}", "/api/v1/societes?ca_min={}", "/api/v1/societes?tri={}",
    "/api/v1/societes?version={}", "/api/v1/societes?ids={}", "/api/v1/societes?forme={}&{}=2",
    "/api/v1/societes?nace={}", "/api/v1/suggestions?q=a&lang={}",
    "/api/v1/sous-secteurs?secteur=edition&sous_secteur={}",
    "/api/v1/reconciliation?queries={}", "/api/v1/reconciliation?extend={}", "/api/v1/repartition?par={}",
    "/openapi.json?{}=1", "/?pays={}", "/?{}=1", "/tarifs?{}={}", "/statut?{}=1", "/connexion?suite=x&{}=1",
]  # fmt: skip
BODIES = [
    ("/api/v1/export", {"{}": 1}), ("/api/v1/export", {"pays": "{}"}), ("/api/v1/export", {"format": "{}"}),
    ("/api/v1/rapprochement", {"{}": 1, "lignes": []}), ("/api/v1/rapprochement", {"lignes": [{"{}": "a"}]}),
    ("/api/v1/rapprochement", {"lignes": [], "colonnes": "{}"}),
    ("/api/v1/rapprochement", {"lignes": [], "version": "{}"}), ("/api/v1/modifications", {"{}": "a"}),
    ("/api/v1/modifications", {"depuis": "{}", "recherche": {}}),
    ("/api/mcp", {"jsonrpc": "2.0", "id": 1, "method": "{}"}), ("/api/mcp", {"jsonrpc": "{}"}),
    ("/api/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "{}"}}),
    ("/api/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                  "params": {"name": "search_companies", "arguments": {"{}": 1}}}),
    ("/api/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                  "params": {"name": "search_companies", "arguments": {"pays": ["{}"]}}}),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accepted", [{}, HTML])
def test_no_error_of_an_address_repeats_a_key(
    server: Server, path: str, key: str, accepted: Mapping[str, str]
) -> None:
    reply = server.ask(path.replace("{}", key), headers=accepted)

    texts = (reply.body, *(value.encode() for value in reply.headers.values()))
    if reply.status >= 400:
        assert [text for text in texts if SECRET.encode()[:8] in text] == []


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_no_error_of_a_body_repeats_a_key(
    server: Server, path: str, body: Mapping[str, object]
) -> None:
    customer = server.customer("integral", api_tool=True)
    # The key that is percent-encoded once is left out, since it is masked like those that are encoded several times.
    for key in (*KEYS[:3], *KEYS[4:]):
        body_with_key = orjson.dumps(body).replace(b"{}", key.encode())
        headers = {**customer.headers, "Content-Type": "application/json"}

        reply = server.ask(path, "POST", headers, body=body_with_key)

        assert b"err" in reply.body.lower()
        assert SECRET.encode()[:8] not in reply.body


@pytest.mark.parametrize("path", ["/compte/cles/revocation", "/compte/membres", "/inscription"])
def test_no_error_of_a_form_repeats_a_key(server: Server, path: str) -> None:
    body = f"cle={KEYS[0]}&geste={KEYS[1]}&{KEYS[2]}=1".encode()

    reply = server.ask(path, "POST", {"Content-Type": FORM, **HTML}, body=body)

    assert SECRET.encode()[:8] not in reply.body


def test_an_error_masks_a_key_and_repeats_the_other_parameters(server: Server) -> None:
    body = server.refusal(soc_live_abc="1", payz="FR")

    assert body["parametres_inconnus"] == ["soc_live_…", "payz"]
    assert "soc_live_…, payz" in body["erreur"]["message"]
