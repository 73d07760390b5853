"""The quality report, printed and stored."""

import pytest

from pipeline.errors import BuildError
from pipeline.stages import quality_report
from pipeline.stages.quality_report import Quality

ESTONIA = Quality(
    lues=1200,
    gardees=1000,
    rejetees={"nom vide": 150, "identifiant trop long": 50},
    renseignees={"secteur": 701, "ca_eur": 0, "effectif": 1000},
    sans_secteur={f"raison {n}": n for n in range(1, 9)},
    sans_conversion={"sans devise": 3},
    secteurs_devines=4,
    valeurs_ecartees={"date impossible (date_creation)": 9, "valeur de remplissage (ville)": 2},
    textes_coupes=5,
    lignes_lues=10,
    lignes_gardees=7,
    lignes_ecartees={"société absente": 3},
    lignes_contradictoires=2,
    hors_format=6,
    cles_verifiees=900,
    cles_fausses=8,
)


def test_the_table_has_a_row_per_country_a_total_and_remarks() -> None:
    lines = quality_report.table(
        {"EE": ESTONIA, "FR": Quality(), "UK": Quality(lues=1, gardees=1)}, Quality()
    )

    table_rows = [line.split() for line in lines[:4]]
    assert [row[0] for row in table_rows] == ["iso2", "EE", "UK", "total"]
    assert " ".join(table_rows[1]) == "EE 1,200 1,000 200 70.1% 0.0% 100.0% 0.0% 0.0% 0.0%"
    assert " ".join(table_rows[3][:4]) == "total 1,201 1,001 200"
    assert lines[4:] == [
        "no company: FR",
        "EE: rejected: empty name (150), identifier too long (50)",
        "EE: no sector: raison 8 (8), raison 7 (7), raison 6 (6), raison 5 (5), "
        "raison 4 (4), raison 3 (3), others (3)",
        "EE: turnover not converted: no currency (3)",
        "EE: statement lines left out: no such company (3)",
        "EE: sector chosen among several (NACE Rev. 2.1): 4",
        "EE: contradictory statement lines: 2",
        "EE: impossible values, left out: impossible date (date_creation) (9), placeholder (ville) (2)",
        "EE: texts cut: 5",
        "EE: identifiers of another format: 6",
        "EE: wrong check digits: 8 of 900 checked",
    ]


def test_columns_of_the_table_are_aligned() -> None:
    lines = quality_report.table({"EE": ESTONIA, "UK": Quality(lues=10**7, gardees=1)}, Quality())

    assert len({len(line) for line in lines[:4]}) == 1


def test_rows_without_a_country_are_reported() -> None:
    lines = quality_report.table({}, Quality(lues=3, rejetees={"pays inconnu": 3}))

    assert lines[-1] == "other countries: rejected: unknown country (3)"


def test_the_total_adds_numbers_and_reasons() -> None:
    total = quality_report.total([ESTONIA, Quality(lues=1, rejetees={"nom vide": 1, "autre": 2})])

    assert total.lues == 1201
    assert total.rejetees == {"nom vide": 151, "identifiant trop long": 50, "autre": 2}


def test_a_report_is_read_back_as_it_was_written() -> None:
    packed = quality_report.dump({"EE": ESTONIA}, Quality(), {"EE": "2026-11-20"})

    assert quality_report.load(packed, "quality.json") == {"EE": ESTONIA}


@pytest.mark.parametrize("packed", [b"{}", b"[]", b"x", b'{"pays": {"EE": {"vieux": 1}}}'])
def test_a_report_of_another_version_is_refused(packed: bytes) -> None:
    with pytest.raises(BuildError, match=r"quality\.json is of another version.*without --pays"):
        quality_report.load(packed, "quality.json")
