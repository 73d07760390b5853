"""Derived fields: the domain of a site, the band of a headcount, the score."""

import polars as pl
import pytest

from pipeline.stages import derived_fields
from shards.codec.record import FIELDS
from tests.pipeline.rows import companies, company


@pytest.mark.parametrize(
    ("site_web", "domaine"),
    [
        ("https://www.Exemple.EE/chemin?q=1", "exemple.ee"),
        ("exemple.ee", "exemple.ee"),
        ("WWW.EXEMPLE.EE", "exemple.ee"),
        ("http://user@shop.exemple.co.uk:8080", "shop.exemple.co.uk"),
        ("//exemple.ee#ici", "exemple.ee"),
        ("http://été.fr/", "été.fr"),
        ("exemple.ee.", "exemple.ee"),
        ("aucun", None),
        ("voir notre page", None),
        ("info@exemple.ee", "exemple.ee"),
        ("http://", None),
        (None, None),
    ],
)
def test_a_domain_is_the_host_of_the_site_in_lower_case(
    site_web: str | None, domaine: str | None
) -> None:
    found = derived_fields.fill_derived(
        companies(company("EE", "1", "Ä", site_web=site_web))
    ).collect()

    assert found["domaine"].item() == domaine


def test_a_given_domain_is_kept() -> None:
    row = company("EE", "1", "Ä", site_web="https://a.ee", domaine="B.ee", tranche_effectif="NN")

    found = derived_fields.fill_derived(companies({**row, "effectif": 7})).collect()

    assert (found["domaine"].item(), found["tranche_effectif"].item()) == ("b.ee", "NN")


@pytest.mark.parametrize(
    ("code", "lowest", "highest"),
    [
        ("00", 0, 0),
        ("01", 1, 2),
        ("02", 3, 5),
        ("03", 6, 9),
        ("11", 10, 19),
        ("12", 20, 49),
        ("21", 50, 99),
        ("22", 100, 199),
        ("31", 200, 249),
        ("32", 250, 499),
        ("41", 500, 999),
        ("42", 1000, 1999),
        ("51", 2000, 4999),
        ("52", 5000, 9999),
        ("53", 10000, 2**31 - 1),
    ],
)
def test_a_headcount_has_the_band_of_insee(code: str, lowest: int, highest: int) -> None:
    found = pl.DataFrame({"n": [lowest, highest]}).select(n=derived_fields.band(pl.col("n")))

    assert found["n"].to_list() == [code, code]


def test_no_headcount_is_no_band() -> None:
    found = pl.DataFrame({"n": [None, 0]}, schema={"n": pl.Int64}).select(
        n=derived_fields.band(pl.col("n"))
    )

    assert found["n"].to_list() == [None, "00"]


# -- the score ---------------------------------------------------------------------


def scored(**known: object) -> int:
    row = {**dict.fromkeys(derived_fields.WEIGHTS), **known}
    return int(derived_fields.add_score(pl.LazyFrame([row])).collect()["score"].item())


def test_the_weights_sum_to_100() -> None:
    assert sum(derived_fields.WEIGHTS.values()) == 100


def test_what_every_company_has_weighs_nothing() -> None:
    assert set(FIELDS) >= set(derived_fields.WEIGHTS)
    assert derived_fields.WEIGHTS.keys().isdisjoint({"iso2", "id", "nom", "score"})


def test_nothing_known_is_0_and_everything_is_100() -> None:
    assert scored() == 0
    assert scored(**dict.fromkeys(derived_fields.WEIGHTS, "connu")) == 100


@pytest.mark.parametrize(("field", "weight"), sorted(derived_fields.WEIGHTS.items()))
def test_a_known_field_adds_its_weight(field: str, weight: int) -> None:
    assert scored(**{field: "connu"}) == weight


def test_a_zero_is_known() -> None:
    assert scored(effectif=0) == derived_fields.WEIGHTS["effectif"]
