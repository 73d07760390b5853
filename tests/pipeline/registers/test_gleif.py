"""GLEIF: the excerpt of the golden copy, and the two other forms in which it is published."""

import csv
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.pipeline.registers.reading import RAW, company, read, rejected

GLEIF = RAW / "gleif" / "lei2-excerpt-20240505-0000.json.zip"


def test_every_record_is_accounted_for(tmp_path: Path) -> None:
    found = read("gleif", [GLEIF], tmp_path)

    assert (found.counts.read, found.counts.kept) == (427, 177)
    assert found.counts.dropped == {
        "hors des pays servis": 236,
        "pas une société": 5,
        "personne physique": 3,
    }
    assert found.counts.rejected == {"aucun registre (RA999999)": 6}
    assert found.counts.noted == {"registre sans correspondance : le LEI identifie": 2}
    assert found.counts.examples["registre sans correspondance : le LEI identifie"] == (
        "ES RA000533 B-146674-8",
        "ES RA000533 MA-152437-8",
    )
    assert Counter(found.kept.select("iso2").collect()["iso2"]) == {
        "AT": 1, "BE": 31, "CH": 2, "CZ": 2, "DE": 12, "DK": 12, "EE": 2, "ES": 8, "FI": 1,
        "FR": 34, "IE": 2, "IT": 13, "LT": 3, "NL": 3, "NO": 17, "PL": 1, "PT": 7, "SE": 13,
        "SK": 1, "UK": 12,
    }  # fmt: skip
    assert found.kept.collect()["lei"].str.contains(r"^[0-9A-Z]{18}[0-9]{2}$").all()


def test_an_entity_without_a_number_is_identified_by_its_lei(tmp_path: Path) -> None:
    found = read("gleif", [RAW / "gleif" / "lei2-names-2025-10.csv"], tmp_path)

    assert (found.counts.read, found.counts.kept) == (73, 73)
    assert found.counts.noted == {"sans numéro national : le LEI identifie": 73}
    assert company(found, "724500S27XCLZKWKSP81") == {
        "iso2": "NL",
        "id": "724500S27XCLZKWKSP81",
        "nom": "Van Drie Holding B.V.",
        "lei": "724500S27XCLZKWKSP81",
        "date_source": "2025-10",
    }


def test_a_record_becomes_a_company(tmp_path: Path) -> None:
    found = read("gleif", [GLEIF], tmp_path)

    assert company(found, "506817458") == {
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
    assert company(found, "0452884882")["noms_anterieurs"] == ["BALAK METAALBESCHERMING"]


def test_a_number_becomes_the_identifier_of_its_country(tmp_path: Path) -> None:
    kept = read("gleif", [GLEIF], tmp_path).kept.collect()
    ids = dict(zip(kept["nom"], kept["id"], strict=True))

    assert ids["Glock Gut- und Forstverwaltung GmbH"] == "FN258571b"  # AT, published as 258571b
    assert ids["Perlsoft GmbH"] == "CHE105163532"  # CH, as CHE-105.163.532
    assert ids["MONTGOMERY HOLDING AS"] == "922540586"  # NO, as 922 540 586
    assert ids["Becura AB"] == "5592193469"  # SE, as 559219-3469
    assert ids["Modulight Oy"] == "1603878-3"  # FI, as it is
    assert ids["PEG Ingenieur GmbH"] == "D2601V_HRB237237"  # DE, HRB 237237 of the court of Munich
    assert ids["jens steffien ZAHNTECHNIK gmbh"] == "X1721R_HRB1067BS"


def test_xml_and_csv_give_what_json_gives(tmp_path: Path) -> None:
    expected = read("gleif", [GLEIF], tmp_path).kept.collect()
    with zipfile.ZipFile(GLEIF) as archive:
        records = json.loads(archive.read(archive.namelist()[0]))["records"]
    xml = tmp_path / "lei2.xml"
    xml.write_text(
        '<lei:LEIData xmlns:lei="http://www.gleif.org/data/schema/leidata/2016"'
        ' xmlns:gleif="http://www.gleif.org/data/schema/extension"><lei:LEIHeader><lei:ContentDate>2024-05-05T00:00:00Z</lei:ContentDate></lei:LEIHeader><lei:LEIRecords>'
        + "".join(_xml("lei:LEIRecord", record) for record in records)
        + "</lei:LEIRecords></lei:LEIData>",
        encoding="utf-8",
    )
    table = tmp_path / "20240505-0000-gleif-goldencopy-lei2.csv"
    _write_csv(table, records)

    for number, file in enumerate((xml, table)):
        work = tmp_path / f"work{number}"
        work.mkdir()
        found = read("gleif", [file], work).kept.collect()
        lists = [] if file is xml else ["adresse", "noms_anterieurs"]  # a CSV has the first of each
        assert found.drop(lists).equals(expected.drop(lists)), file.name


def _xml(name: str, value: Any) -> str:
    """A record in the form of LEI-CDF: what GLEIF makes its JSON from."""
    escape = str.maketrans({"&": "&amp;", "<": "&lt;", '"': "&quot;"})
    attributes = "".join(
        f' {key[1:]}="{str(text).translate(escape)}"'
        for key, text in value.items()
        if key.startswith("@")
    )
    inside = str(value.get("$", "")).translate(escape)
    for key, below in value.items():
        if key[0] not in "@$":
            tag = key if ":" in key else f"lei:{key}"
            for item in below if isinstance(below, list) else [below or {}]:
                inside += _xml(tag, item)
    return f"<{name}{attributes}>{inside}</{name}>"


def _write_csv(path: Path, records: list[Any]) -> None:
    rows = [dict(_flat(record)) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(names))
        writer.writeheader()
        writer.writerows(rows)


def _flat(value: Any, name: str = "") -> list[tuple[str, object]]:
    """The columns of a record as GLEIF names them in its CSV."""
    if isinstance(value, list):
        return [pair for n, item in enumerate(value, 1) for pair in _flat(item, f"{name}.{n}")]
    if not isinstance(value, dict):
        return [(name, value)]
    found: list[tuple[str, object]] = []
    for key, below in value.items():
        if key == "$":
            found.append((name, below))
        else:
            step = key.removeprefix("@").replace("xml:lang", "xmllang").split(":")[-1]
            found += _flat(below, f"{name}.{step}" if name else step)
    return found


def _first() -> Any:
    """The first record of the excerpt: a Portuguese company."""
    with zipfile.ZipFile(GLEIF) as archive:
        return json.loads(archive.read(archive.namelist()[0]))["records"][0]


def _record(lei: str, country: str, authority: str, number: str, **entity: object) -> Any:
    """The first record of the excerpt with another LEI, country and number."""
    record = json.loads(json.dumps(_first()))
    record["LEI"]["$"] = lei
    record["Entity"]["LegalAddress"]["Country"]["$"] = country
    record["Entity"]["RegistrationAuthority"] = {
        "RegistrationAuthorityID": {"$": authority},
        "RegistrationAuthorityEntityID": {"$": number},
    }
    record["Entity"] |= {name: {"$": value} for name, value in entity.items()}
    return record


def _publish(path: Path, *records: Any) -> Path:
    path.write_text(json.dumps({"records": records}), encoding="utf-8")
    return path


def test_a_number_of_another_register_or_form_leaves_the_lei_as_identifier(tmp_path: Path) -> None:
    file = _publish(
        tmp_path / "lei2.json",
        _record("A" * 20, "PT", "RA000487", "506817458"),
        _record("B" * 20, "PT", "RA000001", "506817458"),
        _record("C" * 20, "PT", "RA000487", "5068174581"),
        _record("D" * 20, "HR", "RA000156", "080000604"),  # a MBS is no OIB
        _record("E" * 20, "RO", "RA000497", "J40/15812/2017"),
        _record("F" * 20, "RO", "RA000497", "RO 00361757"),
    )

    found = read("gleif", [file], tmp_path)

    assert found.kept.collect()["id"].to_list() == [
        "506817458", "B" * 20, "C" * 20, "D" * 20, "E" * 20, "361757",
    ]  # fmt: skip
    assert found.counts.noted == {
        "numéro d'une autre forme : le LEI identifie": 3,
        "registre sans correspondance : le LEI identifie": 1,
    }


def test_of_the_records_with_one_number_the_one_that_lives_is_kept(tmp_path: Path) -> None:
    merged = _record("B" * 20, "PT", "RA000487", "506817458", EntityStatus="INACTIVE")
    older = _record("C" * 20, "PT", "RA000487", "506817458")
    older["Registration"]["LastUpdateDate"]["$"] = "2019-01-01T00:00:00Z"
    kept = _record("A" * 20, "PT", "RA000487", "506817458")
    double = _record("D" * 20, "PT", "RA000487", "506817458")
    double["Registration"]["RegistrationStatus"]["$"] = "DUPLICATE"
    elsewhere = _record("E" * 20, "FR", "RA000189", "506817458")
    file = _publish(tmp_path / "lei2.json", merged, older, kept, double, elsewhere)

    found = read("gleif", [file], tmp_path)

    assert found.kept.select("iso2", "lei").collect().rows() == [("PT", "A" * 20), ("FR", "E" * 20)]
    assert found.counts.dropped == {"LEI annulé ou en double": 1}
    assert rejected(found) == [
        ("numéro d'un autre LEI", f"506817458 {'B' * 20}"),
        ("numéro d'un autre LEI", f"506817458 {'C' * 20}"),
    ]


def test_sole_traders_are_dropped_by_category_or_legal_form(tmp_path: Path) -> None:
    by_form = _record("A" * 20, "PT", "RA000487", "506817458")
    by_form["Entity"]["LegalForm"] = {"EntityLegalFormCode": {"$": "VALH"}}
    del by_form["Entity"]["EntityCategory"]
    by_category = _record("B" * 20, "PT", "RA000487", "506817459", EntityCategory="SOLE_PROPRIETOR")
    company_ = _record("C" * 20, "PT", "RA000487", "506817450")
    file = _publish(tmp_path / "lei2.json", by_form, by_category, company_)

    found = read("gleif", [file], tmp_path)

    assert found.counts.dropped == {"personne physique": 2}
    assert found.kept.collect()["lei"].to_list() == ["C" * 20]


def test_two_files_merge_by_country_and_number(tmp_path: Path) -> None:
    dutch = _record("A" * 20, "NL", "RA000463", "34237362")
    danish = _record("B" * 20, "DK", "RA000170", "34237362")
    whole = _publish(tmp_path / "whole.json", dutch, danish)
    delta = _publish(tmp_path / "delta.json", danish)

    found = read("gleif", [whole, delta], tmp_path)

    assert found.counts.merged == 1
    assert found.kept.select("iso2", "lei").collect().rows() == [("NL", "A" * 20), ("DK", "B" * 20)]
