"""The plans: the grid of § 8.1 as the contract completes it (C1, C2, C4, D8)."""

import csv
from decimal import Decimal

from seeds import TABLES

PLANS = TABLES / "plans.csv"

Row = dict[str, str]


def rows() -> list[Row]:
    """The rows of `plans.csv`, in their order."""
    with PLANS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Specification § 8.1: results, rows per call, calls per day, exports per month, rows per export, contacts,
# statements, keys; then § 8.2 rule 6 (C2 for carte) and D8.
GRID = {
    "visiteur": "2 2 0 0 0 false false 0 0 0",
    "free": "5 5 50 2 25 false true 1 3 250",
    "data": "200 200 1000 40 2500 true true 3 100 5000",
    "corporate": "1000 500 5000 100 10000 true true 10 250 25000",
    "marches": "500 500 5000 60 5000 true true 10 150 25000",
    "integral": "1000 500 10000 200 10000 true true 20 250 50000",
    "carte": "200 200 1000 40 2500 true true 3 100 5000",
}
GRID_COLUMNS = (
    *("resultats_par_recherche", "lignes_par_appel", "appels_api_par_jour", "exports_par_mois"),
    *("lignes_par_export", "coordonnees", "etats_financiers", "cles_actives"),
    *("societes_avec_comptes_par_export", "credits_par_mois"),
)


def plans() -> dict[str, Row]:
    """The rows of `plans.csv` by slug."""
    return {row["slug"]: row for row in rows()}


def test_the_plans_are_the_grid_of_the_specification() -> None:
    grid = {slug: " ".join(row[name] for name in GRID_COLUMNS) for slug, row in plans().items()}

    assert grid == GRID


def test_the_next_plans_are_those_of_the_contract() -> None:
    """Contract C1; marches and carte are never proposed."""
    following = {slug: row["suivant"] for slug, row in plans().items()}

    assert following == {
        "visiteur": "free",
        "free": "data",
        "data": "corporate",
        "corporate": "integral",
        "marches": "integral",
        "integral": "",
        "carte": "corporate",
    }


def test_the_plans_have_the_names_of_the_contract() -> None:
    """Contract C4 in French, § 8.1 in English."""
    assert [(row["nom"], row["nom_en"]) for row in rows()] == [
        ("Visiteur", "Visitor"),
        ("Découverte", "Discovery"),
        ("Données", "Data"),
        ("Finance d'entreprise", "Corporate finance"),
        ("Finance de marché", "Market finance"),
        ("Intégrale", "Complete"),
        ("Sur mesure", "Custom"),
    ]


def test_monthly_credits_are_five_times_the_daily_calls() -> None:
    """Contract D8."""
    for row in rows():
        assert int(row["credits_par_mois"]) == 5 * int(row["appels_api_par_jour"])


def test_the_tool_and_the_price_are_those_of_the_grid() -> None:
    by_plan = {slug: (row["outil_api"], row["prix_annuel_eur"]) for slug, row in plans().items()}

    assert by_plan == {
        "visiteur": ("aucun", ""),
        "free": ("gratuit", "0"),
        "data": ("option", "5000"),
        "corporate": ("option", "17500"),
        "marches": ("inclus", "17500"),
        "integral": ("inclus", "30000"),
        "carte": ("option", ""),
    }


def test_the_next_plan_has_no_lower_limit() -> None:
    by_slug = plans()

    for row in by_slug.values():
        if not row["suivant"]:
            continue
        following = by_slug[row["suivant"]]
        for name in (name for name in GRID_COLUMNS if row[name] not in ("true", "false")):
            assert Decimal(following[name]) >= Decimal(row[name]), (row["slug"], name)
