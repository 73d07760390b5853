"""The columns of companies have the shapes of published ones."""

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
    assert share(companies, pl.col(column).is_not_null()) == pytest.approx(expected, abs=tolerance)


def test_divisions_have_their_weights(companies: pl.DataFrame) -> None:
    table = seeds.read_table(FOLDER / "poids_secteurs.csv", ("nace_division", "poids"))
    weights = {row["nace_division"]: float(row["poids"]) for row in table}
    rev2 = companies.filter(pl.col("nace_code").is_not_null() & (pl.col("nace_version") != "2.1"))
    found = rev2["nace_code"].str.head(2).value_counts()

    for division, count in found.iter_rows():
        wanted = weights[division] / sum(weights.values())
        assert count / rev2.height == pytest.approx(wanted, abs=0.01), division


def test_activity_codes_come_in_the_notation_of_their_register(companies: pl.DataFrame) -> None:
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

    def median(condition: pl.Expr) -> float:
        return float(euros.filter(condition).select(pl.col("euros").median()).item())

    small, large = median(pl.col("effectif") == 1), median(pl.col("effectif") >= 10)
    assert large > 5 * small
    assert share(euros, pl.col("euros") == 0) == pytest.approx(0.06, abs=0.02)
    assert euros.select((1 / pl.col("euros")).min()).item() > float("-inf")  # no -0.0


def test_amounts_are_in_the_currency_of_country_and_year(companies: pl.DataFrame) -> None:
    given = companies.filter(pl.col("ca_devise").is_not_null())
    found: Mapping[str, set[str]] = {
        iso2: set(given.filter(pl.col("iso2") == iso2)["ca_devise"]) for iso2 in ("UK", "HR", "FR")
    }

    assert found == {"UK": {"GBP"}, "HR": {"EUR", "HRK"}, "FR": {"EUR"}}
    assert set(given["ca_mult"]) <= {1, 1_000, 1_000_000}
    assert share(companies, pl.col("ca_eur").is_not_null()) == pytest.approx(0.01, abs=0.005)


def test_headcounts_have_a_heavy_tail_and_some_are_a_band_alone(companies: pl.DataFrame) -> None:
    assert share(companies, (pl.col("effectif") >= 10).fill_null(False)) == pytest.approx(
        0.032, abs=0.006
    )
    assert companies.select(pl.col("effectif").max()).item() > 200
    assert share(companies, pl.col("tranche_effectif").is_not_null()) > 0.08
    both = pl.col("tranche_effectif").is_not_null() & pl.col("effectif").is_not_null()
    assert share(companies, both) == 0


def test_dates_are_young_and_some_are_a_year_alone(companies: pl.DataFrame) -> None:
    since_2019 = pl.col("date_creation").str.head(4) >= "2019"

    assert share(companies, since_2019) == pytest.approx(0.5, abs=0.1)
    assert set(companies["date_creation"].drop_nulls().str.len_bytes()) == {4, 7, 10}


def test_a_town_has_its_own_postal_code_and_region(companies: pl.DataFrame) -> None:
    lyon = companies.filter(pl.col("ville") == "Lyon")

    assert lyon["code_postal"].str.contains(r"^69\d{3}$").all()
    assert set(lyon["region"]) == {"Auvergne-Rhône-Alpes", None}


def test_contacts_are_of_the_name(companies: pl.DataFrame) -> None:
    sites = companies.filter(pl.col("site_web").is_not_null())
    label = sites["site_web"].str.extract(r"^(?:https?://)?(?:www\.)?([a-z0-9]+)\.[a-z.]+$")
    bare = sites["nom"].str.to_lowercase().str.replace_all(r"[^a-z0-9]", "")

    assert label.null_count() == 0
    ascii_names = sites["nom"].str.contains(r"^[ -~]+$")
    pairs = zip(label.filter(ascii_names), bare.filter(ascii_names), strict=True)
    assert all(part[:12] in whole for part, whole in pairs)
    given = sites.filter(pl.col("domaine").is_not_null())
    assert given.select(pl.col("site_web").str.ends_with(pl.col("domaine")).all()).item()
