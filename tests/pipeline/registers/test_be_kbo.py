"""Belgium: the excerpt of the KBO files, and their joins."""

import zipfile
from pathlib import Path

import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.reading import RAW, company, read, rejected_reasons

KBO = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"


def _published_files(folder: Path, **further_lines: str) -> list[Path]:
    """The published files, unpacked; `enterprise="…"` adds these lines to enterprise.csv."""
    with zipfile.ZipFile(KBO) as archive:
        archive.extractall(folder)
    for name, lines in further_lines.items():
        with (folder / f"{name}.csv").open("a", encoding="utf-8", newline="") as file:
            file.write(lines)
    return sorted(folder.glob("*.csv"))


def test_every_enterprise_with_a_name_is_kept(tmp_path: Path) -> None:
    reading = read("be-kbo", [KBO], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (500, 500)
    assert (reading.counts.dropped, reading.counts.rejected, reading.counts.noted) == ({}, {}, {})
    rows = reading.kept.collect()
    counts = {name: rows[name].count() for name in ("nace_code", "email", "telephone", "site_web")}
    assert counts == {"nace_code": 435, "email": 249, "telephone": 105, "site_web": 73}
    assert rows["nace_secondaires"].count() == 161


def test_eight_files_make_a_company(tmp_path: Path) -> None:
    reading = read("be-kbo", [KBO], tmp_path)

    assert company(reading, "0201310929") == {
        "iso2": "BE",
        "id": "0201310929",
        "nom": "IGL",
        "forme": "Association chargée de mission (Région flamande)",
        "statut": "Situation normale",
        "ville": "Genk",
        "code_postal": "3600",
        "adresse": "Klotstraat 125",
        "date_creation": "1967-05-06",
        "nace_code": "8720",
        "nace_version": "2",
        "nace_secondaires": ["87201", "87303", "87304", "88103", "88104", "88991", "88992"],
        "site_web": "extranet.iglimburg.be/",
        "telephone": "089/32.39.50",
        "date_source": "2024-09",
    }


def test_the_french_name_is_used_before_the_dutch_and_a_registered_one_before_a_trade_name(
    tmp_path: Path,
) -> None:
    # A name has a language (1 French, 2 Dutch) and a type (1 the name, 3 a trade name).
    files = _published_files(
        tmp_path,
        enterprise='"0999.999.922","AC","000","2","014",,01-02-2003\r\n'
        '"0999.999.823","AC","000","2","014",,01-02-2003\r\n',
        denomination="0999.999.922,2,1,Bakkerij Het Brood\r\n0999.999.922,1,1,Boulangerie Au Pain\r\n"
        "0999.999.823,1,3,Au Pain Doré\r\n0999.999.823,2,1,Brood\r\n",
    )
    work = tmp_path / "work"
    work.mkdir()

    reading = read("be-kbo", files, work)

    assert company(reading, "0999999922")["nom"] == "Boulangerie Au Pain"
    assert company(reading, "0999999922")["forme"] == "Société anonyme"
    assert company(reading, "0999999823")["nom"] == "Brood"


def test_the_main_activity_is_that_of_nace_bel_2025_and_for_vat(
    tmp_path: Path,
) -> None:
    # An activity has a group (1 VAT, 6 social security), a year of NACE-BEL, and a code, here without its first zero.
    files = _published_files(
        tmp_path,
        activity="0201.310.929,6,2025,87200,MAIN\r\n0201.310.929,1,2025,1110,MAIN\r\n"
        "0201.310.929,1,2025,62100,SECO\r\n",
    )
    work = tmp_path / "work"
    work.mkdir()

    row = company(read("be-kbo", files, work), "0201310929")

    assert (row["nace_code"], row["nace_version"]) == ("0111", "2.1")
    assert row["nace_secondaires"] == ["62100"]


def test_natural_persons_are_dropped_and_nameless_enterprises_rejected(tmp_path: Path) -> None:
    # The type of an enterprise is 1 for a natural person, 2 for a legal person.
    files = _published_files(
        tmp_path,
        enterprise='"0999.999.922","AC","000","1",,,01-02-2003\r\n'
        '"0999.999.823","AC","000","2","014",,01-02-2003\r\n',
        denomination="0999.999.922,2,1,Jan Peeters\r\n",
    )
    work = tmp_path / "work"
    work.mkdir()

    reading = read("be-kbo", files, work)

    assert reading.counts.dropped == {"personne physique": 1}
    assert rejected_reasons(reading) == [("sans nom", None)]


def test_an_import_without_the_file_of_names_is_refused(tmp_path: Path) -> None:
    files = [file for file in _published_files(tmp_path) if file.stem != "denomination"]

    with pytest.raises(InputError, match="no denomination file was given"):
        read("be-kbo", files, tmp_path)
