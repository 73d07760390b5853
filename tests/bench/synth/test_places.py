"""Towns, postal codes and regions."""

import polars as pl


def test_a_town_has_its_own_postal_code_and_region(companies: pl.DataFrame) -> None:
    lyon = companies.filter(pl.col("ville") == "Lyon")

    assert lyon["code_postal"].str.contains(r"^69\d{3}$").all()
    assert set(lyon["region"]) == {"Auvergne-Rhône-Alpes", None}
