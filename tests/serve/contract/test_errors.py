"""The table of errors (§7, G6, G7)."""

import inspect
import re
from pathlib import Path

import orjson
import pytest

from serve.app import PRODUCT
from serve.contract import errors
from serve.contract.errors import CODES as CODES_DECLARED
from serve.contract.errors import ApiError
from serve.contract.text import Text
from tests.serve.asking import refused

SERVE = Path(errors.__file__).parents[1]

# §7, contract G7, for G10 and for extensions X2: code -> status.
CODES = {
    "forme_inconnue": 400, "nace_inconnu": 400, "activite_inconnue": 400,
    "pays_inconnu": 400, "secteur_inconnu": 400, "compte_requis": 401, "credits_epuises": 402,
    "module_non_inclus": 403, "essai_epuise": 403, "quota_api": 429, "quota_export": 429,
    "trop_de_requetes": 429, "indisponible": 503, "config": 503,
    "parametre_invalide": 400, "parametre_inconnu": 400, "identifiant_invalide": 400,
    "societe_introuvable": 404, "route_inconnue": 404, "methode_non_autorisee": 405,
    "cle_invalide": 401, "corps_invalide": 400, "corps_trop_grand": 413, "uri_trop_longue": 414,
    "type_non_supporte": 415, "attente_refusee": 417, "erreur_interne": 500,
    "version_expiree": 409, "ligne_invalide": 400, "format_non_acceptable": 406,
}  # fmt: skip

QUOTA = {"type": "appels_jour", "limite": 50, "utilise": 50, "restant": 0,
         "reinitialisation": "2026-11-22T00:00:00Z"}  # fmt: skip
REMEDY = Text("Données : 1000 appels", "Data: 1000 calls")
# Words that only one of the languages has.
FRENCH = re.compile(r"\b(le|la|les|est|une?|des|par|ou|il|au|aux|pas|plus|dans)\b|[éèêàù«]| :")
ENGLISH = re.compile(r"\b(the|is|are|of|to|and|with|not|it|by|than|no)\b")

ALL = [
    errors.pays_inconnu(["XX"], {}, secteurs_inconnus=["X"], sous_secteurs_inconnus=["Y"]),
    errors.secteur_inconnu(["X"], {}, ["Y"]),
    errors.secteur_requis(),
    errors.forme_inconnue(["X"], {}),
    errors.nace_inconnu(["X"], {}),
    errors.activite_inconnue(["X"], {}),
    errors.parametre_invalide("tri", Text("inconnu", "unknown"), valeurs=["nom"], suggestions={}),
    errors.parametre_inconnu(["x"], ["pays"], {}),
    errors.identifiant_invalide(Text("vide", "empty")),
    errors.corps_invalide(Text("ce n'est pas du JSON", "it is not JSON")),
    errors.ligne_invalide(Text("vide", "empty")),
    errors.lignes_d_un_visiteur(2),
    errors.cle_invalide(),
    errors.attente_refusee("200-ok"),
    errors.codage_non_supporte("gzip"),
    errors.compte_requis(refused=False),
    errors.credits_epuises(5, 0, "2026-12-01T00:00:00Z"),
    errors.module_non_inclus("marche", "integral"),
    errors.module_non_inclus("marche", "carte", 250, Text("Sur mesure", "Custom")),
    errors.essai_epuise(3, "corporate", "2026-12-01T00:00:00Z"),
    errors.societe_introuvable("FR", "1"),
    errors.societe_supprimee("FR", "1", "2026-11-20"),
    errors.route_inconnue("/api/v1/xx", ["pays"]),
    errors.methode_non_autorisee("PUT", "GET"),
    errors.format_non_acceptable("application/json", ["text/csv"]),
    errors.version_expiree("0123456789abcdef", ["fedcba9876543210"]),
    errors.trop_ancienne("0123456789abcdef", "fedcba9876543210"),
    errors.corps_trop_grand(65_536),
    errors.trop_de_lignes(1_001, 1_000),
    errors.uri_trop_longue(65_536),
    errors.type_non_supporte("text/csv"),
    errors.quota_api(QUOTA, 60, Text("Données : 1000 appels", "Data: 1000 calls")),
    errors.quota_export(QUOTA, 60, Text("Données : 40 exports", "Data: 40 exports a month")),
    errors.trop_de_requetes(QUOTA, 60, "minute"),
    errors.exports_simultanes(QUOTA, 5),
    errors.erreur_interne("id-1"),
    errors.indisponible(errors.NO_GENERATION),
    errors.pays_endommage("FR"),
    errors.config(Text("le paiement", "payment")),
]


def test_every_code_has_its_status() -> None:
    """§7, G7"""
    assert {error.code: error.status for error in ALL} == CODES


def test_every_code_has_a_function_of_its_name() -> None:
    """§7, G7"""
    functions = {
        name
        for name, found in inspect.getmembers(errors, inspect.isfunction)
        if found.__module__ == errors.__name__
    }

    assert functions >= set(CODES)
    others = {name for name in functions if name[0] != "_"} - set(CODES)
    assert others == {
        "secteur_requis", "exports_simultanes", "trop_ancienne", "trop_de_lignes",
        "codage_non_supporte", "lignes_d_un_visiteur", "pays_endommage", "societe_supprimee", "why", "part",
    }  # fmt: skip


def test_an_unknown_path_is_told_all_that_is_below_the_api() -> None:
    """G3"""
    paths = (one.path for one in PRODUCT.operations)
    first = [path.split("/")[3] for path in paths if path.startswith("/api/v1/")]

    assert all(f" {name}" in PRODUCT.unknown_path("/x").texts[1] for name in first)


def test_every_code_is_raised_by_a_route() -> None:
    """§7"""
    raised = "".join(path.read_text(encoding="utf-8") for path in SERVE.rglob("*.py"))

    assert {code for code in CODES if f"errors.{code}(" not in raised} == set()


def test_the_extra_keys_of_each_code_are_those_it_declares() -> None:
    """G6: the table that the documents are made of cannot promise more or less than is sent."""
    sent: dict[str, set[str]] = {}
    for error in ALL:
        sent.setdefault(error.code, set()).update(error.extra)

    assert sent == {code: set(declared.extra) for code, declared in CODES_DECLARED.items()}


def test_an_error_has_one_shape_with_extra_keys_beside_it() -> None:
    """§2.6, G6"""
    for error in ALL:
        body = orjson.loads(error.body("en"))
        assert list(body["erreur"]) == ["code", "message"]
        assert body["erreur"]["message"]
    assert orjson.loads(errors.quota_api(QUOTA, 60, REMEDY).body("fr"))["quota"] == QUOTA


def test_errors_that_pass_say_when_to_come_back() -> None:
    """§7, G9, D4; what is not set up does not pass by waiting"""
    passing = {e.code for e in ALL if "Retry-After" in e.headers}

    assert passing == {code for code, status in CODES.items() if status in (429, 503)} - {"config"}


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.code)
def test_every_error_has_a_french_and_an_english_message_with_the_same_values(
    error: ApiError,
) -> None:
    """X0"""
    french, english = error.texts

    assert french and english and french != english
    assert not FRENCH.search(english), english
    assert not ENGLISH.search(french), french
    for text in error.texts:
        assert text[-1] not in " .;:"
    assert re.findall(r"/[a-z][a-z0-9/-]+|[0-9a-f]{16}|[0-9]+", french) == re.findall(
        r"/[a-z][a-z0-9/-]+|[0-9a-f]{16}|[0-9]+", english
    )


def test_an_error_that_is_raised_has_both_messages() -> None:
    """X0: every call gives a pair of texts, and mypy holds it; here, those of a search."""
    wrong = [
        {"pays": "XX"}, {"secteur": "x"}, {"tri": "x"}, {"limit": "x"}, {"limit": "0"},
        {"ca_min": "1,5"}, {"ca_min": "1e999"}, {"ca_min": "2", "ca_max": "1"}, {"site_web": "2"},
        {"q": "x" * 121}, {"version": "x"}, {"sous_secteur": "x"}, {"x": "1"},
    ]  # fmt: skip
    for given in wrong:
        french, english = refused(*given.items()).texts
        assert french != english
        assert not FRENCH.search(english), english


def test_advice_is_not_itself_an_error() -> None:
    """414 is made before the path is known: only an export has a POST."""
    for text in errors.uri_trop_longue(65_536).texts:
        assert "export" in text.partition("POST")[0]


def test_a_message_shows_the_first_values_of_many() -> None:
    error = errors.pays_inconnu([f"X{number}" for number in range(50)], {})

    assert "X9, …" in error.message
    assert "X10" not in error.message
    assert len(error.extra["pays_inconnus"]) == 50


def test_an_error_is_an_exception_that_says_itself() -> None:
    assert str(ApiError("config", Text("phrase", "sentence"))) == "503 config: phrase"


def test_what_is_not_set_up_names_the_operator_where_a_server_has_its_address() -> None:
    """X10"""
    what = Text("le paiement", "payment")

    texts = [errors.config(what, contact).texts for contact in ("aide@example.org", None)]

    assert [text.fr.rpartition(" ; ")[2] for text in texts] == [
        "écrivez à l'exploitant : aide@example.org",
        "écrivez à l'exploitant",
    ]
    assert texts[0].en.endswith("write to its operator: aide@example.org")
