"""GLEIF: the excerpt of the golden copy, and the two other forms in which it is published."""

import csv
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.pipeline.registers.reading import RAW, company, read, rejected_reasons

GLEIF = RAW / "gleif" / "lei2-excerpt-20240505-0000.json.zip"


def test_every_record_is_accounted_for(tmp_path: Path) -> None:
    reading = read("gleif", [GLEIF], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (427, 177)
    assert reading.counts.dropped == {
        "hors des pays servis": 236,
        "pas une société": 5,
        "personne physique": 3,
    }
    assert reading.counts.rejected == {"aucun registre (RA999999)": 6}
    assert reading.counts.noted == {"registre sans correspondance : le LEI identifie": 2}
    assert reading.counts.examples["registre sans correspondance : le LEI identifie"] == (
        "ES RA000533 B-146674-8",
        "ES RA000533 MA-152437-8",
    )
    assert Counter(reading.kept.select("iso2").collect()["iso2"]) == {
        "AT": 1, "BE": 31, "CH": 2, "CZ": 2, "DE": 12, "DK": 12, "EE": 2, "ES": 8, "FI": 1,
        "FR": 34, "IE": 2, "IT": 13, "LT": 3, "NL": 3, "NO": 17, "PL": 1, "PT": 7, "SE": 13,
        "SK": 1, "UK": 12,
    }  # fmt: skip
    assert reading.kept.collect()["lei"].str.contains(r"^[0-9A-Z]{18}[0-9]{2}$").all()


def test_an_entity_without_a_number_is_identified_by_its_lei(tmp_path: Path) -> None:
    reading = read("gleif", [RAW / "gleif" / "lei2-names-2025-10.csv"], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (73, 73)
    assert reading.counts.noted == {"sans numéro national : le LEI identifie": 73}
    assert company(reading, "724500S27XCLZKWKSP81") == {
        "iso2": "NL",
        "id": "724500S27XCLZKWKSP81",
        "nom": "Van Drie Holding B.V.",
        "lei": "724500S27XCLZKWKSP81",
        "date_source": "2025-10",
    }


def test_a_record_becomes_a_company(tmp_path: Path) -> None:
    reading = read("gleif", [GLEIF], tmp_path)

    assert company(reading, "506817458") == {
        "iso2": "PT",
        "id": "506817458",
        "nom": "FARMÁCIA DULCE CAÇADOR, LDA",
        "forme": "Sociedade por Quotas",
        "statut": "Active",
        "ville": "Leiria",
        "code_postal": "2415-690",
        "adresse": "Rua Agostinho Oliveira Bernardes, 2",
        "date_creation": "2004-01-27",
        "lei": "894500TIVBXFTLRKP875",
        "date_source": "2024-05-05",
    }
    assert company(reading, "0452884882")["noms_anterieurs"] == ["BALAK METAALBESCHERMING"]


def test_a_number_becomes_the_identifier_of_its_country(tmp_path: Path) -> None:
    rows = read("gleif", [GLEIF], tmp_path).kept.collect()
    ids = dict(zip(rows["nom"], rows["id"], strict=True))

    assert ids["Glock Gut- und Forstverwaltung GmbH"] == "FN258571b"  # AT, published as 258571b
    assert ids["Perlsoft GmbH"] == "CHE105163532"  # CH, published as CHE-105.163.532
    assert ids["MONTGOMERY HOLDING AS"] == "922540586"  # NO, published as 922 540 586
    assert ids["Becura AB"] == "5592193469"  # SE, published as 559219-3469
    assert ids["Modulight Oy"] == "1603878-3"  # FI, published in this form
    assert ids["PEG Ingenieur GmbH"] == "D2601V_HRB237237"  # DE, HRB 237237 of the court of Munich
    assert ids["jens steffien ZAHNTECHNIK gmbh"] == "X1721R_HRB1067BS"  # DE, HRB 1067 BS


def test_xml_and_csv_give_the_rows_of_json(tmp_path: Path) -> None:
    expected = read("gleif", [GLEIF], tmp_path).kept.collect()
    with zipfile.ZipFile(GLEIF) as archive:
        records = json.loads(archive.read(archive.namelist()[0]))["records"]
    xml = tmp_path / "lei2.xml"
    xml.write_text(
        '<lei:LEIData xmlns:lei="http://www.gleif.org/data/schema/leidata/2016"'
        ' xmlns:gleif="http://www.gleif.org/data/schema/extension"><lei:LEIHeader><lei:ContentDate>2024-05-05T00:00:00Z</lei:ContentDate></lei:LEIHeader><lei:LEIRecords>'
        + "".join(_element("lei:LEIRecord", record) for record in records)
        + "</lei:LEIRecords></lei:LEIData>",
        encoding="utf-8",
    )
    table = tmp_path / "20240505-0000-gleif-goldencopy-lei2.csv"
    _write_csv(table, records)

    for number, file in enumerate((xml, table)):
        work = tmp_path / f"work{number}"
        work.mkdir()
        rows = read("gleif", [file], work).kept.collect()
        # The CSV has only the first line of an address and the first former name.
        columns_with_lists = [] if file is xml else ["adresse", "noms_anterieurs"]
        assert rows.drop(columns_with_lists).equals(expected.drop(columns_with_lists)), file.name


def _element(name: str, value: Any) -> str:
    """The XML element of a value of GLEIF's JSON (LEI-CDF): keys with @ are attributes, `$` is the text."""
    escape = str.maketrans({"&": "&amp;", "<": "&lt;", '"': "&quot;"})
    attributes = "".join(
        f' {key[1:]}="{str(text).translate(escape)}"'
        for key, text in value.items()
        if key.startswith("@")
    )
    content = str(value.get("$", "")).translate(escape)
    for key, inner_value in value.items():
        if key[0] not in "@$":
            tag = key if ":" in key else f"lei:{key}"
            for item in inner_value if isinstance(inner_value, list) else [inner_value or {}]:
                content += _element(tag, item)
    return f"<{name}{attributes}>{content}</{name}>"


def _write_csv(path: Path, records: list[Any]) -> None:
    """Write records as GLEIF's CSV, with one column for each path of keys in a record."""
    rows = [dict(_columns_and_values(record)) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(names))
        writer.writeheader()
        writer.writerows(rows)


def _columns_and_values(value: Any, name: str = "") -> list[tuple[str, object]]:
    """The columns of a record, as GLEIF names them in its CSV, and their values; `name` is the path so far."""
    if isinstance(value, list):
        return [
            pair
            for number, item in enumerate(value, 1)
            for pair in _columns_and_values(item, f"{name}.{number}")
        ]
    if not isinstance(value, dict):
        return [(name, value)]
    columns_and_values: list[tuple[str, object]] = []
    for key, inner_value in value.items():
        if key == "$":
            columns_and_values.append((name, inner_value))
        else:
            key_in_csv = key.removeprefix("@").replace("xml:lang", "xmllang").split(":")[-1]
            columns_and_values += _columns_and_values(
                inner_value, f"{name}.{key_in_csv}" if name else key_in_csv
            )
    return columns_and_values


def _first_record() -> Any:
    """The first record of the excerpt: a Portuguese company."""
    with zipfile.ZipFile(GLEIF) as archive:
        return json.loads(archive.read(archive.namelist()[0]))["records"][0]


def _changed_record(lei: str, country: str, authority: str, number: str, **entity: object) -> Any:
    """The first record of the excerpt with another LEI, country, register and number; `entity` changes more values."""
    record = json.loads(json.dumps(_first_record()))
    record["LEI"]["$"] = lei
    record["Entity"]["LegalAddress"]["Country"]["$"] = country
    record["Entity"]["RegistrationAuthority"] = {
        "RegistrationAuthorityID": {"$": authority},
        "RegistrationAuthorityEntityID": {"$": number},
    }
    record["Entity"] |= {name: {"$": value} for name, value in entity.items()}
    return record


def _write_json(path: Path, *records: Any) -> Path:
    """Write a golden copy with these records."""
    path.write_text(json.dumps({"records": records}), encoding="utf-8")
    return path


def test_the_lei_identifies_if_the_number_is_of_another_register_or_form(tmp_path: Path) -> None:
    file = _write_json(
        tmp_path / "lei2.json",
        _changed_record("A" * 20, "PT", "RA000487", "506817458"),
        _changed_record("B" * 20, "PT", "RA000001", "506817458"),  # an unknown register
        _changed_record("C" * 20, "PT", "RA000487", "5068174581"),  # a digit too many
        _changed_record("D" * 20, "HR", "RA000156", "080000604"),  # an MBS, not an OIB
        _changed_record("E" * 20, "RO", "RA000497", "J40/15812/2017"),  # not a tax number
        _changed_record("F" * 20, "RO", "RA000497", "RO 00361757"),  # a tax number, with zeros
    )

    reading = read("gleif", [file], tmp_path)

    assert reading.kept.collect()["id"].to_list() == [
        "506817458", "B" * 20, "C" * 20, "D" * 20, "E" * 20, "361757",
    ]  # fmt: skip
    assert reading.counts.noted == {
        "numéro d'une autre forme : le LEI identifie": 3,
        "registre sans correspondance : le LEI identifie": 1,
    }


def test_of_several_leis_with_one_number_the_newest_active_one_is_kept(tmp_path: Path) -> None:
    inactive = _changed_record("B" * 20, "PT", "RA000487", "506817458", EntityStatus="INACTIVE")
    older = _changed_record("C" * 20, "PT", "RA000487", "506817458")
    older["Registration"]["LastUpdateDate"]["$"] = "2019-01-01T00:00:00Z"
    newest = _changed_record("A" * 20, "PT", "RA000487", "506817458")
    duplicate = _changed_record("D" * 20, "PT", "RA000487", "506817458")
    duplicate["Registration"]["RegistrationStatus"]["$"] = "DUPLICATE"
    french = _changed_record("E" * 20, "FR", "RA000189", "506817458")
    file = _write_json(tmp_path / "lei2.json", inactive, older, newest, duplicate, french)

    reading = read("gleif", [file], tmp_path)

    assert reading.kept.select("iso2", "lei").collect().rows() == [
        ("PT", "A" * 20),
        ("FR", "E" * 20),
    ]
    assert reading.counts.dropped == {"LEI annulé ou en double": 1}
    assert rejected_reasons(reading) == [
        ("numéro d'un autre LEI", f"506817458 {'B' * 20}"),
        ("numéro d'un autre LEI", f"506817458 {'C' * 20}"),
    ]


def test_sole_traders_are_dropped_by_category_or_legal_form(tmp_path: Path) -> None:
    by_form = _changed_record("A" * 20, "PT", "RA000487", "506817458")
    by_form["Entity"]["LegalForm"] = {"EntityLegalFormCode": {"$": "VALH"}}  # sole trader
    del by_form["Entity"]["EntityCategory"]
    by_category = _changed_record(
        "B" * 20, "PT", "RA000487", "506817459", EntityCategory="SOLE_PROPRIETOR"
    )
    limited_company = _changed_record("C" * 20, "PT", "RA000487", "506817450")
    file = _write_json(tmp_path / "lei2.json", by_form, by_category, limited_company)

    reading = read("gleif", [file], tmp_path)

    assert reading.counts.dropped == {"personne physique": 2}
    assert reading.kept.collect()["lei"].to_list() == ["C" * 20]


def test_rows_of_two_files_with_one_country_and_number_are_merged(tmp_path: Path) -> None:
    dutch = _changed_record("A" * 20, "NL", "RA000463", "34237362")
    danish = _changed_record("B" * 20, "DK", "RA000170", "34237362")
    whole = _write_json(tmp_path / "whole.json", dutch, danish)
    delta = _write_json(tmp_path / "delta.json", danish)

    reading = read("gleif", [whole, delta], tmp_path)

    assert reading.counts.merged == 1
    assert reading.kept.select("iso2", "lei").collect().rows() == [
        ("NL", "A" * 20),
        ("DK", "B" * 20),
    ]
