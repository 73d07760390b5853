"""Whole builds of small inputs: the published companies, and the errors that stop a build."""

from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.canonical import InputError
from pipeline.errors import BuildError
from pipeline.stages import input_files, quality_report
from pipeline.workers.processes import GIB
from shards.codec.record import FIELDS
from shards.errors import GenerationError
from shards.generations import generation_files, pointer
from tests.pipeline.builds import counts_add_up, published_companies, run_build
from tests.pipeline.rows import Row, companies_frame, company, statement_line, write_input


def test_a_company_is_published_with_cleaned_and_derived_fields(tmp_path: Path) -> None:
    source = write_input(
        tmp_path / "in",
        [
            company(
                "UK", "09707484", "  Société d’E\u0301té Ltd ", nace_code="62012", effectif=None,
                date_creation="2015-07-29", site_web="https://www.Ete.co.uk/", est_cotee=False,
                statut="VOLUNTARY ARRANGEMENT / RECEIVER MANAGER", lei="213800E3GGXQX4QQ9A21",
                tva="GB 123", date_source="2026-01-01", noms_anterieurs=[" Cafe\u0301 Ltd", "", None],
                nace_secondaires=["62090", "9999", "6209", "56.10"],
            )
        ],
        [
            statement_line("UK", "09707484", 2017, etat="compte_resultat", code="TurnoverRevenue",
                 libelle="Chiffre d’affaires", valeur=276961.0, devise="GBP"),
            statement_line("UK", "09707484", 2017, valeur=129022.0, devise="GBP"),
            statement_line("UK", "09707484", 2016, etat="annexe", code="AverageNumberEmployeesDuringPeriod",
                 valeur=5.0, devise=None, ordre=None),
        ],
    )  # fmt: skip

    run_build(tmp_path, source)

    (published,) = published_companies(tmp_path, "UK")
    assert tuple(published) == (*FIELDS, "comptes")
    values = {name: value for name, value in published.items() if value is not None}
    lines = values.pop("comptes")
    assert values == {
        "iso2": "UK",
        "id": "09707484",
        "nom": "Société d’Été Ltd",
        "statut": "VOLUNTARY ARRANGEMENT / RECEIVER MANAGER",
        "statut_fr": "Accord volontaire ou administrateur de gage",
        "date_creation": "2015-07-29",
        "effectif": 5,
        "tranche_effectif": "02",
        "ca_eur": 315922.33,  # at 0.87667435 pounds for one euro in 2017 (seeds/taux.csv)
        "ca_last": 276961.0,
        "ca_year": 2017,
        "ca_devise": "GBP",
        "ca_mult": 1,
        "total_actif_last": 129022.0,
        "exercice_actif": 2017,
        "devise": "GBP",
        "unite_mult": 1,
        "n_exercices": 2,
        "exercice_min": 2016,
        "exercice_max": 2017,
        "secteur": "Programmation, conseil et autres activités informatiques",
        "grand_secteur": "Information et communication",
        "sous_secteur": "Programmation, conseil et autres activités informatiques",
        "nace_code": "62.01",
        "nace_libelle": "Programmation informatique",
        "site_web": "https://www.Ete.co.uk/",
        "domaine": "ete.co.uk",
        "est_cotee": False,
        "url_registre": "https://find-and-update.company-information.service.gov.uk/company/09707484",
        "score": 64,
        "etat": "procedure",
        "lei": "213800E3GGXQX4QQ9A21",
        "tva": "GB 123",
        "date_source": "2026-01-01",
        "noms_anterieurs": ["Café Ltd"],
        "nace_secondaires": ["62.09", "56.10"],
    }
    assert [(row["exercice"], row["etat"]) for row in lines] == [
        (2017, "bilan_actif"),
        (2017, "compte_resultat"),
        (2016, "annexe"),
    ]


def test_a_company_without_a_status_has_an_unknown_state_and_closes_no_gate(tmp_path: Path) -> None:
    """Extension X1: the state of a null status is `inconnu`, and the status does not count as unmapped.

    Lists that have no valid value are published as null.
    """
    bare = company("EE", "1", "Õ", noms_anterieurs=[], nace_secondaires=["x"])

    built = run_build(tmp_path, write_input(tmp_path / "in", [bare]))

    (published,) = published_companies(tmp_path, "EE")
    assert (published["etat"], published["noms_anterieurs"], published["nace_secondaires"]) == (
        "inconnu",
        None,
        None,
    )
    quality = built.pays["EE"]
    assert (quality.avec_statut, quality.statuts_sans_etat, quality.statuts_inconnus) == (0, 0, {})
    assert quality.codes_secondaires_ecartes == 1


@pytest.mark.parametrize(("known_statuses", "is_closed"), [(99, False), (98, True)])
def test_over_one_percent_of_statuses_without_a_state_close_a_gate(
    tmp_path: Path, known_statuses: int, is_closed: bool
) -> None:
    """Extension X1: the share is of companies with a status. --force opens the gate, and the manifest records it."""
    with_status = [
        company("EE", f"{number}", "Õ", statut="Registrisse kantud")
        for number in range(known_statuses)
    ]
    without_status = [company("EE", f"{number}", "Õ") for number in range(1_000, 1_200)]
    source = write_input(
        tmp_path / "in",
        [company("EE", "x", "Ö", statut="Кто знает"), *with_status, *without_status],
    )

    message = "(?s)EE: 1 of 99 published statuses are not in .*, such as 'Кто знает'; add them"
    if is_closed:
        with pytest.raises(GenerationError, match=message):
            run_build(tmp_path, source)
        assert pointer.read(tmp_path / "data") is None
    built = run_build(tmp_path, source, force=is_closed)

    assert built.pays["EE"].statuts_inconnus == {"Кто знает": 1}
    folder = tmp_path / "data" / built.generation
    assert bool(generation_files.read_manifest(folder).forced) is is_closed
    assert [row["etat"] for row in published_companies(tmp_path, "EE")].count(
        "inconnu"
    ) == 201  # 200 without a status, one unmapped
    report = "\n".join(quality_report.table(built.pays, built.hors_pays))
    assert "EE: statuses without a state (1 of" in report


def test_statement_lines_have_the_keys_and_the_order_of_the_contract(tmp_path: Path) -> None:
    """Contract E5: the newest year first, then by statement, `ordre` (null last) and code; -0.0 becomes 0.0."""
    input_lines = [
        statement_line("EE", "1", 2020, etat="annexe", ordre=1, code="N"),
        statement_line("EE", "1", 2020, etat="compte_resultat", ordre=1, code="R"),
        statement_line("EE", "1", 2020, etat="bilan_passif", ordre=1, code="P"),
        statement_line("EE", "1", 2020, ordre=None, code="C"),
        statement_line("EE", "1", 2020, ordre=2, code="B"),
        statement_line("EE", "1", 2020, ordre=2, code="A", valeur=-0.0),
        statement_line("EE", "1", 2021, etat="annexe", ordre=9, code="Z"),
    ]
    source = write_input(tmp_path / "in", [company("EE", "1", "Õ")], input_lines)

    run_build(tmp_path, source)

    lines = published_companies(tmp_path, "EE")[0]["comptes"]
    assert [row["code"] for row in lines] == ["Z", "A", "B", "C", "P", "R", "N"]
    assert lines[1] == {
        "etat": "bilan_actif",
        "code": "A",
        "libelle": "Total de l'actif",
        "valeur": 0.0,
        "devise": "EUR",
        "exercice": 2020,
        "ordre": 2,
    }
    assert str(lines[1]["valeur"]) == "0.0"


def test_rows_are_in_layout_order_nulls_last_and_ids_by_their_bytes(tmp_path: Path) -> None:
    rows = [
        company("EE", "é", "A"),  # no sector; the UTF-8 bytes of "é" come after those of "z"
        company("EE", "z", "B"),
        company("EE", "c", "C", nace_code="62.01"),  # a sub-sector, but no turnover
        company("EE", "d", "D", nace_code="62.01", ca_eur=-1.0),
        company("EE", "e", "E", nace_code="62.01", ca_eur=5.0),
        company("EE", "f", "F", nace_code="62"),  # a sector without a sub-sector
        company("EE", "g", "G", nace_code="01.11"),
        company("EE", "h", "H", nace_code="62.01", ca_eur=5.0),
    ]

    run_build(tmp_path, write_input(tmp_path / "in", rows))

    assert [row["id"] for row in published_companies(tmp_path, "EE")] == [
        "g",
        "e",
        "h",
        "d",
        "c",
        "f",
        "z",
        "é",
    ]


def test_all_25_countries_have_a_shard_and_the_companies_of_sectors_are_counted(
    tmp_path: Path,
) -> None:
    """Countries without companies have an empty shard; the published GB is stored as UK."""
    source = write_input(
        tmp_path / "in", [company("GB", "1", "Ł", nace_code="62.01"), company("EE", "1", "Ä")]
    )

    built = run_build(tmp_path, source)

    loaded = generation_files.load(tmp_path / "data", built.generation)
    assert len(loaded.shards) == 25
    assert {iso2: shard.rows for iso2, shard in loaded.shards.items() if shard.rows} == {
        "UK": 1,
        "EE": 1,
    }
    assert loaded.reference.total == 2
    assert [
        (cell.secteur, cell.sous_secteur, cell.n) for cell in loaded.reference.counts["UK"]
    ] == [("62", "62.0", 1)]
    assert len(loaded.reference.secteurs) == 84
    assert {sub_sector.secteur for sub_sector in loaded.reference.sous_secteurs} == {
        sector.code for sector in loaded.reference.secteurs
    }
    loaded.close()
    assert published_companies(tmp_path, "UK")[0]["iso2"] == "UK"


def test_statement_lines_may_come_from_an_input_without_companies(tmp_path: Path) -> None:
    first = write_input(tmp_path / "a", [company("EE", "1", "Ä")])
    second = write_input(
        tmp_path / "b", [], [statement_line("EE", "1", 2020), statement_line("EE", "404", 2020)]
    )

    built = run_build(tmp_path, first, second)

    assert published_companies(tmp_path, "EE")[0]["total_actif_last"] == 100.0
    quality = built.pays["EE"]
    assert (quality.lignes_lues, quality.lignes_gardees) == (2, 1)
    assert quality.lignes_ecartees == {"société absente": 1}


def test_lines_of_a_rejected_company_or_of_no_country_are_counted(tmp_path: Path) -> None:
    """A line without a published company is only counted; a line of an unknown country is also stored as rejected."""
    rows = [company("EE", "1", None), company("EE", "2", "Ä")]
    lines = [
        statement_line("EE", "1", 2020),
        statement_line("ZZ", "1", 2020),
        statement_line("LV", "1", 2020),
    ]

    built = run_build(tmp_path, write_input(tmp_path / "in", rows, lines), max_rejected=0.5)

    assert built.pays["EE"].lignes_ecartees == {"société absente": 1}
    assert built.pays["LV"].lignes_ecartees == {"société absente": 1}
    assert built.hors_pays.lignes_ecartees == {"pays inconnu": 1}
    folder = tmp_path / "data" / "rejected"
    assert sorted(path.name for path in folder.iterdir()) == ["EE.parquet", "XX-comptes.parquet"]
    rejected_lines = pl.read_parquet(folder / "XX-comptes.parquet")
    assert rejected_lines.select("motif", "iso2", "id").rows() == [("pays inconnu", "ZZ", "1")]


# -- rejected rows -------------------------------------------------------------------


def test_rejected_rows_are_kept_by_country_and_counted(tmp_path: Path) -> None:
    rows = [
        company("EE", "1", "Ä"),
        company("EE", "2", None, ville="Ö"),
        company("ZZ", "3", "Ü"),
        company(None, "4", "Õ"),
        company("ee", "5", "É"),
    ]

    # XX.parquet has the rows without a known country code.
    built = run_build(tmp_path, write_input(tmp_path / "in", rows), max_rejected=0.6)

    folder = tmp_path / "data" / "rejected"
    assert sorted(path.name for path in folder.iterdir()) == ["EE.parquet", "XX.parquet"]
    assert pl.read_parquet(folder / "EE.parquet").select("motif", "id").rows() == [
        ("nom vide", "2")
    ]
    assert pl.read_parquet(folder / "XX.parquet").select("motif", "iso2").rows() == [
        ("pays inconnu", "ZZ"),
        ("pays inconnu", None),
        ("pays inconnu", "ee"),
    ]
    assert built.pays["EE"].rejetees == {"nom vide": 1}
    assert built.hors_pays.rejetees == {"pays inconnu": 3}


def test_too_many_rejected_rows_stop_the_build_and_name_the_reasons(tmp_path: Path) -> None:
    rows = [company("EE", str(number), "Ä" if number else None) for number in range(50)]

    with pytest.raises(BuildError, match=r"EE: 1 of 50 rows rejected \(2\.0%.*empty name \(1\)"):
        run_build(tmp_path, write_input(tmp_path / "in", rows))

    assert pointer.current_name(tmp_path / "data") is None
    assert (tmp_path / "data" / "rejected" / "EE.parquet").exists()


def test_too_many_rows_of_unknown_countries_stop_the_build_and_name_them(tmp_path: Path) -> None:
    rows = [company("EE", "1", "Ä"), company("FRA", "1", "É"), company("gb", "2", "È")]

    with pytest.raises(
        BuildError, match=r"XX: 2 of 3 rows.*country 'FRA' \(1\), country 'gb' \(1\)"
    ):
        run_build(tmp_path, write_input(tmp_path / "in", rows))


def test_too_many_bad_statement_lines_stop_the_build_and_are_stored_with_their_reason(
    tmp_path: Path,
) -> None:
    rows = [company("EE", "1", "Ä"), company("EE", "2", None)]
    lines = [
        statement_line("EE", "1", 2020, etat="bilan", libelle="Õ"),
        statement_line("EE", "2", 2020),
    ]
    folder = tmp_path / "data" / "rejected"

    with pytest.raises(BuildError) as caught:
        run_build(
            tmp_path, write_input(tmp_path / "in", rows, [*lines, lines[0]]), max_rejected=0.6
        )

    assert str(caught.value).startswith("EE: 2 of 3 statement lines rejected (66.7%, at most 60.0%")
    assert f": unknown statement (2); look into {folder / 'EE-comptes.parquet'} " in str(
        caught.value
    )
    rejected_lines = pl.read_parquet(folder / "EE-comptes.parquet").select(
        "motif", "id", "etat", "libelle"
    )
    assert rejected_lines.rows() == [("état inconnu", "1", "bilan", "Õ")] * 2
    companies = pl.read_parquet(folder / "EE.parquet").select("motif", "id")
    assert companies.rows() == [("nom vide", "2")]


def test_a_build_of_corrected_statement_lines_deletes_the_file_of_rejected_lines(
    tmp_path: Path,
) -> None:
    companies = [company("EE", "1", "Ä")]
    unknown_statement = [statement_line("EE", "1", 2020, etat="bilan")]
    corrections = {"corrected": [statement_line("EE", "1", 2020)], "removed": []}
    rejected_lines = tmp_path / "data" / "rejected" / "EE-comptes.parquet"

    for name, lines in corrections.items():
        bad_input = write_input(tmp_path / f"before-{name}", companies, unknown_statement)
        run_build(tmp_path, bad_input, max_rejected=1.0)
        assert rejected_lines.exists()
        run_build(tmp_path, write_input(tmp_path / name, companies, lines))
        assert not rejected_lines.exists()


# -- duplicates ----------------------------------------------------------------------


def test_a_company_in_two_files_stops_the_build_that_names_the_files(tmp_path: Path) -> None:
    """Contract E3."""
    first = write_input(
        tmp_path / "a", [company("GB", "1", "Ä"), company("EE", "1", "Ä")], name="un"
    )
    second = write_input(tmp_path / "b", [company("UK", " 1", "Ö")], name="deux")

    with pytest.raises(BuildError) as caught:
        run_build(tmp_path, first, second)

    assert str(caught.value) == (
        "UK: 1 identifiers come more than once: 1 (deux.parquet, un.parquet); keep one of each"
    )


def test_a_register_imported_twice_is_named_by_its_two_files(tmp_path: Path) -> None:
    months = {"octobre": range(50), "novembre": range(2, 54)}
    for month, numbers in months.items():
        write_input(
            tmp_path / "in", [company("GB", f" {number}", "Été") for number in numbers], name=month
        )
    folder = write_input(
        tmp_path / "in", [company("UK", "A", "Ö"), company("UK", "B", "Ö")], name="autre"
    )
    october, november = (folder / "companies" / f"{month}.parquet" for month in months)

    with pytest.raises(BuildError) as caught:
        run_build(tmp_path, tmp_path / "in")

    assert str(caught.value) == (
        f"UK: 48 identifiers come more than once: {november} and {october} "
        "both contain the whole register; delete the older of them"
    )


def test_a_few_companies_of_a_register_in_another_file_are_named(tmp_path: Path) -> None:
    write_input(
        tmp_path / "in", [company("UK", str(number), "É") for number in range(50)], name="tout"
    )
    write_input(
        tmp_path / "in", [company("UK", str(number), "É") for number in range(3)], name="peu"
    )

    with pytest.raises(BuildError, match=r"3 identifiers .*: 0 \(peu\.parquet, tout\.parquet\), 1"):
        run_build(tmp_path, tmp_path / "in")


def test_at_most_ten_companies_that_come_twice_are_named(tmp_path: Path) -> None:
    rows = [company("EE", f"{number:02}", "Ä") for number in range(12)] * 2

    with pytest.raises(BuildError, match=r"12 identifiers.*09 \(2 times in part.*\) and 2 more;"):
        run_build(tmp_path, write_input(tmp_path / "in", rows))


def test_a_rejected_row_does_not_make_a_duplicate(tmp_path: Path) -> None:
    rows = [company("EE", "1", "Ä"), company("EE", "1", None)]

    run_build(tmp_path, write_input(tmp_path / "in", rows), max_rejected=0.5)

    assert len(published_companies(tmp_path, "EE")) == 1


# -- input that cannot be built ------------------------------------------------------------


def test_an_unknown_column_stops_the_build_and_is_named(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])
    frame = companies_frame(company("EE", "2", "Ö")).with_columns(siret=pl.lit("x"))
    frame.sink_parquet(source / "companies" / "autre.parquet")

    with pytest.raises(InputError, match="siret"):
        run_build(tmp_path, source)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["absent"], "absent is not a folder"),
        (["vide"], "holds none of companies"),
        (["a", "a"], "given twice"),
        (["b"], r"no companies/\*\.parquet"),
    ],
)
def test_a_folder_that_cannot_be_an_input_is_named(
    tmp_path: Path, inputs: list[str], message: str
) -> None:
    (tmp_path / "vide").mkdir()
    write_input(tmp_path / "a", [company("EE", "1", "Ä")])
    write_input(tmp_path / "b", [], [statement_line("EE", "1", 2020)])

    with pytest.raises(BuildError, match=message):
        run_build(tmp_path, *(tmp_path / name for name in inputs))


# -- builds that are not published ---------------------------------------------------


def test_a_failed_build_leaves_the_published_generation_and_no_folder(tmp_path: Path) -> None:
    good = write_input(tmp_path / "good", [company("EE", "1", "Ä")])
    bad = write_input(tmp_path / "bad", [company("EE", "1", "Ä"), company("EE", "1", "Ö")])
    generation = run_build(tmp_path, good).generation
    before = sorted(path.name for path in (tmp_path / "data").iterdir())

    with pytest.raises(BuildError):
        run_build(tmp_path, bad)

    assert pointer.current_name(tmp_path / "data") == generation
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before
    assert published_companies(tmp_path, "EE")[0]["nom"] == "Ä"


def test_a_country_that_lost_companies_is_not_published_unless_forced(tmp_path: Path) -> None:
    """A country with less than 98 % of its previous companies stops the build."""
    many = write_input(
        tmp_path / "many", [company("EE", str(number), "Ä") for number in range(100)]
    )
    few = write_input(tmp_path / "few", [company("EE", str(number), "Ä") for number in range(97)])
    run_build(tmp_path, many)

    with pytest.raises(GenerationError, match="EE has 97"):
        run_build(tmp_path, few)
    run_build(tmp_path, few, force=True)

    assert len(published_companies(tmp_path, "EE")) == 97


# -- --pays, and the memory of a country ---------------------------------------------


def test_a_build_of_one_country_takes_the_other_shards_from_the_published_generation(
    tmp_path: Path,
) -> None:
    first = write_input(
        tmp_path / "a",
        [company("EE", "1", "Ä", nace_code="62.01"), company("UK", "1", "Ö")],
        name="un",
    )
    second = write_input(
        tmp_path / "b", [company("EE", "2", "Õ"), company("UK", "9", "Ü")], name="deux"
    )
    old = run_build(tmp_path, first)
    shard = tmp_path / "data" / old.generation / "EE.shard"
    before = shard.read_bytes()

    built = run_build(tmp_path, second, pays=("GB",))

    assert [row["id"] for row in published_companies(tmp_path, "EE")] == ["1"]
    assert [row["id"] for row in published_companies(tmp_path, "UK")] == ["9"]
    folder = tmp_path / "data" / built.generation
    assert (folder / "EE.shard").read_bytes() == before
    assert built.pays["EE"] == old.pays["EE"]
    loaded = generation_files.load(tmp_path / "data", built.generation)
    assert [(cell.secteur, cell.n) for cell in loaded.reference.counts["EE"]] == [("62", 1)]
    assert [source.path for source in loaded.manifest.sources] == ["deux.parquet", "un.parquet"]
    loaded.close()


def test_a_first_build_of_one_country_is_refused(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="build all countries first, without --pays"):
        run_build(tmp_path, source, pays=("EE",))


def test_a_damaged_shard_of_another_country_stops_a_build_of_one_country(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä"), company("UK", "1", "Ö")])
    built = run_build(tmp_path, source)
    shard = tmp_path / "data" / built.generation / "UK.shard"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)

    with pytest.raises(BuildError, match=r"UK\.shard is missing or not the file of its manifest"):
        run_build(tmp_path, source, pays=("EE",))


def test_a_country_that_does_not_fit_into_the_memory_is_refused_by_name(tmp_path: Path) -> None:
    """A process takes 200 MiB before its first row; with a row, the estimate is rounded up to 201 MiB."""
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="EE takes 201 MiB of memory, 103 MiB are allowed"):
        run_build(tmp_path, source, memory=GIB // 10)


def test_an_unknown_country_in_pays_is_named(tmp_path: Path) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="unknown country FRA; known: AT, BE"):
        run_build(tmp_path, source, pays=("EE", "FRA"))


# -- no row is lost --------------------------------------------------------------------

any_name = st.sampled_from([None, "", " ", "Ä", "a\x00b", "É" * 70, "1", "2"])
# Companies of known, unknown and missing countries, with valid and invalid values.
rows_of_any_kind = st.builds(
    lambda iso2, identifier, nom, fields: company(iso2, identifier, nom, **fields),
    st.sampled_from(["EE", "UK", "GB", "FR", "ZZ", "", None]),
    st.uuids().map(str) | st.sampled_from([None, "", "x" * 65, "a\tb"]),
    any_name,
    st.fixed_dictionaries(
        {},
        optional={
            "effectif": st.integers(-2, 3),
            "ca_eur": st.sampled_from([None, 0.0, -1.0, float("nan")]),
            "date_creation": st.sampled_from([None, "2020", "2020-13"]),
            "nace_code": st.sampled_from([None, "62.01", "ZZ", "84.11", "98000"]),
        },
    ),
)


@settings(max_examples=8)  # each example is a whole build
@given(st.lists(rows_of_any_kind, min_size=1, max_size=25))
def test_every_row_read_is_published_or_counted_as_rejected(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    """Rows of unknown countries are counted by `hors_pays`, all others by their country."""
    tmp_path = tmp_path_factory.mktemp("build")

    built = run_build(tmp_path, write_input(tmp_path / "in", rows), max_rejected=1.0)

    qualities = [*built.pays.values(), built.hors_pays]
    assert all(counts_add_up(quality) for quality in qualities)
    assert sum(quality.lues for quality in qualities) == len(rows)
    kept_rows = sum(quality.gardees for quality in qualities)
    assert kept_rows == sum(len(published_companies(tmp_path, iso2)) for iso2 in ("EE", "UK", "FR"))
    rejected_files = input_files.files([tmp_path], "data/rejected")
    assert (
        sum(pl.scan_parquet(path).collect().height for path in rejected_files)
        == len(rows) - kept_rows
    )


# -- the report --------------------------------------------------------------------------


def test_the_report_is_part_of_the_generation(tmp_path: Path) -> None:
    built = run_build(
        tmp_path, write_input(tmp_path / "in", [company("EE", "1", "Ä", nace_code="ZZ")])
    )

    packed = (tmp_path / "data" / built.generation / "quality.json").read_bytes()
    document: dict[str, Any] = orjson.loads(packed)
    assert len(document["pays"]) == 25
    assert document["pays"]["EE"]["codes_inconnus"] == {"ZZ": 1}
    assert document["pays"]["EE"]["sans_secteur"] == {"code inconnu": 1}
    assert document["hors_pays"]["lues"] == 0


# -- countries without companies, and withheld accounts ------------------------------


def test_a_country_without_companies_has_the_same_shard_with_or_without_statement_lines(
    tmp_path: Path,
) -> None:
    """A country without any input takes a short path in the code, which must give the same shard."""
    rows = [company("EE", "1", "Ä")]
    without_lines = run_build(tmp_path / "1", write_input(tmp_path / "a", rows))
    with_lines = run_build(
        tmp_path / "2", write_input(tmp_path / "b", rows, [statement_line("LV", "1", 2020)])
    )

    files = [
        tmp_path / folder / "data" / built.generation / "LV.shard"
        for folder, built in (("1", without_lines), ("2", with_lines))
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert without_lines.pays["LV"].renseignees == with_lines.pays["LV"].renseignees


def test_accounts_that_contradict_themselves_are_counted_and_not_served(tmp_path: Path) -> None:
    """The latest total assets and turnover of the record are then those of the years that remain."""
    turnover = {"etat": "compte_resultat", "code": "TurnoverRevenue"}
    lines = [
        statement_line("EE", "1", 2020, valeur=100.0),
        statement_line(
            "EE", "1", 2020, etat="bilan_passif", code="LiabilitiesAndEquity", valeur=90.0
        ),
        statement_line("EE", "1", 2019, valeur=80.0),
        *(
            statement_line("EE", "1", year, **turnover, valeur=value)
            for year, value in ((2018, 2e6), (2019, 2e6), (2020, 2e9), (2021, 3e6))
        ),
    ]
    source = write_input(tmp_path / "in", [company("EE", "1", "Õun")], lines)

    built = run_build(tmp_path, source)

    [published] = published_companies(tmp_path, "EE")
    quality = built.pays["EE"]
    assert counts_add_up(quality)
    # The balance sheet of 2020 has assets of 100 and liabilities of 90; its turnover has a wrong unit.
    assert quality.lignes_ecartees == {
        "bilan non équilibré": 2,
        "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins": 1,
    }
    assert list(quality.comptes_retenus.values()) == [2, 1]
    assert (published["total_actif_last"], published["exercice_actif"]) == (80.0, 2019)
    assert (published["ca_last"], published["ca_year"]) == (3e6, 2021)
    assert [row["exercice"] for row in published["comptes"]] == [2021, 2019, 2019, 2018]
    withheld = pl.read_parquet(tmp_path / "data" / "rejected" / "EE-comptes.parquet")
    assert withheld["iso2"].to_list() == ["EE"] * 3
