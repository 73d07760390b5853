"""French words for the legal form and the status of a company, beside the published ones."""

from collections.abc import Mapping

import polars as pl
import pytest

from pipeline import seeds
from pipeline.stages import statuses
from serve.contract import seed_tables
from tests.pipeline.rows import companies, company

SEEDS = seeds.read()
TABLE = [row for row in SEEDS.tables["libelles"] if row["champ"] in statuses.WORDED]


def told(iso2: str, *published: Mapping[str, str | None]) -> pl.DataFrame:
    rows = [company(iso2, str(n), "Õ", **values) for n, values in enumerate(published)]
    words = statuses.french_words(SEEDS, iso2)
    return companies(*rows).pipe(statuses.add_french, words).collect()


@pytest.mark.parametrize("iso2", [*sorted({row["iso2"] for row in TABLE} - {""}), "CH"])
def test_they_are_the_words_of_pages_and_workbooks(iso2: str) -> None:
    """One table: seeds/libelles.csv"""
    rows = [row for row in TABLE if row["iso2"] in ("", iso2)]
    found = told(iso2, *({row["champ"]: f" {row['valeur'].upper()}."} for row in rows))

    for row, shown in zip(rows, found.iter_rows(named=True), strict=True):
        name = statuses.WORDED[row["champ"]]
        assert shown[name] == seed_tables.label(row["champ"], iso2, row["valeur"], "fr")
        assert shown[name]


def test_a_value_without_words_has_none_but_french_stays_french() -> None:
    unknown = {"forme": "Łódźka forma", "statut": None}
    french = {"forme": "Société à mission inédite", "statut": "Statut inédit"}

    assert told("PL", unknown).select("forme_fr", "statut_fr").row(0) == (None, None)
    assert told("FR", french).select("forme_fr", "statut_fr").row(0) == tuple(french.values())
    assert told("FR", unknown).select("statut_fr").row(0) == (None,)


@pytest.mark.parametrize(
    ("iso2", "forme"),
    [
        ("BE", "Ville / commune"),
        ("BE", "Autre forme légale"),
        ("CH", "Société anonyme"),
        ("LU", "Société civile"),
        ("FR", "SA"),
        ("DE", "SOCIETE ANONYME"),
    ],
)
def test_a_form_that_is_published_in_french_is_its_own_french(iso2: str, forme: str) -> None:
    assert told(iso2, {"forme": forme})["forme_fr"].to_list() == [forme]


@pytest.mark.parametrize(("iso2", "forme"), [("BE", "417"), ("CH", "0106"), ("FR", "5499")])
def test_a_code_without_a_letter_is_no_french(iso2: str, forme: str) -> None:
    assert told(iso2, {"forme": forme})["forme_fr"].to_list() == [None]


def test_a_form_of_another_country_is_no_french_of_a_register_that_publishes_in_french() -> None:
    assert told("CH", {"forme": "Akciová společnost"})["forme_fr"].to_list() == [None]


def test_every_status_with_a_state_has_french_words_however_it_is_spelt() -> None:
    rows = [row for row in SEEDS.tables["etats"] if row["iso2"]]
    by_country = {
        iso2: [r for r in rows if r["iso2"] == iso2] for iso2 in {r["iso2"] for r in rows}
    }

    for iso2, statuses_of in by_country.items():
        found = told(iso2, *({"statut": f"{row['statut'].lower()} ."} for row in statuses_of))
        assert found["statut_fr"].null_count() == 0, iso2
