"""Statement lines: the kept lines, and the fields of a company filled from them."""

from typing import Any

import polars as pl
import pytest

from pipeline import seeds
from pipeline.stages import statement_lines
from pipeline.stages.rejections import REASON
from shards.codec.folding import fold
from tests.pipeline.rows import Row, companies_frame, company, statement_line, statements_frame

SEEDS = seeds.read()
LAST_YEAR = 2029  # a later fiscal year is implausible


def filled_company(*lines: Row, **fields: Any) -> dict[str, Any]:
    """The row of a company with these fields, after the stages that fill it from its statement lines."""
    companies = companies_frame(company("EE", "1", "Õun OÜ", **fields))
    kept_lines = statement_lines.last_years(
        statement_lines.drop_copies(
            statement_lines.add_reasons(statements_frame(*lines), companies, LAST_YEAR)
        )
    )
    return (
        statement_lines.fill_from_statements(companies, statement_lines.facts(kept_lines, SEEDS))
        .collect()
        .row(0, named=True)
    )


def line_fault(**fields: Any) -> str | None:
    """The reason why a statement line with these fields is left out; None if it is kept."""
    marked = statement_lines.add_reasons(
        statements_frame(statement_line("EE", "1", 2020) | fields),
        companies_frame(company("EE", "1", "Ä")),
        LAST_YEAR,
    )
    fault: str | None = marked.collect()[REASON].item()
    return fault


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
def test_a_line_without_a_label_gets_the_label_of_its_code(
    code: str | None, libelle: str | None, expected: str
) -> None:
    """Contract E5: `libelle` is a text."""
    lines = statements_frame(statement_line("EE", "1", 2020, code=code, libelle=libelle))

    rows = lines.pipe(statement_lines.fill_labels, SEEDS).collect()

    assert rows.select("code", "libelle").row(0) == (code, expected)


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
    assert line_fault(**fields) == expected


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
    row = filled_company(
        statement_line("EE", "1", 2020, etat=etat, code=code, libelle=libelle, valeur=74.0)
    )

    assert row["n_exercices"] == 1
    for field in ("ca_last", "ca_year", "total_actif_last", "effectif", "capital_social"):
        assert row[field] is None, field


def test_exact_copies_of_a_line_are_merged_and_contradictory_lines_are_kept_and_counted() -> None:
    marked = statement_lines.add_reasons(
        statements_frame(
            statement_line("EE", "1", 2020),
            statement_line("EE", "1", 2020),
            statement_line("EE", "1", 2020, valeur=7.0),
        ),
        companies_frame(company("EE", "1", "Ä")),
        LAST_YEAR,
    )

    rows = statement_lines.drop_copies(marked).collect()

    assert sorted(rows["valeur"]) == [7.0, 100.0]
    assert statement_lines.contradictions(rows.lazy()) == 2


def test_the_last_five_years_with_accounts_are_kept_even_if_years_between_are_missing() -> None:
    """Contract E5: at most the 5 last fiscal years."""
    years = (2010, 2012, 2013, 2019, 2020, 2021, 2022)
    kept_lines = statement_lines.last_years(
        statements_frame(*(statement_line("EE", "1", year) for year in years)).drop("iso2")
    )

    assert sorted(kept_lines.collect()["exercice"]) == [2013, 2019, 2020, 2021, 2022]


# -- years -------------------------------------------------------------------------


def test_the_years_of_a_company_are_the_years_of_its_statements() -> None:
    row = filled_company(
        statement_line("EE", "1", 2019), statement_line("EE", "1", 2021, valeur=3.0), ca_year=2015
    )

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
def test_without_statements_the_years_are_the_years_of_published_figures(
    ca_year: int | None, exercice_actif: int | None, expected: tuple[int | None, ...]
) -> None:
    row = filled_company(ca_year=ca_year, exercice_actif=exercice_actif)

    assert (row["n_exercices"], row["exercice_min"], row["exercice_max"]) == expected
    assert row[statement_lines.PRESENT] is False


# -- figures -----------------------------------------------------------------------


def turnover_line(exercice: int, valeur: float, code: str = "TurnoverRevenue") -> Row:
    """A line of turnover in Estonian kroons."""
    return statement_line(
        "EE", "1", exercice, etat="compte_resultat", code=code, libelle="CA", valeur=valeur,
        devise="EEK",
    )  # fmt: skip


def test_turnover_comes_from_the_newest_year_that_states_one() -> None:
    row = filled_company(
        turnover_line(2009, 5.0), turnover_line(2010, 6.0), statement_line("EE", "1", 2011)
    )

    assert (row["ca_last"], row["ca_year"], row["ca_devise"], row["ca_mult"]) == (
        6.0,
        2010,
        "EEK",
        1,
    )


def test_the_figure_comes_from_the_first_of_its_codes_in_the_table_of_roles() -> None:
    row = filled_company(
        turnover_line(2010, 9.0, "RevenueConsolidated"), turnover_line(2010, 6.0, "Revenue")
    )

    assert row["ca_last"] == 6.0


@pytest.mark.parametrize("published", [{"ca_last": 0.0, "ca_mult": 1000}, {"ca_eur": 0.5}])
def test_a_published_turnover_is_not_mixed_with_the_turnover_of_statements(
    published: dict[str, Any],
) -> None:
    row = filled_company(turnover_line(2010, 6.0), **published)

    assert row["ca_last"] == published.get("ca_last")
    assert row["ca_mult"] == published.get("ca_mult")
    assert row["ca_year"] is row["ca_devise"] is None


def test_total_assets_come_with_their_year_and_currency() -> None:
    row = filled_company(
        statement_line("EE", "1", 2020, valeur=-3.0), devise="USD", unite_mult=1000
    )

    assert row["total_actif_last"] == -3.0
    assert (row["exercice_actif"], row["devise"], row["unite_mult"]) == (2020, "EUR", 1)


def test_published_total_assets_keep_their_currency_and_unit() -> None:
    row = filled_company(
        statement_line("EE", "1", 2020), total_actif_last=0.0, devise="USD", unite_mult=1000
    )

    assert (row["total_actif_last"], row["exercice_actif"]) == (0.0, None)
    assert (row["devise"], row["unite_mult"]) == ("USD", 1000)


@pytest.mark.parametrize(
    "label",
    ["Total de l’actif", "TOTAL GÉNÉRAL ACTIF", "Total  bilan."],
)
def test_a_line_without_a_code_is_total_assets_by_its_label(label: str) -> None:
    assert (
        filled_company(statement_line("EE", "1", 2020, code=None, libelle=label))[
            "total_actif_last"
        ]
        == 100.0
    )


def test_a_label_of_total_assets_among_liabilities_is_ignored() -> None:
    liability_line = statement_line(
        "EE", "1", 2020, etat="bilan_passif", code="X", libelle="Total du bilan"
    )

    assert filled_company(liability_line)["total_actif_last"] is None


def test_labels_are_folded_as_the_search_folds_them() -> None:
    """Contract B15, for the letters of these labels."""
    assert [fold(label) for label in statement_lines.TOTAL_ASSETS] == list(
        statement_lines.TOTAL_ASSETS
    )


def headcount_line(valeur: float) -> Row:
    """A line of the number of employees in 2020."""
    return statement_line(
        "EE", "1", 2020, etat="annexe", code="AverageNumberEmployeesDuringPeriod", valeur=valeur,
        devise=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "expected"), [(12.0, 12), (3.6, 4), (0.0, 0), (-2.0, None), (1e12, None)]
)
def test_headcount_is_a_whole_number_of_persons(stated: float, expected: int | None) -> None:
    assert filled_company(headcount_line(stated))["effectif"] == expected


def test_a_published_headcount_of_zero_is_not_replaced() -> None:
    assert filled_company(headcount_line(5.0), effectif=0)["effectif"] == 0


def test_capital_of_statements_replaces_the_published_currency() -> None:
    issued = statement_line(
        "EE", "1", 2020, etat="bilan_passif", code="IssuedCapital", valeur=2500.0
    )

    row = filled_company(issued, capital_devise="EEK")

    assert (row["capital_social"], row["capital_devise"]) == (2500.0, "EUR")


def test_the_roles_of_the_table_are_the_roles_of_the_code() -> None:
    assert {row["role"] for row in SEEDS.tables["roles"]} == set(statement_lines.ROLES)


def test_filling_from_statements_neither_loses_nor_repeats_a_company() -> None:
    firms = companies_frame(company("EE", "1", "Ä"), company("EE", "2", "Ö"))
    lines = statements_frame(
        statement_line("EE", "1", 2020), statement_line("EE", "1", 2021), turnover_line(2021, 1.0)
    ).drop("iso2")

    rows = statement_lines.fill_from_statements(
        firms, statement_lines.facts(lines, SEEDS)
    ).collect()

    assert sorted(rows["id"]) == ["1", "2"]
    assert rows.filter(id="2")["total_actif_last"].item() is None
    assert isinstance(rows.schema["n_exercices"], pl.Int64)
