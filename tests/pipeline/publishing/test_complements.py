"""Complements in a build: they fill fields of a register's companies and add no company to them."""

from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import Origin, origin
from pipeline.errors import BuildError
from pipeline.publishing import plan
from pipeline.publishing.plan import BuildOptions
from seeds import TABLES
from shards.generations import generation_files
from tests.pipeline.builds import counts_add_up, published_companies, run_build
from tests.pipeline.rows import company, statement_line, write_input

GLEIF = Origin("gleif", ("*",))  # a complement of all countries
RAW = TABLES / "raw"


def _write_register(folder: Path) -> Path:
    """An input of the Estonian register with two companies."""
    rows = [company("EE", "1", "Õ", ville="Tartu"), company("EE", "2", "Ä", effectif=3)]
    return write_input(folder, rows, [statement_line("EE", "1", 2020)], "ee", Origin("ee"))


def _write_gleif(folder: Path, forme: str = "Osaühing") -> Path:
    """A complement: both companies of the register, a third Estonian company, a Dutch one, and a row without a name.

    The row without a name is rejected, so builds with this input need a higher `max_rejected`.
    """
    rows = [
        company("EE", "2", "Ä OÜ", forme=forme, ville="Tallinn", effectif=9),
        company("EE", " 1", "Õ OÜ", forme=forme, adresse="Pikk 1"),
        company("EE", "3", "Üks OÜ", forme=forme),
        company("EE", "1", None, forme=forme),
        company("NL", "12345678", "Één B.V."),
    ]
    return write_input(folder, rows, name="lei", origin=GLEIF)


def test_a_complement_fills_a_register_and_gives_the_companies_of_a_country_without_one(
    tmp_path: Path,
) -> None:
    inputs = (_write_register(tmp_path / "ee"), _write_gleif(tmp_path / "lei"))

    built = run_build(tmp_path, *inputs, max_rejected=0.2)

    rows = {row["id"]: row for row in published_companies(tmp_path, "EE")}
    assert rows.keys() == {"1", "2"}
    assert [rows["2"][name] for name in ("nom", "forme", "ville", "effectif")] == [
        "Ä", "Osaühing", "Tallinn", 3,
    ]  # fmt: skip
    # The columns of an address are filled together, so a street of GLEIF does not join a town of the register.
    assert (rows["1"]["ville"], rows["1"]["adresse"]) == ("Tartu", None)
    assert len(rows["1"]["comptes"]) == 1
    assert [row["nom"] for row in published_companies(tmp_path, "NL")] == ["Één B.V."]
    quality = built.pays["EE"]
    assert quality.rejetees == {"nom vide": 1}
    assert quality.fusionnees == {"gleif": 2}
    assert quality.completees == {"gleif forme": 2, "gleif ville": 1}
    assert quality.ecartees == {"absente du registre national (gleif)": 1}
    assert all(counts_add_up(quality) for quality in built.pays.values())


def test_a_forecast_counts_the_rows_of_the_register(tmp_path: Path) -> None:
    inputs = (_write_register(tmp_path / "ee"), _write_gleif(tmp_path / "lei"))

    lines = plan.forecast(BuildOptions(inputs=inputs, out=tmp_path / "data"))

    forecast_rows = [text.split() for text in lines]
    assert ["EE", "0", "2", "to", "be", "built"] in forecast_rows
    assert ["NL", "0", "1", "to", "be", "built"] in forecast_rows


def test_names_and_order_of_files_and_the_memory_do_not_change_a_shard(tmp_path: Path) -> None:
    """The second build has another order of inputs, a renamed file, and hardly any memory for rows."""
    estonia = _write_register(tmp_path / "a")
    gleif = write_input(
        tmp_path / "b",
        [company("GB", str(number), "É", ville=str(number)) for number in range(9)],
        name="zz",
        origin=GLEIF,
    )
    uk = write_input(
        tmp_path / "c", [company("UK", str(number), "È") for number in range(0, 20, 2)], name="b"
    )
    expected = run_build(tmp_path / "1", estonia, gleif, uk)
    (gleif / "companies" / "zz.parquet").rename(gleif / "companies" / "aa.parquet")

    # A process takes 200 MiB before its first row.
    reordered = run_build(tmp_path / "2", uk, gleif, estonia, memory=210 << 20)

    file_lists = [
        generation_files.read_manifest(tmp_path / folder / "data" / built.generation).files
        for folder, built in (("1", expected), ("2", reordered))
    ]
    assert file_lists[0]["UK.shard"] == file_lists[1]["UK.shard"]
    assert reordered.pays == expected.pays
    assert reordered.pays["UK"].completees == {"gleif ville": 5}  # 0, 2, 4, 6 and 8 are in both


def test_a_country_is_built_again_when_only_its_complement_changed(tmp_path: Path) -> None:
    register = _write_register(tmp_path / "ee")
    write_input(register, [company("UK", "1", "É")], name="uk")
    run_build(tmp_path, register, _write_gleif(tmp_path / "a"), max_rejected=0.2)

    second_build = run_build(
        tmp_path, register, _write_gleif(tmp_path / "b", "OÜ"), max_rejected=0.2
    )

    assert second_build.reused == ("UK",)
    assert {row["forme"] for row in published_companies(tmp_path, "EE")} == {"OÜ"}


def test_a_company_that_comes_twice_in_one_complement_stops_the_build(tmp_path: Path) -> None:
    register = _write_register(tmp_path / "ee")
    write_input(tmp_path / "lei", [company("EE", "7", "A")], name="one", origin=GLEIF)
    complement = write_input(tmp_path / "lei", [company("EE", "7", "B")], name="two", origin=GLEIF)

    with pytest.raises(BuildError, match=r"EE: 1 .*: 7 \(one\.parquet, two\.parquet\)"):
        run_build(tmp_path, register, complement)


def test_a_company_that_two_registers_have_still_stops_the_build(tmp_path: Path) -> None:
    """Contract E3: only a complement may repeat a company of a register, and `other` is not a complement."""
    register = _write_register(tmp_path / "ee")
    other_register = write_input(
        tmp_path / "b", [company("EE", "2", "B")], name="other", origin=Origin("other")
    )

    with pytest.raises(BuildError, match=r"EE: 1 .*: 2 \(ee\.parquet, other\.parquet\)"):
        run_build(
            tmp_path, register, other_register, _write_gleif(tmp_path / "lei"), max_rejected=0.2
        )


def test_an_import_stores_its_origin_in_its_file(tmp_path: Path) -> None:
    for source, file, expected in (
        ("gleif", "gleif/lei2-excerpt-20240505-0000.json.zip", GLEIF),
        ("fr-rne", "fr/rne_formalites_2.json", Origin("fr-rne", ("FR",))),
        ("ee", "ee/ettevotja_rekvisiidid__lihtandmed.csv.zip", Origin("ee")),
        ("uk-accounts", "uk/Accounts_Bulk_Data-sample.zip", Origin("uk-accounts")),
    ):
        report = importing.run(source, [RAW / file], tmp_path / source)

        assert origin(tmp_path / source / report.output) == expected


def test_the_excerpts_of_gleif_and_a_register_make_one_company(tmp_path: Path) -> None:
    """The register is made of the numbers that the Estonian companies of the LEI excerpt have."""
    report = importing.run(
        "gleif", [RAW / "gleif" / "lei2-excerpt-20240505-0000.json.zip"], tmp_path / "lei"
    )
    published = pl.read_parquet(tmp_path / "lei" / report.output).filter(pl.col("iso2") == "EE")
    numbers = published["id"].to_list()
    register = write_input(
        tmp_path / "ee", [company("EE", number, "Õ") for number in numbers], name="ee"
    )

    built = run_build(tmp_path, register, tmp_path / "lei")

    company_by_id = {row["id"]: row for row in published_companies(tmp_path, "EE")}
    assert len(company_by_id) == published.height == built.pays["EE"].fusionnees["gleif"]
    for row in published.iter_rows(named=True):
        assert company_by_id[row["id"]]["nom"] == "Õ"
        assert company_by_id[row["id"]]["ville"] == row["ville"]
        assert company_by_id[row["id"]]["date_creation"] == row["date_creation"]
