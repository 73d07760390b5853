"""The table of errors (§7, G6, G7)."""

import re
from string import Formatter
from typing import Any, Final

import orjson
import pytest

from serve.app import PRODUCT
from serve.contract import errors
from serve.contract.errors import ALL_CODES, MESSAGES, ApiError
from serve.contract.errors import CODES as DECLARED_CODES
from serve.contract.text import Text
from tests.serve.parameter_reading import refusal

# §7, contract G7, for G10 and for extensions X2: code -> status.
STATUSES = {
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
# Words of only one of the languages.
FRENCH_WORDS = re.compile(
    r"\b(le|la|les|est|une?|des|par|ou|il|au|aux|pas|plus|dans)\b|[éèêàù«]| :"
)
ENGLISH_WORDS = re.compile(r"\b(the|is|are|of|to|and|with|not|it|by|than|no)\b")

# Values for placeholders that need more than a plain text.
SAMPLE_VALUES: Final[dict[str, Any]] = {
    "quota": QUOTA, "credits": {"cout": 5, "solde": 0, "reinitialisation": "2026-12-01T00:00:00Z"},
    "why": Text("vide", "empty"), "remedy": REMEDY, "at": Text(" : a@b.fr", ": a@b.fr"),
    "refusal": Text("refus", "refusal"), "error": Text("faute", "fault"), "plan": Text("Sur mesure", "Custom"),
    "meant": Text("Allemagne (DE)", "Germany (DE)"), "challenge": "Bearer",
}  # fmt: skip


def sample_error(name: str) -> ApiError:
    """An error of the row `name` of errors.csv, with a value for each placeholder and each key of its code."""
    message = MESSAGES[name]
    fields = {re.split(r"[\[.]", field)[0]
              for part in (message.text.en, message.header)
              for _, field, _, _ in Formatter().parse(part) if field}  # fmt: skip
    keys = ALL_CODES[message.code].extra
    return ApiError(
        name,
        **{key: SAMPLE_VALUES.get(key, ["0"] if key in keys else "0") for key in {*fields, *keys}},
    )


# A row without a code is a text inside an error.
SAMPLE_ERRORS = [sample_error(name) for name, message in MESSAGES.items() if message.code]


def test_every_code_has_its_status() -> None:
    """§7, G7"""
    assert {code: declared.status for code, declared in DECLARED_CODES.items()} == STATUSES


def test_every_code_is_in_the_documents_except_those_of_pages() -> None:
    """STATUSES has the documented codes, so these are all codes of pages"""
    codes_of_pages = {
        code: declared.status for code, declared in ALL_CODES.items() if code not in STATUSES
    }

    assert codes_of_pages == {
        "formulaire_refuse": 403, "cle_introuvable": 404, "administrateurs_seulement": 403,
        "adresse_non_confirmee": 403, "geste_inconnu": 400, "personne_introuvable": 404, "lien_perime": 404,
        "liste_introuvable": 404, "listes_pleines": 409, "liste_trop_grande": 413, "liste_suite": 409,
        "sans_facture": 404, "signature_refusee": 400,
    }  # fmt: skip


def test_the_error_of_an_unknown_path_lists_all_routes() -> None:
    """G3"""
    paths = (operation.path for operation in PRODUCT.operations)
    route_names = [path.split("/")[3] for path in paths if path.startswith("/api/v1/")]

    assert all(f" {name}" in PRODUCT.unknown_path("/x").texts[1] for name in route_names)


def test_a_value_is_in_the_message_the_body_and_the_header_of_an_error() -> None:
    """G6, D4"""
    error = ApiError("quota_export", quota=QUOTA, retry_after=60, remedy=REMEDY)

    assert error.texts.en.startswith("The 50 exports")
    assert error.extra == {"quota": QUOTA}
    assert error.headers == {"Retry-After": "60"}
    assert ApiError("sans_facture").headers == {}


def test_the_reason_of_an_invalid_parameter_is_a_row_or_a_text() -> None:
    by_row = errors.invalid_parameter(
        "tri", "inconnu_admis", shown="'x'", known="nom", valeurs=["nom"]
    )
    by_text = errors.invalid_parameter(errors.REQUEST, Text("vide", "empty"))

    assert by_row.texts.fr == "tri : 'x' n'est pas admis. Valeurs : nom"
    assert by_row.extra == {"parametre": "tri", "valeurs": ["nom"]}
    assert by_text.texts == ("requête : vide", "request: empty")
    assert by_text.extra == {"parametre": "requête"}


def test_every_error_has_the_same_object_and_extra_keys_after_it() -> None:
    """§2.6, G6"""
    for error in SAMPLE_ERRORS:
        body = orjson.loads(error.body("en"))
        assert list(body["erreur"]) == ["code", "message"]
        assert body["erreur"]["message"]
    error = ApiError("quota_api", quota=QUOTA, retry_after=60, remedy=REMEDY)
    assert orjson.loads(error.body("fr"))["quota"] == QUOTA


def test_temporary_errors_say_when_to_retry() -> None:
    """§7, G9, D4; a missing setting is not temporary"""
    temporary = {error.code for error in SAMPLE_ERRORS if "Retry-After" in error.headers}

    assert temporary == {code for code, status in STATUSES.items() if status in (429, 503)} - {
        "config"
    }


@pytest.mark.parametrize("error", SAMPLE_ERRORS, ids=lambda error: error.code)
def test_every_error_has_a_french_and_an_english_message_with_the_same_values(
    error: ApiError,
) -> None:
    """X0"""
    french, english = error.texts

    assert french and english and french != english
    assert not FRENCH_WORDS.search(english), english
    assert not ENGLISH_WORDS.search(french), french
    for text in error.texts:
        assert text[-1] not in " .;:"
    assert re.findall(r"/[a-z][a-z0-9/-]+|[0-9a-f]{16}|[0-9]+", french) == re.findall(
        r"/[a-z][a-z0-9/-]+|[0-9a-f]{16}|[0-9]+", english
    )


def test_errors_of_a_search_have_both_messages() -> None:
    """X0: mypy checks that every call passes both texts; this test checks that they are in their languages."""
    invalid_searches = [
        {"pays": "XX"}, {"secteur": "x"}, {"tri": "x"}, {"limit": "x"}, {"limit": "0"},
        {"ca_min": "1,5"}, {"ca_min": "1e999"}, {"ca_min": "2", "ca_max": "1"}, {"site_web": "2"},
        {"q": "x" * 121}, {"version": "x"}, {"sous_secteur": "x"}, {"x": "1"},
    ]  # fmt: skip
    for parameters in invalid_searches:
        french, english = refusal(*parameters.items()).texts
        assert french != english
        assert not FRENCH_WORDS.search(english), english


def test_the_remedy_of_a_message_is_possible() -> None:
    """414 is raised before the path is known, so its message must name a POST that exists: the export"""
    for text in ApiError("uri_trop_longue", limit=65_536).texts:
        assert "export" in text.partition("POST")[0]


def test_a_message_shows_only_the_first_ten_of_many_values() -> None:
    """The extra key of the error has all of them"""
    countries = [f"X{number}" for number in range(50)]
    error = ApiError("pays_inconnu", pays_inconnus=countries, suggestions={})

    assert "X9, …" in error.message
    assert "X10" not in error.message
    assert len(error.extra["pays_inconnus"]) == 50


def test_the_text_of_the_exception_has_the_status_the_code_and_the_message() -> None:
    assert str(ApiError("nace_inconnu", nace_inconnus=["X"])).startswith(
        "400 nace_inconnu: Code NACE inconnu : X"
    )


def test_the_error_of_a_missing_setting_has_the_address_of_the_operator() -> None:
    """X10"""
    texts = [errors.not_set_up("paiement", contact).texts for contact in ("aide@example.org", None)]

    assert [text.fr.rpartition(" ; ")[2] for text in texts] == [
        "écrivez à l'exploitant : aide@example.org",
        "écrivez à l'exploitant",
    ]
    assert texts[0].en.endswith("write to its operator: aide@example.org")
