"""Birth dates, officers and personal mailboxes: what the table says, and nothing else, is left out."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds as tables
from pipeline.errors import SeedError
from pipeline.stages import personal_data, quality_report, rejections
from pipeline.stages.quality_report import Quality
from seeds import TABLES
from tests.pipeline.builds import accounted, run, served
from tests.pipeline.rows import companies, company, line, write

SEEDS = tables.read()
ROWS = SEEDS.tables["personnes"]
PATTERNS = {pays.iso2: personal_data.patterns(SEEDS, pays.iso2) for pays in SEEDS.pays}
CLAUSE = "Am Markt 1 Geschäftsführer:2) Muster, Erna, *31.08.1958, Heide"


def refused(iso2: str, **fields: object) -> pl.DataFrame:
    row = {"nom": "Muster GmbH", **fields}
    frame = companies(company(iso2, "1", row.pop("nom"), **row))  # type: ignore[arg-type]
    return personal_data.refuse(frame, PATTERNS[iso2]).collect()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['iso2']} {row['motif'][:30]}")
def test_a_pattern_finds_its_example_and_not_the_other(row: dict[str, str]) -> None:
    iso2 = row["iso2"] or "EE"
    column = "nom" if row["champs"] == "*" else row["champs"].split()[0]
    example, other = (
        [row[n]] if column == "noms_anterieurs" else row[n] for n in ("exemple", "contre_exemple")
    )

    assert refused(iso2, **{column: example})[column].to_list() == [None]
    kept = refused(iso2, **{column: other})
    assert kept[column].to_list() == [other]
    assert personal_data.count(kept.lazy()) == {}


def test_every_country_has_patterns_of_birth_dates_and_of_officers() -> None:
    reasons = {(row["iso2"], row["raison"]) for row in ROWS}

    for pays in SEEDS.pays:
        assert (pays.iso2, "date de naissance") in reasons
        assert (pays.iso2, "dirigeant ou titulaire") in reasons


@pytest.mark.parametrize("column", personal_data.COLUMNS)
def test_every_text_column_is_held_to_the_table(column: str) -> None:
    if column == "libelle":
        frame = pl.LazyFrame({"libelle": [CLAUSE, "Total"]})
        found = personal_data.refuse(frame, PATTERNS["DE"]).collect()
        assert found["libelle"].to_list() == [None, "Total"]
        return
    many = column in ("noms_anterieurs", "nace_secondaires")
    found = refused("DE", **{column: ["Gut", CLAUSE] if many else CLAUSE})

    assert found[column].to_list() == [["Gut"] if many else None]
    assert personal_data.count(found.lazy()) == {column: 1}


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("nom", "bofrost* Vertriebs XIV GmbH & Co. KG"),
        ("nom", "Getreide GmbH (27.02.1991, 11.05.1993) /Sitzverlegung nach Tangermünde/"),
        ("nom", "21.12.2012 LIMITED"),
        ("nom", "S*M*S Bauträger GmbH & Co. KG"),
        ("adresse", "Place du 8 mai 1945 12"),
        ("adresse", "Straße des 17. Juni 135"),
        ("adresse", "28. října 3346/91"),
        ("adresse", "Náměstí 14. října 1307/2"),
        ("description", "Objet social défini par les statuts du 01.02.1960"),
    ],
)
def test_dates_and_stars_of_companies_stay(column: str, text: str) -> None:
    for pays in SEEDS.pays:
        assert pl.select(pl.lit(text).str.contains(PATTERNS[pays.iso2][column])).item() is False


@given(
    day=st.dates(),
    form=st.sampled_from(["%d.%m.%Y", "%d. %m. %Y", "%d/%m/%Y"]),
    before=st.text(alphabet="aé ,;:)", max_size=20),
)
def test_a_starred_birth_date_of_these_two_centuries_never_passes(
    day: object, form: str, before: str
) -> None:
    assert hasattr(day, "strftime")
    published = f"{before}*{day.strftime(form)}"
    if 1900 <= day.year < 2100:  # type: ignore[attr-defined]
        found = refused("EE", adresse=published, ville=published, nom=published)
        assert found.select("adresse", "ville", "nom").row(0) == (None, None, None)


def test_an_unknown_column_and_a_damaged_pattern_are_named(tmp_path: Path) -> None:
    for row, expected in (
        (",rue,x,r,e,c", "unknown column 'rue'"),
        (",*,(,r,e,c", r"'\(' is no regular expression"),
    ):
        for table in TABLES.glob("*.csv"):
            (tmp_path / table.name).write_bytes(table.read_bytes())
        (tmp_path / "personnes.csv").write_text(
            f"iso2,champs,motif,raison,exemple,contre_exemple\n{row}\n"
        )
        with pytest.raises(SeedError, match=expected):
            personal_data.patterns(tables.read(tmp_path), "EE")


# -- in a build ----------------------------------------------------------------------


def test_a_build_serves_null_for_it_and_counts_it(tmp_path: Path) -> None:
    rows = [
        company(
            "DE",
            "1",
            "Ä GmbH",
            adresse=CLAUSE,
            ville="Heide",
            noms_anterieurs=["Alt", "Ä *01.02.1960"],
        ),
        company("DE", "2", "Geschäftsführer: Erna Muster"),
        *(company("DE", f"{n}", "Ü GmbH") for n in range(3, 203)),
    ]
    lines = [line("DE", "1", 2020, libelle="Geschäftsführer: Erna Muster")]

    built = run(tmp_path, write(tmp_path / "in", rows, lines))

    found = {row["id"]: row for row in served(tmp_path, "DE")}
    assert (found["1"]["adresse"], found["1"]["ville"]) == (None, "Heide")
    assert found["1"]["noms_anterieurs"] == ["Alt"]
    assert "2" not in found
    quality = built.pays["DE"]
    assert quality.donnees_personnelles == {"adresse": 1, "libelle": 1, "noms_anterieurs": 1}
    assert quality.rejetees == {personal_data.NAME_FAULT: 1}
    assert accounted(quality)
    for file in (tmp_path / "data").rglob("*.parquet"):
        assert "Muster" not in str(pl.read_parquet(file).to_dicts())


def test_so_many_of_them_close_a_gate() -> None:
    few = Quality(lues=100, donnees_personnelles={"adresse": 10})
    many = Quality(
        lues=10_000, donnees_personnelles={"adresse": 10, "noms_anterieurs": 99, "ville": 1}
    )

    assert quality_report.closed_gates({"DE": few}) == []
    assert quality_report.closed_gates({"DE": many}) == [
        "DE: 11 texts of 10,000 companies hold birth dates or officers (at most 0.1%, and 10), in "
        "adresse, ville; mend the importer"
    ]


def test_a_rejected_name_has_its_own_reason() -> None:
    frame = companies(company("EE", "1", "Ä *01.02.1960"), company("EE", "2", None))
    found = frame.pipe(personal_data.refuse, PATTERNS["EE"]).pipe(rejections.add_reasons)

    assert found.collect()[rejections.REASON].to_list() == [personal_data.NAME_FAULT, "nom vide"]


@pytest.mark.parametrize("kept", [True, False])
def test_addresses_of_persons_stay_unless_they_are_left_out(tmp_path: Path, kept: bool) -> None:
    addresses = {
        "1": "erna@gmail.com",
        "2": "Erna@GMX.de",
        "3": "info@gmail.com.example.org",
        "4": None,
        "5": "Céline.bouille@example.org",
        "6": "rue.paul@example.org",
    }
    rows = [company("EE", key, "Ä", email=address) for key, address in addresses.items()]

    built = run(tmp_path, write(tmp_path / "in", rows), personal_mailboxes=kept)

    found = {row["id"]: row["email"] for row in served(tmp_path, "EE")}
    assert found == (addresses if kept else {**addresses, "1": None, "2": None, "5": None})
    assert built.pays["EE"].courriels_personnels == 3


def test_the_switch_builds_a_country_anew(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", [company("EE", "1", "Ä", email="erna@gmail.com")])
    first = run(tmp_path, folder)

    second = run(tmp_path, folder, personal_mailboxes=False)

    assert (second.reused, second.generation != first.generation) == ((), True)
