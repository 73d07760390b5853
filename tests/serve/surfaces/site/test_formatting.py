"""Messages of the API as people read them."""

import re

import pytest

from quota import plans
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.surfaces.site.formatting import link_routes

PLANS = plans.load()
WHEN = "2026-12-01T00:00:00Z"
ERRORS = (
    errors.credits_epuises(5, 0, WHEN),
    errors.essai_epuise(3, "corporate", WHEN),
    errors.module_non_inclus("marche", "marches"),
    errors.societe_introuvable("FR", "12"),
    errors.societe_introuvable("", "12", ["FR:451585889", "UK:SC123"]),
    errors.pays_inconnu(["ZZ"], {}),
    errors.pays_inconnu(["Allemange"], {"Allemange": ["Allemagne"]}),
    errors.compte_requis(refused=False),
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
