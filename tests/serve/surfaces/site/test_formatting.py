"""Messages of the API as people read them."""

import re

import pytest

from quota import plans
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request import place_names
from serve.surfaces.site.formatting import link_routes
from tests.serve.asking import NAMES

PLANS = plans.load()
WHEN = "2026-12-01T00:00:00Z"
ERRORS = (
    ApiError("credits_epuises", credits={"cout": 5, "solde": 0, "reinitialisation": WHEN}),
    ApiError("essai_epuise", analyses=3, offre="corporate", reinitialisation=WHEN),
    ApiError("module_non_inclus", module="marche", offre="marches"),
    errors.no_company("FR", "12"),
    errors.no_company("", "12", ["FR:451585889", "UK:SC123"]),
    ApiError("pays_inconnu", pays_inconnus=["ZZ"], suggestions={}),
    place_names.unknown_countries(["Allemange"], NAMES),
    ApiError("compte_requis", challenge="Bearer"),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error.code))
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_nothing_of_a_program_is_left(error: ApiError, lang: str) -> None:
    shown = link_routes(error.texts[lang == "en"], lang, PLANS)

    text = re.sub("<[^>]*>", "", shown)
    assert not re.search(r"/api|/tarifs|/inscription|T00:00|corporate|\bmarches\b", text)
    assert not {"<", ">"} & set(text)
    assert not re.search(r"[.?!] ?[.?!]", text)


def test_near_companies_are_links() -> None:
    shown = link_routes(ERRORS[4].texts[0], "fr", PLANS)

    assert '<a href="/societes/FR/451585889">FR:451585889</a>' in shown
    assert '<a href="/societes/UK/SC123">UK:SC123</a>' in shown


def test_what_a_person_typed_stays_text() -> None:
    """A text of the request is quoted in many messages"""
    shown = link_routes("Ville inconnue : '<script>x</script>'", "fr", PLANS)

    assert "<script" not in shown
