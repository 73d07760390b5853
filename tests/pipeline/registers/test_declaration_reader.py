"""The language of declared registers, and the errors of their reader."""

import bz2
import gzip
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from pipeline import console
from pipeline.canonical import InputError
from pipeline.registers import FOLDER, csv_rows
from pipeline.registers.toml import declaration, declaration_reader
from pipeline.registers.toml.declaration import Declaration, DeclarationError

# A declaration of an invented Latvian register, and a file of that register.
CSV_DECLARATION = """
main = "companies"
[file.companies]
used = ["id", "name", "founded", "staff"]
ignored = { fax = "nobody has one" }
[columns]
iso2 = "'LV'"
id = "id"
nom = "name"
date_creation = { date = "founded", format = ["%Y-%m-%d", "%d.%m.%Y"] }
effectif = "staff"
[drop]
"personne physique" = "name LIKE 'IK %'"
[reject]
"numéro nul" = { when = "id = '0'", show = "name" }
[note]
"de 2001" = "founded LIKE '2001%'"
"""
CSV = """id,name,founded,staff,fax
1,Rīga SIA,2001-02-03,12,
2,IK Jānis,2001-02-03,,
0,Liepāja SIA,,,
3,Ventspils AS,04.05.2006,trīs,
4,,2001-02-03,,
5,Żabka SIA,5 mai 2006,0.0,
"""


def _read_declaration(tmp_path: Path, toml: str = CSV_DECLARATION) -> Declaration:
    """The declaration of a source `lv-test` with this text."""
    path = tmp_path / "lv-test.toml"
    path.write_text(toml, encoding="utf-8")
    return declaration.read(path)


def _write_file(tmp_path: Path, content: str = CSV, name: str = "companies.csv") -> Path:
    """Write a published file with this content; returns its path."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def test_every_row_is_kept_dropped_or_rejected_with_its_reason(tmp_path: Path) -> None:
    reading = declaration_reader.read(
        _read_declaration(tmp_path), [_write_file(tmp_path)], tmp_path
    )

    assert reading.kept.select("id", "nom", "date_creation", "effectif").collect().rows() == [
        ("1", "Rīga SIA", "2001-02-03", 12),
        ("3", "Ventspils AS", "2006-05-04", None),
        ("5", "Żabka SIA", None, 0),
    ]
    assert reading.counts.dropped == {"personne physique": 1}
    assert reading.counts.rejected == {"numéro nul": 1, "sans nom": 1}
    assert reading.rejected.select("ligne", "motif", "detail").collect().rows() == [
        (3, "numéro nul", "Liepāja SIA"),
        (5, "sans nom", None),
    ]
    assert reading.counts.noted == {"de 2001": 1, "date illisible": 1, "effectif illisible": 1}
    assert reading.counts.examples == {
        "date illisible": ("5 mai 2006",),
        "effectif illisible": ("trīs",),
    }


@pytest.mark.parametrize(
    ("old_and_new", "message"),
    [
        (
            ("main =", "mian ="),
            r"lv-test\.toml \[mian\]: unknown key; use a key of declaration\.py",
        ),
        (("main =", "# main ="), r"lv-test\.toml \[main\]: missing; add it"),
        (('main = "companies"', "main = 3"), r"\[main\]: 3 is refused; give a list"),
        (
            ('main = "companies"', "main = []"),
            r"\[main\]: \[\] is refused; give a list that is not empty",
        ),
        (
            ("[columns]", "lowercase = 1\n[columns]"),
            r"\[file\.companies\.lowercase\]: 1 is refused; give true",
        ),
        (
            ("[columns]", "format = 'tsv'\n[columns]"),
            r"\[file\.companies\.format\]: 'tsv' is refused; give 'csv', ",
        ),
        (
            ("[columns]", "like = 'firms'\n[columns]"),
            r"\[file\]: companies is like 'firms', which is not declared",
        ),
        (("[columns]", "name = 'firms'\n[columns]"), r"\[file\.companies\.name\]: unknown key"),
        (
            ("[columns]", "pad = { id = '9' }\n[columns]"),
            r"\[file\.companies\.pad\.id\]: '9' is refused; give a whole",
        ),
        (
            ("[columns]", "paths = { id = '/a' }\n[columns]"),
            r"\[file\.companies\.paths\.id\]: '/a' is not a path: write",
        ),
        (("[columns]", "join.firms = {}\n[columns]"), r"\[file\.companies\.join\]: unknown key"),
        (
            ("[columns]", "[join.firms]\n[columns]"),
            r"\[join\]: 'firms' is not declared; name one of companies",
        ),
        (
            ("[columns]", "[derived]\na = { of = 'id', codes = 'b' }\n[columns]"),
            r"\[derived\]: 'b' is not declared",
        ),
        (("when =", "wen ="), r"\[reject\.numéro nul\.wen\]: unknown key"),
        (
            ('{ date = "founded", format', "{ format"),
            r"\[columns\.date_creation\.date\]: missing; add it",
        ),
        (("[note]", "[note]\nx = 3\n"), r"\[note\.x\.when\]: 3 is refused; give a text"),
        (("used =", "usde ="), r"\[file\.companies\.usde\]: unknown key"),
        (('main = "companies"', 'main = "firms"'), r"\[main\]: 'firms' is not declared"),
        (("nom =", "name ="), r"\[columns\]: 'name' is not declared"),
        (("{ date", "{ dat"), r"\[columns\.date_creation\.dat\]: unknown key"),
        (("[note]", "[note"), r"lv-test\.toml is not TOML"),
    ],
)
def test_a_declaration_with_an_unknown_key_or_value_is_refused(
    tmp_path: Path, old_and_new: tuple[str, str], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        _read_declaration(tmp_path, CSV_DECLARATION.replace(*old_and_new))


@pytest.mark.parametrize(
    ("old_and_new", "message"),
    [
        (
            ('nom = "name"', 'nom = "naem"'),
            r"lv-test\.toml \[columns\] nom: naem: no column 'naem'",
        ),
        (('= "staff"', '= "HEADS(staff)"'), r"\[columns\] effectif: HEADS\(staff\): unsupported"),
        (("founded LIKE '2001%'", "founded LIKE"), r"\[note\] de 2001: founded LIKE"),
    ],
)
def test_an_expression_that_cannot_be_read_is_named(
    tmp_path: Path, old_and_new: tuple[str, str], message: str
) -> None:
    declared = _read_declaration(tmp_path, CSV_DECLARATION.replace(*old_and_new))

    with pytest.raises(InputError, match=message):
        declaration_reader.read(declared, [_write_file(tmp_path)], tmp_path)


def test_an_expression_that_fails_is_named_with_its_file_and_row(tmp_path: Path) -> None:
    declared = _read_declaration(
        tmp_path, CSV_DECLARATION.replace('= "staff"', '= "CAST(staff AS BIGINT)"')
    )

    with pytest.raises(
        InputError,
        match=r"companies\.csv row 4: lv-test\.toml \[columns\] effectif = CAST\(staff AS BIGINT\)",
    ):
        declaration_reader.read(declared, [_write_file(tmp_path)], tmp_path)


def test_a_row_with_too_many_fields_is_rejected_by_itself(tmp_path: Path) -> None:
    published = _write_file(tmp_path, CSV + "6,Rīga,2001-01-01,1,,more\n")

    reading = declaration_reader.read(_read_declaration(tmp_path), [published], tmp_path)

    [row] = reading.rejected.filter(pl.col("motif") == csv_rows.TOO_MANY).collect().to_dicts()
    assert (row["ligne"], row["id"]) == (7, None)
    assert row["detail"].startswith("ligne 8 du fichier : 6 au lieu de 5, 6,Rīga")


def test_a_page_of_html_is_no_register(tmp_path: Path) -> None:
    published = _write_file(tmp_path, "<!DOCTYPE html><title>502</title>")

    with pytest.raises(InputError, match=r"companies\.csv is a web page"):
        declaration_reader.read(_read_declaration(tmp_path), [published], tmp_path)


@pytest.mark.parametrize("packing", ["zip", "gz", "bz2", "parquet"])
def test_a_packed_file_or_parquet_gives_the_rows_of_the_plain_csv(
    tmp_path: Path, packing: str
) -> None:
    plain = declaration_reader.read(_read_declaration(tmp_path), [_write_file(tmp_path)], tmp_path)
    expected = plain.kept.collect()
    packed = tmp_path / f"companies.csv.{packing}"
    if packing == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("companies.csv", CSV)
            archive.writestr("README.txt", "not a table")
    elif packing == "parquet":
        pl.read_csv(tmp_path / "companies.csv", infer_schema=False).write_parquet(packed)
    else:
        packed.write_bytes({"gz": gzip, "bz2": bz2}[packing].compress(CSV.encode()))
    work = tmp_path / "work"
    work.mkdir()

    reading = declaration_reader.read(_read_declaration(tmp_path), [packed], work)

    assert reading.kept.collect().equals(expected)


# A declaration of an invented register in JSON, and a record of that register.
JSON_DECLARATION = """
main = "records"
[file.records]
format = "json"
at = "data/items"
envelope = { count = "how many there are" }
ignored = { "meta/read" = "of the answer, not of the company" }
[file.records.paths]
id = "id"
nom = "names[type=1,end=]/name"
anciens = "names[type=1]/name[]"
lignes = { path = "address/lines", joined = " / " }
actif = "active"
capital = "capital"
[columns]
iso2 = "'LV'"
id = "id"
nom = "nom"
adresse = "lignes"
statut = "CASE actif WHEN 'true' THEN 'Aktīvs' END"
capital_social = "capital"
noms_anterieurs = "anciens"
"""
RECORD = {
    "id": 7,
    "names": [{"type": 1, "name": "Vecā SIA", "end": "2001"}, {"type": 1, "name": "Jaunā SIA"}],
    "address": {"lines": ["Brīvības iela 1", "", None, "2. stāvs"]},
    "active": True,
    "capital": 2500.5,
    "meta": {"read": {"at": 1}},
}


def _write_records(tmp_path: Path, *records: object, **keys_beside_data: object) -> Path:
    """A published file with these records, and more keys beside the key `data`."""
    body = {"count": len(records), **keys_beside_data, "data": {"items": list(records)}}
    return _write_file(tmp_path, json.dumps(body), "records.json")


def test_the_values_of_a_json_record_are_read_by_declared_paths(tmp_path: Path) -> None:
    reading = declaration_reader.read(
        _read_declaration(tmp_path, JSON_DECLARATION), [_write_records(tmp_path, RECORD)], tmp_path
    )

    [row] = reading.kept.collect().to_dicts()
    assert (row["id"], row["nom"], row["statut"]) == ("7", "Jaunā SIA", "Aktīvs")
    assert row["adresse"] == "Brīvības iela 1 / 2. stāvs"
    assert row["capital_social"] == 2500.5
    assert row["noms_anterieurs"] == ["Vecā SIA", "Jaunā SIA"]


def test_several_keys_of_each_element_make_one_text(tmp_path: Path) -> None:
    """Polish activities: division and class are two keys; an element without a class gives no activity."""
    toml = JSON_DECLARATION.replace(
        'anciens = "names[type=1]/name[]"',
        'anciens = { path = "names[type=1]/name[]" }\n'
        'codes = { path = "activities[]/division+class", joined = "." }\n'
        'code = { path = "main/division+class", joined = "." }',
    ).replace('noms_anterieurs = "anciens"', 'nace_secondaires = ["codes"]\nnace_code = "code"')
    activities = [
        {"division": "62", "class": "01"},
        {"division": "63"},
        {"class": 9, "division": 1},
    ]
    record = RECORD | {"activities": activities, "main": {"class": "12", "division": "63"}}

    reading = declaration_reader.read(
        _read_declaration(tmp_path, toml), [_write_records(tmp_path, record)], tmp_path
    )

    [row] = reading.kept.collect().to_dicts()
    assert row["nace_secondaires"] == ["62.01", "1.9"]
    assert row["nace_code"] == "63.12"


@pytest.mark.parametrize(
    ("record", "keys_beside_data", "message"),
    [
        (RECORD | {"fax": 1}, {}, r"unknown key 'fax' in record 2"),
        (RECORD | {"address": {"line": 1}}, {}, r"unknown key 'address/line' in record 2"),
        (RECORD | {"names": [{"type": 1, "nom": "x"}]}, {}, r"unknown key 'names/nom' in record 2"),
        (RECORD, {"page": 2}, r"unknown key 'page' beside 'data'; its layout has changed: use"),
    ],
)
def test_an_unknown_key_stops_the_import_with_its_path(
    tmp_path: Path, record: object, keys_beside_data: dict[str, object], message: str
) -> None:
    published = _write_records(tmp_path, RECORD, record, **keys_beside_data)

    with pytest.raises(InputError, match=rf"records\.json as records: {message}"):
        declaration_reader.read(
            _read_declaration(tmp_path, JSON_DECLARATION), [published], tmp_path
        )


@pytest.mark.parametrize(
    ("changed", "reason", "detail"),
    [
        ({"capital": {"sum": 1}}, "objet à la place d'une valeur", "capital : {'sum': 1}"),
        ({"names": [None]}, "valeur qui n'est pas un objet", "names[type=1,end=]/name : None"),
        ({"names": ["SIA"]}, "valeur qui n'est pas un objet", "names[type=1,end=]/name : 'SIA'"),
        ({"address": "Rīga"}, "valeur qui n'est pas un objet", "address/lines : 'Rīga'"),
    ],
)
def test_a_record_of_another_shape_is_rejected_with_its_number_and_path(
    tmp_path: Path, changed: dict[str, object], reason: str, detail: str
) -> None:
    published = _write_records(tmp_path, RECORD, RECORD | {"id": 8} | changed, RECORD | {"id": 9})

    reading = declaration_reader.read(
        _read_declaration(tmp_path, JSON_DECLARATION), [published], tmp_path
    )

    assert reading.kept.collect()["id"].to_list() == ["7", "9"]
    assert reading.rejected.collect().select("ligne", "motif", "detail").rows() == [
        (2, reason, detail)
    ]
    assert (reading.counts.read, reading.counts.rejected) == (3, {reason: 1})


def test_a_cut_json_file_is_refused(tmp_path: Path) -> None:
    published = _write_records(tmp_path, RECORD)
    published.write_bytes(published.read_bytes()[:-20])

    with pytest.raises(
        InputError, match=r"records\.json as records: not JSON: .*; download it again"
    ):
        declaration_reader.read(
            _read_declaration(tmp_path, JSON_DECLARATION), [published], tmp_path
        )


@pytest.mark.parametrize("source", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_every_reason_of_a_register_has_english_words(source: str) -> None:
    """A reason says in French why the import drops, rejects or notes rows; the console prints it in English."""
    declared = declaration.read(FOLDER / f"{source}.toml")
    for reason in declared.reasons:
        # Reasons that only name a British activity code (`SIC 2003`, `SIC None Supplied`) need no translation.
        assert reason in console.ENGLISH or reason.startswith("SIC ")
        assert console.english_reason(reason).isascii(), reason
