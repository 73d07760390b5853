"""The reference tables: complete, consistent with each other, as in the contract.

Tables are read as text only, so that a lost zero (`01.1`) is noticed.
"""

import csv
import itertools
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

import seeds
from pipeline.registers import REGISTERS
from shards.codec.folding import fold
from tests import ROOT

SEEDS = seeds.TABLES
REVISIONS = ("", "_rev21")
SYNTH = ROOT / "tests/bench/synth"  # its tables have the form of those in seeds/
TABLES = sorted(path for folder in (SEEDS, SYNTH) for path in folder.glob("*.csv"))
# The README has no counts of these tables, which grow with every new concept.
UNCOUNTED = {"elements.csv", "postes.csv", "roles.csv"}

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    """The rows of a table."""
    path = next(path for path in TABLES if path.stem == name)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_by_code(name: str) -> dict[str, Row]:
    """The rows of a table by the value of its column `code`."""
    return {row["code"]: row for row in rows(name)}


# -- every table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_a_table_is_utf8_without_a_mark_and_ends_its_lines_with_a_newline(path: Path) -> None:
    text = path.read_bytes()

    assert not text.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in text
    assert text.endswith(b"\n")
    text.decode("utf-8")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_every_row_has_a_value_for_every_column(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = list(csv.reader(file))

    assert len(set(header)) == len(header)
    assert {len(line) for line in lines} == {len(header)}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_text_is_nfc_and_has_no_blank_at_its_ends(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(itertools.chain.from_iterable(csv.reader(file)))

    assert [cell for cell in cells if cell != unicodedata.normalize("NFC", cell)] == []
    assert [cell for cell in cells if cell != cell.strip()] == []


# -- countries and sectors -------------------------------------------------------------------------


def test_there_are_25_countries_and_the_united_kingdom_is_uk() -> None:
    codes = [row["iso2"] for row in rows("pays")]

    assert len(set(codes)) == len(codes) == 25
    assert all(re.fullmatch("[A-Z]{2}", code) for code in codes)
    assert "UK" in codes
    assert "GB" not in codes


def test_a_country_has_a_slug_two_names_a_currency_and_a_register() -> None:
    pays = rows("pays")

    assert len({row["slug"] for row in pays}) == 25
    for row in pays:
        assert re.fullmatch("[a-z]+(-[a-z]+)*", row["slug"]), row
        assert re.fullmatch("[A-Z]{3}", row["devise"]), row
        assert row["nom_fr"], row
        assert row["nom_en"], row
        assert row["registre"], row


def test_the_example_identifier_of_a_country_matches_its_own_pattern() -> None:
    for row in rows("pays"):
        assert re.search(row["id_regex"], row["id_exemple"]), row["iso2"]


def test_the_84_sectors_are_the_divisions_without_84_97_98_and_99() -> None:
    sectors = [row["nace_division"] for row in rows("secteurs")]

    assert len(sectors) == 84
    assert sectors == sorted(rows_by_code("nace_divisions").keys() - {"84", "97", "98", "99"})


def test_a_sector_agrees_with_its_division_and_section() -> None:
    divisions, sections = rows_by_code("nace_divisions"), rows_by_code("nace_sections")

    for row in rows("secteurs"):
        division = divisions[row["nace_division"]]
        section = sections[row["section"]]
        assert row["section"] == division["section"]
        assert (row["secteur"], row["secteur_en"]) == (division["label_fr"], division["label_en"])
        assert row["grand_secteur"] == section["label_fr"]
        assert row["grand_secteur_en"] == section["label_en"]


def test_a_sector_slug_is_ascii_and_names_one_sector() -> None:
    slugs = [row["slug"] for row in rows("secteurs")]

    assert len(set(slugs)) == len(slugs)
    assert [slug for slug in slugs if not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", slug)] == []


def test_a_slug_that_is_also_a_label_is_of_the_same_sector() -> None:
    """Contract B11: a value of `secteur` is a label or a slug, and must mean one sector."""
    sectors = rows("secteurs")
    division_by_label = {row["secteur"].casefold(): row["nace_division"] for row in sectors}

    assert len(division_by_label) == 84
    for row in sectors:
        assert division_by_label.get(row["slug"], row["nace_division"]) == row["nace_division"]


def test_no_label_contains_the_bar_that_separates_labels() -> None:
    """Contract B11: a label with the bar could not be requested."""
    names = (
        "secteurs",
        *(f"nace_{level}{revision}" for level in LEVELS for revision in REVISIONS),
        "naf",
    )

    for name in names:
        for row in rows(name):
            assert not [cell for cell in row.values() if "|" in cell], row


# -- the classification ----------------------------------------------------------------------------

LEVELS = ("sections", "divisions", "groups", "classes")
# The numbers of NACE sections, divisions, groups and classes, by the revision in the name of the table.
COUNTS = {"": (21, 88, 272, 615), "_rev21": (22, 87, 287, 651)}


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_classification_has_the_number_of_codes_eurostat_publishes(revision: str) -> None:
    codes = tuple(len(rows_by_code(f"nace_{level}{revision}")) for level in LEVELS)
    lines = tuple(len(rows(f"nace_{level}{revision}")) for level in LEVELS)

    assert codes == lines == COUNTS[revision]


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_code_belongs_to_the_codes_above_it(revision: str) -> None:
    sections, divisions, groups, classes = (
        rows_by_code(f"nace_{name}{revision}") for name in LEVELS
    )

    for code, row in divisions.items():
        assert re.fullmatch(r"\d\d", code)
        assert row["section"] in sections
    for code, row in groups.items():
        assert re.fullmatch(r"\d\d\.\d", code)
        assert row["division"] == code[:2]
        assert row["section"] == divisions[code[:2]]["section"]
    for code, row in classes.items():
        assert re.fullmatch(r"\d\d\.\d\d", code)
        assert (row["group"], row["division"]) == (code[:4], code[:2])
        assert row["section"] == groups[code[:4]]["section"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_code_above_the_classes_is_empty(revision: str) -> None:
    sections, divisions, groups, classes = (
        rows_by_code(f"nace_{name}{revision}") for name in LEVELS
    )

    assert {row["section"] for row in divisions.values()} == sections.keys()
    assert {row["division"] for row in groups.values()} == divisions.keys()
    assert {row["group"] for row in classes.values()} == groups.keys()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_sub_sector_label_names_one_group(revision: str) -> None:
    """Contract B10, one label in two sectors, does not occur in these tables."""
    labels = Counter(row["label_fr"] for row in rows(f"nace_groups{revision}"))

    assert [label for label, count in labels.items() if count > 1] == []


def test_a_class_of_naf_is_a_class_of_nace_and_a_letter() -> None:
    classes = rows_by_code("nace_classes")
    naf = rows("naf")

    assert len({row["code_naf"] for row in naf}) == len(naf) == 732
    for row in naf:
        assert re.fullmatch(r"\d\d\.\d\d[A-Z]", row["code_naf"])
        assert row["code_nace"] == row["code_naf"][:5]
        assert row["code_nace"] in classes
    assert {row["code_nace"] for row in naf} == classes.keys()


def test_the_crosswalk_maps_every_class_to_existing_classes() -> None:
    old, new = rows_by_code("nace_classes"), rows_by_code("nace_classes_rev21")
    pairs = [(row["nace_rev2"], row["nace_rev21"]) for row in rows("nace_crosswalk")]

    assert len(set(pairs)) == len(pairs)
    assert {former_class for former_class, _ in pairs} == old.keys()
    assert {later_class for _, later_class in pairs} <= new.keys()
    assert {row["partial"] for row in rows("nace_crosswalk")} == {"0", "1"}


def test_one_class_of_the_revision_has_no_former_class() -> None:
    """46.89 (other specialised wholesale n.e.c.) is absent from the published correspondence."""
    reached = {row["nace_rev21"] for row in rows("nace_crosswalk")}

    assert rows_by_code("nace_classes_rev21").keys() - reached == {"46.89"}


def test_a_code_outside_nace_is_not_a_class_of_revision_2() -> None:
    """A company that declares such a class would lose its sector.

    Revision 2.1 is not checked: 55.40, 70.20, 72.10, 74.12, 74.14 and 74.99 became classes in it, which is why a code
    is first searched among the classes.
    """
    classes = rows_by_code("nace_classes").keys()
    outside_codes = rows("nace_hors")

    for row in outside_codes:
        assert row["raison"]
        assert f"{row['code'][:2]}.{row['code'][2:4]}" not in classes, row
    pairs = [(row["iso2"], row["code"]) for row in outside_codes]
    assert pairs == sorted(set(pairs))
    assert {iso2 for iso2, _ in pairs} <= {row["iso2"] for row in rows("pays")}
    assert {("UK", code) for code in ("98000", "99999", "74990", "7499", "7487")} <= set(pairs)


# -- states and labels -----------------------------------------------------------------------------


def test_a_label_names_one_value_of_a_country_and_every_synthetic_value_has_a_label() -> None:
    keys = [(row["champ"], row["iso2"], fold(row["valeur"])) for row in rows("libelles")]

    assert [key for key, count in Counter(keys).items() if count > 1] == []
    assert {champ for champ, _, _ in keys} == {"etat", "statut", "forme"}
    synthetic_values = [("statut", row["iso2"], row["statut"]) for row in rows("statuts")]
    synthetic_values += [("forme", row["iso2"], row["forme"]) for row in rows("formes")]
    without_label = [
        (champ, iso2, value)
        for champ, iso2, value in synthetic_values
        if not {(champ, iso2, fold(value)), (champ, "", fold(value))} & set(keys)
    ]
    assert without_label == []


def test_a_status_with_a_label_has_a_state() -> None:
    states = {(row["iso2"], fold(row["statut"])) for row in rows("etats")}
    with_label = [
        (row["iso2"], fold(row["valeur"])) for row in rows("libelles") if row["champ"] == "statut"
    ]

    assert len(with_label) > 150
    assert [status for status in with_label if not {status, ("", status[1])} & states] == []


def test_a_status_with_a_state_has_a_label() -> None:
    with_label = {
        (row["iso2"], fold(row["valeur"])) for row in rows("libelles") if row["champ"] == "statut"
    }
    states = [(row["iso2"], fold(row["statut"])) for row in rows("etats")]

    assert [state for state in states if not {state, ("", state[1])} & with_label] == []


# -- the README ------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [SEEDS, SYNTH], ids=["seeds", "synth"])
def test_the_readme_has_each_table_and_its_count_of_rows(folder: Path) -> None:
    readme = (folder / "README.md").read_text(encoding="utf-8")
    tables = {path.name for path in TABLES if path.parent == folder}
    stated: dict[str, int] = {}
    for names, counts in re.findall(
        r"^- ((?:`\w+\.csv` ?)+) \(([\d,\s]+) rows\)", readme, re.MULTILINE
    ):
        stated |= dict(
            zip(re.findall(r"`(\w+)\.csv`", names), map(int, counts.split(",")), strict=True)
        )

    assert [name for name in sorted(tables) if f"`{name}`" not in readme] == []
    assert {f"{name}.csv" for name in stated} == tables - UNCOUNTED
    assert {name: len(rows(name)) for name in stated} == stated


# -- published files -------------------------------------------------------------------------------


def test_every_source_that_can_be_imported_has_a_row_with_its_licence() -> None:
    listed = rows("sources")

    assert sorted(REGISTERS.keys() - {row["source"] for row in listed}) == []
    assert [row for row in listed if not (row["licence"] and row["licence_url"])] == []
    assert [row for row in listed if not (row["attribution_fr"] and row["attribution_en"])] == []


def test_a_published_file_is_listed_once_and_its_address_is_https() -> None:
    listed = rows("sources")
    places = Counter((row["source"], row["fichier"]) for row in listed)

    assert [place for place, count in places.items() if count > 1] == []
    assert [a for row in listed if (a := row["adresse"]) and not a.startswith("https://")] == []
    assert [row for row in listed if row["adresse"] and not row["fichier"]] == []
    assert {row["iso2"] for row in listed} - {row["iso2"] for row in rows("pays")} == {""}
