"""The price page of a server that does not sell plans (§8.1)."""

import re

import pytest

from tests.serve.client import PLANS, Server
from tests.serve.surfaces.site.visitor import Visitor


def test_the_prices_are_those_of_the_plans_file(server: Server) -> None:
    """§8.1, C3, C5"""
    text = Visitor(server).get("/tarifs").figures

    for plan in PLANS.values():
        if plan.slug != "visiteur":
            assert plan.nom in text
            assert str(plan.resultats_par_recherche) in text
            assert f"{plan.exports_par_mois} × {plan.lignes_par_export}" in text
        if plan.prix_annuel_eur:
            assert f"{plan.prix_annuel_eur} €" in text
    # A year costs 10 % less than twelve months that are paid monthly, so a month costs 5 000 € / 10.8 ≈ 463 €.
    for monthly in (463, 1620, 2778):
        assert f"ou ≈ {monthly} € HT par mois" in text
    assert "250 € HT par an" in text


def test_a_server_that_does_not_sell_says_so_once(server: Server) -> None:
    """Before: the page said `Pas en vente sur ce serveur` six times."""
    french, english = (Visitor(server).get(f"/tarifs?lang={lang}").text for lang in ("fr", "en"))

    assert french.count("pas en vente sur ce serveur") == 1
    assert english.count("not sold on this server") == 1
    assert french.index("pas en vente") < french.index("Découverte")


def test_each_plan_lists_its_additions_to_the_plan_that_it_contains(server: Server) -> None:
    """The second name of a pair is the contained plan"""
    text = Visitor(server).get("/tarifs").figures.partition("Comparer")[0]

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


def test_a_custom_plan_has_minimum_numbers(server: Server) -> None:
    text = Visitor(server).get("/tarifs").figures
    custom_plan = next(plan for plan in server.context.plans.values() if plan.sur_mesure)

    assert f"dès {custom_plan.resultats_par_recherche}" in text


@pytest.mark.parametrize("form", [{"offre": "data"}, {"pack": "1000"}, {}])
def test_buying_without_payment_is_503_as_a_page_and_as_json(
    server: Server, form: dict[str, str]
) -> None:
    """§7"""
    page = Visitor(server).send("/tarifs", form)
    english = Visitor(server, {"Accept-Language": "en"}).send("/tarifs", form)
    json = Visitor(server).send("/tarifs", form, Accept="application/json")

    assert (page.status, english.status, json.status) == (503, 503, 503)
    assert "Le paiement n’est pas encore ouvert" in page.text
    assert "Payment is not open yet" in english.text
    assert '"code":"config"' in json.html
    assert "Retry-After" not in {**page.headers, **json.headers}
