"""The page of prices, on a server without a seller (§8.1)."""

import re

import pytest

from tests.serve.client import PLANS, Served
from tests.serve.surfaces.site.visitor import Visitor


def test_the_prices_are_those_of_the_plans_file(served: Served) -> None:
    """§8.1, C3, C5"""
    text = Visitor(served).get("/tarifs").figures

    for plan in PLANS.values():
        if plan.slug != "visiteur":
            assert plan.nom in text
            assert str(plan.resultats_par_recherche) in text
            assert f"{plan.exports_par_mois} × {plan.lignes_par_export}" in text
        if plan.prix_annuel_eur:
            assert f"{plan.prix_annuel_eur} €" in text
    for monthly in (463, 1620, 2778):
        assert f"ou ≈ {monthly} € HT par mois" in text
    assert "250 € HT par an" in text


def test_paid_plans_without_a_seller_say_so_in_one_line(served: Served) -> None:
    """Before: `Pas en vente sur ce serveur` six times."""
    french, english = (Visitor(served).get(f"/tarifs?lang={lang}").text for lang in ("fr", "en"))

    assert french.count("pas en vente sur ce serveur") == 1
    assert english.count("not sold on this server") == 1
    assert french.index("pas en vente") < french.index("Découverte")


def test_each_plan_says_what_it_has_more_than_the_one_that_it_contains(served: Served) -> None:
    text = Visitor(served).get("/tarifs").figures.partition("Comparer")[0]

    for name, contained in (
        ("Données", "Découverte"), ("Finance d'entreprise", "Données"),
        ("Finance de marché", "Données"), ("Intégrale", "Finance d'entreprise"),
        ("Sur mesure", "Données"),
    ):  # fmt: skip
        assert re.search(rf"{name} [^:]*? Tout de {contained}, et", text), name
    assert (
        "Tout de Données, et 500 résultats par recherche 5000 appels par jour 60 exports par mois, "
        "de 5000 lignes 25000 crédits par mois, soit 5000 fiches complètes Analyse d’un marché "
        "l’outil API, compris" in text
    )
    assert "Tout de Données, et les modules de votre choix" in text


def test_a_plan_that_is_made_to_measure_has_no_fixed_numbers(served: Served) -> None:
    text = Visitor(served).get("/tarifs").figures
    measured = next(plan for plan in served.context.plans.values() if plan.sur_mesure)

    assert f"dès {measured.resultats_par_recherche}" in text


@pytest.mark.parametrize("form", [{"offre": "data"}, {"pack": "1000"}, {}])
def test_buying_is_not_open_as_a_page_and_as_json(served: Served, form: dict[str, str]) -> None:
    """§7"""
    page = Visitor(served).send("/tarifs", form)
    english = Visitor(served, {"Accept-Language": "en"}).send("/tarifs", form)
    json = Visitor(served).send("/tarifs", form, Accept="application/json")

    assert (page.status, english.status, json.status) == (503, 503, 503)
    assert "Le paiement n’est pas encore ouvert" in page.text
    assert "Payment is not open yet" in english.text
    assert '"code":"config"' in json.html
    assert "Retry-After" not in {**page.headers, **json.headers}
