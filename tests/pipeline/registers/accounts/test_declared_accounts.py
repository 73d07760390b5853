"""Statements in published tables: real rows of each register, and layouts without real rows."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.register import RegisterRows, RowCounts
from tests.pipeline.registers.reading import RAW, read, rejected_reasons


def _values_by_year_and_code(
    reading: RegisterRows, identifier: str
) -> dict[tuple[int, str], float]:
    """The amounts of a company by fiscal year and code of the line."""
    rows = reading.kept.filter(pl.col("id") == identifier).collect()
    return {
        (year, code): value
        for year, code, value in rows.select("exercice", "code", "valeur").iter_rows()
    }


def _write_lines(folder: Path, name: str, lines: Sequence[str]) -> Path:
    """Write a published file with these lines to `folder`; returns its path."""
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _is_every_row_counted(counts: RowCounts) -> bool:
    """Whether each row that was read is kept, dropped, rejected or merged."""
    left_out = sum(counts.dropped.values()) + sum(counts.rejected.values())
    return counts.read == counts.kept + left_out + counts.merged


# -- France: a column per amount -------------------------------------------------------------------


def test_french_turnovers_of_a_group_are_apart_from_those_of_the_company(tmp_path: Path) -> None:
    reading = read("fr-ratios", [RAW / "fr" / "synthese_bilans_financiers.csv.zip"], tmp_path)

    assert _values_by_year_and_code(reading, "306138900") == {
        (2022, "TurnoverRevenueConsolidated"): 15_428_140_000.0,
        (2022, "ProfitLossConsolidated"): 896_005_000.0,
        (2021, "TurnoverRevenue"): 1_509_868_000.0,
        (2021, "ProfitLoss"): 580_291_000.0,
        (2020, "TurnoverRevenue"): 1_864_799.0,
        (2020, "ProfitLoss"): 426_047.0,
        (2019, "TurnoverRevenueConsolidated"): 12_344_113_000.0,
        (2019, "ProfitLossConsolidated"): 547_872_000.0,
    }


def test_the_later_of_two_closings_in_a_calendar_year_counts(tmp_path: Path) -> None:
    # 453756314 closed on 30 June 2020 (3,759,817) and, after two months, on 31 August (527,541).
    reading = read("fr-ratios", [RAW / "fr" / "synthese_bilans_financiers.csv.zip"], tmp_path)

    assert _values_by_year_and_code(reading, "453756314")[2020, "TurnoverRevenue"] == 527_541.0
    assert (reading.counts.read, reading.counts.kept) == (4_676, 4_668)
    assert reading.counts.dropped == {"remplacé par un dépôt plus récent": 8}


RATIOS_HEADER = (
    "siren;date_cloture_exercice;Chiffre_d_affaires;Marge_brute;EBE;EBIT;Resultat_net;"
    "Taux_d_endettement;Ratio_de_liquidite;Ratio_de_vetuste;Autonomie_financiere;"
    "Poids_BFR_exploitation_sur_CA;Couverture_des_interets;CAF_sur_CA;Capacite_de_remboursement;"
    "Marge_EBE;Resultat_courant_avant_impots_sur_CA;Poids_BFR_exploitation_sur_CA_jours;"
    "Rotation_des_stocks_jours;Credit_clients_jours;Credit_fournisseurs_jours;type_bilan;confidentiality"
)  # fmt: skip
NO_RATIOS = ";" * 14  # fourteen empty columns


def test_french_ratios_are_read_in_whichever_case_their_columns_are(tmp_path: Path) -> None:
    """Each row without a usable public amount is dropped or rejected, and counted by its reason."""
    rows = [
        f"316742980;2024-12-31;10418682;10418682;560326;246497;34645705{NO_RATIOS};C;Public",
        f"5781133;2023-12-31;1e6;;;;-0.5{NO_RATIOS};S;Public",  # replaced by the next row
        f"5781133;2023-12-31;2e6;;;;{NO_RATIOS};C;Public",
        f"813928942;2023-12-31;;;;;{NO_RATIOS};C;Public",  # no amount
        f"813928942;2023-13-31;7;;;;{NO_RATIOS};C;Public",  # no such month
        f"813928942;2022-12-31;7;;;;{NO_RATIOS};C;Confidentiel",
        f"813928942;2021-12-31;sept;;;;7{NO_RATIOS};C;Public",  # an unreadable turnover
    ]
    file = _write_lines(tmp_path, "ratios_inpi_bce.csv", [RATIOS_HEADER, *rows])

    reading = read("fr-ratios", [file], tmp_path)

    assert _values_by_year_and_code(reading, "316742980") == {
        (2024, "TurnoverRevenue"): 10_418_682.0,
        (2024, "GrossProfitLoss"): 10_418_682.0,
        (2024, "GrossOperatingSurplus"): 560_326.0,
        (2024, "OperatingProfitLoss"): 246_497.0,
        (2024, "ProfitLoss"): 34_645_705.0,
    }
    assert _values_by_year_and_code(reading, "005781133") == {(2023, "TurnoverRevenue"): 2e6}
    assert _values_by_year_and_code(reading, "813928942") == {(2021, "ProfitLoss"): 7.0}
    assert reading.counts.dropped == {
        "comptes confidentiels": 1,
        "remplacé par un dépôt plus récent": 1,
        "sans montant": 1,
    }
    assert rejected_reasons(reading) == [("date de clôture illisible", None)]
    assert reading.counts.noted == {"montant illisible": 1}
    assert _is_every_row_counted(reading.counts)


# -- Estonia: a row per amount ---------------------------------------------------------------------


def test_an_estonian_report_gives_the_company_and_its_group(tmp_path: Path) -> None:
    # The pages: «Konsolideerimata bilanss … Varad 5952649, Müügitulu 10475906, Tööjõukulud -1614840» and
    # «Konsolideeritud … Varad 5625272, Müügitulu 13354477».
    files = [RAW / "ee" / "ee_elements_slice.csv", RAW / "ee" / "ee_meta_slice.csv"]

    reading = read("ee-comptes", files, tmp_path)

    lines = _values_by_year_and_code(reading, "10003666")
    assert lines[2025, "TotalAssets"] == 5_952_649.0
    assert lines[2025, "TurnoverRevenue"] == 10_475_906.0
    assert lines[2025, "StaffCostsEmployeeBenefitsExpense"] == 1_614_840.0
    assert lines[2025, "DepreciationAmortisationImpairment"] == 100_735.0
    assert lines[2025, "TotalAssetsConsolidated"] == 5_625_272.0
    assert lines[2025, "TurnoverRevenueConsolidated"] == 13_354_477.0
    assert lines[2025, "AverageNumberEmployeesDuringPeriodConsolidated"] == 74.0
    assert (2025, "AverageNumberEmployeesDuringPeriod") not in lines
    for suffix in ("", "Consolidated"):
        # Both sides of the balance sheet are equal, for the company and for its group.
        codes = ("Equity", "CreditorsDueWithinOneYear", "CreditorsDueAfterOneYear")
        equity_and_liabilities = sum(lines[2025, code + suffix] for code in codes)
        assert lines[2025, "TotalAssets" + suffix] == equity_and_liabilities
    assert reading.counts.read == 97
    assert reading.counts.dropped == {"poste sans code": 2, "postes répétés": 17}
    assert _is_every_row_counted(reading.counts)


# The header of the Estonian file with one row a report, and its last nine columns, empty.
REPORTS_HEADER = (RAW / "ee" / "ee_meta_slice.csv").read_text(encoding="utf-8").splitlines()[0]
EMPTY_REPORT_FIELDS = ";" * 9


def test_an_estonian_report_that_was_filed_again_counts_once(tmp_path: Path) -> None:
    """Reports 1 and 2 are of the same company and year; report 2 was filed later, so its amounts count."""
    # A report: its number, the number of its form, the company … first day, last day, day of filing.
    reports = [
        f"1;;10000001;OÜ;R;2024;Ei;01.01.2024;31.12.2024;30.06.2025{EMPTY_REPORT_FIELDS}",
        f"2;;10000001;OÜ;R;2024;Ei;01.07.2023;31.12.2024;02.01.2026{EMPTY_REPORT_FIELDS}",
        f"3;93;10000003;OÜ;R;2009;Ei;01.01.2004;31.12.2009;30.06.2010{EMPTY_REPORT_FIELDS}",
        f"5;;10000005;OÜ;R;2009;Ei;;31.12.2009;30.06.2010{EMPTY_REPORT_FIELDS}",
    ]
    elements = [
        "report_id;tabel;elemendi_label;elemendi_nimetus;vaartus",
        "1;Bilanss;Varad;Assets;1.0",
        "1;Bilanss;Omakapital;Equity;1.0",
        "2;Bilanss;Varad;Assets;2.0",
        "2;Bilanss;Varad;Assets;3.0",  # contradicts the row above
        "2;Bilanss;Võrk;NetworkAssets;9.0",  # an unknown element
        "2;Bilanss;Omakapital;Equity;kaks",  # not a number
        "93;Bilanss;Varad;Assets;156466",  # the form of report 3
        "4;Bilanss;Varad;Assets;4.0",  # an unknown report
        "5;Bilanss;Varad;Assets;5.0",
    ]
    files = [
        _write_lines(tmp_path, "elemendid.csv", elements),
        _write_lines(tmp_path, "heads.csv", [REPORTS_HEADER, *reports]),
    ]

    reading = read("ee-comptes", files, tmp_path)

    assert _values_by_year_and_code(reading, "10000001") == {
        (2024, "TotalAssets"): 2.0,
        (2024, "PeriodMonths"): 18.0,
    }
    assert _values_by_year_and_code(reading, "10000005") == {(2009, "TotalAssets"): 5.0}
    assert reading.counts.noted == {"durées d'exercice invraisemblables": 1}
    lines_of_form_93 = reading.kept.filter(pl.col("id") == "10000003").collect()
    assert lines_of_form_93.select("valeur", "devise").rows() == [(156_466.0, "EEK")]
    assert reading.counts.dropped == {
        "postes contradictoires (le premier est repris)": 1,
        "postes inconnus": 1,
        "remplacé par un dépôt plus récent": 2,
    }
    assert reading.counts.examples == {"postes inconnus": ("NetworkAssets (1)",)}
    assert rejected_reasons(reading) == [("rapport inconnu", "4"), ("montant illisible", "kaks")]
    assert _is_every_row_counted(reading.counts)


# -- Latvia: a file of statements, and their balance sheets and income statements --------------


def test_the_latvian_file_of_statements_alone_gives_the_headcounts(tmp_path: Path) -> None:
    reading = read("lv-comptes", [RAW / "lv" / "financial_statements.csv"], tmp_path)

    code = "AverageNumberEmployeesDuringPeriod"
    assert _values_by_year_and_code(reading, "40103466358") == {(2016, code): 1.0}
    # The first year of 40103863270 began on 21 January 2015.
    assert _values_by_year_and_code(reading, "40103863270") == {
        (2015, code): 5.0,
        (2015, "PeriodMonths"): 11.0,
    }
    assert (reading.counts.read, reading.counts.kept, reading.counts.noted) == (3, 3, {})


STATEMENTS_HEADER = (
    (RAW / "lv" / "financial_statements.csv").read_text(encoding="utf-8").splitlines()[0]
)
BALANCE_HEADER = (
    "statement_id;file_id;cash;marketable_securities;accounts_receivable;inventories;"
    "total_current_assets;investments;fixed_assets;intangible_assets;total_non_current_assets;"
    "total_assets;future_housing_repairs_payments;current_liabilities;non_current_liabilities;"
    "provisions;equity;total_equities"
)
INCOME_HEADER = (
    "statement_id;file_id;net_turnover;by_nature_inventory_change;"
    "by_nature_long_term_investment_expenses;by_nature_other_operating_revenues;"
    "by_nature_material_expenses;by_nature_labour_expenses;by_nature_depreciation_expenses;"
    "by_function_cost_of_goods_sold;by_function_gross_profit;by_function_selling_expenses;"
    "by_function_administrative_expenses;by_function_other_operating_revenues;"
    "other_operating_expenses;equity_investment_earnings;other_long_term_investment_earnings;"
    "other_interest_revenues;investment_fair_value_adjustments;interest_expenses;extra_revenues;"
    "extra_expenses;income_before_income_taxes;provision_for_income_taxes;"
    "income_after_income_taxes;other_taxes;extra_dividends;net_income"
)


def test_latvian_amounts_are_scaled_in_their_currency_and_headcounts_are_not(
    tmp_path: Path,
) -> None:
    # UGP are accounts of the company, UKGP of its group; the headcount is after the last day.
    statements = [
        "10;1;40103466358;S;UGP;2013;2013-01-01;2013-12-31;12;THOUSANDS;LVL;2014-05-01",
        "11;1;40103466358;S;UKGP;2013;2013-01-01;2013-12-31;99;THOUSANDS;LVL;2014-05-01",
        "12;1;40103466358;S;UGP;2014;2014-01-01;2014-12-31;1;DOZENS;EUR;2015-05-01",  # an unknown unit
    ]
    # No statement has the number 77.
    balance = ["10;1;5;;;;40;;;;60;100;;30;20;;50;100", "77;1;5;;;;;;;;;;;;;;;"]
    income = [f"10;1;200{';' * 11}7{';' * 14}9"]
    files = [
        _write_lines(tmp_path, "financial_statements.csv", [STATEMENTS_HEADER, *statements]),
        _write_lines(tmp_path, "balance_sheets.csv", [BALANCE_HEADER, *balance]),
        _write_lines(tmp_path, "income_statements.csv", [INCOME_HEADER, *income]),
    ]

    reading = read("lv-comptes", files, tmp_path)

    assert _values_by_year_and_code(reading, "40103466358") == {
        (2013, "CashBankOnHand"): 5_000.0,
        (2013, "CurrentAssets"): 40_000.0,
        (2013, "FixedAssets"): 60_000.0,
        (2013, "TotalAssets"): 100_000.0,
        (2013, "Equity"): 50_000.0,
        (2013, "CreditorsDueWithinOneYear"): 30_000.0,
        (2013, "CreditorsDueAfterOneYear"): 20_000.0,
        (2013, "LiabilitiesAndEquity"): 100_000.0,
        (2013, "TurnoverRevenue"): 200_000.0,
        (2013, "OtherOperatingIncome"): 7_000.0,
        (2013, "ProfitLoss"): 9_000.0,
        (2013, "AverageNumberEmployeesDuringPeriod"): 12.0,
        (2013, "AverageNumberEmployeesDuringPeriodConsolidated"): 99.0,
    }
    money = reading.kept.filter(pl.col("etat") != "annexe").collect()
    assert set(money["devise"]) == {"LVL"}
    assert rejected_reasons(reading) == [("unité inconnue", None)]
    assert reading.counts.detail["bilans sans en-tête"] == 1


# -- Lithuania: a column for each amount until 2022, a row for each amount since 2023 --------------


def test_the_lithuanian_excerpt_states_a_loss_of_91_euros_in_2021(tmp_path: Path) -> None:
    reading = read("lt-comptes", [RAW / "lt" / "JAR_FA_RODIKLIAI_PLNA_2022.csv"], tmp_path)

    assert _values_by_year_and_code(reading, "301011561") == {
        (2021, "ProfitLossBeforeTax"): -91.0,
        (2021, "ProfitLoss"): -91.0,
    }


def test_lithuanian_files_of_both_layouts_give_one_set_of_accounts(tmp_path: Path) -> None:
    # The old layout, until 2022, has a column for each amount; the new one has a row for each amount.
    old_first_columns = (
        "obj_kodas,obj_pav,form_kodas,form_pav,stat_statusas,stat_pav,template_id,template_name,"
        "standard_id,standard_name,laikotarpis_nuo,laikotarpis_iki,reg_date,"
    )
    old_values = '110004884,"UAB ""Ąžuolas""",310,UAB,0,-,FS0129,Rinkinys'
    old_header = (
        f"{old_first_columns}nuosavas_kapitalas,mok_sumos_ir_isipareigojimai,ilgalaikis_turtas,"
        "trumpalaikis_turtas,formavimo_data"
    )
    new_header = (
        "ja_kodas;ja_pavadinimas;form_kodas;form_pavadinimas;stat_kodas;stat_pavadinimas;"
        "template_id;template_name;standard_id;standard_name;line_type_id;line_name;reiksme;"
        "beginning_date;turning_date;reg_date;formavimo_data"
    )
    new_values = '110004884;"UAB ""Ąžuolas""";310;UAB;0;-;FS0818;Rinkinys'
    new_dates = "2023-01-01;2023-12-31;2024-05-28;2026-08-14"
    files = [
        _write_lines(tmp_path, "JAR_FA_RODIKLIAI_BLNS_2022.csv", [
            old_header,
            f"{old_values},BST210,B,2021-01-01,2021-12-31,2022-05-01,60,40,70,30,2023-03-01",
            f"{old_values},BST210,B,2021-04-01,2021-12-31,2022-09-01,61,40,70,31,2023-03-01",
        ]),
        _write_lines(tmp_path, "JAR_FA_RODIKLIAI_BLNS_2023_n.csv", [
            new_header,
            f"{new_values};BST210;Balansas;BSLT00001;ILGALAIKIS TURTAS;80;{new_dates}",
            f"{new_values};BST210;Balansas;BSLT00099;KVOTOS;5;{new_dates}",
        ]),
        _write_lines(tmp_path, "JAR_FA_RODIKLIAI_PLNA_2023_n.csv", [
            new_header, f"{new_values};IST024;Pelnas;ISLT00001;PARDAVIMO PAJAMOS;500;{new_dates}",
        ]),
    ]  # fmt: skip

    reading = read("lt-comptes", files, tmp_path)

    assert _values_by_year_and_code(reading, "110004884") == {
        (2021, "Equity"): 61.0,
        (2021, "Creditors"): 40.0,
        (2021, "FixedAssets"): 70.0,
        (2021, "CurrentAssets"): 31.0,
        (2021, "TotalAssets"): 101.0,
        (2021, "PeriodMonths"): 9.0,
        (2023, "FixedAssets"): 80.0,
        (2023, "TurnoverRevenue"): 500.0,
    }
    assert reading.counts.dropped == {"postes inconnus": 1, "remplacé par un dépôt plus récent": 1}
    assert reading.counts.examples == {"postes inconnus": ("KVOTOS (1)",)}
    assert _is_every_row_counted(reading.counts)


def test_an_element_that_is_repeated_counts_once_in_a_sum(tmp_path: Path) -> None:
    """A filing is in the files of two years, and a file has a row twice; the first amount counts."""
    header = (
        "ja_kodas;ja_pavadinimas;form_kodas;form_pavadinimas;stat_kodas;stat_pavadinimas;template_id;template_name;"
        "standard_id;standard_name;line_type_id;line_name;reiksme;beginning_date;turning_date;reg_date;formavimo_data"
    )
    before, after = (
        "110004884;X;310;UAB;0;-;FS0818;Rinkinys;BST210;B",
        "2023-01-01;2023-12-31;2024-05-28;2026-08-14",
    )
    fixed, current = (
        f"{before};1;{name};{amount};{after}"
        for name, amount in (("ILGALAIKIS TURTAS", 80), ("TRUMPALAIKIS TURTAS", 20))
    )
    lines = [header, fixed, current, fixed, current.replace(";20;", ";21;")]
    files = [
        _write_lines(tmp_path, f"JAR_FA_RODIKLIAI_BLNS_{year}_n.csv", lines)
        for year in (2023, 2024)
    ]

    reading = read("lt-comptes", files, tmp_path)

    assert _values_by_year_and_code(reading, "110004884") == {
        (2023, "FixedAssets"): 80.0, (2023, "CurrentAssets"): 20.0, (2023, "TotalAssets"): 100.0,
    }  # fmt: skip


# -- Romania: columns that a legend names ----------------------------------------------------------

I_COLUMNS = ",".join(f"I{n}" for n in range(1, 21))


def test_the_legend_of_each_year_gives_the_meaning_of_romanian_columns(tmp_path: Path) -> None:
    """The table of each year names its columns i1, i2 ...; the file of its legend says which amount each column has."""
    legend = (RAW / "ro" / "web_bl_bs_sl_an2023.csv").read_text(encoding="utf-8")
    # The legend of 2022 exchanges the columns i13 (turnover) and i14 (total income).
    swapped_legend = (
        legend.replace(";i13\n", ";x\n").replace(";i14\n", ";i13\n").replace(";x\n", ";i14\n")
    )
    values = "100,50,10,20,20,5,60,0,0,95,2,0,400,410,390,20,0,0,17,3"
    table = [f"CUI,CAEN,{I_COLUMNS}", f"13735411,4711,{values}", f"0,4711,{values}"]
    files = [
        _write_lines(tmp_path, "web_bl_bs_sl_an2023.txt", table),
        RAW / "ro" / "web_bl_bs_sl_an2023.csv",
        _write_lines(tmp_path, "web_uu_an2022.txt", table),
        _write_lines(tmp_path, "web_uu_an2022.csv", swapped_legend.splitlines()),
    ]
    work = tmp_path / "work"
    work.mkdir()

    reading = read("ro-comptes", files, work)

    lines = _values_by_year_and_code(reading, "13735411")
    assert (lines[2023, "TurnoverRevenue"], lines[2023, "TotalIncome"]) == (400.0, 410.0)
    assert (lines[2022, "TurnoverRevenue"], lines[2022, "TotalIncome"]) == (410.0, 400.0)
    assert lines[2023, "TotalAssets"] == 155.0
    assert lines[2023, "ProfitLoss"] == -17.0
    assert lines[2023, "AverageNumberEmployeesDuringPeriod"] == 3.0
    labels = reading.kept.filter(pl.col("exercice") == 2023).select("code", "libelle").collect()
    label_by_code = dict(labels.rows())
    assert label_by_code["TotalAssets"] == "Total de l'actif (calculé)"
    assert label_by_code["ProfitLoss"] == "Résultat de l'exercice"
    assert reading.counts.rejected == {"identifiant nul": 2}


def test_three_readings_of_one_file_give_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    rows = [f"{100 + n},4711,{n}.1,{n}.2,0,0,0,{n}.3{',1' * 14}" for n in range(2_000)]
    table = _write_lines(tmp_path, "web_bl_bs_sl_an2023.txt", [f"CUI,CAEN,{I_COLUMNS}", *rows])
    results = []
    for number in range(3):
        work = tmp_path / str(number)
        work.mkdir()
        files = [table, RAW / "ro" / "web_bl_bs_sl_an2023.csv"]
        results.append(read("ro-comptes", files, work).kept.collect())

    assert results[0].equals(results[1]) and results[0].equals(results[2])
    assert results[0].filter(pl.col("code") == "TotalAssets").height == 2_000


def test_romanian_accounts_without_their_legend_are_refused(tmp_path: Path) -> None:
    data = _write_lines(
        tmp_path, "web_bl_bs_sl_an2023.txt", [f"CUI,CAEN,{I_COLUMNS}", "1,1" + ",1" * 20]
    )

    with pytest.raises(InputError, match="no legende of web_bl_bs_sl_an2023 among those given"):
        read("ro-comptes", [data], tmp_path)
