"""Birth dates, officers and personal mailboxes: only texts that match the table become null."""

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
from tests.pipeline.builds import counts_add_up, published_companies, run_build
from tests.pipeline.rows import companies_frame, company, statement_line, write_input

SEEDS = tables.read()
PATTERN_ROWS = SEEDS.tables["personnes"]
PATTERNS = {pays.iso2: personal_data.patterns(SEEDS, pays.iso2) for pays in SEEDS.pays}
# An address with the name and the birth date of an invented officer.
OFFICER_CLAUSE = "Am Markt 1 Geschäftsführer:2) Muster, Erna, *31.08.1958, Heide"


def cleared(iso2: str, **fields: object) -> pl.DataFrame:
    """A company with these fields after its personal texts became null."""
    row = {"nom": "Muster GmbH", **fields}
    frame = companies_frame(company(iso2, "1", row.pop("nom"), **row))  # type: ignore[arg-type]
    return personal_data.clear_personal_texts(frame, PATTERNS[iso2]).collect()


@pytest.mark.parametrize("row", PATTERN_ROWS, ids=lambda row: f"{row['iso2']} {row['motif'][:30]}")
def test_a_pattern_matches_its_example_and_not_its_counterexample(row: dict[str, str]) -> None:
    iso2 = row["iso2"] or "EE"
    column = "nom" if row["champs"] == "*" else row["champs"].split()[0]
    example, counterexample = (
        [row[name]] if column == "noms_anterieurs" else row[name]
        for name in ("exemple", "contre_exemple")
    )

    assert cleared(iso2, **{column: example})[column].to_list() == [None]
    rows = cleared(iso2, **{column: counterexample})
    assert rows[column].to_list() == [counterexample]
    assert personal_data.count(rows.lazy()) == {}


def test_every_country_has_patterns_of_birth_dates_and_of_officers() -> None:
    reasons = {(row["iso2"], row["raison"]) for row in PATTERN_ROWS}

    for pays in SEEDS.pays:
        assert (pays.iso2, "date de naissance") in reasons
        assert (pays.iso2, "dirigeant ou titulaire") in reasons


@pytest.mark.parametrize("column", personal_data.COLUMNS)
def test_a_clause_of_an_officer_becomes_null_in_every_text_column(column: str) -> None:
    if column == "libelle":
        frame = pl.LazyFrame({"libelle": [OFFICER_CLAUSE, "Total"]})
        rows = personal_data.clear_personal_texts(frame, PATTERNS["DE"]).collect()
        assert rows["libelle"].to_list() == [None, "Total"]
        return
    is_list = column in ("noms_anterieurs", "nace_secondaires")
    rows = cleared("DE", **{column: ["Gut", OFFICER_CLAUSE] if is_list else OFFICER_CLAUSE})

    assert rows[column].to_list() == [["Gut"] if is_list else None]
    assert personal_data.count(rows.lazy()) == {column: 1}


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
def test_dates_and_stars_that_name_no_person_stay(column: str, text: str) -> None:
    for pays in SEEDS.pays:
        assert pl.select(pl.lit(text).str.contains(PATTERNS[pays.iso2][column])).item() is False


@given(
    day=st.dates(),
    date_format=st.sampled_from(["%d.%m.%Y", "%d. %m. %Y", "%d/%m/%Y"]),
    prefix=st.text(alphabet="aé ,;:)", max_size=20),
)
def test_a_starred_birth_date_from_1900_to_2099_always_becomes_null(
    day: object, date_format: str, prefix: str
) -> None:
    assert hasattr(day, "strftime")
    published = f"{prefix}*{day.strftime(date_format)}"
    if 1900 <= day.year < 2100:  # type: ignore[attr-defined]
        rows = cleared("EE", adresse=published, ville=published, nom=published)
        assert rows.select("adresse", "ville", "nom").row(0) == (None, None, None)


def test_an_unknown_column_and_a_damaged_pattern_are_named(tmp_path: Path) -> None:
    for row, expected in (
        (",rue,x,r,e,c", "unknown column 'rue'"),
        (",*,(,r,e,c", r"'\(' is not a regular expression"),
    ):
        for table in TABLES.glob("*.csv"):
            (tmp_path / table.name).write_bytes(table.read_bytes())
        (tmp_path / "personnes.csv").write_text(
            f"iso2,champs,motif,raison,exemple,contre_exemple\n{row}\n"
        )
        with pytest.raises(SeedError, match=expected):
            personal_data.patterns(tables.read(tmp_path), "EE")


# -- in a build ----------------------------------------------------------------------


def test_a_build_serves_null_for_a_personal_text_and_counts_it(tmp_path: Path) -> None:
    rows = [
        company(
            "DE",
            "1",
            "Ä GmbH",
            adresse=OFFICER_CLAUSE,
            ville="Heide",
            noms_anterieurs=["Alt", "Ä *01.02.1960"],
        ),
        company("DE", "2", "Geschäftsführer: Erna Muster"),
        # With 200 more companies, the rejected name is under the bound of 1 %.
        *(company("DE", f"{number}", "Ü GmbH") for number in range(3, 203)),
    ]
    lines = [statement_line("DE", "1", 2020, libelle="Geschäftsführer: Erna Muster")]

    built = run_build(tmp_path, write_input(tmp_path / "in", rows, lines))

    by_id = {row["id"]: row for row in published_companies(tmp_path, "DE")}
    assert (by_id["1"]["adresse"], by_id["1"]["ville"]) == (None, "Heide")
    assert by_id["1"]["noms_anterieurs"] == ["Alt"]
    assert "2" not in by_id
    quality = built.pays["DE"]
    assert quality.donnees_personnelles == {"adresse": 1, "libelle": 1, "noms_anterieurs": 1}
    assert quality.rejetees == {personal_data.NAME_FAULT: 1}
    assert counts_add_up(quality)
    for file in (tmp_path / "data").rglob("*.parquet"):
        assert "Muster" not in str(pl.read_parquet(file).to_dicts())


def test_a_gate_closes_over_ten_personal_texts_and_a_thousandth_of_the_companies() -> None:
    """Former names do not count: registers publish names of sole merchants there."""
    few = Quality(lues=100, donnees_personnelles={"adresse": 10})
    many = Quality(
        lues=10_000, donnees_personnelles={"adresse": 10, "noms_anterieurs": 99, "ville": 1}
    )

    assert quality_report.closed_gates({"DE": few}) == []
    assert quality_report.closed_gates({"DE": many}) == [
        "DE: 11 texts of 10,000 companies contain birth dates or officers (at most 0.1%, and 10), in "
        "adresse, ville; mend the importer"
    ]


def test_a_personal_name_and_an_empty_name_are_rejected_for_different_reasons() -> None:
    frame = companies_frame(company("EE", "1", "Ä *01.02.1960"), company("EE", "2", None))
    rows = frame.pipe(personal_data.clear_personal_texts, PATTERNS["EE"]).pipe(
        rejections.add_reasons
    )

    assert rows.collect()[rejections.REASON].to_list() == [personal_data.NAME_FAULT, "nom vide"]


@pytest.mark.parametrize("with_mailboxes", [True, False])
def test_personal_mailboxes_stay_unless_the_build_leaves_them_out(
    tmp_path: Path, with_mailboxes: bool
) -> None:
    # 1 and 2 are at providers of mailboxes, 5 begins with a given name and a dot: these three look personal.
    addresses = {
        "1": "erna@gmail.com",
        "2": "Erna@GMX.de",
        "3": "info@gmail.com.example.org",
        "4": None,
        "5": "Céline.bouille@example.org",
        "6": "rue.paul@example.org",
    }
    rows = [company("EE", key, "Ä", email=address) for key, address in addresses.items()]

    built = run_build(
        tmp_path, write_input(tmp_path / "in", rows), personal_mailboxes=with_mailboxes
    )

    by_id = {row["id"]: row["email"] for row in published_companies(tmp_path, "EE")}
    assert by_id == (
        addresses if with_mailboxes else {**addresses, "1": None, "2": None, "5": None}
    )
    assert built.pays["EE"].courriels_personnels == 3


def test_a_country_is_built_again_when_the_option_of_personal_mailboxes_changes(
    tmp_path: Path,
) -> None:
    folder = write_input(tmp_path / "in", [company("EE", "1", "Ä", email="erna@gmail.com")])
    first = run_build(tmp_path, folder)

    second = run_build(tmp_path, folder, personal_mailboxes=False)

    assert (second.reused, second.generation != first.generation) == ((), True)
