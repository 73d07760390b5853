"""Analyses of real companies, compared with ratios computed by hand from their filed accounts.

Each expected value is the formula of `seeds/ratios.csv` with the figures of the filing, and its result. The figures
are from the published files in `seeds/raw`, in the currency of the accounts:

- United Kingdom: find-and-update.company-information.service.gov.uk/company/NUMBER/filing-history
- Norway: virksomhet.brreg.no/nb/oppslag/enheter/NUMBER (accounts of 2018)
- France: data.economie.gouv.fr, data set ratios_inpi_bce, siren NUMBER: only turnover and net result
- Belgium: consult.cbso.nbb.be/consult-enterprise/NUMBER (accounts of 2020). Two of these three filings have
  the same amounts for different companies, so they may be samples of the National Bank.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline import importing
from seeds import TABLES
from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, write_input
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock

RAW = TABLES / "raw"
COMPANIES = {
    ("UK", "09707484"): "Lid IT Limited",
    ("UK", "09774295"): "EkAv Analytics Limited",
    ("UK", "00468662"): "Normalec Limited",
    ("UK", "00507485"): "F A Ost (Redbourn) Limited",
    ("NO", "961269679"): None,  # the files of accounts have no names
    ("NO", "913285859"): None,
    ("NO", "979155557"): None,
    ("FR", "380681833"): None,
    ("FR", "319159877"): None,
    ("FR", "813603347"): None,
    ("BE", "0648822310"): None,
    ("BE", "0508773215"): None,
    ("BE", "0563659278"): None,
}


class ExpectedRatio(NamedTuple):
    """A ratio of a year: the formula with the figures of the filing, and its result to four decimals."""

    ratio: str
    exercice: int
    formula: float
    result: float


EXPECTED_RATIOS = {
    # Filing of 31 July 2017, in pounds. Staff: 5; 0.87667435 pounds to the euro in 2017 (ECB).
    ("UK", "09707484"): [
        ExpectedRatio("marge_brute", 2017, 172_997 / 276_961, 0.6246),
        ExpectedRatio("marge_operationnelle", 2017, 31_433 / 276_961, 0.1135),
        ExpectedRatio("marge_nette", 2017, 24_643 / 276_961, 0.0890),
        ExpectedRatio("rentabilite_actif", 2017, 24_643 / 129_022, 0.1910),
        ExpectedRatio("rentabilite_capitaux_propres", 2017, 24_643 / 10_755, 2.2913),
        ExpectedRatio("autonomie_financiere", 2017, 10_755 / 129_022, 0.0834),
        ExpectedRatio("liquidite_generale", 2017, 53_256 / 111_477, 0.4777),
        ExpectedRatio("delai_fournisseurs", 2017, 31_061 / 103_964 * 365, 109.0499),
        ExpectedRatio("ca_par_salarie", 2017, 276_961 / 5 / 0.87667435, 63_184.4652),
    ],
    # The first year has 13 months, so its turnover of 39 100 counts as 36 092.31 in the growth.
    ("UK", "09774295"): [
        ExpectedRatio("croissance_ca", 2017, (12_800 - 39_100 * 12 / 13) / (39_100 * 12 / 13), -0.6454),
        ExpectedRatio("marge_nette", 2017, 8_939 / 12_800, 0.6984),
        ExpectedRatio("marge_nette", 2016, 23_795 / 39_100, 0.6086),
    ],
    # No income statement is filed. Total assets are fixed assets and current assets: 667 + 141 664.
    ("UK", "00468662"): [
        ExpectedRatio("liquidite_generale", 2016, 141_664 / 45_137, 3.1385),
        ExpectedRatio("liquidite_reduite", 2016, (141_664 - 22_048) / 45_137, 2.6501),
        ExpectedRatio("autonomie_financiere", 2016, 97_194 / (667 + 141_664), 0.6829),
        ExpectedRatio("endettement", 2016, 45_137 / 97_194, 0.4644),
        ExpectedRatio("fonds_de_roulement_actif", 2016, (141_664 - 45_137) / 142_331, 0.6782),
        ExpectedRatio("liquidite_generale", 2015, 123_476 / 40_459, 3.0519),
    ],
    ("UK", "00507485"): [
        ExpectedRatio("liquidite_generale", 2016, 1_364_846 / 220_004, 6.2037),
        ExpectedRatio("autonomie_financiere", 2016, 1_188_871 / (44_029 + 1_364_846), 0.8438),
        ExpectedRatio("reserves_actif", 2016, 1_187_871 / 1_408_875, 0.8431),
        ExpectedRatio("capitaux_propres_dettes", 2016, 1_188_871 / 220_004, 5.4039),
    ],
    ("NO", "961269679"): [
        ExpectedRatio("croissance_ca", 2018, (11_696_237 - 7_899_193) / 7_899_193, 0.4807),
        ExpectedRatio("marge_operationnelle", 2018, 2_610_290 / 11_696_237, 0.2232),
        ExpectedRatio("marge_nette", 2018, 2_130_346 / 11_696_237, 0.1821),
        ExpectedRatio("endettement", 2018, (2_066_468 + 103_878) / 7_041_278, 0.3082),
        ExpectedRatio("liquidite_reduite", 2018, (6_949_100 - 1_261_521) / 2_066_468, 2.7523),
        ExpectedRatio("delai_clients", 2018, 1_464_874 / 11_696_237 * 365, 45.7138),
        ExpectedRatio("delai_stocks", 2018, 1_261_521 / 4_200_913 * 365, 109.6084),
        ExpectedRatio("rotation_actif", 2018, 11_696_237 / 9_211_624, 1.2697),
        ExpectedRatio("marge_nette", 2017, 1_022_929 / 7_899_193, 0.1295),
    ],
    ("NO", "913285859"): [
        ExpectedRatio("croissance_ca", 2018, (794_027 - 1_427_286) / 1_427_286, -0.4437),
        ExpectedRatio("rentabilite_actif", 2018, 72_858 / 376_909, 0.1933),
        ExpectedRatio("exploitation_actif", 2018, 92_995 / 376_909, 0.2467),
    ],
    ("NO", "979155557"): [
        ExpectedRatio("croissance_ca", 2018, (1_319_143 - 1_188_550) / 1_188_550, 0.1099),
        ExpectedRatio("marge_nette", 2018, -42_709 / 1_319_143, -0.0324),
        ExpectedRatio("rentabilite_capitaux_propres", 2018, -42_709 / 107_690, -0.3966),
    ],
    ("FR", "380681833"): [
        ExpectedRatio("croissance_ca", 2022, (223_626_504 - 193_473_165) / 193_473_165, 0.1559),
        ExpectedRatio("marge_nette", 2022, 17_698_864 / 223_626_504, 0.0791),
        ExpectedRatio("marge_nette", 2020, -6_542_572 / 163_319_595, -0.0401),
    ],
    ("FR", "319159877"): [
        ExpectedRatio("croissance_ca", 2022, (2_121_159 - 1_909_116) / 1_909_116, 0.1111),
        ExpectedRatio("croissance_ca", 2021, (1_909_116 - 1_723_623) / 1_723_623, 0.1076),
        ExpectedRatio("marge_nette", 2022, 238_530 / 2_121_159, 0.1125),
    ],
    ("FR", "813603347"): [
        ExpectedRatio("croissance_ca", 2023, (59_253_539 - 32_655_830) / 32_655_830, 0.8145),
        ExpectedRatio("croissance_ca", 2022, (32_655_830 - 14_897_156) / 14_897_156, 1.1921),
        ExpectedRatio("marge_nette", 2023, 3_658_069 / 59_253_539, 0.0617),
    ],
    ("BE", "0648822310"): [
        ExpectedRatio("marge_operationnelle", 2020, -196_143_448.44 / 484_777_143.06, -0.4046),
        ExpectedRatio("marge_nette", 2020, 115_942_394.88 / 484_777_143.06, 0.2392),
        ExpectedRatio("autonomie_financiere", 2020, 6_734_534_626.68 / 14_340_301_238.13, 0.4696),
        ExpectedRatio("liquidite_generale", 2020, 5_260_236_576.82 / 4_789_716_964.04, 1.0982),
        # Suppliers over goods and services bought: 60 and 61 of the Belgian form.
        ExpectedRatio("delai_fournisseurs", 2020,
                 135_035_477.80 / (425_855_143.87 + 414_537_559.95) * 365, 58.6487),
    ],
    # Debts within a year and after it, provisions, accruals: together 6 353 318, or 9 969 789 - 3 616 471.
    ("BE", "0508773215"): [
        ExpectedRatio("marge_brute", 2020, 4_078_631 / 8_499_327, 0.4799),
        ExpectedRatio("marge_nette", 2020, 655_973 / 8_499_327, 0.0772),
        ExpectedRatio("endettement", 2020,
                 (3_317_255 + 3_003_677 + 24_470 + 7_916) / 3_616_471, 1.7568),
        ExpectedRatio("liquidite_reduite", 2020, (3_528_606 - 91_552) / 3_317_255, 1.0361),
    ],
    ("BE", "0563659278"): [
        ExpectedRatio("autonomie_financiere", 2020, 3_616_468 / 9_969_789, 0.3627),
        ExpectedRatio("rentabilite_capitaux_propres", 2020, 655_973 / 3_616_468, 0.1814),
        ExpectedRatio("croissance_ca", 2020, (8_499_327 - 6_956_739) / 6_956_739, 0.2217),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of COMPANIES, with the accounts that the importers read from the published files."""
    folder = tmp_path_factory.mktemp("real")
    files = {
        "uk-accounts": _select_filings(folder / "filings.zip"),
        "no-regnskap": RAW / "no" / "regnskap_masse_2019-03-27.zip",
        "fr-ratios": RAW / "fr" / "synthese_bilans_financiers.csv.zip",
        "be-nbb": RAW / "be" / "cbso_excerpt.zip",
    }
    for source, file in files.items():
        importing.run(source, [file], folder / source)
    rows = [company(*key, nom or key[1]) for key, nom in COMPANIES.items()]
    inputs = [write_input(folder / "companies", rows), *(folder / source for source in files)]
    run_build(folder, *inputs, force=True, max_rejected=1.0)
    with run_server(folder / "data", now=Clock("2026-11-30T12:00:00")) as server:
        yield server


def _select_filings(path: Path) -> Path:
    """Write a ZIP file with the filings of the British COMPANIES, taken from a daily file with 283 filings."""
    numbers = [number for iso2, number in COMPANIES if iso2 == "UK"]
    with (
        zipfile.ZipFile(RAW / "uk" / "Accounts_Bulk_Data-sample.zip") as bulk,
        zipfile.ZipFile(path, "w") as selection,
    ):
        for name in bulk.namelist():
            if any(f"_{number}_" in name for number in numbers):
                selection.writestr(name, bulk.read(name))
    return path


def _analysis_of(server: Server, iso2: str, number: str) -> Any:
    """The analysis of a company."""
    path = f"/api/v1/societes/{iso2}/{number}/analyses/entreprise"
    reply = server.ask(path, headers=server.customer("integral").headers)
    assert reply.status == 200
    return reply.json


@pytest.mark.parametrize("key", COMPANIES, ids="-".join)
def test_the_ratios_of_a_real_company_follow_from_its_filed_figures(
    server: Server, key: tuple[str, str]
) -> None:
    analysis = _analysis_of(server, *key)

    values = {
        (ratio["code"], value["exercice"]): value["valeur"]
        for ratio in analysis["ratios"]
        for value in ratio["valeurs"]
    }
    for expected in EXPECTED_RATIOS[key]:
        assert values[expected.ratio, expected.exercice] == pytest.approx(
            expected.formula, rel=1e-9
        ), expected
        assert expected.formula == pytest.approx(expected.result, abs=5e-5), expected


def test_the_warnings_of_real_companies_follow_from_their_figures(server: Server) -> None:
    """NO 979155557 lost 77 125 and 42 709 in two years; the turnover of NO 913285859 fell from 1 427 286 to 794 027."""
    losing, falling = (
        _analysis_of(server, "NO", "979155557"),
        _analysis_of(server, "NO", "913285859"),
    )

    assert {"code": "pertes_consecutives", "exercice": 2018} in losing["alertes"]
    assert {"code": "ca_en_baisse", "exercice": 2018} in falling["alertes"]


def test_a_line_that_a_real_company_did_not_file_is_named(server: Server) -> None:
    ratios = {
        ratio["code"]: ratio["valeurs"][0]
        for ratio in _analysis_of(server, "UK", "00468662")["ratios"]
    }

    assert ratios["marge_nette"] == {
        "exercice": 2016, "valeur": None,
        "motif": "postes non déposés : Résultat de l'exercice, Chiffre d'affaires",
        "motif_code": "poste_absent: ProfitLoss, TurnoverRevenue",
    }  # fmt: skip
