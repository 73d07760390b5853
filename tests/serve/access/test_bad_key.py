"""Invalid keys on routes where keys count (A1, A4, D5)."""

import pytest

from tests.serve.client import Served

KEY = {"Authorization": "Bearer soc_live_" + "x" * 36}


@pytest.mark.parametrize(
    "header",
    ["Bearer soc_live_abc", "bearer abc", "Bearer ", "Bearer", "", "Basic dTpw", "soc_live_abc",
     "Token x", "Bearer a b"],
)  # fmt: skip
def test_every_bad_key_gets_the_same_401(served: Served, header: str) -> None:
    """A4"""
    reply = served.ask("/api/v1/societes", headers={"Authorization": header})

    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert reply.body == served.ask("/api/v1/societes", headers=KEY).body
    assert reply.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize(
    "path", ["/api/v1/societes?pays=FR&limit=1", "/api/v1/societes/EE/12652512"]
)
def test_the_401_holds_the_complete_answer_of_a_visitor(served: Served, path: str) -> None:
    """A1, §4.4, §4.5, §5 rule 4"""
    visitor = served.ask(path)
    refused = served.ask(path, headers=KEY)

    body = refused.json
    erreur = body.pop("erreur")
    assert refused.status == 401
    assert body == visitor.json
    assert (erreur["code"], list(erreur)) == ("cle_invalide", ["code", "message"])
    assert "l'appel est servi au niveau visiteur" in erreur["message"]


def test_the_401_is_not_kept_and_has_no_tag(served: Served) -> None:
    """A1"""
    headers = served.ask("/api/v1/societes/GB/08209948", headers=KEY).headers

    assert headers["Cache-Control"] == "no-store"
    assert {"ETag", "Content-Location", "Link"}.isdisjoint(headers)
    assert (headers["X-Plafond-Resultats"], headers["X-Quota-Limit"]) == ("2", "0")
    assert headers["X-Donnees-Version"]


def test_a_refused_key_never_gets_a_304(served: Served) -> None:
    """A1"""
    tag = served.ask("/api/v1/societes").headers["ETag"]

    for tags in (tag, "*"):
        reply = served.ask("/api/v1/societes", headers={**KEY, "If-None-Match": tags})
        assert (reply.status, reply.json["total"]) == (401, 41)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/api/v1/societes?pays=XX", "XX"),
        ("/api/v1/societes?inconnu=1", "inconnu"),
        ("/api/v1/societes?q=%FF", "UTF-8"),
        ("/api/v1/societes/FR/absente", "absente"),
        ("/api/v1/societes/XX/1", "XX"),
    ],
)
def test_the_key_is_checked_before_the_rest_and_the_rest_is_told_too(
    served: Served, path: str, told: str
) -> None:
    """D5: key before parameters"""
    reply = served.ask(path, headers=KEY)

    visitor = served.ask(path).json
    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert told in reply.json["erreur"]["message"]
    assert "servi" not in reply.json["erreur"]["message"]  # there is nothing that it could be
    assert {name: reply.json[name] for name in visitor if name != "erreur"} == {
        name: value for name, value in visitor.items() if name != "erreur"
    }


def test_route_and_method_come_before_the_key(served: Served) -> None:
    """D5"""
    assert served.ask("/api/v1/inconnue", headers=KEY).status == 404
    assert served.ask("/api/v1/societes", "DELETE", headers=KEY).status == 405
    assert served.ask("/api/v1/societes", "OPTIONS", headers=KEY).status == 204


def test_health_does_not_look_at_keys(served: Served) -> None:
    assert served.ask("/healthz", headers=KEY).status == 200
