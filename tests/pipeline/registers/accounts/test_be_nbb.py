"""Belgian accounts, compared with the three models of the excerpt."""

from pathlib import Path

import polars as pl
import pytest

from tests.pipeline.registers.accounts.filed import (
    RAW,
    ImportedAccounts,
    import_accounts,
    instance_xml,
    outcome_counts,
    statement_values,
)


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    return import_accounts(
        "be-nbb", [RAW / "be" / "cbso_excerpt.zip"], tmp_path_factory.mktemp("be")
    )


def test_every_model_is_kept(excerpt: ImportedAccounts) -> None:
    assert outcome_counts(excerpt.report) == {"read": 3, "kept": 3, "dropped": {}, "rejected": {}}
    assert set(excerpt.lines["devise"]) == {"EUR", None}
    without_currency = excerpt.lines.filter(pl.col("devise").is_null())
    assert set(without_currency["code"]) == {"AverageNumberEmployeesDuringPeriod"}


def test_the_full_model_gives_the_income_statement(
    excerpt: ImportedAccounts,
) -> None:
    # Code 70 of the form, turnover, is am2 with the members bas:m53 ntr:m6 part:m4 prd:m1. A tax income is negative, as
    # published.
    lines = statement_values(excerpt.lines, "0648822310", 2020, "compte_resultat")

    assert lines["TurnoverRevenue"] == 484777143.06
    assert lines["OperatingIncome"] == 981724759.9
    assert lines["OperatingExpenses"] == 1177868208.34
    assert lines["OperatingProfitLoss"] == -196143448.44
    assert lines["ProfitLossBeforeTax"] == 54441433.5
    assert lines["TaxTaxCreditOnProfitOrLossOnOrdinaryActivities"] == -34161925.48
    assert lines["ProfitLoss"] == 115942394.88


def test_the_balance_sheet_closes_and_its_parts_add_up(
    excerpt: ImportedAccounts,
) -> None:
    assets = statement_values(excerpt.lines, "0648822310", 2020, "bilan_actif")
    liabilities = statement_values(excerpt.lines, "0648822310", 2020, "bilan_passif")

    assert assets["TotalAssets"] == liabilities["LiabilitiesAndEquity"] == 14340301238.13
    parts = ("FormationExpenses", "FixedAssets", "CurrentAssets")
    assert sum(assets[part] for part in parts) == pytest.approx(assets["TotalAssets"], abs=0.01)
    parts = ("Equity", "ProvisionsForLiabilities", "Creditors")
    assert sum(liabilities[part] for part in parts) == pytest.approx(
        assets["TotalAssets"], abs=0.01
    )


def test_amounts_of_the_year_before_are_lines_of_that_year(
    excerpt: ImportedAccounts,
) -> None:
    assets_before = statement_values(excerpt.lines, "0648822310", 2019, "bilan_actif")

    assert assets_before["TotalAssets"] == 13673498532.09
    assert set(excerpt.lines["exercice"]) == {2019, 2020}


def test_the_abbreviated_model_has_a_gross_margin_and_can_state_turnover(
    excerpt: ImportedAccounts,
) -> None:
    lines = statement_values(excerpt.lines, "0508773215", 2020, "compte_resultat")

    assert lines["GrossProfitLoss"] == 4078631
    assert lines["TurnoverRevenue"] == 8499327
    assert lines["ProfitLoss"] == 655973


def test_the_headcount_is_from_the_notes_or_else_from_the_social_report(
    excerpt: ImportedAccounts,
) -> None:
    code = "AverageNumberEmployeesDuringPeriod"

    assert statement_values(excerpt.lines, "0648822310", 2020, "annexe")[code] == 936.4
    # Code 100 of the social report, in a filing made for tests.
    assert statement_values(excerpt.lines, "0563659278", 2020, "annexe")[code] == 1003


def test_lines_that_the_chart_lacks_are_named_and_notes_are_ignored_with_a_reason(
    excerpt: ImportedAccounts,
) -> None:
    report_counts = excerpt.report.counts

    assert report_counts.ignored["annexe : détail des postes du bilan et du résultat"] > 500
    # A concept with the member part=m6 is of the notes.
    assert all("part=m6" not in name for name in report_counts.examples["concepts inconnus"])


@pytest.mark.parametrize(("member", "years"), [("m1", [2024]), ("m2", [2023]), ("m3", [])])
def test_an_amount_of_an_unknown_year_is_not_of_this_year(
    tmp_path: Path, member: str, years: list[int]
) -> None:
    # Total assets with the member of their year.
    members = {"bas": "m25", "part": "m1", "prd": member}
    dimensions = "".join(
        f'<xbrldi:explicitMember dimension="d:{name}">x:{value}</xbrldi:explicitMember>'
        for name, value in members.items()
    )
    fact = '<f:am1 contextRef="g" unitRef="EUR" decimals="0">9</f:am1>'
    filing = tmp_path / "2025-00000001.xbrl"
    filing.write_text(instance_xml(fact, number="0200065765", dimensions=dimensions))
    excerpt_zip = RAW / "be" / "cbso_excerpt.zip"
    _, lines = import_accounts("be-nbb", [excerpt_zip, filing], tmp_path / "out")

    assert lines.filter(pl.col("id") == "0200065765")["exercice"].to_list() == years


def test_a_filing_of_two_companies_is_rejected_by_name(tmp_path: Path) -> None:
    excerpt_zip = RAW / "be" / "cbso_excerpt.zip"
    two_companies = tmp_path / "2021-00000001.xbrl"
    two_companies.write_text(
        '<xbrl xmlns="http://www.xbrl.org/2003/instance">'
        + "".join(
            f'<context id="{number}"><entity><identifier scheme="s">{number}</identifier></entity><period>'
            "<instant>2020-12-31</instant></period></context>"
            for number in ("0648822310", "0508773215")
        )
        + "</xbrl>"
    )
    report, lines = import_accounts("be-nbb", [excerpt_zip, two_companies], tmp_path / "out")

    assert (report.counts.read, report.counts.kept) == (4, 3)
    assert report.counts.rejected == {"numéro de société absent": 1}
    assert report.rejected is not None
    rejected = pl.read_parquet(tmp_path / "out" / report.rejected)
    assert rejected["fichier"].to_list() == ["2021-00000001.xbrl"]
    assert lines["id"].n_unique() == 3
