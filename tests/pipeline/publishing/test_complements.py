"""A second source of a country in one build: it fills the register and adds no company to it."""

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
from tests.pipeline.builds import accounted, run, served
from tests.pipeline.rows import company, line, write

GLEIF = Origin("gleif", ("*",))
RAW = TABLES / "raw"


def _register(folder: Path) -> Path:
    rows = [company("EE", "1", "Õ", ville="Tartu"), company("EE", "2", "Ä", effectif=3)]
    return write(folder, rows, [line("EE", "1", 2020)], "ee", Origin("ee"))


def _gleif(folder: Path, forme: str = "Osaühing") -> Path:
    rows = [
        company("EE", "2", "Ä OÜ", forme=forme, ville="Tallinn", effectif=9),
        company("EE", " 1", "Õ OÜ", forme=forme, adresse="Pikk 1"),
        company("EE", "3", "Üks OÜ", forme=forme),
        company("EE", "1", None, forme=forme),
        company("NL", "12345678", "Één B.V."),
    ]
    return write(folder, rows, name="lei", origin=GLEIF)


def test_a_complement_fills_the_register_and_stands_alone_where_there_is_none(
    tmp_path: Path,
) -> None:
    inputs = (_register(tmp_path / "ee"), _gleif(tmp_path / "lei"))

    built = run(tmp_path, *inputs, max_rejected=0.2)

    rows = {row["id"]: row for row in served(tmp_path, "EE")}
    assert rows.keys() == {"1", "2"}
    assert [rows["2"][name] for name in ("nom", "forme", "ville", "effectif")] == [
        "Ä", "Osaühing", "Tallinn", 3,
    ]  # fmt: skip
    assert (rows["1"]["ville"], rows["1"]["adresse"]) == ("Tartu", None)
    assert len(rows["1"]["comptes"]) == 1
    assert [row["nom"] for row in served(tmp_path, "NL")] == ["Één B.V."]
    quality = built.pays["EE"]
    assert quality.rejetees == {"nom vide": 1}
    assert quality.fusionnees == {"gleif": 2}
    assert quality.completees == {"gleif forme": 2, "gleif ville": 1}
    assert quality.ecartees == {"absente du registre national (gleif)": 1}
    assert all(accounted(one) for one in built.pays.values())


def test_a_forecast_counts_the_rows_of_the_register(tmp_path: Path) -> None:
    inputs = (_register(tmp_path / "ee"), _gleif(tmp_path / "lei"))

    lines = plan.forecast(BuildOptions(inputs=inputs, out=tmp_path / "data"))

    rows = [line.split() for line in lines]
    assert ["EE", "0", "2", "to", "be", "built"] in rows
    assert ["NL", "0", "1", "to", "be", "built"] in rows


def test_names_and_order_of_files_and_the_memory_do_not_matter(tmp_path: Path) -> None:
    first = _register(tmp_path / "a")
    second = write(
        tmp_path / "b",
        [company("GB", str(n), "É", ville=str(n)) for n in range(9)],
        name="zz",
        origin=GLEIF,
    )
    third = write(tmp_path / "c", [company("UK", str(n), "È") for n in range(0, 20, 2)], name="b")
    expected = run(tmp_path / "1", first, second, third)
    (second / "companies" / "zz.parquet").rename(second / "companies" / "aa.parquet")

    found = run(tmp_path / "2", third, second, first, memory=210 << 20)

    shards = [
        generation_files.read_manifest(tmp_path / folder / "data" / built.generation).files
        for folder, built in (("1", expected), ("2", found))
    ]
    assert shards[0]["UK.shard"] == shards[1]["UK.shard"]
    assert found.pays == expected.pays
    assert found.pays["UK"].completees == {"gleif ville": 5}


def test_a_country_is_built_again_when_only_its_complement_changed(tmp_path: Path) -> None:
    register = _register(tmp_path / "ee")
    write(register, [company("UK", "1", "É")], name="uk")
    run(tmp_path, register, _gleif(tmp_path / "a"), max_rejected=0.2)

    again = run(tmp_path, register, _gleif(tmp_path / "b", "OÜ"), max_rejected=0.2)

    assert again.reused == ("UK",)
    assert {row["forme"] for row in served(tmp_path, "EE")} == {"OÜ"}


def test_a_company_that_comes_twice_in_one_complement_stops_the_build(tmp_path: Path) -> None:
    register = _register(tmp_path / "ee")
    write(tmp_path / "lei", [company("EE", "7", "A")], name="one", origin=GLEIF)
    twice = write(tmp_path / "lei", [company("EE", "7", "B")], name="two", origin=GLEIF)

    with pytest.raises(BuildError, match=r"EE: 1 .*: 7 \(one\.parquet, two\.parquet\)"):
        run(tmp_path, register, twice)


def test_a_company_that_two_registers_have_still_stops_the_build(tmp_path: Path) -> None:
    """Contract E3."""
    register = _register(tmp_path / "ee")
    other = write(tmp_path / "b", [company("EE", "2", "B")], name="other", origin=Origin("other"))

    with pytest.raises(BuildError, match=r"EE: 1 .*: 2 \(ee\.parquet, other\.parquet\)"):
        run(tmp_path, register, other, _gleif(tmp_path / "lei"), max_rejected=0.2)


def test_an_import_marks_its_file(tmp_path: Path) -> None:
    for source, file, expected in (
        ("gleif", "gleif/lei2-excerpt-20240505-0000.json.zip", GLEIF),
        ("fr-rne", "fr/rne_formalites_2.json", Origin("fr-rne", ("FR",))),
        ("ee", "ee/ettevotja_rekvisiidid__lihtandmed.csv.zip", Origin("ee")),
        ("uk-accounts", "uk/Accounts_Bulk_Data-sample.zip", Origin("uk-accounts")),
    ):
        report = importing.run(source, [RAW / file], tmp_path / source)

        assert origin(tmp_path / source / report.output) == expected


def test_the_excerpts_of_gleif_and_a_register_make_one_company(tmp_path: Path) -> None:
    """The Estonian companies of the LEI excerpt, beside a register with their numbers."""
    report = importing.run(
        "gleif", [RAW / "gleif" / "lei2-excerpt-20240505-0000.json.zip"], tmp_path / "lei"
    )
    published = pl.read_parquet(tmp_path / "lei" / report.output).filter(pl.col("iso2") == "EE")
    numbers = published["id"].to_list()
    register = write(tmp_path / "ee", [company("EE", number, "Õ") for number in numbers], name="ee")

    built = run(tmp_path, register, tmp_path / "lei")

    found = {row["id"]: row for row in served(tmp_path, "EE")}
    assert len(found) == published.height == built.pays["EE"].fusionnees["gleif"]
    for row in published.iter_rows(named=True):
        assert found[row["id"]]["nom"] == "Õ"
        assert found[row["id"]]["ville"] == row["ville"]
        assert found[row["id"]]["date_creation"] == row["date_creation"]
