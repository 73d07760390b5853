"""The build, end to end: small inputs, real Parquet, real shards, read back."""

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
from tests.pipeline.builds import accounted, run, served
from tests.pipeline.rows import Row, companies, company, line, write


def test_a_company_is_served_with_all_that_is_derived(tmp_path: Path) -> None:
    source = write(
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
            line("UK", "09707484", 2017, etat="compte_resultat", code="TurnoverRevenue",
                 libelle="Chiffre d’affaires", valeur=276961.0, devise="GBP"),
            line("UK", "09707484", 2017, valeur=129022.0, devise="GBP"),
            line("UK", "09707484", 2016, etat="annexe", code="AverageNumberEmployeesDuringPeriod",
                 valeur=5.0, devise=None, ordre=None),
        ],
    )  # fmt: skip

    run(tmp_path, source)

    (found,) = served(tmp_path, "UK")
    assert tuple(found) == (*FIELDS, "comptes")
    known = {name: value for name, value in found.items() if value is not None}
    lines = known.pop("comptes")
    assert known == {
        "iso2": "UK",
        "id": "09707484",
        "nom": "Société d’Été Ltd",
        "statut": "VOLUNTARY ARRANGEMENT / RECEIVER MANAGER",
        "statut_fr": "Accord volontaire ou administrateur de gage",
        "date_creation": "2015-07-29",
        "effectif": 5,
        "tranche_effectif": "02",
        "ca_eur": 315922.33,
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


def test_a_company_without_a_status_is_of_unknown_state_and_closes_no_gate(tmp_path: Path) -> None:
    """X1: a null status is `inconnu`, never unmapped; lists without a text are null."""
    bare = company("EE", "1", "Õ", noms_anterieurs=[], nace_secondaires=["x"])

    built = run(tmp_path, write(tmp_path / "in", [bare]))

    (found,) = served(tmp_path, "EE")
    assert (found["etat"], found["noms_anterieurs"], found["nace_secondaires"]) == (
        "inconnu",
        None,
        None,
    )
    quality = built.pays["EE"]
    assert (quality.avec_statut, quality.statuts_sans_etat, quality.statuts_inconnus) == (0, 0, {})
    assert quality.codes_secondaires_ecartes == 1


@pytest.mark.parametrize(("others", "is_closed"), [(99, False), (98, True)])
def test_over_one_percent_of_statuses_without_a_state_close_a_gate(
    tmp_path: Path, others: int, is_closed: bool
) -> None:
    """X1: of the companies with a status; --force opens the gate, and the manifest says so."""
    known = [company("EE", f"{n}", "Õ", statut="Registrisse kantud") for n in range(others)]
    more = [company("EE", f"{n}", "Õ") for n in range(1_000, 1_200)]
    source = write(tmp_path / "in", [company("EE", "x", "Ö", statut="Кто знает"), *known, *more])

    told = "(?s)EE: 1 of 99 published statuses are not in .*, such as 'Кто знает'; add them"
    if is_closed:
        with pytest.raises(GenerationError, match=told):
            run(tmp_path, source)
        assert pointer.read(tmp_path / "data") is None
    built = run(tmp_path, source, force=is_closed)

    assert built.pays["EE"].statuts_inconnus == {"Кто знает": 1}
    folder = tmp_path / "data" / built.generation
    assert bool(generation_files.read_manifest(folder).forced) is is_closed
    assert [c["etat"] for c in served(tmp_path, "EE")].count("inconnu") == 201
    report = "\n".join(quality_report.table(built.pays, built.hors_pays))
    assert "EE: statuses without a state (1 of" in report


def test_statement_lines_have_the_keys_and_the_order_of_the_contract(tmp_path: Path) -> None:
    """Contract E5."""
    asked = [
        line("EE", "1", 2020, etat="annexe", ordre=1, code="N"),
        line("EE", "1", 2020, etat="compte_resultat", ordre=1, code="R"),
        line("EE", "1", 2020, etat="bilan_passif", ordre=1, code="P"),
        line("EE", "1", 2020, ordre=None, code="C"),
        line("EE", "1", 2020, ordre=2, code="B"),
        line("EE", "1", 2020, ordre=2, code="A", valeur=-0.0),
        line("EE", "1", 2021, etat="annexe", ordre=9, code="Z"),
    ]
    source = write(tmp_path / "in", [company("EE", "1", "Õ")], asked)

    run(tmp_path, source)

    lines = served(tmp_path, "EE")[0]["comptes"]
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
        company("EE", "é", "A"),
        company("EE", "z", "B"),
        company("EE", "c", "C", nace_code="62.01"),
        company("EE", "d", "D", nace_code="62.01", ca_eur=-1.0),
        company("EE", "e", "E", nace_code="62.01", ca_eur=5.0),
        company("EE", "f", "F", nace_code="62"),
        company("EE", "g", "G", nace_code="01.11"),
        company("EE", "h", "H", nace_code="62.01", ca_eur=5.0),
    ]

    run(tmp_path, write(tmp_path / "in", rows))

    assert [row["id"] for row in served(tmp_path, "EE")] == ["g", "e", "h", "d", "c", "f", "z", "é"]


def test_all_25_countries_have_a_shard_and_the_lists_are_counted(tmp_path: Path) -> None:
    source = write(
        tmp_path / "in", [company("GB", "1", "Ł", nace_code="62.01"), company("EE", "1", "Ä")]
    )

    built = run(tmp_path, source)

    loaded = generation_files.load(tmp_path / "data", built.generation)
    assert len(loaded.shards) == 25
    assert {iso2: shard.rows for iso2, shard in loaded.shards.items() if shard.rows} == {
        "UK": 1,
        "EE": 1,
    }
    assert loaded.reference.total == 2
    assert [(c.secteur, c.sous_secteur, c.n) for c in loaded.reference.counts["UK"]] == [
        ("62", "62.0", 1)
    ]
    assert len(loaded.reference.secteurs) == 84
    assert {s.secteur for s in loaded.reference.sous_secteurs} == {
        s.code for s in loaded.reference.secteurs
    }
    loaded.close()
    assert served(tmp_path, "UK")[0]["iso2"] == "UK"


def test_several_inputs_are_one_and_one_may_hold_statements_only(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [company("EE", "1", "Ä")])
    second = write(tmp_path / "b", [], [line("EE", "1", 2020), line("EE", "404", 2020)])

    built = run(tmp_path, first, second)

    assert served(tmp_path, "EE")[0]["total_actif_last"] == 100.0
    quality = built.pays["EE"]
    assert (quality.lignes_lues, quality.lignes_gardees) == (2, 1)
    assert quality.lignes_ecartees == {"société absente": 1}


def test_lines_of_a_rejected_company_or_of_no_country_are_counted(tmp_path: Path) -> None:
    rows = [company("EE", "1", None), company("EE", "2", "Ä")]
    lines = [line("EE", "1", 2020), line("ZZ", "1", 2020), line("LV", "1", 2020)]

    built = run(tmp_path, write(tmp_path / "in", rows, lines), max_rejected=0.5)

    assert built.pays["EE"].lignes_ecartees == {"société absente": 1}
    assert built.pays["LV"].lignes_ecartees == {"société absente": 1}
    assert built.hors_pays.lignes_ecartees == {"pays inconnu": 1}
    folder = tmp_path / "data" / "rejected"
    assert sorted(path.name for path in folder.iterdir()) == ["EE.parquet", "XX-comptes.parquet"]
    strangers = pl.read_parquet(folder / "XX-comptes.parquet")
    assert strangers.select("motif", "iso2", "id").rows() == [("pays inconnu", "ZZ", "1")]


# -- rejection ---------------------------------------------------------------------


def test_rejected_rows_are_kept_by_country_and_counted(tmp_path: Path) -> None:
    rows = [
        company("EE", "1", "Ä"),
        company("EE", "2", None, ville="Ö"),
        company("ZZ", "3", "Ü"),
        company(None, "4", "Õ"),
        company("ee", "5", "É"),
    ]

    built = run(tmp_path, write(tmp_path / "in", rows), max_rejected=0.6)

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
    rows = [company("EE", str(i), "Ä" if i else None) for i in range(50)]

    with pytest.raises(BuildError, match=r"EE: 1 of 50 rows rejected \(2\.0%.*empty name \(1\)"):
        run(tmp_path, write(tmp_path / "in", rows))

    assert pointer.current_name(tmp_path / "data") is None
    assert (tmp_path / "data" / "rejected" / "EE.parquet").exists()


def test_too_many_rows_of_unknown_countries_stop_the_build_and_name_them(tmp_path: Path) -> None:
    rows = [company("EE", "1", "Ä"), company("FRA", "1", "É"), company("gb", "2", "È")]

    with pytest.raises(
        BuildError, match=r"XX: 2 of 3 rows.*country 'FRA' \(1\), country 'gb' \(1\)"
    ):
        run(tmp_path, write(tmp_path / "in", rows))


def test_too_many_bad_statement_lines_stop_the_build_that_keeps_them_with_their_reason(
    tmp_path: Path,
) -> None:
    rows = [company("EE", "1", "Ä"), company("EE", "2", None)]
    lines = [line("EE", "1", 2020, etat="bilan", libelle="Õ"), line("EE", "2", 2020)]
    folder = tmp_path / "data" / "rejected"

    with pytest.raises(BuildError) as caught:
        run(tmp_path, write(tmp_path / "in", rows, [*lines, lines[0]]), max_rejected=0.6)

    assert str(caught.value).startswith("EE: 2 of 3 statement lines rejected (66.7%, at most 60.0%")
    assert f": unknown statement (2); look into {folder / 'EE-comptes.parquet'} " in str(
        caught.value
    )
    kept = pl.read_parquet(folder / "EE-comptes.parquet").select("motif", "id", "etat", "libelle")
    assert kept.rows() == [("état inconnu", "1", "bilan", "Õ")] * 2
    companies = pl.read_parquet(folder / "EE.parquet").select("motif", "id")
    assert companies.rows() == [("nom vide", "2")]


def test_mended_statement_lines_take_the_rejected_ones_away(tmp_path: Path) -> None:
    rows = [company("EE", "1", "Ä")]
    bad = [line("EE", "1", 2020, etat="bilan")]
    path = tmp_path / "data" / "rejected" / "EE-comptes.parquet"

    for name, lines in (("a", [line("EE", "1", 2020)]), ("b", [])):
        run(tmp_path, write(tmp_path / f"{name}-mal", rows, bad), max_rejected=1.0)
        assert path.exists()
        run(tmp_path, write(tmp_path / name, rows, lines))
        assert not path.exists()


def test_a_company_twice_stops_the_build_and_is_named_with_its_files(tmp_path: Path) -> None:
    """Contract E3."""
    first = write(tmp_path / "a", [company("GB", "1", "Ä"), company("EE", "1", "Ä")], name="un")
    second = write(tmp_path / "b", [company("UK", " 1", "Ö")], name="deux")

    with pytest.raises(BuildError) as caught:
        run(tmp_path, first, second)

    assert str(caught.value) == (
        "UK: 1 identifiers come more than once: 1 (deux.parquet, un.parquet); "
        "take out all but one of each"
    )


def test_a_register_imported_twice_is_told_as_that(tmp_path: Path) -> None:
    months = {"octobre": range(50), "novembre": range(2, 54)}
    for month, numbers in months.items():
        write(tmp_path / "in", [company("GB", f" {n}", "Été") for n in numbers], name=month)
    other = write(tmp_path / "in", [company("UK", "A", "Ö"), company("UK", "B", "Ö")], name="autre")
    october, november = (other / "companies" / f"{month}.parquet" for month in months)

    with pytest.raises(BuildError) as caught:
        run(tmp_path, tmp_path / "in")

    assert str(caught.value) == (
        f"UK: 48 identifiers come more than once: {november} and {october} "
        "both hold the whole register; delete the older of them"
    )


def test_a_few_companies_of_a_register_in_another_file_are_named(tmp_path: Path) -> None:
    write(tmp_path / "in", [company("UK", str(n), "É") for n in range(50)], name="tout")
    write(tmp_path / "in", [company("UK", str(n), "É") for n in range(3)], name="peu")

    with pytest.raises(BuildError, match=r"3 identifiers .*: 0 \(peu\.parquet, tout\.parquet\), 1"):
        run(tmp_path, tmp_path / "in")


def test_at_most_ten_companies_that_come_twice_are_named(tmp_path: Path) -> None:
    rows = [company("EE", f"{i:02}", "Ä") for i in range(12)] * 2

    with pytest.raises(BuildError, match=r"12 identifiers.*09 \(2 times in part.*\) and 2 more;"):
        run(tmp_path, write(tmp_path / "in", rows))


def test_a_rejected_row_does_not_make_a_duplicate(tmp_path: Path) -> None:
    rows = [company("EE", "1", "Ä"), company("EE", "1", None)]

    run(tmp_path, write(tmp_path / "in", rows), max_rejected=0.5)

    assert len(served(tmp_path, "EE")) == 1


# -- what cannot be built ------------------------------------------------------------


def test_an_unknown_column_stops_the_build_and_is_named(tmp_path: Path) -> None:
    source = write(tmp_path / "in", [company("EE", "1", "Ä")])
    frame = companies(company("EE", "2", "Ö")).with_columns(siret=pl.lit("x"))
    frame.sink_parquet(source / "companies" / "autre.parquet")

    with pytest.raises(InputError, match="siret"):
        run(tmp_path, source)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["absent"], "absent is no folder"),
        (["vide"], "holds none of companies"),
        (["a", "a"], "given twice"),
        (["b"], r"no companies/\*\.parquet"),
    ],
)
def test_a_folder_that_is_no_input_is_named(
    tmp_path: Path, inputs: list[str], message: str
) -> None:
    (tmp_path / "vide").mkdir()
    write(tmp_path / "a", [company("EE", "1", "Ä")])
    write(tmp_path / "b", [], [line("EE", "1", 2020)])

    with pytest.raises(BuildError, match=message):
        run(tmp_path, *(tmp_path / name for name in inputs))


def test_a_build_that_fails_leaves_what_is_published_and_no_folder(tmp_path: Path) -> None:
    good = write(tmp_path / "good", [company("EE", "1", "Ä")])
    bad = write(tmp_path / "bad", [company("EE", "1", "Ä"), company("EE", "1", "Ö")])
    generation = run(tmp_path, good).generation
    before = sorted(path.name for path in (tmp_path / "data").iterdir())

    with pytest.raises(BuildError):
        run(tmp_path, bad)

    assert pointer.current_name(tmp_path / "data") == generation
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before
    assert served(tmp_path, "EE")[0]["nom"] == "Ä"


def test_a_country_that_lost_companies_is_not_published_unless_forced(tmp_path: Path) -> None:
    """A country with less than 98 % of its previous companies stops the build."""
    many = write(tmp_path / "many", [company("EE", str(i), "Ä") for i in range(100)])
    few = write(tmp_path / "few", [company("EE", str(i), "Ä") for i in range(97)])
    run(tmp_path, many)

    with pytest.raises(GenerationError, match="EE has 97"):
        run(tmp_path, few)
    run(tmp_path, few, force=True)

    assert len(served(tmp_path, "EE")) == 97


# -- --pays --------------------------------------------------------------------------


def test_only_the_countries_asked_for_are_built_again(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a",
        [company("EE", "1", "Ä", nace_code="62.01"), company("UK", "1", "Ö")],
        name="un",
    )
    second = write(tmp_path / "b", [company("EE", "2", "Õ"), company("UK", "9", "Ü")], name="deux")
    old = run(tmp_path, first)
    shard = tmp_path / "data" / old.generation / "EE.shard"
    before = shard.read_bytes()

    built = run(tmp_path, second, pays=("GB",))

    assert [row["id"] for row in served(tmp_path, "EE")] == ["1"]
    assert [row["id"] for row in served(tmp_path, "UK")] == ["9"]
    folder = tmp_path / "data" / built.generation
    assert (folder / "EE.shard").read_bytes() == before
    assert built.pays["EE"] == old.pays["EE"]
    loaded = generation_files.load(tmp_path / "data", built.generation)
    assert [(c.secteur, c.n) for c in loaded.reference.counts["EE"]] == [("62", 1)]
    assert [source.path for source in loaded.manifest.sources] == ["deux.parquet", "un.parquet"]
    loaded.close()


def test_without_a_generation_there_is_nothing_to_take_the_others_from(tmp_path: Path) -> None:
    source = write(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="build all countries first, without --pays"):
        run(tmp_path, source, pays=("EE",))


def test_a_shard_that_went_bad_is_not_taken_over(tmp_path: Path) -> None:
    source = write(tmp_path / "in", [company("EE", "1", "Ä"), company("UK", "1", "Ö")])
    built = run(tmp_path, source)
    shard = tmp_path / "data" / built.generation / "UK.shard"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)

    with pytest.raises(BuildError, match=r"UK\.shard is missing or not the file of its manifest"):
        run(tmp_path, source, pays=("EE",))


def test_a_country_that_does_not_fit_into_the_memory_is_refused_by_name(tmp_path: Path) -> None:
    source = write(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="EE takes 201 MiB of memory, 103 MiB are allowed"):
        run(tmp_path, source, memory=GIB // 10)


def test_an_unknown_country_in_pays_is_named(tmp_path: Path) -> None:
    source = write(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(BuildError, match="unknown country FRA; known: AT, BE"):
        run(tmp_path, source, pays=("EE", "FRA"))


# -- no row is lost --------------------------------------------------------------------

texts = st.sampled_from([None, "", " ", "Ä", "a\x00b", "É" * 70, "1", "2"])
rows_of_any_kind = st.builds(
    lambda iso2, identifier, nom, fields: company(iso2, identifier, nom, **fields),
    st.sampled_from(["EE", "UK", "GB", "FR", "ZZ", "", None]),
    st.uuids().map(str) | st.sampled_from([None, "", "x" * 65, "a\tb"]),
    texts,
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


@settings(max_examples=8)  # each is a whole build
@given(st.lists(rows_of_any_kind, min_size=1, max_size=25))
def test_rows_in_are_kept_plus_rejected(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    tmp_path = tmp_path_factory.mktemp("build")

    built = run(tmp_path, write(tmp_path / "in", rows), max_rejected=1.0)

    qualities = [*built.pays.values(), built.hors_pays]
    assert all(accounted(quality) for quality in qualities)
    assert sum(quality.lues for quality in qualities) == len(rows)
    kept = sum(quality.gardees for quality in qualities)
    assert kept == sum(len(served(tmp_path, iso2)) for iso2 in ("EE", "UK", "FR"))
    refused = input_files.files([tmp_path], "data/rejected")
    assert sum(pl.scan_parquet(path).collect().height for path in refused) == len(rows) - kept


# -- the report --------------------------------------------------------------------------


def test_the_report_is_part_of_the_generation(tmp_path: Path) -> None:
    built = run(tmp_path, write(tmp_path / "in", [company("EE", "1", "Ä", nace_code="ZZ")]))

    packed = (tmp_path / "data" / built.generation / "quality.json").read_bytes()
    document: dict[str, Any] = orjson.loads(packed)
    assert len(document["pays"]) == 25
    assert document["pays"]["EE"]["codes_inconnus"] == {"ZZ": 1}
    assert document["pays"]["EE"]["sans_secteur"] == {"code inconnu": 1}
    assert document["hors_pays"]["lues"] == 0


def test_a_country_without_a_row_is_stored_alike_whether_or_not_it_has_lines(
    tmp_path: Path,
) -> None:
    """The short path of an empty country gives the same shard as the long one."""
    rows = [company("EE", "1", "Ä")]
    short = run(tmp_path / "1", write(tmp_path / "a", rows))
    long = run(tmp_path / "2", write(tmp_path / "b", rows, [line("LV", "1", 2020)]))

    files = [
        tmp_path / n / "data" / built.generation / "LV.shard"
        for n, built in (("1", short), ("2", long))
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert short.pays["LV"].renseignees == long.pays["LV"].renseignees


def test_accounts_that_contradict_themselves_are_counted_and_not_served(tmp_path: Path) -> None:
    turnover = {"etat": "compte_resultat", "code": "TurnoverRevenue"}
    lines = [
        line("EE", "1", 2020, valeur=100.0),
        line("EE", "1", 2020, etat="bilan_passif", code="LiabilitiesAndEquity", valeur=90.0),
        line("EE", "1", 2019, valeur=80.0),
        *(
            line("EE", "1", year, **turnover, valeur=value)
            for year, value in ((2018, 2e6), (2019, 2e6), (2020, 2e9), (2021, 3e6))
        ),
    ]
    source = write(tmp_path / "in", [company("EE", "1", "Õun")], lines)

    built = run(tmp_path, source)

    [found] = served(tmp_path, "EE")
    quality = built.pays["EE"]
    assert accounted(quality)
    assert quality.lignes_ecartees == {
        "bilan non équilibré": 2,
        "chiffre d'affaires 100 ou 1 000 fois celui des exercices voisins": 1,
    }
    assert list(quality.comptes_retenus.values()) == [2, 1]
    assert (found["total_actif_last"], found["exercice_actif"]) == (80.0, 2019)
    assert (found["ca_last"], found["ca_year"]) == (3e6, 2021)
    assert [one["exercice"] for one in found["comptes"]] == [2021, 2019, 2019, 2018]
    withheld = pl.read_parquet(tmp_path / "data" / "rejected" / "EE-comptes.parquet")
    assert withheld["iso2"].to_list() == ["EE"] * 3
