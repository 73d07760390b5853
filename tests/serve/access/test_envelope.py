"""The bytes of search and record for all seven plans (§2.2 to §2.4, C1 to C4, E4)."""

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

ENVELOPE = [
    "total", "limit", "offset", "plan", "plafond_resultats", "visibles", "tronque", "restantes",
    "coordonnees", "offre_suivante", "apercu", "societes",
]  # fmt: skip
OFFER = [
    "plan", "nom", "nom_en", "prix_mensuel_eur", "prix_annuel_eur", "resultats_par_recherche",
    "exports_par_mois", "lignes_par_export", "appels_api_par_jour", "lignes_par_appel",
    "societes_avec_comptes_par_export", "coordonnees", "etats_financiers", "url",
]  # fmt: skip


def offered(slug: str) -> Any:
    return orjson.loads(OFFERS[slug])


@pytest.mark.parametrize(
    ("slug", "following"),
    [("visiteur", "free"), ("free", "data"), ("data", "corporate"), ("corporate", "integral"),
     ("marches", "integral"), ("carte", "corporate")],
)  # fmt: skip
def test_the_next_plan(slug: str, following: str) -> None:
    """C1"""
    assert offered(slug)["plan"] == following


def test_the_highest_plan_has_no_next_one() -> None:
    """C1, §2.3"""
    assert OFFERS["integral"] == b"null"


def test_an_offer_has_the_fields_of_the_specification_in_their_order() -> None:
    """§2.3"""
    assert list(offered("visiteur")) == OFFER


@pytest.mark.parametrize(
    ("slug", "month", "year", "url"),
    [("visiteur", 0, 0, "/inscription"), ("free", 462.96, 5000, "/tarifs"),
     ("data", 1620.37, 17500, "/tarifs"), ("corporate", 2777.78, 30000, "/tarifs")],
)  # fmt: skip
def test_a_month_costs_a_twelfth_of_the_year_plus_the_discount(
    slug: str, month: float, year: int, url: str
) -> None:
    """C3"""
    found = offered(slug)

    assert (found["prix_mensuel_eur"], found["prix_annuel_eur"], found["url"]) == (month, year, url)


def test_half_a_cent_is_rounded_up() -> None:
    """C3"""
    dear = replace(PLANS["data"], prix_annuel_eur=Decimal("0.054"))

    assert b'"prix_mensuel_eur":0.01,' in rights.offers({**PLANS, "data": dear})["free"]


def test_an_offer_tells_the_figures_of_the_plan_it_proposes() -> None:
    """§2.3"""
    found = offered("data")

    assert (found["nom"], found["nom_en"]) == ("Finance d'entreprise", "Corporate finance")
    assert [found[name] for name in OFFER[5:13]] == [1000, 100, 10000, 5000, 500, 250, True, True]


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_the_envelope_of_each_plan(slug: str) -> None:
    """§2.2, C"""
    plan = PLANS[slug]
    cap = plan.resultats_par_recherche
    window = rights.window(plan, 50, 0)

    result = societes.answer(
        Caller(plan), OFFERS[slug], window, 18_700_000, b'{"id":"1"},{"id":"2"}'
    )

    found = orjson.loads(result.json())
    assert list(found) == ENVELOPE
    assert found == {
        "total": 18_700_000,
        "limit": min(50, cap),
        "offset": 0,
        "plan": slug,
        "plafond_resultats": cap,
        "visibles": cap,
        "tronque": True,
        "restantes": 18_700_000 - cap,
        "coordonnees": slug not in ("visiteur", "free"),
        "offre_suivante": offered(slug),
        "apercu": slug == "visiteur",
        "societes": [{"id": "1"}, {"id": "2"}],
    }


def test_an_empty_result_is_whole() -> None:
    """B9"""
    plan = PLANS["free"]

    result = societes.answer(Caller(plan), b"null", rights.window(plan, 50, 0), 0, b"")

    found = orjson.loads(result.json())

    assert (found["total"], found["visibles"], found["restantes"]) == (0, 0, 0)
    assert (found["tronque"], found["societes"]) == (False, [])


def test_an_offset_of_any_size_is_echoed() -> None:
    """B20, B21"""
    plan = PLANS["free"]
    window = rights.window(plan, 50, 10**4_299)

    assert (
        b',"limit":0,"offset":1000' in societes.answer(Caller(plan), b"null", window, 7, b"").json()
    )


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_the_record_of_each_plan(slug: str) -> None:
    """§2.4, E4, D12"""
    plan = PLANS[slug]
    entitled = slug != "visiteur"

    comptes, message = (
        (b'[{"ordre":1}]', None) if entitled else (None, errors.text("comptes_d_un_visiteur").fr)
    )
    record = operations.answer(
        Caller(plan), OFFERS[slug], b'{"id":"1"}', plan.coordonnees, comptes, message
    )

    found = orjson.loads(record.json())
    statements = "comptes" if entitled else "comptes_message"
    assert list(found) == ["societe", "plan", statements, "droits", "offre_suivante"]
    assert found["societe"] == {"id": "1"}
    assert found["plan"] == slug
    assert found["droits"] == {
        "etats_financiers": entitled,
        "coordonnees": slug not in ("visiteur", "free"),
    }
    assert found["offre_suivante"] == offered(slug)
    assert found[statements] == (
        [{"ordre": 1}] if entitled else errors.text("comptes_d_un_visiteur").fr
    )


def test_a_company_without_statements_has_an_empty_list_of_them() -> None:
    """E4"""
    record = operations.answer(
        Caller(PLANS["free"]), b"null", b"{}", contacts=False, statements=b"[]"
    )

    assert b'"comptes":[],' in record.json()


def test_an_error_can_stand_beside_a_complete_answer() -> None:
    """A1"""
    body = call.add_error(b'{"total":1}', ApiError("cle_invalide"), "fr")

    assert orjson.loads(body) == {
        "total": 1,
        "erreur": {"code": "cle_invalide", "message": errors.text("cle_invalide").fr},
    }


def test_a_percent_sign_of_an_offer_or_a_name_stands_for_itself() -> None:
    caller = Caller(PLANS["visiteur"])
    offer = b'{"nom":"100 %d"}'
    rows = b'{"nom":"50% OFF"}'
    window = rights.Window(2, 0)
    plain = societes.answer(caller, offer, window, 1, rows)
    named = replace(plain, noms_trouves={"UK:1": "99%b"}, ids_inconnus=[])

    first, second = orjson.loads(plain.json()), orjson.loads(named.json())

    assert (first["offre_suivante"], first["societes"]) == ({"nom": "100 %d"}, [{"nom": "50% OFF"}])
    further = {"ids_inconnus": [], "noms_trouves": {"UK:1": "99%b"}}
    assert second == {**first, **further}
    assert list(second) == [*ENVELOPE, *further]
