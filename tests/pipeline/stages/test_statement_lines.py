"""Statement lines: the kept lines, and the fields of a company filled from them."""

from typing import Any

import polars as pl
import pytest

from pipeline import seeds
from pipeline.stages import statement_lines
from pipeline.stages.rejections import REASON
from shards.codec.folding import fold
from tests.pipeline.rows import Row, companies, company, comptes, line

SEEDS = seeds.read()
LAST_YEAR = 2029


def attached(*lines: Row, **fields: Any) -> dict[str, Any]:
    """The company of `fields`, filled from `lines`."""
    firm = companies(company("EE", "1", "Õun OÜ", **fields))
    kept = statement_lines.last_years(
        statement_lines.drop_copies(statement_lines.add_reasons(comptes(*lines), firm, LAST_YEAR))
    )
    return (
        statement_lines.fill_from_statements(firm, statement_lines.facts(kept, SEEDS))
        .collect()
        .row(0, named=True)
    )


def reason(**fields: Any) -> str | None:
    marked = statement_lines.add_reasons(
        comptes(line("EE", "1", 2020) | fields), companies(company("EE", "1", "Ä")), LAST_YEAR
    )
    found: str | None = marked.collect()[REASON].item()
    return found


@pytest.mark.parametrize(
    ("code", "libelle", "expected"),
    [
        ("Goodwill", None, "Écart d'acquisition"),
        ("GoodwillConsolidated", None, "Écart d'acquisition (groupe)"),
        ("K17", None, "K17"),
        ("Goodwill", "Fonds", "Fonds"),
        (None, "Fonds", "Fonds"),
    ],
)
def test_a_line_without_a_label_has_that_of_its_code(
    code: str | None, libelle: str | None, expected: str
) -> None:
    """E5: `libelle` is a text"""
    lines = comptes(line("EE", "1", 2020, code=code, libelle=libelle))

    found = lines.pipe(statement_lines.fill_labels, SEEDS).collect()

    assert found.select("code", "libelle").row(0) == (code, expected)


# -- lines -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"valeur": 0.0, "devise": None, "ordre": None, "code": None}, None),
        ({"valeur": -1.5, "libelle": None}, None),
        ({"id": "2"}, "société absente"),
        ({"etat": "bilan"}, "état inconnu"),
        ({"etat": None}, "état inconnu"),
        ({"exercice": None}, "exercice absent ou invraisemblable"),
        ({"exercice": 20200}, "exercice absent ou invraisemblable"),
        ({"code": None, "libelle": None}, "code et libellé absents"),
        ({"valeur": None}, "valeur absente ou non finie"),
        ({"valeur": float("nan")}, "valeur absente ou non finie"),
        ({"valeur": float("-inf")}, "valeur absente ou non finie"),
        ({"devise": "euros"}, "devise illisible"),
    ],
)
def test_a_line_that_cannot_be_read_is_left_out_with_a_reason(
    fields: dict[str, Any], expected: str | None
) -> None:
    assert reason(**fields) == expected


@pytest.mark.parametrize(
    ("etat", "code", "libelle"),
    [
        ("compte_resultat", "TurnoverRevenueConsolidated", "Chiffre d'affaires"),
        ("compte_resultat", "RevenueConsolidated", "Chiffre d'affaires"),
        ("bilan_actif", "TotalAssetsConsolidated", "Total de l'actif"),
        ("bilan_passif", "CalledUpShareCapitalConsolidated", "Capital social appelé"),
        ("annexe", "AverageNumberEmployeesDuringPeriodConsolidated", "Effectif moyen"),
    ],
)
def test_group_accounts_fill_no_figure_of_the_company(etat: str, code: str, libelle: str) -> None:
    found = attached(line("EE", "1", 2020, etat=etat, code=code, libelle=libelle, valeur=74.0))

    assert found["n_exercices"] == 1
    for field in ("ca_last", "ca_year", "total_actif_last", "effectif", "capital_social"):
        assert found[field] is None, field


def test_exact_copies_of_a_line_are_one() -> None:
    marked = statement_lines.add_reasons(
        comptes(line("EE", "1", 2020), line("EE", "1", 2020), line("EE", "1", 2020, valeur=7.0)),
        companies(company("EE", "1", "Ä")),
        LAST_YEAR,
    )

    found = statement_lines.drop_copies(marked).collect()

    assert sorted(found["valeur"]) == [7.0, 100.0]
    assert statement_lines.contradictions(found.lazy()) == 2


def test_the_five_last_fiscal_years_stay_gaps_or_not() -> None:
    """Contract E5: at most the 5 last fiscal years."""
    years = (2010, 2012, 2013, 2019, 2020, 2021, 2022)
    kept = statement_lines.last_years(
        comptes(*(line("EE", "1", year) for year in years)).drop("iso2")
    )

    assert sorted(kept.collect()["exercice"]) == [2013, 2019, 2020, 2021, 2022]


# -- years -------------------------------------------------------------------------


def test_years_are_those_of_the_statements() -> None:
    row = attached(line("EE", "1", 2019), line("EE", "1", 2021, valeur=3.0), ca_year=2015)

    assert (row["n_exercices"], row["exercice_min"], row["exercice_max"]) == (2, 2019, 2021)
    assert row[statement_lines.PRESENT] is True


@pytest.mark.parametrize(
    ("ca_year", "exercice_actif", "expected"),
    [
        (2020, 2018, (2, 2018, 2020)),
        (2020, 2020, (1, 2020, 2020)),
        (None, 2018, (1, 2018, 2018)),
        (2020, None, (1, 2020, 2020)),
        (None, None, (None, None, None)),
    ],
)
def test_without_statements_years_are_those_of_the_figures_given(
    ca_year: int | None, exercice_actif: int | None, expected: tuple[int | None, ...]
) -> None:
    row = attached(ca_year=ca_year, exercice_actif=exercice_actif)

    assert (row["n_exercices"], row["exercice_min"], row["exercice_max"]) == expected
    assert row[statement_lines.PRESENT] is False


# -- figures -----------------------------------------------------------------------


def revenue(exercice: int, valeur: float, code: str = "TurnoverRevenue") -> Row:
    return line(
        "EE", "1", exercice, etat="compte_resultat", code=code, libelle="CA", valeur=valeur,
        devise="EEK",
    )  # fmt: skip


def test_turnover_comes_from_the_newest_year_that_states_one() -> None:
    row = attached(revenue(2009, 5.0), revenue(2010, 6.0), line("EE", "1", 2011))

    assert (row["ca_last"], row["ca_year"], row["ca_devise"], row["ca_mult"]) == (
        6.0,
        2010,
        "EEK",
        1,
    )


def test_of_two_codes_of_one_figure_the_first_in_roles_wins() -> None:
    row = attached(revenue(2010, 9.0, "RevenueConsolidated"), revenue(2010, 6.0, "Revenue"))

    assert row["ca_last"] == 6.0


@pytest.mark.parametrize("given", [{"ca_last": 0.0, "ca_mult": 1000}, {"ca_eur": 0.5}])
def test_a_given_turnover_is_not_mixed_with_that_of_the_statements(given: dict[str, Any]) -> None:
    row = attached(revenue(2010, 6.0), **given)

    assert row["ca_last"] == given.get("ca_last")
    assert row["ca_mult"] == given.get("ca_mult")
    assert row["ca_year"] is row["ca_devise"] is None


def test_total_assets_come_with_their_year_and_currency() -> None:
    row = attached(line("EE", "1", 2020, valeur=-3.0), devise="USD", unite_mult=1000)

    assert row["total_actif_last"] == -3.0
    assert (row["exercice_actif"], row["devise"], row["unite_mult"]) == (2020, "EUR", 1)


def test_given_total_assets_are_kept_with_their_unit() -> None:
    row = attached(line("EE", "1", 2020), total_actif_last=0.0, devise="USD", unite_mult=1000)

    assert (row["total_actif_last"], row["exercice_actif"]) == (0.0, None)
    assert (row["devise"], row["unite_mult"]) == ("USD", 1000)


@pytest.mark.parametrize(
    "label",
    ["Total de l’actif", "TOTAL GÉNÉRAL (actif)".replace("(actif)", "ACTIF"), "Total  bilan."],
)
def test_total_assets_are_known_by_their_label_too(label: str) -> None:
    assert attached(line("EE", "1", 2020, code=None, libelle=label))["total_actif_last"] == 100.0


def test_a_label_of_the_other_side_is_not_total_assets() -> None:
    other = line("EE", "1", 2020, etat="bilan_passif", code="X", libelle="Total du bilan")

    assert attached(other)["total_actif_last"] is None


def test_labels_are_folded_as_the_search_folds_them() -> None:
    """Contract B15, for the letters that these labels are written in."""
    assert [fold(label) for label in statement_lines.TOTAL_ASSETS] == list(
        statement_lines.TOTAL_ASSETS
    )


def staff(valeur: float) -> Row:
    return line(
        "EE", "1", 2020, etat="annexe", code="AverageNumberEmployeesDuringPeriod", valeur=valeur,
        devise=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "expected"), [(12.0, 12), (3.6, 4), (0.0, 0), (-2.0, None), (1e12, None)]
)
def test_headcount_is_a_whole_number_of_persons(stated: float, expected: int | None) -> None:
    assert attached(staff(stated))["effectif"] == expected


def test_a_given_headcount_of_zero_is_kept() -> None:
    assert attached(staff(5.0), effectif=0)["effectif"] == 0


def test_capital_comes_with_its_currency() -> None:
    issued = line("EE", "1", 2020, etat="bilan_passif", code="IssuedCapital", valeur=2500.0)

    row = attached(issued, capital_devise="EEK")

    assert (row["capital_social"], row["capital_devise"]) == (2500.0, "EUR")


def test_every_role_of_the_table_is_one_that_the_code_knows() -> None:
    assert {row["role"] for row in SEEDS.tables["roles"]} == set(statement_lines.ROLES)


def test_no_company_is_lost_or_doubled_by_its_lines() -> None:
    firms = companies(company("EE", "1", "Ä"), company("EE", "2", "Ö"))
    lines = comptes(line("EE", "1", 2020), line("EE", "1", 2021), revenue(2021, 1.0)).drop("iso2")

    found = statement_lines.fill_from_statements(
        firms, statement_lines.facts(lines, SEEDS)
    ).collect()

    assert sorted(found["id"]) == ["1", "2"]
    assert found.filter(id="2")["total_actif_last"].item() is None
    assert isinstance(found.schema["n_exercices"], pl.Int64)
