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

TOML = """
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


def _declared(tmp_path: Path, toml: str = TOML) -> Declaration:
    path = tmp_path / "lv-test.toml"
    path.write_text(toml, encoding="utf-8")
    return declaration.read(path)


def _published(tmp_path: Path, content: str = CSV, name: str = "companies.csv") -> Path:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def test_every_row_is_kept_dropped_or_rejected_with_its_reason(tmp_path: Path) -> None:
    found = declaration_reader.read(_declared(tmp_path), [_published(tmp_path)], tmp_path)

    assert found.kept.select("id", "nom", "date_creation", "effectif").collect().rows() == [
        ("1", "Rīga SIA", "2001-02-03", 12),
        ("3", "Ventspils AS", "2006-05-04", None),
        ("5", "Żabka SIA", None, 0),
    ]
    assert found.counts.dropped == {"personne physique": 1}
    assert found.counts.rejected == {"numéro nul": 1, "sans nom": 1}
    assert found.rejected.select("ligne", "motif", "detail").collect().rows() == [
        (3, "numéro nul", "Liepāja SIA"),
        (5, "sans nom", None),
    ]
    assert found.counts.noted == {"de 2001": 1, "date illisible": 1, "effectif illisible": 1}
    assert found.counts.examples == {
        "date illisible": ("5 mai 2006",),
        "effectif illisible": ("trīs",),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("main =", "mian ="),
            r"lv-test\.toml \[mian\]: no such key; take one that declaration\.py has",
        ),
        (("main =", "# main ="), r"lv-test\.toml \[main\]: is missing; add it"),
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
        (("[columns]", "name = 'firms'\n[columns]"), r"\[file\.companies\.name\]: no such key"),
        (
            ("[columns]", "pad = { id = '9' }\n[columns]"),
            r"\[file\.companies\.pad\.id\]: '9' is refused; give a whole",
        ),
        (
            ("[columns]", "paths = { id = '/a' }\n[columns]"),
            r"\[file\.companies\.paths\.id\]: '/a' is no path: write",
        ),
        (("[columns]", "join.firms = {}\n[columns]"), r"\[file\.companies\.join\]: no such key"),
        (
            ("[columns]", "[join.firms]\n[columns]"),
            r"\[join\]: 'firms' is not declared; name one of companies",
        ),
        (
            ("[columns]", "[derived]\na = { of = 'id', codes = 'b' }\n[columns]"),
            r"\[derived\]: 'b' is not declared",
        ),
        (("when =", "wen ="), r"\[reject\.numéro nul\.wen\]: no such key"),
        (
            ('{ date = "founded", format', "{ format"),
            r"\[columns\.date_creation\.date\]: is missing; add it",
        ),
        (("[note]", "[note]\nx = 3\n"), r"\[note\.x\.when\]: 3 is refused; give a text"),
        (("used =", "usde ="), r"\[file\.companies\.usde\]: no such key"),
        (('main = "companies"', 'main = "firms"'), r"\[main\]: 'firms' is not declared"),
        (("nom =", "name ="), r"\[columns\]: 'name' is not declared"),
        (("{ date", "{ dat"), r"\[columns\.date_creation\.dat\]: no such key"),
        (("[note]", "[note"), r"lv-test\.toml is not TOML"),
    ],
)
def test_a_declaration_that_says_something_unknown_is_refused(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        _declared(tmp_path, TOML.replace(*change))


@pytest.mark.parametrize(
    ("change", "message"),
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
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    found = _declared(tmp_path, TOML.replace(*change))

    with pytest.raises(InputError, match=message):
        declaration_reader.read(found, [_published(tmp_path)], tmp_path)


def test_an_expression_that_fails_is_named_with_its_file_and_row(tmp_path: Path) -> None:
    found = _declared(tmp_path, TOML.replace('= "staff"', '= "CAST(staff AS BIGINT)"'))

    with pytest.raises(
        InputError,
        match=r"companies\.csv row 4: lv-test\.toml \[columns\] effectif = CAST\(staff AS BIGINT\)",
    ):
        declaration_reader.read(found, [_published(tmp_path)], tmp_path)


def test_a_row_with_too_many_fields_is_rejected_by_itself(tmp_path: Path) -> None:
    published = _published(tmp_path, CSV + "6,Rīga,2001-01-01,1,,more\n")

    found = declaration_reader.read(_declared(tmp_path), [published], tmp_path)

    [row] = found.rejected.filter(pl.col("motif") == csv_rows.TOO_MANY).collect().to_dicts()
    assert (row["ligne"], row["id"]) == (7, None)
    assert row["detail"].startswith("ligne 8 du fichier : 6 au lieu de 5, 6,Rīga")


def test_a_page_of_html_is_no_register(tmp_path: Path) -> None:
    published = _published(tmp_path, "<!DOCTYPE html><title>502</title>")

    with pytest.raises(InputError, match=r"companies\.csv is a web page"):
        declaration_reader.read(_declared(tmp_path), [published], tmp_path)


@pytest.mark.parametrize("packing", ["zip", "gz", "bz2", "parquet"])
def test_packing_and_parquet_change_nothing(tmp_path: Path, packing: str) -> None:
    plain = declaration_reader.read(_declared(tmp_path), [_published(tmp_path)], tmp_path)
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

    found = declaration_reader.read(_declared(tmp_path), [packed], work)

    assert found.kept.collect().equals(expected)


JSON = """
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


def _records(tmp_path: Path, *records: object, **beside: object) -> Path:
    body = {"count": len(records), **beside, "data": {"items": list(records)}}
    return _published(tmp_path, json.dumps(body), "records.json")


def test_a_record_is_read_by_its_paths(tmp_path: Path) -> None:
    found = declaration_reader.read(
        _declared(tmp_path, JSON), [_records(tmp_path, RECORD)], tmp_path
    )

    [row] = found.kept.collect().to_dicts()
    assert (row["id"], row["nom"], row["statut"]) == ("7", "Jaunā SIA", "Aktīvs")
    assert row["adresse"] == "Brīvības iela 1 / 2. stāvs"
    assert row["capital_social"] == 2500.5
    assert row["noms_anterieurs"] == ["Vecā SIA", "Jaunā SIA"]


def test_several_keys_of_each_element_make_one_text(tmp_path: Path) -> None:
    """Polish activities: division and class are two keys; an element without one of them is none."""
    toml = JSON.replace(
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

    found = declaration_reader.read(
        _declared(tmp_path, toml), [_records(tmp_path, record)], tmp_path
    )

    [row] = found.kept.collect().to_dicts()
    assert row["nace_secondaires"] == ["62.01", "1.9"]
    assert row["nace_code"] == "63.12"


@pytest.mark.parametrize(
    ("record", "beside", "message"),
    [
        (RECORD | {"fax": 1}, {}, r"unknown key 'fax' in record 2"),
        (RECORD | {"address": {"line": 1}}, {}, r"unknown key 'address/line' in record 2"),
        (RECORD | {"names": [{"type": 1, "nom": "x"}]}, {}, r"unknown key 'names/nom' in record 2"),
        (RECORD | {"capital": {"sum": 1}}, {}, r"an object with sum stands where a value"),
        (RECORD, {"page": 2}, r"unknown key 'page' beside 'data'; its layout has changed: use"),
    ],
)
def test_an_unknown_key_stops_the_import_with_its_path(
    tmp_path: Path, record: object, beside: dict[str, object], message: str
) -> None:
    published = _records(tmp_path, RECORD, record, **beside)

    with pytest.raises(InputError, match=rf"records\.json as records: {message}"):
        declaration_reader.read(_declared(tmp_path, JSON), [published], tmp_path)


def test_a_cut_json_file_is_refused(tmp_path: Path) -> None:
    published = _records(tmp_path, RECORD)
    published.write_bytes(published.read_bytes()[:-20])

    with pytest.raises(
        InputError, match=r"records\.json as records: no JSON: .*; download it again"
    ):
        declaration_reader.read(_declared(tmp_path, JSON), [published], tmp_path)


@pytest.mark.parametrize("source", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_every_reason_of_a_register_has_english_words(source: str) -> None:
    found = declaration.read(FOLDER / f"{source}.toml")
    for reason in found.reasons:
        assert reason in console.ENGLISH or reason.startswith("SIC ")  # a value of the register
        assert console.english_reason(reason).isascii(), reason
