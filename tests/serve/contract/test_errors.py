"""The table of errors (§7, G6, G7)."""

import inspect
from pathlib import Path

import orjson

from serve.contract import errors
from serve.contract.error_codes import CODES as CODES_DECLARED
from serve.contract.error_codes import RESERVED
from serve.contract.errors import ApiError

SERVE = Path(errors.__file__).parents[1]

# §7, contract G7, and for G10: code -> status.
CODES = {
    "pays_inconnu": 400, "secteur_inconnu": 400, "compte_requis": 401, "credits_epuises": 402,
    "module_non_inclus": 403, "essai_epuise": 403, "quota_api": 429, "quota_export": 429,
    "trop_de_requetes": 429, "indisponible": 503, "config": 503,
    "parametre_invalide": 400, "parametre_inconnu": 400, "identifiant_invalide": 400,
    "societe_introuvable": 404, "route_inconnue": 404, "methode_non_autorisee": 405,
    "cle_invalide": 401, "corps_invalide": 400, "corps_trop_grand": 413, "uri_trop_longue": 414,
    "type_non_supporte": 415, "erreur_interne": 500,
    "version_expiree": 409, "ligne_invalide": 400,
}  # fmt: skip

QUOTA = {"type": "appels_jour", "limite": 50, "utilise": 50, "restant": 0,
         "reinitialisation": "2026-11-22T00:00:00Z"}  # fmt: skip
ALL = [
    errors.pays_inconnu(["XX"], {}, secteurs_inconnus=["X"], sous_secteurs_inconnus=["Y"]),
    errors.secteur_inconnu(["X"], {}, ["Y"]),
    errors.secteur_requis(),
    errors.parametre_invalide("tri", "inconnu", valeurs=["nom"]),
    errors.parametre_inconnu(["x"], ["pays"], {}),
    errors.identifiant_invalide("vide"),
    errors.corps_invalide("ce n'est pas du JSON"),
    errors.ligne_invalide("vide"),
    errors.lignes_d_un_visiteur(2),
    errors.cle_invalide(),
    errors.compte_requis(refused=False),
    errors.credits_epuises(5, 0, "2026-12-01T00:00:00Z"),
    errors.module_non_inclus("marchés", "integral"),
    errors.essai_epuise(3, "corporate", "2026-12-01T00:00:00Z"),
    errors.societe_introuvable("FR", "1"),
    errors.route_inconnue(),
    errors.methode_non_autorisee("PUT", "GET"),
    errors.version_expiree("0123456789abcdef", ["fedcba9876543210"]),
    errors.trop_ancienne("0123456789abcdef", "fedcba9876543210"),
    errors.corps_trop_grand(65_536),
    errors.trop_de_lignes(1_001, 1_000),
    errors.uri_trop_longue(65_536),
    errors.type_non_supporte("text/csv"),
    errors.quota_api(QUOTA, 60, "Données : 1000 appels"),
    errors.quota_export(QUOTA, 60, "Données : 40 exports"),
    errors.trop_de_requetes(QUOTA, 60, "minute"),
    errors.exports_simultanes(QUOTA, 5),
    errors.erreur_interne("id-1"),
    errors.indisponible(errors.NO_GENERATION),
    errors.config("paiement"),
]


def test_every_code_has_its_status() -> None:
    """§7, G7"""
    assert {error.code: error.status for error in ALL} == CODES


def test_every_code_has_a_function_of_its_name() -> None:
    """§7, G7"""
    functions = {name for name, _ in inspect.getmembers(errors, inspect.isfunction)}

    assert functions >= set(CODES)
    others = {name for name in functions if name[0] != "_"} - set(CODES)
    assert others == {
        "secteur_requis", "exports_simultanes", "trop_ancienne", "trop_de_lignes",
        "lignes_d_un_visiteur",
    }  # fmt: skip


def test_codes_that_no_route_raises_are_marked_reserved() -> None:
    """§7"""
    raised = "".join(path.read_text(encoding="utf-8") for path in SERVE.rglob("*.py"))

    assert {code for code in CODES if f"errors.{code}(" not in raised} == RESERVED


def test_the_extra_keys_of_each_code_are_those_it_declares() -> None:
    """G6: the table that the documents are made of cannot promise more or less than is sent."""
    sent: dict[str, set[str]] = {}
    for error in ALL:
        sent.setdefault(error.code, set()).update(error.extra)

    assert sent == {code: set(declared.extra) for code, declared in CODES_DECLARED.items()}


def test_an_error_has_one_shape_with_extra_keys_beside_it() -> None:
    """§2.6, G6"""
    for error in ALL:
        body = orjson.loads(error.body)
        assert list(body["erreur"]) == ["code", "message"]
        assert body["erreur"]["message"]
    assert orjson.loads(errors.quota_api(QUOTA, 60, "Données : 1000 appels").body)["quota"] == QUOTA


def test_errors_that_pass_say_when_to_come_back() -> None:
    """§7, G9, D4"""
    assert all("Retry-After" in e.headers for e in ALL if e.status in (429, 503))


def test_a_message_shows_the_first_values_of_many() -> None:
    error = errors.pays_inconnu([f"X{number}" for number in range(50)], {})

    assert "X9, …" in error.message
    assert "X10" not in error.message
    assert len(error.extra["pays_inconnus"]) == 50


def test_an_error_is_an_exception_that_says_itself() -> None:
    assert str(ApiError("config", "phrase")) == "503 config: phrase"
