"""Invalid keys on the routes that read a key (A1, A4, D5)."""

import pytest

from tests.serve.client import Server

# A key that is too short to be valid.
MALFORMED_KEY = {"Authorization": "Bearer soc_live_" + "x" * 36}


@pytest.mark.parametrize(
    "header",
    ["Bearer soc_live_abc", "bearer abc", "Bearer ", "Bearer", "", "Basic dTpw", "soc_live_abc",
     "Token x", "Bearer a b"],
)  # fmt: skip
def test_every_bad_key_gets_the_same_401(server: Server, header: str) -> None:
    """A4"""
    reply = server.ask("/api/v1/societes", headers={"Authorization": header})

    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert reply.body == server.ask("/api/v1/societes", headers=MALFORMED_KEY).body
    assert reply.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize(
    "path", ["/api/v1/societes?pays=FR&limit=1", "/api/v1/societes/EE/12652512"]
)
def test_the_401_has_the_complete_answer_of_a_visitor(server: Server, path: str) -> None:
    """A1, §4.4, §4.5, §5 rule 4"""
    visitor = server.ask(path)
    reply = server.ask(path, headers=MALFORMED_KEY)

    body = reply.json
    erreur = body.pop("erreur")
    assert reply.status == 401
    assert body == visitor.json
    assert (erreur["code"], list(erreur)) == ("cle_invalide", ["code", "message"])
    assert "l'appel est servi au niveau visiteur" in erreur["message"]


def test_the_401_with_the_answer_of_a_visitor_is_not_cached_and_has_no_tag(server: Server) -> None:
    """A1"""
    headers = server.ask("/api/v1/societes/GB/08209948", headers=MALFORMED_KEY).headers

    assert headers["Cache-Control"] == "no-store"
    assert {"ETag", "Content-Location", "Link"}.isdisjoint(headers)
    # The limits in the headers are those of a visitor.
    assert (headers["X-Plafond-Resultats"], headers["X-Quota-Limit"]) == ("2", "0")
    assert headers["X-Donnees-Version"]


def test_an_invalid_key_never_gets_a_304(server: Server) -> None:
    """A1: a 304 would not say that the key is invalid"""
    tag = server.ask("/api/v1/societes").headers["ETag"]

    for tags in (tag, "*"):
        reply = server.ask("/api/v1/societes", headers={**MALFORMED_KEY, "If-None-Match": tags})
        assert (reply.status, reply.json["total"]) == (401, 41)  # the answer to a visitor


@pytest.mark.parametrize(
    ("path", "expected_text"),
    [
        ("/api/v1/societes?pays=XX", "XX"),
        ("/api/v1/societes?inconnu=1", "inconnu"),
        ("/api/v1/societes?q=%FF", "UTF-8"),
        ("/api/v1/societes/FR/absente", "absente"),
        ("/api/v1/societes/XX/1", "XX"),
    ],
)
def test_the_401_of_an_invalid_key_also_names_a_wrong_parameter_or_company(
    server: Server, path: str, expected_text: str
) -> None:
    """D5: key before parameters"""
    reply = server.ask(path, headers=MALFORMED_KEY)

    visitor = server.ask(path).json
    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert expected_text in reply.json["erreur"]["message"]
    assert "servi" not in reply.json["erreur"]["message"]  # the call was not served at all
    assert {name: reply.json[name] for name in visitor if name != "erreur"} == {
        name: text for name, text in visitor.items() if name != "erreur"
    }


def test_an_unknown_route_or_method_is_refused_before_the_key_is_checked(server: Server) -> None:
    """D5: otherwise the malformed key would give the status 401"""
    assert server.ask("/api/v1/inconnue", headers=MALFORMED_KEY).status == 404
    assert server.ask("/api/v1/societes", "DELETE", headers=MALFORMED_KEY).status == 405
    assert server.ask("/api/v1/societes", "OPTIONS", headers=MALFORMED_KEY).status == 204


def test_healthz_ignores_keys(server: Server) -> None:
    assert server.ask("/healthz", headers=MALFORMED_KEY).status == 200
