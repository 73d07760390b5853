"""Messages of the API as the site shows them."""

import re

import pytest

from quota import plans
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request import place_names
from serve.surfaces.site.formatting import link_routes
from tests.serve.parameter_reading import NAMES

PLANS = plans.load()
RESET_TIME = "2026-12-01T00:00:00Z"
ERRORS = (
    ApiError("credits_epuises", credits={"cout": 5, "solde": 0, "reinitialisation": RESET_TIME}),
    ApiError("essai_epuise", analyses=3, offre="corporate", reinitialisation=RESET_TIME),
    ApiError("module_non_inclus", module="marche", offre="marches"),
    errors.no_company("FR", "12"),
    errors.no_company("", "12", ["FR:451585889", "UK:SC123"]),
    ApiError("pays_inconnu", pays_inconnus=["ZZ"], suggestions={}),
    place_names.unknown_countries(["Allemange"], NAMES),
    ApiError("compte_requis", challenge="Bearer"),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error.code))
@pytest.mark.parametrize("lang", ["fr", "en"])
def test_messages_have_no_routes_plan_codes_or_timestamps(error: ApiError, lang: str) -> None:
    html = link_routes(error.texts[lang == "en"], lang, PLANS)

    text = re.sub("<[^>]*>", "", html)
    assert not re.search(r"/api|/tarifs|/inscription|T00:00|corporate|\bmarches\b", text)
    assert not {"<", ">"} & set(text)
    assert not re.search(r"[.?!] ?[.?!]", text)


def test_similar_companies_are_links() -> None:
    # The error of a company that is not found, with two similar ones.
    html = link_routes(ERRORS[4].texts[0], "fr", PLANS)

    assert '<a href="/societes/FR/451585889">FR:451585889</a>' in html
    assert '<a href="/societes/UK/SC123">UK:SC123</a>' in html


def test_text_of_a_request_in_a_message_is_not_html() -> None:
    """Many messages quote a text of the request"""
    html = link_routes("Ville inconnue : '<script>x</script>'", "fr", PLANS)

    assert "<script" not in html
