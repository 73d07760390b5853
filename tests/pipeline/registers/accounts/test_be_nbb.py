"""Belgian accounts, compared with the three models of the excerpt."""

from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from tests.pipeline.registers.accounts.filed import RAW, counts, imported, values


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[importing.Report, pl.DataFrame]:
    return imported("be-nbb", [RAW / "be" / "cbso_excerpt.zip"], tmp_path_factory.mktemp("be"))


def test_every_model_is_kept(excerpt: tuple[importing.Report, pl.DataFrame]) -> None:
    assert counts(excerpt[0]) == {"read": 3, "kept": 3, "dropped": {}, "rejected": {}}
    assert set(excerpt[1]["devise"]) == {"EUR", None}
    without = excerpt[1].filter(pl.col("devise").is_null())
    assert set(without["code"]) == {"AverageNumberEmployeesDuringPeriod"}


def test_the_full_model_gives_the_income_statement(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # am2 bas:m53 ntr:m6 part:m4 prd:m1 is code 70; a tax income is negative, as published.
    found = values(excerpt[1], "0648822310", 2020, "compte_resultat")

    assert found["TurnoverRevenue"] == 484777143.06
    assert found["OperatingIncome"] == 981724759.9
    assert found["OperatingExpenses"] == 1177868208.34
    assert found["OperatingProfitLoss"] == -196143448.44
    assert found["ProfitLossBeforeTax"] == 54441433.5
    assert found["TaxTaxCreditOnProfitOrLossOnOrdinaryActivities"] == -34161925.48
    assert found["ProfitLoss"] == 115942394.88


def test_the_balance_sheet_closes_and_its_parts_add_up(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    assets = values(excerpt[1], "0648822310", 2020, "bilan_actif")
    owed = values(excerpt[1], "0648822310", 2020, "bilan_passif")

    assert assets["TotalAssets"] == owed["LiabilitiesAndEquity"] == 14340301238.13
    parts = ("FormationExpenses", "FixedAssets", "CurrentAssets")
    assert sum(assets[part] for part in parts) == pytest.approx(assets["TotalAssets"], abs=0.01)
    parts = ("Equity", "ProvisionsForLiabilities", "Creditors")
    assert sum(owed[part] for part in parts) == pytest.approx(assets["TotalAssets"], abs=0.01)


def test_the_year_before_is_a_member_of_its_own(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    before = values(excerpt[1], "0648822310", 2019, "bilan_actif")

    assert before["TotalAssets"] == 13673498532.09
    assert set(excerpt[1]["exercice"]) == {2019, 2020}


def test_the_abbreviated_model_has_a_gross_margin_and_may_state_turnover(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    found = values(excerpt[1], "0508773215", 2020, "compte_resultat")

    assert found["GrossProfitLoss"] == 4078631
    assert found["TurnoverRevenue"] == 8499327
    assert found["ProfitLoss"] == 655973


def test_the_mean_staff_is_that_of_the_notes_else_of_the_social_report(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    code = "AverageNumberEmployeesDuringPeriod"

    assert values(excerpt[1], "0648822310", 2020, "annexe")[code] == 936.4
    assert values(excerpt[1], "0563659278", 2020, "annexe")[code] == 1003  # 100: a test filing


def test_lines_that_the_chart_lacks_are_named_and_notes_are_ignored_with_a_reason(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    counted = excerpt[0].counts

    assert counted.ignored["annexe : détail des postes du bilan et du résultat"] > 500
    assert all("part=m6" not in name for name in counted.examples["concepts inconnus"])


def test_a_filing_of_two_companies_is_rejected_by_name(tmp_path: Path) -> None:
    good = RAW / "be" / "cbso_excerpt.zip"
    bad = tmp_path / "2021-00000001.xbrl"
    bad.write_text(
        '<xbrl xmlns="http://www.xbrl.org/2003/instance">'
        + "".join(
            f'<context id="{n}"><entity><identifier scheme="s">{n}</identifier></entity><period>'
            "<instant>2020-12-31</instant></period></context>"
            for n in ("0648822310", "0508773215")
        )
        + "</xbrl>"
    )
    report, lines = imported("be-nbb", [good, bad], tmp_path / "out")

    assert (report.counts.read, report.counts.kept) == (4, 3)
    assert report.counts.rejected == {"numéro de société absent": 1}
    assert report.rejected is not None
    rejected = pl.read_parquet(tmp_path / "out" / report.rejected)
    assert rejected["fichier"].to_list() == ["2021-00000001.xbrl"]
    assert lines["id"].n_unique() == 3
