"""Filed accounts, compared with the figures on their pages."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from pipeline.registers.accounts import chart
from seeds import TABLES
from shards.codec.record import ETATS
from tests.pipeline.registers.published import xbrl

ACCOUNTS = TABLES / "raw" / "uk" / "Accounts_Bulk_Data-sample.zip"
TAXONOMY = chart.load_elements("uk-accounts")


Key = tuple[int, str]


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[importing.Report, pl.DataFrame]:
    out = tmp_path_factory.mktemp("comptes")
    report = importing.run("uk-accounts", [ACCOUNTS], out)
    return report, pl.read_parquet(out / report.output)


def _values(lines: pl.DataFrame, number: str, etats: Iterable[str] = ETATS) -> dict[Key, float]:
    own = lines.filter(pl.col("id") == number, pl.col("etat").is_in(list(etats)))
    return {(year, code): v for year, code, v in own.select("exercice", "code", "valeur").rows()}


def test_a_loss_is_negative_and_costs_are_positive_as_on_the_page(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # Doctor Natalie Limited, 31 August 2017: Turnover 19,440; Cost of sales (28,132); Gross loss
    # (8,692); Administrative expenses (1,042); Operating loss (9,734); Interest 22; Loss (9,712).
    found = _values(excerpt[1], "09753294", ["compte_resultat"])

    assert found == {
        (2017, "TurnoverRevenue"): 19440.0,
        (2017, "CostSales"): 28132.0,
        (2017, "GrossProfitLoss"): -8692.0,
        (2017, "AdministrativeExpenses"): 1042.0,
        (2017, "OperatingProfitLoss"): -9734.0,
        (2017, "OtherInterestReceivableSimilarIncomeFinanceIncome"): 22.0,
        (2017, "ProfitLossOnOrdinaryActivitiesBeforeTax"): -9712.0,
        (2017, "ProfitLoss"): -9712.0,
    }


def test_a_part_of_provisions_that_were_not_filed_does_not_hang_under_equity(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # 09707484: deferred tax of 6,790, no provisions: the line above it is the capital.
    labels = dict(
        excerpt[1]
        .filter(pl.col("id") == "09707484", pl.col("etat") == "bilan_passif")
        .sort("exercice", "ordre")
        .select("code", "libelle")
        .rows()
    )

    assert "ProvisionsForLiabilities" not in labels
    assert labels["TaxationIncludingDeferredTaxation"] == "Impôts, y compris différés"
    parts = excerpt[1].filter(pl.col("libelle").str.starts_with("dont "))
    wholes = excerpt[1].select("id", "exercice", code_of_whole="code")
    parent = {line.code: line.parent for line in chart.load().values()}
    hung = parts.with_columns(
        code_of_whole=pl.col("code").replace_strict(parent, return_dtype=pl.String)
    )
    assert hung.height > 20
    assert hung.join(wholes, on=["id", "exercice", "code_of_whole"], how="anti").is_empty()


def test_an_ixbrl_filing_in_euros_keeps_its_currency_and_both_years(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # «Cash at bank and in hand 1000 1000 … 10 Ordinary Shares of € 100 each»
    own = excerpt[1].filter(pl.col("id") == "09734389", pl.col("code") != "NumberSharesAllotted")

    assert set(own["devise"]) == {"EUR"}
    assert _values(excerpt[1], "09734389") == {
        (year, code): 1000.0
        for year in (2016, 2017)
        for code in (
            "CashBankOnHand",
            "TotalAssets",
            "Equity",
            "NetAssetsLiabilities",
            "ShareCapitalAllottedCalledUpPaid",
        )
    } | {(2017, "NumberSharesAllotted"): 10.0}


def test_an_old_xbrl_filing_gives_the_same_codes_as_a_new_one(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # Neptune Secretaries Limited, dormant, £2 of cash: UK GAAP 2004 concepts (CashBankInHand …).
    own = excerpt[1].filter(pl.col("id") == "02455581", pl.col("exercice") == 2016)

    assert own.select("etat", "code", "libelle", "valeur", "devise", "ordre").rows() == [
        (
            *("bilan_actif", "CalledUpShareCapitalNotPaid"),
            *("Capital souscrit, appelé, non versé", 0.0, "GBP", 10),
        ),
        ("bilan_actif", "CashBankOnHand", "Disponibilités", 2.0, "GBP", 90),
        ("bilan_actif", "TotalAssets", "Total de l'actif (calculé)", 2.0, "GBP", 120),
        ("bilan_passif", "Equity", "Capitaux propres", 2.0, "GBP", 60),
        ("bilan_passif", "NetAssetsLiabilities", "Actif net", 2.0, "GBP", 130),
        (
            *("annexe", "ShareCapitalAllottedCalledUpPaid"),
            *("Actions ordinaires émises et libérées : valeur nominale", 2.0, "GBP", 30),
        ),
        ("annexe", "NumberSharesAllotted", "Actions ordinaires émises : nombre", 2.0, None, 31),
    ]


def test_creditors_and_equity_are_told_apart_by_their_members(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # 09707484, 31 July 2017: Creditors (111,477); share capital 2; profit and loss account 10,753.
    found = _values(excerpt[1], "09707484")

    assert found[2017, "CreditorsDueWithinOneYear"] == 111477.0
    assert found[2017, "CalledUpShareCapital"] == 2.0
    assert found[2017, "ProfitLossAccountReserve"] == 10753.0
    assert found[2017, "Equity"] == 10755.0
    assert found[2017, "TotalAssets"] == 75766.0 + 53256.0
    assert found[2017, "AverageNumberEmployeesDuringPeriod"] == 5.0


def test_a_balance_sheet_tagged_upside_down_reads_as_its_page(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    # Capel P&H Ltd: the page says fixed assets 384, current assets 7,044, net assets 2,042.
    found = _values(excerpt[1], "09225262", ["bilan_actif", "bilan_passif"])

    assert {code: value for (year, code), value in found.items() if year == 2017} == {
        "FixedAssets": 384.0,
        "CurrentAssets": 7044.0,
        "TotalAssets": 7428.0,
        "NetCurrentAssetsLiabilities": 1658.0,
        "TotalAssetsLessCurrentLiabilities": 2042.0,
        "CreditorsDueWithinOneYear": 5386.0,
        "Equity": 2042.0,
        "NetAssetsLiabilities": 2042.0,
    }


def test_no_concept_of_the_excerpt_is_unknown(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    counts = excerpt[0].counts

    assert "concepts inconnus" not in counts.noted
    assert "faits illisibles" not in counts.detail
    assert (counts.read, counts.kept) == (283, 283)
    assert counts.detail["total de l'actif confirmé"] == 345
    assert counts.detail["total de l'actif contredit"] == 3


def test_every_fact_read_is_accounted_for(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    counts, lines = excerpt[0].counts, excerpt[1]
    made = pl.col("libelle").str.ends_with("(calculé)") | (pl.col("code") == "PeriodMonths")
    read = lines.filter(~made).height
    left = (
        "faits répétés",
        "faits ventilés (le total est repris)",
        "faits à une autre date que la clôture",
        "faits repris sous un autre concept",
        "lignes d'annexe écartées (contradictoires)",
        "lignes remplacées par un dépôt ultérieur",
    )

    gone = sum(counts.ignored.values()) + sum(counts.detail.get(name, 0) for name in left)
    assert counts.detail["faits lus"] == read + gone


def test_a_filing_that_states_another_number_is_rejected_and_the_rest_imported(
    tmp_path: Path,
) -> None:
    bulk = tmp_path / "Accounts_Bulk_Data.zip"
    with zipfile.ZipFile(ACCOUNTS) as source, zipfile.ZipFile(bulk, "w") as target:
        good = source.read("Prod223_2125_09734389_20171231.html")
        target.writestr("Prod223_2125_09734389_20171231.html", good)
        target.writestr("Prod223_2125_09999999_20171231.html", good)
        target.writestr("Prod223_2125_09999998_20171231.html", "<html>coupé")
        target.writestr("Prod223_2125_09999997_20171231.xml", "ceci n'est pas un dépôt")
        target.writestr("lisez-moi.txt", "rien")

    report = importing.run("uk-accounts", [bulk], tmp_path / "out")

    assert (report.counts.read, report.counts.kept) == (5, 1)
    rejected = pl.read_parquet(tmp_path / "out" / (report.rejected or ""))
    assert rejected.select("fichier", "id", "motif").rows() == [
        ("Prod223_2125_09999997_20171231.xml", "09999997", "ni XBRL ni iXBRL"),
        ("Prod223_2125_09999998_20171231.html", "09999998", "aucun poste reconnu"),
        ("Prod223_2125_09999999_20171231.html", "09999999", "numéro contredit par le dépôt"),
        ("lisez-moi.txt", None, "nom de fichier inconnu"),
    ]
    assert rejected["detail"].to_list()[2] == "09734389"


def test_of_two_filings_the_later_wins_line_by_line(tmp_path: Path) -> None:
    earlier = xbrl("2016-12-31", CashBankInHand="5", Debtors="7")
    later = xbrl("2017-12-31", "2016-12-31", CashBankInHand="6")
    bulk = tmp_path / "a.zip"
    with zipfile.ZipFile(bulk, "w") as target:
        target.writestr("Prod224_0043_00000001_20171231.xml", later)
        target.writestr("Prod224_0042_00000001_20161231.xml", earlier)

    report = importing.run("uk-accounts", [bulk], tmp_path / "out")

    lines = pl.read_parquet(tmp_path / "out" / report.output)
    found = _values(lines, "00000001")
    assert found[2016, "CashBankOnHand"] == 6.0
    assert found[2016, "Debtors"] == 7.0
    assert found[2017, "CashBankOnHand"] == 6.0
