"""Accounts as filed, held to what their pages show; and the rules on facts, one by one."""

import io
import zipfile
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import ETATS, InputError
from pipeline.registers import filing, frc_taxonomy, statement
from pipeline.registers.filing import Fact, FilingError
from pipeline.registers.statement import Amount, Tally
from seeds import TABLES

ACCOUNTS = TABLES / "raw" / "uk" / "Accounts_Bulk_Data-sample.zip"
TAXONOMY = frc_taxonomy.load()
CLOSE, OPEN, BEFORE = date(2017, 9, 30), date(2016, 10, 1), date(2016, 9, 30)

Key = tuple[int, str]


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[importing.Report, pl.DataFrame]:
    out = tmp_path_factory.mktemp("comptes")
    report = importing.run("uk-accounts", [ACCOUNTS], out)
    return report, pl.read_parquet(out / report.sortie)


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
    counts = excerpt[0].comptage

    assert "concepts inconnus" not in counts.traites
    assert "faits illisibles" not in counts.detail
    assert (counts.lus, counts.gardes) == (187, 187)
    assert counts.detail["total de l'actif confirmé"] == 187
    assert counts.detail["total de l'actif contredit"] == 2


def test_every_fact_read_is_accounted_for(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    counts, lines = excerpt[0].comptage, excerpt[1]
    read = lines.filter(~pl.col("libelle").str.ends_with("(calculé)")).height
    left = (
        "faits répétés",
        "faits ventilés (le total est repris)",
        "faits à une autre date que la clôture",
        "faits repris sous un autre concept",
        "lignes d'annexe écartées (contradictoires)",
    )

    gone = sum(counts.ignores.values()) + sum(counts.detail.get(name, 0) for name in left)
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

    assert (report.comptage.lus, report.comptage.gardes) == (5, 1)
    rejected = pl.read_parquet(tmp_path / "out" / (report.rejets or ""))
    assert rejected.select("fichier", "id", "motif").rows() == [
        ("lisez-moi.txt", None, "nom de fichier inconnu"),
        ("Prod223_2125_09999997_20171231.xml", "09999997", "ni XBRL ni iXBRL"),
        ("Prod223_2125_09999998_20171231.html", "09999998", "aucun poste reconnu"),
        ("Prod223_2125_09999999_20171231.html", "09999999", "numéro contredit par le dépôt"),
    ]
    assert rejected["detail"].to_list()[-1] == "09734389"


def test_of_two_filings_the_later_wins_line_by_line(tmp_path: Path) -> None:
    earlier = _xbrl("2016-12-31", CashBankInHand="5", Debtors="7")
    later = _xbrl("2017-12-31", "2016-12-31", CashBankInHand="6")
    bulk = tmp_path / "a.zip"
    with zipfile.ZipFile(bulk, "w") as target:
        target.writestr("Prod224_0043_00000001_20171231.xml", later)
        target.writestr("Prod224_0042_00000001_20161231.xml", earlier)

    report = importing.run("uk-accounts", [bulk], tmp_path / "out")

    lines = pl.read_parquet(tmp_path / "out" / report.sortie)
    found = _values(lines, "00000001")
    assert found[2016, "CashBankOnHand"] == 6.0
    assert found[2016, "Debtors"] == 7.0
    assert found[2017, "CashBankOnHand"] == 6.0


def test_a_fact_said_to_be_nil_or_unreadable_is_no_zero() -> None:
    text = _xbrl("2017-12-31", CashBankInHand="5", Debtors="douze")
    nil = '<pt:Stocks contextRef="c0" unitRef="GBP" xsi:nil="true"/></xbrl>'

    found = filing.parse(io.BytesIO(text.replace("</xbrl>", nil).encode()))

    assert [(fact.cle, fact.valeur) for fact in found.facts] == [("CashBankInHand", 5.0)]
    assert found.illisibles == 2


@pytest.mark.parametrize(
    ("members", "key"),
    [
        (["ns5:CurrentFinancialInstruments"], "Creditors[WithinOneYear]"),
        (["core:WithinOneYear", "ns5:CurrentFinancialInstruments"], "Creditors[WithinOneYear]"),
        (["core:Non-currentFinancialInstruments"], "Creditors[AfterOneYear]"),
        (
            ["core:Non-currentFinancialInstruments", "core:BetweenTwoFiveYears"],
            "Creditors[AfterOneYear+BetweenTwoFiveYears]",
        ),
        ([], "Creditors"),
    ],
)
def test_the_two_ways_to_split_by_due_date_are_one_key(members: list[str], key: str) -> None:
    segment = "".join(
        f'<explicitMember dimension="core:D{n}">{member}</explicitMember>'
        for n, member in enumerate(members)
    )
    text = _xbrl("2017-12-31", Creditors="5").replace(
        "</entity>", f"<segment>{segment}</segment></entity>"
    )

    found = filing.parse(io.BytesIO(text.encode()))

    assert [fact.cle for fact in found.facts] == [key]


@pytest.mark.parametrize(
    "name", ["Prod223_2125_09734389_20171331.html", "Prod223_09734389.html", "09734389.pdf"]
)
def test_a_file_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(FilingError, match="nom de fichier inconnu"):
        filing.deposit(name)


# -- the rules on facts ----------------------------------------------------------------------------


def _fact(
    key: str, value: float, day: date = CLOSE, debut: date | None = None, precision: float = 0
) -> Fact:
    return Fact(key, day, debut, value, "GBP", precision)


def _read(*facts: Fact) -> tuple[dict[Key, float], Tally]:
    tally = Tally()
    found: list[Amount] = statement.amounts(facts, CLOSE, TAXONOMY, tally)
    return {(amount.exercice, amount.line.code): amount.valeur for amount in found}, tally


def test_a_balance_on_the_first_day_is_the_close_of_the_year_before() -> None:
    # The year runs with the calendar, so 1 January would be of the year it opens.
    year = date(2017, 1, 1), date(2017, 12, 31)
    facts = (
        _fact("ProfitLoss", 3, year[1], debut=year[0]),
        _fact("Equity", 10, year[1]),
        _fact("Equity", 7, year[0]),
        _fact("Debtors", 5, year[0]),
    )

    found = statement.amounts(facts, year[1], TAXONOMY, Tally())

    assert [(a.exercice, a.line.code, a.valeur) for a in found if a.line.code != "TotalAssets"] == [
        (2016, "Equity", 7),
        (2016, "Debtors", 5),
        (2017, "ProfitLoss", 3),
        (2017, "Equity", 10),
    ]


def test_of_two_closings_in_a_calendar_year_the_later_counts() -> None:
    found, tally = _read(_fact("Equity", 10), _fact("Equity", 7, date(2017, 3, 31)))

    assert found == {(2017, "Equity"): 10}
    assert tally.compte["faits à une autre date que la clôture"] == 1


def test_a_date_after_the_closing_or_far_before_it_makes_no_fiscal_year() -> None:
    found, _ = _read(
        _fact("Equity", 10),
        _fact("Equity", 1, date(2071, 9, 30)),
        _fact("Equity", 2, date(217, 9, 30)),
    )

    assert found == {(2017, "Equity"): 10}


def test_of_unequal_facts_the_more_precise_is_kept_and_the_case_counted() -> None:
    found, tally = _read(
        _fact("Equity", 12000, precision=-3),
        _fact("Equity", 12345, precision=0),
        _fact("Equity", 12345, precision=0),
    )

    assert found == {(2017, "Equity"): 12345}
    assert tally.compte["faits contradictoires"] == 1
    assert tally.compte["faits répétés"] == 2


def test_of_two_periods_that_end_together_the_longer_is_the_fiscal_year() -> None:
    found, _ = _read(
        _fact("TurnoverRevenue", 25, debut=date(2017, 7, 1)),
        _fact("TurnoverRevenue", 100, debut=OPEN),
    )

    assert found == {(2017, "TurnoverRevenue"): 100}


def test_of_two_concepts_of_one_line_the_first_in_the_mapping_is_read() -> None:
    new, old = _fact("PropertyPlantEquipment", 10), _fact("TangibleFixedAssets", 11)

    assert _read(new, old)[0][2017, "PropertyPlantEquipment"] == 10
    assert _read(old, new)[0][2017, "PropertyPlantEquipment"] == 10


def test_rows_of_a_table_of_share_classes_give_no_line() -> None:
    found, tally = _read(
        _fact("Equity", 1500),
        _fact("NumberOrdinarySharesAllotted", 1000),
        _fact("NumberOrdinarySharesAllotted", 500),
    )

    assert found == {(2017, "Equity"): 1500}
    assert tally.compte["lignes d'annexe écartées (contradictoires)"] == 1


def test_a_part_of_a_known_total_is_left_and_an_unknown_concept_is_named() -> None:
    _, tally = _read(
        _fact("Equity", 1),
        _fact("PropertyPlantEquipment[PlantMachinery]", 5),
        _fact("RateDepreciation", 0.25),
        _fact("LicornesDomestiquées", 3),
    )

    assert tally.compte["faits ventilés (le total est repris)"] == 1
    assert tally.ignores.total() == 1
    assert tally.inconnus == {"LicornesDomestiquées": 1}


@pytest.mark.parametrize(
    ("facts", "total"),
    [
        ({"FixedAssets": 10, "CurrentAssets": 5}, 15),
        ({"CurrentAssets": 5, "CalledUpShareCapitalNotPaid": 1}, 6),
        ({"TangibleFixedAssets": 10, "CashBankInHand": 2, "Debtors": 3}, 15),
        ({"FixedAssets": 10, "TangibleFixedAssets": 10, "CashBankInHand": 0.5}, 10.5),
        (
            {
                "CurrentAssets": 5,
                "PrepaymentsAccruedIncomeNotExpressedWithinCurrentAssetSubtotal": 2,
            },
            7,
        ),
        ({"CalledUpShareCapitalNotPaid": 1}, None),
        ({"CurrentAssets": -5}, None),
        ({"CurrentAssets": 0}, 0),
    ],
)
def test_total_assets_are_added_up_from_what_is_filed(
    facts: dict[str, float], total: float | None
) -> None:
    found, _ = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found.get((2017, "TotalAssets")) == total


def test_a_total_that_is_filed_is_not_added_up() -> None:
    found, _ = _read(_fact("TotalAssets", 99), _fact("CurrentAssets", 5))

    assert found[2017, "TotalAssets"] == 99


def test_assets_in_two_currencies_have_no_total() -> None:
    euros = _fact("FixedAssets", 10)._replace(devise="EUR")

    found, tally = _read(_fact("CurrentAssets", 5), euros)

    assert (2017, "TotalAssets") not in found
    assert tally.compte["total de l'actif non calculé (plusieurs devises)"] == 1


def test_a_company_that_owes_more_than_it_owns_is_not_turned_over() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "NetCurrentAssetsLiabilities": -200,
        "TotalAssetsLessCurrentLiabilities": -200,
    }

    found, tally = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found[2017, "NetCurrentAssetsLiabilities"] == -200
    assert tally.compte["total de l'actif confirmé"] == 1


def test_a_balance_that_does_not_add_up_is_left_as_it_was_filed() -> None:
    facts = {
        "CurrentAssets": 100,
        "Creditors[WithinOneYear]": 300,
        "TotalAssetsLessCurrentLiabilities": 400,
    }

    found, tally = _read(*(_fact(key, value) for key, value in facts.items()))

    assert found[2017, "CurrentAssets"] == 100
    assert found[2017, "TotalAssetsLessCurrentLiabilities"] == 400
    assert tally.compte["total de l'actif contredit"] == 1


def test_disposals_are_amounts_whatever_the_sign_filed() -> None:
    found, _ = _read(_fact("Equity", 1), _fact("TangibleFixedAssetsDisposals", -4, debut=OPEN))

    assert found[2017, "DisposalsPropertyPlantEquipment"] == 4


# -- the mapping -----------------------------------------------------------------------------------


def test_every_role_of_a_uk_code_is_a_line_of_the_mapping() -> None:
    roles = pl.read_csv(TABLES / "roles.csv")
    lines = {(line.etat, line.code) for line in TAXONOMY.lines.values()}

    named = {role for role, etat, code in roles.rows() if (etat, code) in lines}
    assert named == {"chiffre_affaires", "effectif", "capital_social", "total_actif"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Équité,bilan,Equity,Capitaux propres,1,60,", "etat 'bilan'"),
        ("Équité,annexe,Equity,Capitaux propres,2,60,", "signe '2'"),
        ("Equity,bilan_passif,Equity,Capitaux propres,1,60,", "Equity is there twice"),
        ("Funds,bilan_passif,Equity,Fonds propres,1,60,", "two etats, labels or places"),
        ("Funds,bilan_passif,Funds,Fonds propres,1,60,", "two codes at place 60"),
    ],
)
def test_a_mapping_told_in_two_ways_is_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "frc.csv"
    head = "concept,etat,code,libelle,signe,ordre,motif\n"
    path.write_text(f"{head}Equity,bilan_passif,Equity,Capitaux propres,1,60,\n{row}\n")

    with pytest.raises(InputError, match=message):
        frc_taxonomy.load(path)


def _xbrl(*days: str, **values: str) -> str:
    """A small filing in the old taxonomy: the same values at each of the days."""
    contexts = "".join(
        f'<context id="c{n}"><entity><identifier scheme="s">Ltd</identifier></entity>'
        f"<period><instant>{day}</instant></period></context>"
        for n, day in enumerate(days)
    )
    facts = "".join(
        f'<pt:{name} contextRef="c{n}" unitRef="GBP" decimals="0">{value}</pt:{name}>'
        for n in range(len(days))
        for name, value in values.items()
    )
    return (
        '<?xml version="1.0"?><xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:pt="pt"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'{contexts}<unit id="GBP"><measure>iso4217:GBP</measure></unit>{facts}</xbrl>'
    )
