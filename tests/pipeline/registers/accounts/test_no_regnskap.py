"""Norwegian accounts, compared with the register's own example of its mass file."""

from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from tests.pipeline.registers.accounts.filed import RAW, counts, imported, values

Imported = tuple[importing.Report, pl.DataFrame]


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    file = RAW / "no" / "regnskap_masse_2019-03-27.zip"
    return imported("no-regnskap", [file], tmp_path_factory.mktemp("no"))


def mass_file(path: Path, *heads: str) -> Path:
    records = "".join(
        f"<del><hode>{head}</hode><info><feltkode>219</feltkode><sum>5.00</sum></info></del>"
        for head in heads
    )
    path.write_text(f'<?xml version="1.0" encoding="ISO-8859-1"?><deler>{records}</deler>')
    return path


def head(**changed: str) -> str:
    usual = {
        "orgnr": "980919676",
        "regnskapstype": "S",
        "valutakode": "NOK",
        "startdato": "20180101",
        "avslutningsdato": "20181231",
        "mottatt_dato": "20190325",
        "journalnr": "1",
    }
    return "".join(f"<{name}>{value}</{name}>" for name, value in (usual | changed).items())


def test_both_halves_of_an_account_meet_in_one_year(excerpt: Imported) -> None:
    assert counts(excerpt[0]) == {"read": 236, "kept": 236, "dropped": {}, "rejected": {}}
    assert excerpt[1]["id"].n_unique() == 116
    assert values(excerpt[1], "980919676", 2018, "compte_resultat") == {
        "TurnoverRevenue": 10900358.0,
        "SalesRevenue": 1978516.0,
        "OtherOperatingIncome": 8921842.0,
        "StaffCostsEmployeeBenefitsExpense": 8787821.0,
        "DepreciationAmortisationImpairment": 155600.0,
        "OtherOperatingExpenses": 1352761.0,
        "OperatingExpenses": 10296182.0,
        "OperatingProfitLoss": 604176.0,
        "TotalFinancialIncome": 3939.0,
        "OtherFinancialCosts": 8940.0,
        "TotalFinancialCosts": 40384.0,
        "NetFinancialResult": -36445.0,
        "ProfitLossOnOrdinaryActivitiesBeforeTax": 567732.0,
        "TaxTaxCreditOnProfitOrLossOnOrdinaryActivities": 139786.0,
        "ProfitLoss": 427946.0,
        "ComprehensiveIncomeExpense": 427946.0,
    }


def test_balance_sheets_close_in_both_years(excerpt: Imported) -> None:
    sums = (
        excerpt[1]
        .pivot("code", index=["id", "exercice"], values="valeur")
        .with_columns(off=(pl.col("TotalAssets") - pl.col("Equity") - pl.col("Creditors")).abs())
    )
    group = sums["TotalAssetsConsolidated"] - sums["EquityConsolidated"]

    assert sums.filter(pl.col("off") <= 2).height == 228  # kroner, rounded
    # As published: 984609531 states -3 867 of assets and -77 217 of equity for 2017, and so on.
    assert sums.filter(pl.col("off") > 2).sort("id", "exercice")["id"].to_list() == [
        *("913491874", "913550250", "976722760", "984609531", "984609531")
    ]
    assert (group - sums["CreditorsConsolidated"]).drop_nulls().to_list() == [0.0, 0.0]


def test_last_years_figures_have_codes_of_their_own_and_are_those_filed_last_year(
    excerpt: Imported,
) -> None:
    # 913238095 filed 2016 and 2017. Total assets of 2016: 219 in the first, 7127 in the second.
    assets = {y: values(excerpt[1], "913238095", y, "bilan_actif") for y in (2015, 2016, 2017)}

    assert {year: found["TotalAssets"] for year, found in assets.items()} == {
        2015: 339069.0,
        2016: 346352.0,
        2017: 336252.0,
    }
    result = values(excerpt[1], "913238095", 2016, "compte_resultat")
    assert result["ProfitLoss"] == -53266.0


def test_the_accounts_of_a_group_stand_beside_those_of_the_company(excerpt: Imported) -> None:
    found = values(excerpt[1], "920844766", 2018, "compte_resultat")

    assert found["TurnoverRevenue"] == 179709000.0
    assert found["TurnoverRevenueConsolidated"] == 241557000.0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"regnskapstype": "X"}, "nature de comptes inconnue"),
        ({"feilvaloer": "J"}, "montants signalés faux par le registre"),
        ({"avslutningsdato": "2018"}, "date de clôture absente"),
        ({"orgnr": ""}, "numéro de société absent"),
    ],
)
def test_a_record_that_cannot_be_read_is_rejected_and_the_next_is_kept(
    tmp_path: Path, changed: dict[str, str], reason: str
) -> None:
    file = mass_file(tmp_path / "masse.xml", head(**changed), head())
    report, lines = imported("no-regnskap", [file], tmp_path / "out")

    assert report.counts.rejected == {reason: 1}
    assert lines.select("exercice", "valeur", "devise").rows() == [(2018, 5.0, "NOK")]
