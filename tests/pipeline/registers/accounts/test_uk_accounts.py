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
from tests.pipeline.registers.accounts.filed import ImportedAccounts
from tests.pipeline.registers.published import xbrl_filing

ACCOUNTS = TABLES / "raw" / "uk" / "Accounts_Bulk_Data-sample.zip"
TAXONOMY = chart.load_elements("uk-accounts")


YearAndCode = tuple[int, str]  # a fiscal year, and the code of a line


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    out = tmp_path_factory.mktemp("comptes")
    report = importing.run("uk-accounts", [ACCOUNTS], out)
    return ImportedAccounts(report, pl.read_parquet(out / report.output))


def _values_by_year_and_code(
    lines: pl.DataFrame, number: str, etats: Iterable[str] = ETATS
) -> dict[YearAndCode, float]:
    """The amounts of a company in some statements, by fiscal year and code of the line."""
    statement_lines = lines.filter(pl.col("id") == number, pl.col("etat").is_in(list(etats)))
    return {
        (year, code): value
        for year, code, value in statement_lines.select("exercice", "code", "valeur").rows()
    }


def test_a_loss_is_negative_and_costs_are_positive_as_on_the_page(
    excerpt: ImportedAccounts,
) -> None:
    # Page of Doctor Natalie Limited, 31 August 2017: Turnover 19,440; Cost of sales (28,132); Gross loss
    # (8,692); Administrative expenses (1,042); Operating loss (9,734); Interest 22; Loss (9,712).
    lines = _values_by_year_and_code(excerpt.lines, "09753294", ["compte_resultat"])

    assert lines == {
        (2017, "TurnoverRevenue"): 19440.0,
        (2017, "CostSales"): 28132.0,
        (2017, "GrossProfitLoss"): -8692.0,
        (2017, "AdministrativeExpenses"): 1042.0,
        (2017, "OperatingProfitLoss"): -9734.0,
        (2017, "OtherInterestReceivableSimilarIncomeFinanceIncome"): 22.0,
        (2017, "ProfitLossOnOrdinaryActivitiesBeforeTax"): -9712.0,
        (2017, "ProfitLoss"): -9712.0,
    }


def test_a_part_whose_whole_was_not_filed_is_not_labelled_as_a_part(
    excerpt: ImportedAccounts,
) -> None:
    # Company 09707484 filed deferred tax, but not the provisions that deferred tax is a part of.
    labels = dict(
        excerpt.lines.filter(pl.col("id") == "09707484", pl.col("etat") == "bilan_passif")
        .sort("exercice", "ordre")
        .select("code", "libelle")
        .rows()
    )

    assert "ProvisionsForLiabilities" not in labels
    assert labels["TaxationIncludingDeferredTaxation"] == "Impôts, y compris différés"
    # The label of a part begins with "dont"; each such line has its whole in the same filing.
    parts = excerpt.lines.filter(pl.col("libelle").str.starts_with("dont "))
    wholes = excerpt.lines.select("id", "exercice", code_of_whole="code")
    code_of_parent = {line.code: line.parent for line in chart.load_lines().values()}
    parts_and_wholes = parts.with_columns(
        code_of_whole=pl.col("code").replace_strict(code_of_parent, return_dtype=pl.String)
    )
    assert parts_and_wholes.height > 20
    assert parts_and_wholes.join(
        wholes, on=["id", "exercice", "code_of_whole"], how="anti"
    ).is_empty()


def test_an_ixbrl_filing_in_euros_keeps_its_currency_and_both_years(
    excerpt: ImportedAccounts,
) -> None:
    # «Cash at bank and in hand 1000 1000 … 10 Ordinary Shares of € 100 each»
    amounts = excerpt.lines.filter(
        pl.col("id") == "09734389", pl.col("code") != "NumberSharesAllotted"
    )

    assert set(amounts["devise"]) == {"EUR"}
    assert _values_by_year_and_code(excerpt.lines, "09734389") == {
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
    excerpt: ImportedAccounts,
) -> None:
    # Neptune Secretaries Limited, dormant, has £2 of cash and uses concepts of 2004, such as CashBankInHand.
    lines_of_2016 = excerpt.lines.filter(pl.col("id") == "02455581", pl.col("exercice") == 2016)

    assert lines_of_2016.select("etat", "code", "libelle", "valeur", "devise", "ordre").rows() == [
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


def test_dimension_members_give_creditors_and_equity_their_codes(
    excerpt: ImportedAccounts,
) -> None:
    # The page of 09707484, 31 July 2017: Creditors (111,477); share capital 2; profit and loss account 10,753.
    lines = _values_by_year_and_code(excerpt.lines, "09707484")

    assert lines[2017, "CreditorsDueWithinOneYear"] == 111477.0
    assert lines[2017, "CalledUpShareCapital"] == 2.0
    assert lines[2017, "ProfitLossAccountReserve"] == 10753.0
    assert lines[2017, "Equity"] == 10755.0
    assert lines[2017, "TotalAssets"] == 75766.0 + 53256.0
    assert lines[2017, "AverageNumberEmployeesDuringPeriod"] == 5.0


def test_a_balance_sheet_tagged_upside_down_gives_the_amounts_of_its_page(
    excerpt: ImportedAccounts,
) -> None:
    # Capel P&H Ltd: the page says fixed assets 384, current assets 7,044, net assets 2,042.
    lines = _values_by_year_and_code(excerpt.lines, "09225262", ["bilan_actif", "bilan_passif"])

    assert {code: value for (year, code), value in lines.items() if year == 2017} == {
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
    excerpt: ImportedAccounts,
) -> None:
    counts = excerpt.report.counts

    assert "concepts inconnus" not in counts.noted
    assert "faits illisibles" not in counts.detail
    assert (counts.read, counts.kept) == (283, 283)
    assert counts.detail["total de l'actif confirmé"] == 345
    assert counts.detail["total de l'actif contredit"] == 3


def test_every_fact_that_was_read_is_in_a_line_or_counted_by_its_reason(
    excerpt: ImportedAccounts,
) -> None:
    counts, lines = excerpt.report.counts, excerpt.lines
    is_computed = pl.col("libelle").str.ends_with("(calculé)") | (pl.col("code") == "PeriodMonths")
    facts_in_lines = lines.filter(~is_computed).height
    reasons = (
        "faits répétés",
        "faits ventilés (le total est repris)",
        "faits à une autre date que la clôture",
        "faits repris sous un autre concept",
        "lignes d'annexe écartées (contradictoires)",
        "lignes remplacées par un dépôt ultérieur",
    )

    left_out = sum(counts.ignored.values()) + sum(counts.detail.get(name, 0) for name in reasons)
    assert counts.detail["faits lus"] == facts_in_lines + left_out


def test_unusable_filings_of_an_archive_are_rejected_and_the_good_one_is_kept(
    tmp_path: Path,
) -> None:
    archive = tmp_path / "Accounts_Bulk_Data.zip"
    with zipfile.ZipFile(ACCOUNTS) as source, zipfile.ZipFile(archive, "w") as target:
        filing = source.read("Prod223_2125_09734389_20171231.html")
        target.writestr("Prod223_2125_09734389_20171231.html", filing)
        # The same filing under the number of another company.
        target.writestr("Prod223_2125_09999999_20171231.html", filing)
        target.writestr("Prod223_2125_09999998_20171231.html", "<html>coupé")
        target.writestr("Prod223_2125_09999997_20171231.xml", "ceci n'est pas un dépôt")
        target.writestr("lisez-moi.txt", "rien")

    report = importing.run("uk-accounts", [archive], tmp_path / "out")

    assert (report.counts.read, report.counts.kept) == (5, 1)
    rejected = pl.read_parquet(tmp_path / "out" / (report.rejected or ""))
    assert rejected.select("fichier", "id", "motif").rows() == [
        ("Prod223_2125_09999997_20171231.xml", "09999997", "ni XBRL ni iXBRL"),
        ("Prod223_2125_09999998_20171231.html", "09999998", "aucun poste reconnu"),
        ("Prod223_2125_09999999_20171231.html", "09999999", "numéro contredit par le dépôt"),
        ("lisez-moi.txt", None, "nom de fichier inconnu"),
    ]
    assert rejected["detail"].to_list()[2] == "09734389"


def test_a_later_filing_replaces_only_the_lines_that_it_states(tmp_path: Path) -> None:
    earlier = xbrl_filing("2016-12-31", CashBankInHand="5", Debtors="7")
    later = xbrl_filing("2017-12-31", "2016-12-31", CashBankInHand="6")
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("Prod224_0043_00000001_20171231.xml", later)
        target.writestr("Prod224_0042_00000001_20161231.xml", earlier)

    report = importing.run("uk-accounts", [archive], tmp_path / "out")

    lines = pl.read_parquet(tmp_path / "out" / report.output)
    by_code = _values_by_year_and_code(lines, "00000001")
    assert by_code[2016, "CashBankOnHand"] == 6.0
    assert by_code[2016, "Debtors"] == 7.0
    assert by_code[2017, "CashBankOnHand"] == 6.0


def test_total_assets_are_not_computed_from_an_amount_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "Prod224_0042_00944111_20160831.xml"
    path.write_text(
        xbrl_filing("2016-08-31", CurrentAssets="1505374,00", FixedAssets="", Debtors="7")
    )

    report = importing.run("uk-accounts", [path], tmp_path / "out")

    lines = pl.read_parquet(tmp_path / "out" / report.output)
    assert dict(lines.select("code", "valeur").rows()) == {"Debtors": 7.0}
    assert report.counts.detail["faits illisibles"] == 2
    assert report.counts.detail["total de l'actif non calculé (montant illisible)"] == 1
