"""The French words for a published legal form and a published status."""

from collections.abc import Mapping

import polars as pl
import pytest

from pipeline import seeds
from pipeline.stages import statuses
from serve.contract import seed_tables
from tests.pipeline.rows import companies_frame, company

SEEDS = seeds.read()
LABEL_ROWS = [row for row in SEEDS.tables["libelles"] if row["champ"] in statuses.FRENCH_COLUMNS]


def add_french_words(iso2: str, *published: Mapping[str, str | None]) -> pl.DataFrame:
    """Companies with these published values, and the French words that the stage adds."""
    rows = [company(iso2, str(place), "Õ", **values) for place, values in enumerate(published)]
    words = statuses.french_words(SEEDS, iso2)
    return companies_frame(*rows).pipe(statuses.add_french, words).collect()


@pytest.mark.parametrize("iso2", [*sorted({row["iso2"] for row in LABEL_ROWS} - {""}), "CH"])
def test_french_words_are_the_words_of_pages_and_workbooks(iso2: str) -> None:
    """The pipeline, pages and workbooks all use the table seeds/libelles.csv."""
    rows = [row for row in LABEL_ROWS if row["iso2"] in ("", iso2)]
    frame = add_french_words(iso2, *({row["champ"]: f" {row['valeur'].upper()}."} for row in rows))

    for row, french_row in zip(rows, frame.iter_rows(named=True), strict=True):
        name = statuses.FRENCH_COLUMNS[row["champ"]]
        assert french_row[name] == seed_tables.label(row["champ"], iso2, row["valeur"], "fr")
        assert french_row[name]


def test_an_unknown_value_has_no_french_words_unless_it_is_french() -> None:
    unknown = {"forme": "Łódźka forma", "statut": None}
    french = {"forme": "Société à mission inédite", "statut": "Statut inédit"}

    assert add_french_words("PL", unknown).select("forme_fr", "statut_fr").row(0) == (None, None)
    assert add_french_words("FR", french).select("forme_fr", "statut_fr").row(0) == tuple(
        french.values()
    )
    assert add_french_words("FR", unknown).select("statut_fr").row(0) == (None,)


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
def test_a_legal_form_that_is_published_in_french_is_kept_as_its_french_word(
    iso2: str, forme: str
) -> None:
    assert add_french_words(iso2, {"forme": forme})["forme_fr"].to_list() == [forme]


@pytest.mark.parametrize(("iso2", "forme"), [("BE", "417"), ("CH", "0106"), ("FR", "5499")])
def test_a_legal_form_that_is_a_number_has_no_french_words(iso2: str, forme: str) -> None:
    assert add_french_words(iso2, {"forme": forme})["forme_fr"].to_list() == [None]


def test_a_foreign_legal_form_in_a_french_register_has_no_french_words() -> None:
    assert add_french_words("CH", {"forme": "Akciová společnost"})["forme_fr"].to_list() == [None]


def test_every_status_with_a_state_has_french_words_however_it_is_spelt() -> None:
    rows = [row for row in SEEDS.tables["etats"] if row["iso2"]]
    by_country = {
        iso2: [row for row in rows if row["iso2"] == iso2] for iso2 in {row["iso2"] for row in rows}
    }

    for iso2, status_rows in by_country.items():
        frame = add_french_words(
            iso2, *({"statut": f"{row['statut'].lower()} ."} for row in status_rows)
        )
        assert frame["statut_fr"].null_count() == 0, iso2
