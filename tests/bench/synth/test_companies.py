"""The columns of companies resemble published data."""

from collections.abc import Mapping

import polars as pl
import pytest

from pipeline import seeds
from tests.bench.synth.lexicon import FOLDER
from tests.bench.synth.synthetic import share


@pytest.mark.parametrize(
    ("column", "expected", "tolerance"),
    [
        ("effectif", 0.44, 0.02),
        ("ca_last", 0.335, 0.03),
        ("capital_social", 0.40, 0.02),
        ("total_actif_last", 0.455, 0.03),
        ("site_web", 0.14, 0.01),
        ("email", 0.08, 0.01),
        ("telephone", 0.09, 0.01),
        ("nace_code", 0.95, 0.01),
        ("date_creation", 0.98, 0.01),
    ],
)
def test_shares_of_filled_fields(
    companies: pl.DataFrame, column: str, expected: float, tolerance: float
) -> None:
    """The shares follow from the constants of the modules that draw the columns."""
    assert share(companies, pl.col(column).is_not_null()) == pytest.approx(expected, abs=tolerance)


def test_divisions_have_their_weights(companies: pl.DataFrame) -> None:
    table = seeds.read_table(FOLDER / "poids_secteurs.csv", ("nace_division", "poids"))
    weights = {row["nace_division"]: float(row["poids"]) for row in table}
    rev2 = companies.filter(pl.col("nace_code").is_not_null() & (pl.col("nace_version") != "2.1"))
    counts = rev2["nace_code"].str.head(2).value_counts()

    for division, count in counts.iter_rows():
        expected = weights[division] / sum(weights.values())
        assert count / rev2.height == pytest.approx(expected, abs=0.01), division


def test_activity_codes_are_in_the_notation_of_their_register(companies: pl.DataFrame) -> None:
    classes = companies.filter(pl.col("nace_code").str.len_bytes() > 4)
    notations = {"FR": r"^\d\d\.\d\d[A-Z]$", "UK": r"^\d{5}$", "DE": r"^\d\d\.\d\d$"}

    for iso2, pattern in notations.items():
        plain = classes.filter((pl.col("iso2") == iso2) & (pl.col("nace_version") == "2"))
        assert plain["nace_code"].str.contains(pattern).all()
    assert set(companies["nace_version"]) == {None, "2", "2.1"}


def test_turnover_grows_with_the_headcount_and_is_zero_for_some(companies: pl.DataFrame) -> None:
    euros = companies.filter(pl.col("ca_devise") == "EUR").with_columns(
        euros=pl.col("ca_last") * pl.col("ca_mult")
    )

    def median_turnover(condition: pl.Expr) -> float:
        """The median of the turnovers stated in euros, in euros, of the companies that meet a condition."""
        return float(euros.filter(condition).select(pl.col("euros").median()).item())

    small, large = (
        median_turnover(pl.col("effectif") == 1),
        median_turnover(pl.col("effectif") >= 10),
    )
    assert large > 5 * small
    assert share(euros, pl.col("euros") == 0) == pytest.approx(0.06, abs=0.02)
    # No turnover is -0.0: 1 / -0.0 would be minus infinity.
    assert euros.select((1 / pl.col("euros")).min()).item() > float("-inf")


def test_amounts_are_in_the_currency_of_country_and_year(companies: pl.DataFrame) -> None:
    with_currency = companies.filter(pl.col("ca_devise").is_not_null())
    currencies: Mapping[str, set[str]] = {
        iso2: set(with_currency.filter(pl.col("iso2") == iso2)["ca_devise"])
        for iso2 in ("UK", "HR", "FR")
    }

    assert currencies == {"UK": {"GBP"}, "HR": {"EUR", "HRK"}, "FR": {"EUR"}}
    assert set(with_currency["ca_mult"]) <= {1, 1_000, 1_000_000}
    # A third of the companies have a turnover, 3 % of these in euros.
    assert share(companies, pl.col("ca_eur").is_not_null()) == pytest.approx(0.01, abs=0.005)


def test_headcounts_have_a_heavy_tail_and_some_are_only_a_band(companies: pl.DataFrame) -> None:
    # 4 % of the companies are in the classes from 10 persons on; a fifth of these have only a band.
    assert share(companies, (pl.col("effectif") >= 10).fill_null(False)) == pytest.approx(
        0.032, abs=0.006
    )
    assert companies.select(pl.col("effectif").max()).item() > 200
    # A fifth of the 55 % that state a headcount.
    assert share(companies, pl.col("tranche_effectif").is_not_null()) > 0.08
    band_and_number = pl.col("tranche_effectif").is_not_null() & pl.col("effectif").is_not_null()
    assert share(companies, band_and_number) == 0


def test_half_of_the_companies_are_young_and_some_dates_are_only_a_year(
    companies: pl.DataFrame,
) -> None:
    since_2019 = pl.col("date_creation").str.head(4) >= "2019"

    assert share(companies, since_2019) == pytest.approx(0.5, abs=0.1)
    assert set(companies["date_creation"].drop_nulls().str.len_bytes()) == {4, 7, 10}


def test_a_town_has_its_own_postal_code_and_region(companies: pl.DataFrame) -> None:
    lyon = companies.filter(pl.col("ville") == "Lyon")

    assert lyon["code_postal"].str.contains(r"^69\d{3}$").all()
    assert set(lyon["region"]) == {"Auvergne-Rhône-Alpes", None}


def test_websites_have_the_name_of_the_company_as_domain(companies: pl.DataFrame) -> None:
    sites = companies.filter(pl.col("site_web").is_not_null())
    label = sites["site_web"].str.extract(r"^(?:https?://)?(?:www\.)?([a-z0-9]+)\.[a-z.]+$")
    bare = sites["nom"].str.to_lowercase().str.replace_all(r"[^a-z0-9]", "")

    assert label.null_count() == 0
    ascii_names = sites["nom"].str.contains(r"^[ -~]+$")
    pairs = zip(label.filter(ascii_names), bare.filter(ascii_names), strict=True)
    assert all(domain[:12] in name for domain, name in pairs)
    with_domain = sites.filter(pl.col("domaine").is_not_null())
    assert with_domain.select(pl.col("site_web").str.ends_with(pl.col("domaine")).all()).item()
