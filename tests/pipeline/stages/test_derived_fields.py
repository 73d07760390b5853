"""Derived fields: the domain of a site, the band of a headcount, the score."""

import polars as pl
import pytest

from pipeline.stages import derived_fields
from shards.codec.record import FIELDS
from tests.pipeline.rows import companies_frame, company


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
    rows = derived_fields.fill_derived(
        companies_frame(company("EE", "1", "Ä", site_web=site_web))
    ).collect()

    assert rows["domaine"].item() == domaine


def test_a_published_domain_and_a_published_band_of_headcount_are_kept() -> None:
    row = company("EE", "1", "Ä", site_web="https://a.ee", domaine="B.ee", tranche_effectif="NN")

    rows = derived_fields.fill_derived(companies_frame({**row, "effectif": 7})).collect()

    assert (rows["domaine"].item(), rows["tranche_effectif"].item()) == ("b.ee", "NN")


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
    rows = pl.DataFrame({"n": [lowest, highest]}).select(n=derived_fields.band(pl.col("n")))

    assert rows["n"].to_list() == [code, code]


def test_an_unknown_headcount_has_no_band_and_zero_has_one() -> None:
    rows = pl.DataFrame({"n": [None, 0]}, schema={"n": pl.Int64}).select(
        n=derived_fields.band(pl.col("n"))
    )

    assert rows["n"].to_list() == [None, "00"]


# -- the score ---------------------------------------------------------------------


def score_of(**fields: object) -> int:
    """The score of a company with these fields, all other ones null."""
    row = {**dict.fromkeys(derived_fields.WEIGHTS), **fields}
    return int(derived_fields.add_score(pl.LazyFrame([row])).collect()["score"].item())


def test_the_weights_sum_to_100() -> None:
    assert sum(derived_fields.WEIGHTS.values()) == 100


def test_fields_of_every_company_have_no_weight() -> None:
    assert set(FIELDS) >= set(derived_fields.WEIGHTS)
    assert derived_fields.WEIGHTS.keys().isdisjoint({"iso2", "id", "nom", "score"})


def test_a_score_is_0_without_known_fields_and_100_with_all() -> None:
    assert score_of() == 0
    assert score_of(**dict.fromkeys(derived_fields.WEIGHTS, "connu")) == 100


@pytest.mark.parametrize(("field", "weight"), sorted(derived_fields.WEIGHTS.items()))
def test_a_known_field_adds_its_weight(field: str, weight: int) -> None:
    assert score_of(**{field: "connu"}) == weight


def test_a_zero_is_known() -> None:
    assert score_of(effectif=0) == derived_fields.WEIGHTS["effectif"]
