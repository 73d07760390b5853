"""Amounts in euros, compared with the table and with plain Python."""

import csv
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds
from pipeline.errors import SeedError
from pipeline.stages import money
from seeds import TABLES
from tests.pipeline.rows import companies_frame, company

RATES = money.rates(seeds.read())


def converted_turnover(**fields: object) -> dict[str, object]:
    """A British company with these fields after the conversion of its turnover."""
    frame = companies_frame(company("UK", "1", "Café", **fields)).pipe(
        money.convert_turnover, RATES
    )
    return frame.collect().row(0, named=True)


def test_a_turnover_is_divided_by_the_average_rate_of_its_year() -> None:
    row = converted_turnover(ca_last=276961.0, ca_devise="GBP", ca_year=2017)

    # 0.87667 pounds a euro in 2017, as the ECB publishes it.
    assert row["ca_eur"] == pytest.approx(276961 / 0.87667, rel=1e-4)
    assert row["ca_last"] == 276961.0
    assert row[money.UNCONVERTED] is None


def test_a_turnover_is_multiplied_and_a_missing_multiplier_is_1() -> None:
    """Contract C7."""
    assert (
        converted_turnover(ca_last=2.5, ca_mult=1000, ca_devise="EUR", ca_year=2020)["ca_eur"]
        == 2500.0
    )
    assert converted_turnover(ca_last=2.5, ca_devise="EUR", ca_year=2020)["ca_eur"] == 2.5


def test_a_turnover_in_euros_needs_no_year() -> None:
    assert converted_turnover(ca_last=-1.0, ca_devise="EUR")["ca_eur"] == -1.0


def test_a_published_turnover_in_euros_is_kept() -> None:
    row = converted_turnover(ca_eur=7.0, ca_last=1.0, ca_devise="GBP", ca_year=2017)

    assert row["ca_eur"] == 7.0
    assert row[money.UNCONVERTED] is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"ca_devise": None, "ca_year": 2020}, "sans devise"),
        ({"ca_devise": "GBP", "ca_year": None}, "sans exercice"),
        ({"ca_devise": "USD", "ca_year": 2020}, "sans taux USD 2020"),
        ({"ca_devise": "GBP", "ca_year": 1950}, "sans taux GBP 1950"),
        ({"ca_devise": "EUR", "ca_year": 2020, "ca_mult": 1000}, "montant démesuré"),
    ],
)
def test_a_turnover_that_cannot_be_converted_is_null_with_a_reason(
    fields: dict[str, object], reason: str
) -> None:
    row = converted_turnover(ca_last=1e308, **fields)

    assert row["ca_eur"] is None
    assert row[money.UNCONVERTED] == reason


def test_a_company_without_a_turnover_has_nothing_to_convert() -> None:
    row = converted_turnover()

    assert row["ca_eur"] is None
    assert row[money.UNCONVERTED] is None


def test_negative_zeros_become_zero() -> None:
    frame = companies_frame(company("EE", "1", "Õ", ca_eur=-0.0, capital_social=-0.0))

    row = frame.pipe(money.drop_negative_zeros).collect().row(0, named=True)

    assert math.copysign(1, row["ca_eur"]) == math.copysign(1, row["capital_social"]) == 1
    # A tenth of a cent is rounded to zero.
    rounded_turnover = converted_turnover(ca_last=-0.001, ca_devise="EUR")["ca_eur"]
    assert isinstance(rounded_turnover, float)
    assert math.copysign(1, rounded_turnover) == 1


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ({"ca_year": 2015, "exercice_actif": 2016}, 2015),
        ({"exercice_actif": 2016}, 2016),
        ({}, 2025),
    ],
)
def test_capital_is_compared_at_the_year_of_turnover_then_of_assets_then_the_newest(
    fields: dict[str, int], year: int
) -> None:
    """Contract B31."""
    row = company("UK", "1", "Ł", capital_social=100.0, capital_devise="GBP", **fields)
    rate = RATES.filter(devise="GBP", annee=year)["taux"].item()

    rows = companies_frame(row).pipe(money.convert_capital, RATES).collect()

    assert rows["capital_eur"].item() == pytest.approx(100 / rate)
    assert rows["capital_social"].item() == 100.0


def test_capital_without_a_rate_has_no_amount_in_euros() -> None:
    """Contract B31: companies without a rate are sorted last."""
    rows = [
        company("UK", "1", "Ψ", capital_social=5.0, capital_devise=devise, ca_year=year)
        for devise, year in (("USD", 2020), (None, 2020), ("GBP", 1950))
    ]

    frame = companies_frame(*rows).pipe(money.convert_capital, RATES).collect()

    assert frame["capital_eur"].to_list() == [None, None, None]


@pytest.mark.parametrize(
    ("fields", "euros"),
    [
        ({"devise": "GBP", "exercice_actif": 2020}, 117.0),
        ({"devise": "GBP", "exercice_actif": 2020, "unite_mult": 1000}, 117_000.0),
        ({"devise": "EUR", "unite_mult": 1}, 100.0),
        ({"devise": "GBP"}, None),
        ({"exercice_actif": 2020}, None),
        ({"devise": "GBP", "exercice_actif": 1950}, None),
        ({"devise": "EUR", "unite_mult": 10**9, "total_actif_last": 1e300}, None),
    ],
)
def test_total_assets_are_in_euros_and_cents_at_the_rate_of_their_year(
    fields: dict[str, object], euros: float | None
) -> None:
    """Extension X2."""
    rates = pl.DataFrame({"devise": ["GBP"], "annee": [2020], "taux": [100 / 117]})
    row = company("UK", "1", "Ψ", **{"total_actif_last": 100.0, **fields})

    rows = companies_frame(row).pipe(money.convert_assets, rates).collect()

    assert rows["actif_eur"].item() == euros
    assert "taux" not in rows.columns


# The rate of each currency and year: units of the currency for a euro.
RATE_TABLE = {
    (row["devise"], int(row["annee"])): float(row["taux"])
    for row in csv.DictReader((TABLES / "taux.csv").read_text(encoding="utf-8").splitlines())
}
# Currencies, years and amounts with and without a rate in the table.
currencies = st.sampled_from([None, "EUR", "GBP", "EEK", "ROL", "RON", "USD"])
years = st.none() | st.integers(1997, 2027)
amounts = st.none() | st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.0, -1.0, 0.5])


def expected_turnover(
    published_eur: float | None,
    published: float | None,
    multiplier: int | None,
    devise: str | None,
    year: int | None,
) -> float | None:
    """The turnover in euros, converted in plain Python."""
    if published_eur is not None:
        return published_eur
    if published is None or devise is None:
        return None
    rate = 1.0 if devise == "EUR" else RATE_TABLE.get((devise, year or 0))
    return None if rate is None else published * (1 if multiplier is None else multiplier) / rate


@given(
    st.lists(
        st.tuples(amounts, amounts, st.sampled_from([None, 1, 1000, 10**6]), currencies, years),
        max_size=20,
    )
)
def test_turnover_agrees_with_plain_python(
    rows: list[tuple[float | None, float | None, int | None, str | None, int | None]],
) -> None:
    names = ("ca_eur", "ca_last", "ca_mult", "ca_devise", "ca_year")
    frame = companies_frame(
        *(
            company("UK", str(place), "É", **dict(zip(names, row, strict=True)))
            for place, row in enumerate(rows)
        )
    )

    result = frame.pipe(money.convert_turnover, RATES).collect().sort(pl.col("id").cast(int))

    expected = [expected_turnover(*row) for row in rows]
    assert [value is None for value in result["ca_eur"]] == [value is None for value in expected]
    for value, expected_value in zip(result["ca_eur"], expected, strict=True):
        if expected_value is not None:
            # Half a cent, because the stage rounds to cents.
            assert value == pytest.approx(expected_value, rel=1e-12, abs=0.0051)
    missing = result.filter(pl.col("ca_eur").is_null() & pl.col("ca_last").is_not_null())
    assert missing[money.UNCONVERTED].null_count() == 0


def test_a_table_of_rates_with_a_wrong_or_repeated_rate_is_refused() -> None:
    valid_seeds = seeds.read()
    for rows in (
        [{"devise": "GBP", "annee": "2020", "taux": "x"}],
        [{"devise": "GBP", "annee": "2020", "taux": "0"}],
        [{"devise": "GBP", "annee": "2020", "taux": "nan"}],
        [{"devise": "GBP", "annee": "2020", "taux": "inf"}],
        [{"devise": "GBP", "annee": "2020", "taux": "0,85"}],
        [{"devise": "livre", "annee": "2020", "taux": "0.85"}],
        [{"devise": "GBP", "annee": "2020", "taux": "1"}] * 2,
    ):
        faulty_seeds = seeds.Seeds(valid_seeds.pays, {**valid_seeds.tables, "taux": tuple(rows)})
        with pytest.raises(SeedError, match=r"taux\.csv"):
            money.rates(faulty_seeds)
