"""Statements that are published tables: real rows of each register, and the layouts that have none."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.register import RegisterRows, RowCounts
from tests.pipeline.registers.reading import RAW, read, rejected

Line = tuple[int, str, float, str | None]


def _lines(found: RegisterRows, identifier: str) -> dict[tuple[int, str], float]:
    kept = found.kept.filter(pl.col("id") == identifier).collect()
    return {(y, code): v for y, code, v in kept.select("exercice", "code", "valeur").iter_rows()}


def _write(folder: Path, name: str, lines: Sequence[str]) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _adds_up(counts: RowCounts) -> bool:
    gone = sum(counts.dropped.values()) + sum(counts.rejected.values())
    return counts.read == counts.kept + gone + counts.merged


# -- France: a column per amount -------------------------------------------------------------------


def test_french_turnovers_of_a_group_are_apart_from_those_of_the_company(tmp_path: Path) -> None:
    found = read("fr-ratios", [RAW / "fr" / "synthese_bilans_financiers.csv.zip"], tmp_path)

    assert _lines(found, "306138900") == {
        (2022, "TurnoverRevenueConsolidated"): 15_428_140_000.0,
        (2022, "ProfitLossConsolidated"): 896_005_000.0,
        (2021, "TurnoverRevenue"): 1_509_868_000.0,
        (2021, "ProfitLoss"): 580_291_000.0,
        (2020, "TurnoverRevenue"): 1_864_799.0,
        (2020, "ProfitLoss"): 426_047.0,
        (2019, "TurnoverRevenueConsolidated"): 12_344_113_000.0,
        (2019, "ProfitLossConsolidated"): 547_872_000.0,
    }


def test_of_two_closings_in_a_calendar_year_the_later_one_counts(tmp_path: Path) -> None:
    # 453756314 closed on 30 June 2020 (3,759,817) and, after two months, on 31 August (527,541).
    found = read("fr-ratios", [RAW / "fr" / "synthese_bilans_financiers.csv.zip"], tmp_path)

    assert _lines(found, "453756314")[2020, "TurnoverRevenue"] == 527_541.0
    assert (found.counts.read, found.counts.kept) == (4_676, 4_668)
    assert found.counts.dropped == {"remplacé par un dépôt plus récent": 8}


RATIOS = (
    "siren;date_cloture_exercice;Chiffre_d_affaires;Marge_brute;EBE;EBIT;Resultat_net;"
    "Taux_d_endettement;Ratio_de_liquidite;Ratio_de_vetuste;Autonomie_financiere;"
    "Poids_BFR_exploitation_sur_CA;Couverture_des_interets;CAF_sur_CA;Capacite_de_remboursement;"
    "Marge_EBE;Resultat_courant_avant_impots_sur_CA;Poids_BFR_exploitation_sur_CA_jours;"
    "Rotation_des_stocks_jours;Credit_clients_jours;Credit_fournisseurs_jours;type_bilan;confidentiality"
)  # fmt: skip
NONE = ";" * 14


def test_french_ratios_are_read_in_whichever_case_their_columns_are(tmp_path: Path) -> None:
    rows = [
        f"316742980;2024-12-31;10418682;10418682;560326;246497;34645705{NONE};C;Public",
        f"5781133;2023-12-31;1e6;;;;-0.5{NONE};S;Public",
        f"5781133;2023-12-31;2e6;;;;{NONE};C;Public",
        f"813928942;2023-12-31;;;;;{NONE};C;Public",
        f"813928942;2023-13-31;7;;;;{NONE};C;Public",
        f"813928942;2022-12-31;7;;;;{NONE};C;Confidentiel",
        f"813928942;2021-12-31;sept;;;;7{NONE};C;Public",
    ]
    file = _write(tmp_path, "ratios_inpi_bce.csv", [RATIOS, *rows])

    found = read("fr-ratios", [file], tmp_path)

    assert _lines(found, "316742980") == {
        (2024, "TurnoverRevenue"): 10_418_682.0,
        (2024, "GrossProfitLoss"): 10_418_682.0,
        (2024, "GrossOperatingSurplus"): 560_326.0,
        (2024, "OperatingProfitLoss"): 246_497.0,
        (2024, "ProfitLoss"): 34_645_705.0,
    }
    assert _lines(found, "005781133") == {(2023, "TurnoverRevenue"): 2e6}
    assert _lines(found, "813928942") == {(2021, "ProfitLoss"): 7.0}
    assert found.counts.dropped == {
        "comptes confidentiels": 1,
        "remplacé par un dépôt plus récent": 1,
        "sans montant": 1,
    }
    assert rejected(found) == [("date de clôture illisible", None)]
    assert found.counts.noted == {"montant illisible": 1}
    assert _adds_up(found.counts)


# -- Estonia: a row per amount ---------------------------------------------------------------------


def test_an_estonian_report_gives_the_company_and_its_group(tmp_path: Path) -> None:
    # «Konsolideerimata bilanss … Varad 5952649, Müügitulu 10475906, Tööjõukulud -1614840» and
    # «Konsolideeritud … Varad 5625272, Müügitulu 13354477».
    files = [RAW / "ee" / "ee_elements_slice.csv", RAW / "ee" / "ee_meta_slice.csv"]

    found = read("ee-comptes", files, tmp_path)

    lines = _lines(found, "10003666")
    assert lines[2025, "TotalAssets"] == 5_952_649.0
    assert lines[2025, "TurnoverRevenue"] == 10_475_906.0
    assert lines[2025, "StaffCostsEmployeeBenefitsExpense"] == 1_614_840.0
    assert lines[2025, "DepreciationAmortisationImpairment"] == 100_735.0
    assert lines[2025, "TotalAssetsConsolidated"] == 5_625_272.0
    assert lines[2025, "TurnoverRevenueConsolidated"] == 13_354_477.0
    assert lines[2025, "AverageNumberEmployeesDuringPeriodConsolidated"] == 74.0
    assert (2025, "AverageNumberEmployeesDuringPeriod") not in lines
    for end in ("", "Consolidated"):
        debts = ("Equity", "CreditorsDueWithinOneYear", "CreditorsDueAfterOneYear")
        sides = sum(lines[2025, code + end] for code in debts)
        assert lines[2025, "TotalAssets" + end] == sides
    assert found.counts.read == 97
    assert found.counts.dropped == {"poste sans code": 2, "postes répétés": 17}
    assert _adds_up(found.counts)


HEADS = (RAW / "ee" / "ee_meta_slice.csv").read_text(encoding="utf-8").splitlines()[0]
BLANK = ";" * 9


def test_an_estonian_report_that_was_filed_again_counts_once(tmp_path: Path) -> None:
    heads = [
        f"1;;10000001;OÜ;R;2024;Ei;01.01.2024;31.12.2024;30.06.2025{BLANK}",
        f"2;;10000001;OÜ;R;2024;Ei;01.07.2023;31.12.2024;02.01.2026{BLANK}",
        f"3;93;10000003;OÜ;R;2009;Ei;01.01.2004;31.12.2009;30.06.2010{BLANK}",
        f"5;;10000005;OÜ;R;2009;Ei;;31.12.2009;30.06.2010{BLANK}",
    ]
    elements = [
        "report_id;tabel;elemendi_label;elemendi_nimetus;vaartus",
        "1;Bilanss;Varad;Assets;1.0",
        "1;Bilanss;Omakapital;Equity;1.0",
        "2;Bilanss;Varad;Assets;2.0",
        "2;Bilanss;Varad;Assets;3.0",
        "2;Bilanss;Võrk;NetworkAssets;9.0",
        "2;Bilanss;Omakapital;Equity;kaks",
        "93;Bilanss;Varad;Assets;156466",
        "4;Bilanss;Varad;Assets;4.0",
        "5;Bilanss;Varad;Assets;5.0",
    ]
    files = [
        _write(tmp_path, "elemendid.csv", elements),
        _write(tmp_path, "heads.csv", [HEADS, *heads]),
    ]

    found = read("ee-comptes", files, tmp_path)

    assert _lines(found, "10000001") == {(2024, "TotalAssets"): 2.0, (2024, "PeriodMonths"): 18.0}
    assert _lines(found, "10000005") == {(2009, "TotalAssets"): 5.0}
    assert found.counts.noted == {"durées d'exercice invraisemblables": 1}
    filled = found.kept.filter(pl.col("id") == "10000003").collect()
    assert filled.select("valeur", "devise").rows() == [(156_466.0, "EEK")]
    assert found.counts.dropped == {
        "postes contradictoires (le premier est repris)": 1,
        "postes inconnus": 1,
        "remplacé par un dépôt plus récent": 2,
    }
    assert found.counts.examples == {"postes inconnus": ("NetworkAssets (1)",)}
    assert rejected(found) == [("rapport inconnu", "4"), ("montant illisible", "kaks")]
    assert _adds_up(found.counts)


# -- Latvia: heads, balance sheets and income statements -------------------------------------------


def test_latvian_heads_alone_have_the_headcount(tmp_path: Path) -> None:
    found = read("lv-comptes", [RAW / "lv" / "financial_statements.csv"], tmp_path)

    code = "AverageNumberEmployeesDuringPeriod"
    assert _lines(found, "40103466358") == {(2016, code): 1.0}
    # The first year of 40103863270 began on 21 January 2015.
    assert _lines(found, "40103863270") == {(2015, code): 5.0, (2015, "PeriodMonths"): 11.0}
    assert (found.counts.read, found.counts.kept, found.counts.noted) == (3, 3, {})


LV_HEAD = (RAW / "lv" / "financial_statements.csv").read_text(encoding="utf-8").splitlines()[0]
LV_BALANCE = (
    "statement_id;file_id;cash;marketable_securities;accounts_receivable;inventories;"
    "total_current_assets;investments;fixed_assets;intangible_assets;total_non_current_assets;"
    "total_assets;future_housing_repairs_payments;current_liabilities;non_current_liabilities;"
    "provisions;equity;total_equities"
)
LV_INCOME = (
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
    heads = [
        "10;1;40103466358;S;UGP;2013;2013-01-01;2013-12-31;12;THOUSANDS;LVL;2014-05-01",
        "11;1;40103466358;S;UKGP;2013;2013-01-01;2013-12-31;99;THOUSANDS;LVL;2014-05-01",
        "12;1;40103466358;S;UGP;2014;2014-01-01;2014-12-31;1;DOZENS;EUR;2015-05-01",
    ]
    balance = ["10;1;5;;;;40;;;;60;100;;30;20;;50;100", "77;1;5;;;;;;;;;;;;;;;"]
    income = [f"10;1;200{';' * 11}7{';' * 14}9"]
    files = [
        _write(tmp_path, "financial_statements.csv", [LV_HEAD, *heads]),
        _write(tmp_path, "balance_sheets.csv", [LV_BALANCE, *balance]),
        _write(tmp_path, "income_statements.csv", [LV_INCOME, *income]),
    ]

    found = read("lv-comptes", files, tmp_path)

    assert _lines(found, "40103466358") == {
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
    money = found.kept.filter(pl.col("etat") != "annexe").collect()
    assert set(money["devise"]) == {"LVL"}
    assert rejected(found) == [("unité inconnue", None)]
    assert found.counts.detail["bilans sans en-tête"] == 1


# -- Lithuania: both layouts -----------------------------------------------------------------------


def test_a_lithuanian_row_of_2021_is_a_small_loss(tmp_path: Path) -> None:
    found = read("lt-comptes", [RAW / "lt" / "JAR_FA_RODIKLIAI_PLNA_2022.csv"], tmp_path)

    assert _lines(found, "301011561") == {
        (2021, "ProfitLossBeforeTax"): -91.0,
        (2021, "ProfitLoss"): -91.0,
    }


def test_lithuanian_files_of_both_layouts_give_one_set_of_accounts(tmp_path: Path) -> None:
    wide = (
        "obj_kodas,obj_pav,form_kodas,form_pav,stat_statusas,stat_pav,template_id,template_name,"
        "standard_id,standard_name,laikotarpis_nuo,laikotarpis_iki,reg_date,"
    )
    common = '110004884,"UAB ""Ąžuolas""",310,UAB,0,-,FS0129,Rinkinys'
    balance = (
        f"{wide}nuosavas_kapitalas,mok_sumos_ir_isipareigojimai,ilgalaikis_turtas,"
        "trumpalaikis_turtas,formavimo_data"
    )
    long = (
        "ja_kodas;ja_pavadinimas;form_kodas;form_pavadinimas;stat_kodas;stat_pavadinimas;"
        "template_id;template_name;standard_id;standard_name;line_type_id;line_name;reiksme;"
        "beginning_date;turning_date;reg_date;formavimo_data"
    )
    of = '110004884;"UAB ""Ąžuolas""";310;UAB;0;-;FS0818;Rinkinys'
    year = "2023-01-01;2023-12-31;2024-05-28;2026-08-14"
    files = [
        _write(tmp_path, "JAR_FA_RODIKLIAI_BLNS_2022.csv", [
            balance,
            f"{common},BST210,B,2021-01-01,2021-12-31,2022-05-01,60,40,70,30,2023-03-01",
            f"{common},BST210,B,2021-04-01,2021-12-31,2022-09-01,61,40,70,31,2023-03-01",
        ]),
        _write(tmp_path, "JAR_FA_RODIKLIAI_BLNS_2023_n.csv", [
            long,
            f"{of};BST210;Balansas;BSLT00001;ILGALAIKIS TURTAS;80;{year}",
            f"{of};BST210;Balansas;BSLT00099;KVOTOS;5;{year}",
        ]),
        _write(tmp_path, "JAR_FA_RODIKLIAI_PLNA_2023_n.csv", [
            long, f"{of};IST024;Pelnas;ISLT00001;PARDAVIMO PAJAMOS;500;{year}",
        ]),
    ]  # fmt: skip

    found = read("lt-comptes", files, tmp_path)

    assert _lines(found, "110004884") == {
        (2021, "Equity"): 61.0,
        (2021, "Creditors"): 40.0,
        (2021, "FixedAssets"): 70.0,
        (2021, "CurrentAssets"): 31.0,
        (2021, "TotalAssets"): 101.0,
        (2021, "PeriodMonths"): 9.0,
        (2023, "FixedAssets"): 80.0,
        (2023, "TurnoverRevenue"): 500.0,
    }
    assert found.counts.dropped == {"postes inconnus": 1, "remplacé par un dépôt plus récent": 1}
    assert found.counts.examples == {"postes inconnus": ("KVOTOS (1)",)}
    assert _adds_up(found.counts)


# -- Romania: columns that a legend names ----------------------------------------------------------

I_COLUMNS = ",".join(f"I{n}" for n in range(1, 21))


def test_romanian_columns_mean_what_the_legend_of_their_year_says(tmp_path: Path) -> None:
    legend = (RAW / "ro" / "web_bl_bs_sl_an2023.csv").read_text(encoding="utf-8")
    swapped = legend.replace(";i13\n", ";x\n").replace(";i14\n", ";i13\n").replace(";x\n", ";i14\n")
    values = "100,50,10,20,20,5,60,0,0,95,2,0,400,410,390,20,0,0,17,3"
    data = [f"CUI,CAEN,{I_COLUMNS}", f"13735411,4711,{values}", f"0,4711,{values}"]
    files = [
        _write(tmp_path, "web_bl_bs_sl_an2023.txt", data),
        RAW / "ro" / "web_bl_bs_sl_an2023.csv",
        _write(tmp_path, "web_uu_an2022.txt", data),
        _write(tmp_path, "web_uu_an2022.csv", swapped.splitlines()),
    ]
    work = tmp_path / "work"
    work.mkdir()

    found = read("ro-comptes", files, work)

    lines = _lines(found, "13735411")
    assert (lines[2023, "TurnoverRevenue"], lines[2023, "TotalIncome"]) == (400.0, 410.0)
    assert (lines[2022, "TurnoverRevenue"], lines[2022, "TotalIncome"]) == (410.0, 400.0)
    assert lines[2023, "TotalAssets"] == 155.0
    assert lines[2023, "ProfitLoss"] == -17.0
    assert lines[2023, "AverageNumberEmployeesDuringPeriod"] == 3.0
    labels = found.kept.filter(pl.col("exercice") == 2023).select("code", "libelle").collect()
    named = dict(labels.rows())
    assert named["TotalAssets"] == "Total de l'actif (calculé)"
    assert named["ProfitLoss"] == "Résultat de l'exercice"
    assert found.counts.rejected == {"identifiant nul": 2}


def test_the_same_accounts_give_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    rows = [f"{100 + n},4711,{n}.1,{n}.2,0,0,0,{n}.3{',1' * 14}" for n in range(2_000)]
    data = _write(tmp_path, "web_bl_bs_sl_an2023.txt", [f"CUI,CAEN,{I_COLUMNS}", *rows])
    kept = []
    for number in range(3):
        work = tmp_path / str(number)
        work.mkdir()
        files = [data, RAW / "ro" / "web_bl_bs_sl_an2023.csv"]
        kept.append(read("ro-comptes", files, work).kept.collect())

    assert kept[0].equals(kept[1]) and kept[0].equals(kept[2])
    assert kept[0].filter(pl.col("code") == "TotalAssets").height == 2_000


def test_romanian_accounts_without_their_legend_are_refused(tmp_path: Path) -> None:
    data = _write(tmp_path, "web_bl_bs_sl_an2023.txt", [f"CUI,CAEN,{I_COLUMNS}", "1,1" + ",1" * 20])

    with pytest.raises(InputError, match="no legende of web_bl_bs_sl_an2023 among those given"):
        read("ro-comptes", [data], tmp_path)
