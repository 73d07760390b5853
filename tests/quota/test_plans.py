"""The plan grid: §8.1, §8.2 rule 6, contract C1, C2, C4, D8."""

from dataclasses import astuple
from decimal import Decimal
from pathlib import Path

import pytest

from quota.plans import SLUGS, PlansError, load
from seeds import TABLES

# The plans as the specification lists them (§8.1).
GRID = {
    # slug: results of a search, rows of a call, calls a day, exports a month, rows of an export, companies with
    #       statements in an export, has contacts, has statements, active keys, API tool, price of the tool,
    #       price of the plan, credits a month, next plan, modules, trials a month
    "visiteur": (2, 2, 0, 0, 0, 0, False, False, 0, "aucun", None, None, 0, "free", (), 0),
    "free": (5, 5, 50, 2, 25, 3, False, True, 1, "gratuit", None, 0, 250, "data", (), 0),
    "data": (200, 200, 1000, 40, 2500, 100, True, True, 3, "option", 250, 5000, 5000, "corporate", (), 3),
    "corporate": (
        1000, 500, 5000, 100, 10000, 250, True, True, 10, "option", 250, 17500, 25000, "integral", ("entreprise",), 0
    ),
    "marches": (
        500, 500, 5000, 60, 5000, 150, True, True, 10, "inclus", None, 17500, 25000, "integral", ("marche",), 0
    ),
    "integral": (
        1000, 500, 10000, 200, 10000, 250, True, True, 20, "inclus", None, 30000, 50000, "", ("entreprise", "marche"), 0
    ),
    "carte": (200, 200, 1000, 40, 2500, 100, True, True, 3, "option", 250, None, 5000, "corporate", (), 0),
}  # fmt: skip


@pytest.mark.parametrize("slug", SLUGS)
def test_each_plan_has_the_figures_of_the_grid(slug: str) -> None:
    """§8.1, §8.2 rules 1 and 6, C1, C2, C5, D8"""
    # The first three fields are `slug`, `nom` and `nom_en`.
    assert astuple(load()[slug])[3:] == GRID[slug]


def test_plans_have_their_french_names() -> None:
    """C4"""
    assert [plan.nom for plan in load().values()] == [
        "Visiteur",
        "Découverte",
        "Données",
        "Finance d'entreprise",
        "Finance de marché",
        "Intégrale",
        "Sur mesure",
    ]


def test_a_price_is_an_exact_amount() -> None:
    assert load()["data"].prix_annuel_eur == Decimal(5000)


SEED = (TABLES / "plans.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("good_text", "bad_text", "expected_text"),
    [
        ("credits_par_mois", "credits", "the columns are"),
        ("data,Données", "donnees,Données", "'donnees'"),
        ("Découverte,Discovery,5,", "Découverte,Discovery,illimité,", "'illimité'"),
        ("Découverte,Discovery,5,", "Découverte,Discovery,-5,", "'-5'"),
        ("Découverte,Discovery,5,", "Découverte,Discovery,٥,", "'٥'"),
        (",gratuit,", ",offert,", "'offert'"),
        ("false,true,1", "non,true,1", "'non'"),
        ("option,250,5000", "option,250,NaN", "NaN"),
        ("option,250,", "option,-1,", "outil_api_eur is -1"),
        ("option,250,", "option,,", "has the tool as an option without a price"),
        (",inclus,,", ",inclus,9,", "has a price of a tool that is not an option"),
        ("option,250,5000", "option,250,beaucoup", "'beaucoup'"),
        ("option,250,5000,", "option,250,,", "data is proposed"),
        (",250,data", ",250,données", "'données'"),
        (",250,data,,0", ",250,data,,0,surplus", "it has 20 values; write 19"),
        (",250,data,,0", ",250,data", "it has 17 values; write 19"),
        (",integral,entreprise,", ",integral,social,", "modules is 'social'"),
    ],
)
def test_a_grid_with_an_unknown_value_is_refused_and_named(
    tmp_path: Path, good_text: str, bad_text: str, expected_text: str
) -> None:
    assert good_text in SEED
    path = tmp_path / "plans.csv"
    path.write_text(SEED.replace(good_text, bad_text, 1), encoding="utf-8")

    with pytest.raises(PlansError, match=r"plans\.csv") as caught:
        load(path)

    assert expected_text in str(caught.value)


def test_a_plan_that_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plans.csv"
    lines = [line for line in SEED.splitlines() if not line.startswith("carte")]
    path.write_text("\n".join(lines), encoding="utf-8")

    with pytest.raises(PlansError, match="carte"):
        load(path)
