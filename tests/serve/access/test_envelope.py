"""The JSON of a search and of a record for all seven plans (§2.2 to §2.4, C1 to C4, E4)."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import orjson
import pytest

from quota import plans
from serve.access import call, rights
from serve.access.rights import Caller
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.features.record import operations
from serve.features.search import societes

PLANS = plans.load()
OFFERS = rights.offers(PLANS)

# The fields of the answer to a search, in their order.
ENVELOPE = [
    "total", "limit", "offset", "plan", "plafond_resultats", "visibles", "tronque", "restantes",
    "coordonnees", "offre_suivante", "apercu", "societes",
]  # fmt: skip
# The fields of an offer of another plan, in their order.
OFFER = [
    "plan", "nom", "nom_en", "prix_mensuel_eur", "prix_annuel_eur", "resultats_par_recherche",
    "exports_par_mois", "lignes_par_export", "appels_api_par_jour", "lignes_par_appel",
    "societes_avec_comptes_par_export", "coordonnees", "etats_financiers", "url",
]  # fmt: skip


def next_offer(slug: str) -> Any:
    """The offer that a caller with this plan gets."""
    return orjson.loads(OFFERS[slug])


@pytest.mark.parametrize(
    ("slug", "next_plan"),
    [("visiteur", "free"), ("free", "data"), ("data", "corporate"), ("corporate", "integral"),
     ("marches", "integral"), ("carte", "corporate")],
)  # fmt: skip
def test_each_plan_is_offered_the_next_plan(slug: str, next_plan: str) -> None:
    """C1"""
    assert next_offer(slug)["plan"] == next_plan


def test_the_highest_plan_is_offered_no_plan() -> None:
    """C1, §2.3"""
    assert OFFERS["integral"] == b"null"


def test_an_offer_has_the_fields_of_the_specification_in_their_order() -> None:
    """§2.3"""
    assert list(next_offer("visiteur")) == OFFER


@pytest.mark.parametrize(
    ("slug", "month", "year", "url"),
    [("visiteur", 0, 0, "/inscription"), ("free", 462.96, 5000, "/tarifs"),
     ("data", 1620.37, 17500, "/tarifs"), ("corporate", 2777.78, 30000, "/tarifs")],
)  # fmt: skip
def test_a_month_costs_a_twelfth_of_the_year_plus_the_discount(
    slug: str, month: float, year: int, url: str
) -> None:
    """C3: a year costs 10 % less than twelve months: 462.96 is 5 000 / 12 / 0.9"""
    offer = next_offer(slug)

    assert (offer["prix_mensuel_eur"], offer["prix_annuel_eur"], offer["url"]) == (month, year, url)


def test_a_monthly_price_of_half_a_cent_is_rounded_up() -> None:
    """C3"""
    # A twelfth of 0.054 € is 0.0045 €; with the discount it is half a cent.
    plan = replace(PLANS["data"], prix_annuel_eur=Decimal("0.054"))

    assert b'"prix_mensuel_eur":0.01,' in rights.offers({**PLANS, "data": plan})["free"]


def test_an_offer_has_the_figures_of_the_next_plan() -> None:
    """§2.3: after the plan data comes corporate"""
    offer = next_offer("data")

    assert (offer["nom"], offer["nom_en"]) == ("Finance d'entreprise", "Corporate finance")
    # From `resultats_par_recherche` to `etats_financiers`.
    assert [offer[name] for name in OFFER[5:13]] == [1000, 100, 10000, 5000, 500, 250, True, True]


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_the_answer_to_a_search_has_the_figures_of_each_plan(slug: str) -> None:
    """§2.2, C: 18 700 000 companies match, and the page has two of them"""
    plan = PLANS[slug]
    rows_most = plan.resultats_par_recherche
    window = rights.window(plan, 50, 0)

    result = societes.answer(
        Caller(plan), OFFERS[slug], window, 18_700_000, b'{"id":"1"},{"id":"2"}'
    )

    body = orjson.loads(result.json())
    assert list(body) == ENVELOPE
    assert body == {
        "total": 18_700_000,
        "limit": min(50, rows_most),
        "offset": 0,
        "plan": slug,
        "plafond_resultats": rows_most,
        "visibles": rows_most,
        "tronque": True,
        "restantes": 18_700_000 - rows_most,
        "coordonnees": slug not in ("visiteur", "free"),
        "offre_suivante": next_offer(slug),
        "apercu": slug == "visiteur",
        "societes": [{"id": "1"}, {"id": "2"}],
    }


def test_an_empty_result_is_not_truncated() -> None:
    """B9: no row is hidden if none matches"""
    plan = PLANS["free"]

    result = societes.answer(Caller(plan), b"null", rights.window(plan, 50, 0), 0, b"")

    body = orjson.loads(result.json())

    assert (body["total"], body["visibles"], body["restantes"]) == (0, 0, 0)
    assert (body["tronque"], body["societes"]) == (False, [])


def test_an_offset_of_any_size_is_echoed() -> None:
    """B20, B21"""
    plan = PLANS["free"]
    # 4 300 digits, the most that Python writes of an integer by default.
    window = rights.window(plan, 50, 10**4_299)

    assert (
        b',"limit":0,"offset":1000' in societes.answer(Caller(plan), b"null", window, 7, b"").json()
    )


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_the_answer_with_a_record_depends_on_the_plan(slug: str) -> None:
    """§2.4, E4, D12"""
    plan = PLANS[slug]
    is_customer = slug != "visiteur"

    comptes, message = (
        (b'[{"ordre":1}]', None) if is_customer else (None, errors.text("comptes_d_un_visiteur").fr)
    )
    record = operations.make_record(
        Caller(plan), OFFERS[slug], b'{"id":"1"}', plan.coordonnees, comptes, message
    )

    body = orjson.loads(record.json())
    statements = "comptes" if is_customer else "comptes_message"
    assert list(body) == ["societe", "plan", statements, "droits", "offre_suivante"]
    assert body["societe"] == {"id": "1"}
    assert body["plan"] == slug
    assert body["droits"] == {
        "etats_financiers": is_customer,
        "coordonnees": slug not in ("visiteur", "free"),
    }
    assert body["offre_suivante"] == next_offer(slug)
    assert body[statements] == (
        [{"ordre": 1}] if is_customer else errors.text("comptes_d_un_visiteur").fr
    )


def test_a_company_without_statements_has_an_empty_list() -> None:
    """E4: not a missing key"""
    record = operations.make_record(
        Caller(PLANS["free"]), b"null", b"{}", contacts=False, statements=b"[]"
    )

    assert b'"comptes":[],' in record.json()


def test_an_error_can_be_added_to_a_complete_answer() -> None:
    """A1"""
    body = call.add_error(b'{"total":1}', ApiError("cle_invalide"), "fr")

    assert orjson.loads(body) == {
        "total": 1,
        "erreur": {"code": "cle_invalide", "message": errors.text("cle_invalide").fr},
    }


def test_a_percent_sign_in_an_offer_or_a_name_is_unchanged() -> None:
    caller = Caller(PLANS["visiteur"])
    offer = b'{"nom":"100 %d"}'
    rows = b'{"nom":"50% OFF"}'
    window = rights.Window(2, 0)
    plain = societes.answer(caller, offer, window, 1, rows)
    named = replace(plain, noms_trouves={"UK:1": "99%b"}, ids_inconnus=[])

    plain_body, named_body = orjson.loads(plain.json()), orjson.loads(named.json())

    assert (plain_body["offre_suivante"], plain_body["societes"]) == (
        {"nom": "100 %d"},
        [{"nom": "50% OFF"}],
    )
    added_fields = {"ids_inconnus": [], "noms_trouves": {"UK:1": "99%b"}}
    assert named_body == {**plain_body, **added_fields}
    assert list(named_body) == [*ENVELOPE, *added_fields]
