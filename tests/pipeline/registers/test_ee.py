"""Estonia: the excerpt of the register, compared with rows written by hand."""

import io
import zipfile
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.canonical import InputError
from pipeline.registers import record_stream
from seeds import TABLES
from tests.pipeline.registers.published import read, rows_by_id

RAW = TABLES / "raw"
COMPANIES = RAW / "ee" / "ettevotja_rekvisiidid__lihtandmed.csv.zip"
# The published activities of the companies (EMTAK).
ACTIVITIES = RAW / "ee" / "ee_emtak.csv.zip"
# A header and a row of the official file; the excerpt is from a copy without addresses.
EE_HEADER = (
    "\ufeffnimi;ariregistri_kood;ettevotja_oiguslik_vorm;ettevotja_oigusliku_vormi_alaliik;kmkr_nr;"
    "ettevotja_staatus;ettevotja_staatus_tekstina;ettevotja_esmakande_kpv;ettevotja_aadress;"
    "asukoht_ettevotja_aadressis;asukoha_ehak_kood;asukoha_ehak_tekstina;"
    "indeks_ettevotja_aadressis;ads_adr_id;ads_ads_oid;ads_normaliseeritud_taisaadress;"
    "teabesysteemi_link\r\n"
)
EE_ROW = (
    "001 Kinnisvara OÜ;12652512;Osaühing;;EE101721589;R;Registrisse kantud;25.04.2014;;"
    "Õismäe tee 78-9;0176;Haabersti linnaosa, Tallinn, Harju maakond;13513;2182337;;"
    "Harju maakond, Tallinn, Haabersti linnaosa, Õismäe tee 78-9;"
    "https://ariregister.rik.ee/est/company/12652512\r\n"
)


def test_published_rows_become_companies(tmp_path: Path) -> None:
    reading = read("ee", [COMPANIES, ACTIVITIES], tmp_path)
    expected = pl.DataFrame(
        {
            "iso2": ["EE", "EE", "EE", "EE"],
            "id": ["10001348", "14488896", "75019891", "75020871"],
            "nom": [
                '"A & D Tehnoteenistuse" osaühing',
                '19" Customs OÜ',
                "Hellamaa Raamatukogu",
                "Hellamaa Raamatukogu",
            ],
            "forme": [
                "Osaühing",
                "Osaühing",
                "Kohaliku omavalitsuse asutus",
                "Kohaliku omavalitsuse asutus",
            ],
            "statut": ["Registrisse kantud"] * 4,
            "date_creation": ["1995-11-01", "2018-05-15", "2000-12-05", "2000-12-08"],
            "nace_code": ["4321", "1629", "9101", "9101"],
            "nace_version": ["2", "2", "2", "2"],
            "url_registre": [
                "https://ariregister.rik.ee/est/company/10001348",
                "https://ariregister.rik.ee/est/company/14488896",
                "https://ariregister.rik.ee/est/company/75019891",
                "https://ariregister.rik.ee/est/company/75020871",
            ],
        }
    )

    assert_frame_equal(rows_by_id(reading, expected["id"].to_list(), expected.columns), expected)


def test_an_estonian_address_is_split_into_street_town_and_county(tmp_path: Path) -> None:
    file = tmp_path / "lihtandmed.csv"
    row_of_village = EE_ROW.replace("12652512", "12652513").replace(
        "Haabersti linnaosa, Tallinn, Harju maakond", "Haabneeme alevik, Viimsi vald, Harju maakond"
    )
    file.write_text(EE_HEADER + EE_ROW + row_of_village, encoding="utf-8", newline="")

    companies = read("ee", [file], tmp_path).kept.collect()

    assert companies.select("adresse", "code_postal", "ville", "region").rows() == [
        ("Õismäe tee 78-9", "13513", "Tallinn", "Harju maakond"),
        ("Õismäe tee 78-9", "13513", "Haabneeme alevik", "Harju maakond"),
    ]


def test_natural_persons_are_dropped_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "lihtandmed.csv"
    row_of_person = EE_ROW.replace("12652512", "10009999").replace(
        "Osaühing", "Füüsilisest isikust ettevõtja"
    )
    file.write_text(EE_HEADER + EE_ROW + row_of_person, encoding="utf-8", newline="")

    reading = read("ee", [file], tmp_path)

    assert reading.kept.collect()["id"].to_list() == ["12652512"]
    assert reading.counts.dropped == {"personne physique": 1}
    assert (reading.counts.read, reading.counts.kept) == (2, 1)


def test_the_two_estonian_files_are_recognised_by_their_headers_not_their_names(
    tmp_path: Path,
) -> None:
    activities, companies = tmp_path / "download.zip", tmp_path / "download (1).zip"
    activities.write_bytes(ACTIVITIES.read_bytes())
    companies.write_bytes(COMPANIES.read_bytes())

    reading = read("ee", [activities, companies], tmp_path)

    assert reading.stems == ("download (1)",)
    assert reading.kept.collect()["nace_code"].count() == 2177  # the companies with an activity


def test_the_file_of_activities_is_optional_and_that_of_companies_is_required(
    tmp_path: Path,
) -> None:
    without_activities = read("ee", [COMPANIES], tmp_path)

    assert without_activities.counts.noted == {"EMTAK absent": 2665}
    with pytest.raises(InputError, match="no lihtandmed file"):
        read("ee", [ACTIVITIES], tmp_path)


def test_a_file_of_another_register_is_refused_with_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "register.csv"
    file.write_text("regcode;name\n4000;SIA Żabka\n", encoding="utf-8")

    with pytest.raises(InputError, match=r"register\.csv: neither lihtandmed .* regcode, name"):
        read("ee", [file], tmp_path)


def test_an_estonian_vat_number_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "lihtandmed.csv"
    row_without_vat = EE_ROW.replace("12652512", "12652513").replace("EE101721589", "")
    file.write_text(EE_HEADER + EE_ROW + row_without_vat, encoding="utf-8", newline="")

    companies = read("ee", [file], tmp_path).kept.collect()

    assert companies.select("id", "tva").rows() == [("12652512", "EE101721589"), ("12652513", None)]


def damage_zip(packed: bytes, damage: str) -> bytes:
    """A zip whose only member cannot be unpacked: its data changed, encrypted, or packed by an unknown method."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        local_header = archive.infolist()[0].header_offset
        directory_entry = packed.index(b"PK\x01\x02")
    changed = bytearray(packed)
    if damage == "data":
        changed[local_header + 200 : local_header + 260] = bytes(60)
    elif damage == "locked":
        changed[local_header + 6] |= 1  # the flag of encryption
        changed[directory_entry + 8] |= 1
    elif damage == "method":
        changed[local_header + 8] = changed[directory_entry + 10] = 97
    return bytes(changed)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("data", r"is damaged \(.*download"),
        ("locked", "is encrypted; unpack it with its password"),
        ("method", "is compressed with method 97, which is not supported; unpack it"),
    ],
)
def test_a_member_that_cannot_be_unpacked_is_named(
    tmp_path: Path, damage: str, message: str
) -> None:
    excerpt = COMPANIES
    file = tmp_path / "paquet.zip"
    file.write_bytes(damage_zip(excerpt.read_bytes(), damage))

    with pytest.raises(InputError, match=r"^paquet\.zip: ettevotja.*\.csv " + message):
        read("ee", [file], tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_line_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    excerpt = COMPANIES
    with zipfile.ZipFile(excerpt) as archive:
        text = archive.read(archive.namelist()[0])
    file = tmp_path / "long.csv"
    file.write_bytes(text + ("é" * 300_000).encode(encoding))
    monkeypatch.setattr(record_stream, "LONGEST", 200_000)

    with pytest.raises(InputError, match=r"long\.csv is damaged \(a line is longer than"):
        read("ee", [file], tmp_path)
