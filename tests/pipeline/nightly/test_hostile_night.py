"""Hostile files: each is a failure of its source alone, soon, and the good source beside it is published."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.__main__ import main
from pipeline.errors import FetchError
from pipeline.nightly import published_files
from pipeline.workers.isolation import Limits
from tests.pipeline.nightly.test_nightly import RAW, last_report, published

MIB = 1 << 20
GOOD = next((RAW / "ee").glob("*lihtandmed*"))

HTML = (
    '<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:xbrli="http://www.xbrl.org/2003/instance"'
    ' xmlns:uk-core="http://xbrl.frc.org.uk/fr/2022-01-01/core" xmlns:iso4217="http://www.xbrl.org/2003/iso4217"'
    ' xmlns="http://www.w3.org/1999/xhtml"><body><ix:header><ix:resources><xbrli:context id="c"><xbrli:entity>'
    '<xbrli:identifier scheme="http://www.companieshouse.gov.uk/">00000001</xbrli:identifier></xbrli:entity>'
    "<xbrli:period><xbrli:instant>2023-12-31</xbrli:instant></xbrli:period></xbrli:context>"
    '<xbrli:unit id="u"><xbrli:measure>iso4217:GBP</xbrli:measure></xbrli:unit></ix:resources></ix:header>'
    "{}</body></html>"
)
FACT = (
    "<ix:nonFraction name='uk-core:FixedAssets' contextRef='c' unitRef='u' scale='{}' decimals='{}'>"
    "{}</ix:nonFraction>"
)
LEI = (
    '<?xml version="1.0"?><lei:LEIData xmlns:lei="http://www.gleif.org/data/schema/leidata/2016"><lei:LEIRecords>'
    "<lei:LEIRecord"
)
XBRL = (
    '<xbrl xmlns="http://www.xbrl.org/2003/instance"><context id="c"><entity><identifier scheme="s">'
    "0200065765</identifier>{}</entity><period><instant>{}</instant></period></context>"
    '<m xmlns="x" contextRef="c" unitRef="u" decimals="0">{}</m></xbrl>'
)
CSV = (
    "regcode;sepa;name;name_before_quotes;name_in_quotes;name_after_quotes;without_quotes;regtype;regtype_text;"
    "type;type_text;registered;terminated;closed;address;index;addressid;region;city;atvk;reregistration_term\n"
)
RELATIONS = (
    "Relationship.StartNode.NodeID,Relationship.StartNode.NodeIDType,Relationship.EndNode.NodeID,"
    "Relationship.EndNode.NodeIDType,Relationship.RelationshipType,Relationship.RelationshipStatus,"
    "Registration.RegistrationStatus\n"
)
DEPOSIT = {
    "siren": "356000000",
    "confidentiality": "Public",
    "typeBilan": "C",
    "dateCloture": "2023-12-31",
}
FORM = (
    "<a><Declarer><RcsNumber>B1</RcsNumber><Declaration type='CA_BILAN'><StartDate>20230101</StartDate>"
    "<EndDate>20231231</EndDate><FormData><Field/></FormData></Declaration></Declarer></a>"
)
PAGES = {"pages": [{"numero": 3, "liasses": [{"code": "FJ", "m3": "1"}]}]}


class Hostile(NamedTuple):
    """A file in a zip: its source, its name there, its text in pieces, and words of the reason."""

    source: str
    member: str
    pieces: Callable[[], Iterable[str | bytes]]
    reason: str


def _filing(body: str) -> Callable[[], Iterable[str]]:
    return lambda: [HTML.format(body)]


def _deposit(**values: object) -> Callable[[], Iterable[str]]:
    identity: dict[str, object] = {"bilanSaisi": {"bilan": {"identite": {}, "detail": PAGES}}}
    return lambda: [json.dumps([DEPOSIT | identity | values])]


def _chain(length: int) -> str:
    """Texts that go on in others; each is looked for from the start of the filing."""
    parts = "".join(
        f"<ix:continuation id='n{n}' continuedAt='n{n + 1}'>t</ix:continuation>"
        for n in range(length)
    )
    text = "<ix:nonNumeric name='uk-core:X' contextRef='c' continuedAt='n0'>t</ix:nonNumeric>"
    return text * 40 + parts


BRANCH = {"bilanSaisi": {"bilan": {"identite": {"dureeExerciceN": "9" * 300}, "detail": PAGES}}}
UK = "Prod223_1_00000001_20231231.html"
CASES = {
    # Those of the fourth attack.
    "a number of 5 000 digits": Hostile(
        "no-enheter",
        "e.json",
        lambda: ['[{"antallAnsatte":', "9" * 5_000, "}]"],
        "a number is too long",
    ),
    "a scale of 10^8": Hostile(
        "uk-accounts", UK, _filing(FACT.format(10**8, 0, 1)), "implausible scale"
    ),
    "200 000 elements in one another": Hostile(
        "uk-accounts", UK, _filing("<div>" * 200_000), "nested too deeply"
    ),
    "an attribute without end": Hostile(
        "gleif", "l.xml", lambda: [LEI, ' x="', *["A" * MIB] * 100], "a tag or a text is longer"
    ),
    "blank lines": Hostile(
        "lv-ur", "register.csv", lambda: [CSV, *["\n" * MIB] * 100], "of the file are blank"
    ),
    # Their kinds, in every reader.
    "a scale below": Hostile(
        "uk-accounts", UK, _filing(FACT.format(-(10**8), 0, 1)), "implausible scale"
    ),
    "a precision": Hostile(
        "se-comptes", "a.xhtml", _filing(FACT.format(0, -(10**6), 1)), "implausible scale"
    ),
    "a scale in UTF-16": Hostile(
        "uk-accounts",
        UK,
        lambda: [HTML.format(FACT.format(10**8, 0, 1)).encode("utf-16")],
        "none of 1 is kept",
    ),
    "a number of 10^6 digits": Hostile(
        "uk-accounts", UK, _filing(FACT.format(0, 0, "9" * 10**6)), "none of 1 is kept"
    ),
    "facts in one another": Hostile(
        "uk-accounts",
        UK,
        _filing(FACT.format(0, 0, "{}").split("{}")[0] * 20_000),
        "nested too deeply",
    ),
    "a chain of texts": Hostile("uk-accounts", UK, _filing(_chain(900)), "takes too long"),
    "blank JSON": Hostile(
        "no-enheter", "e.json", lambda: ["[", *[" " * MIB] * 100], "a blank is longer"
    ),
    "blank JSON lines": Hostile(
        "de-offeneregister", "d.jsonl", lambda: ["{}\n", *["\n" * MIB] * 40], "are blank"
    ),
    "deep JSON": Hostile(
        "no-enheter",
        "e.json",
        lambda: ['[{"a":' + "[" * 400 + "]" * 400 + "}]"],
        "nested too deeply",
    ),
    "deep JSON lines": Hostile(
        "de-offeneregister",
        "d.jsonl",
        lambda: ['{"a":' + "[" * 400 + "]" * 400 + "}\n"],
        "nested too deeply",
    ),
    "half a character": Hostile(
        "no-enheter", "e.json", lambda: ['[{"navn":"\\ud800"}]'], "half of a character"
    ),
    "a comment without end": Hostile(
        "gleif",
        "l.xml",
        lambda: [LEI.rpartition("<")[0], "<!--", *["<a>" * (MIB // 3)] * 60],
        "a tag or a text is longer",
    ),
    "a text without end": Hostile(
        "gleif-rr", "r.xml", lambda: ["<a>", *["A" * MIB] * 60], "a tag or a text is longer"
    ),
    "a prolog without end": Hostile(
        "no-regnskap", "m.xml", lambda: ["<!--", *["A" * MIB] * 60], "a tag or a text is longer"
    ),
    "an unknown encoding": Hostile(
        "lu-comptes", "l.xml", lambda: ['<?xml version="1.0" encoding="shift_jis"?><a/>'], "no XML"
    ),
    "a record that is the root": Hostile(
        "gleif-rr", "r.xml", lambda: ["<RelationshipRecord/>"], "none of 1 is kept"
    ),
    "a line without end": Hostile(
        "gleif-rr", "r.csv", lambda: [RELATIONS, *["A" * MIB] * 60], "a line is longer than 16 MiB"
    ),
    "dimensions in one another": Hostile(
        "dk-comptes",
        "d.xml",
        lambda: [XBRL.format('<a dimension="x">t' * 30_000 + "</a>" * 30_000, "2023-12-31", 1)],
        "nested too deeply",
    ),
    "midnight of the first day": Hostile(
        "be-nbb",
        "b.xbrl",
        lambda: [XBRL.format("", "0001-01-01T00:00:00", 1)],
        "unexpected structure",
    ),
    "a filing of an unknown encoding": Hostile(
        "fi-comptes",
        "f.xbrl",
        lambda: ['<?xml version="1.0" encoding="x-none"?><a/>'],
        "none of 1 is kept",
    ),
    "a number that is a list": Hostile(
        "fr-comptes", "c.json", _deposit(siren=[1]), "unexpected structure"
    ),
    "a year of 10^300 months": Hostile(
        "fr-comptes", "c.json", _deposit(**BRANCH), "unexpected structure"
    ),
    "100 000 fields": Hostile(
        "lu-comptes",
        "l.xml",
        lambda: [FORM.replace("<Field/>", "<Field ecdf='1'/>" * 100_000)],
        "none of 1 is kept",
    ),
    "statements in one another": Hostile(
        "sk-ruz", "s.json", lambda: ["[" * 100_000], "none of 1 is kept"
    ),
    "a mark and nothing else": Hostile("lt-jar", "j.csv", lambda: [b"\xef\xbb\xbf"], "refused"),
    "no Parquet": Hostile(
        "fr-sirene",
        "StockUniteLegale.parquet",
        lambda: [b"PAR1", bytes(100), b"\xff\xff\xff\x7fPAR1"],
        "no Parquet",
    ),
}


def _write(path: Path, hostile: Hostile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed, packed.open(hostile.member, "w", force_zip64=True) as member:
        for piece in hostile.pieces():
            member.write(piece.encode() if isinstance(piece, str) else piece)


def _configured(folder: Path, source: str, *more: str) -> Path:
    path = folder / "nightly.toml"
    lines = ('work = "work"', 'data = "data"', f'sources = ["ee", "{source}"]', "verify = false", *more,
             "[source.ee]", "fetch = false", f"[source.{source}]", "fetch = false")  # fmt: skip
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work of a night before, in which the good source was imported."""
    folder = tmp_path_factory.mktemp("night")
    shutil.copytree(
        GOOD.parent, folder / "work/raw/ee", ignore=lambda _, names: {*names} - {GOOD.name}
    )
    main(["nightly", str(_configured(folder, "lv-ur"))])
    return folder / "work"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_file_is_a_failure_of_its_source_alone(
    tmp_path: Path, imported: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    hostile = CASES[case]
    shutil.copytree(imported, tmp_path / "work")
    _write(tmp_path / "work/raw" / hostile.source / f"{hostile.member}.zip", hostile)
    config = _configured(tmp_path, hostile.source)

    assert main(["nightly", str(config)]) == 0

    good, bad = last_report(config)["sources"]
    assert published(config) == {"EE": 2_665}
    assert (good["resultat"], bad["resultat"]) == ("inchange", "absent")
    shown = capfd.readouterr()
    assert hostile.reason in shown.out
    assert "Traceback" not in shown.err


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", ["a number of 5 000 digits", "an attribute without end"])
def test_an_import_by_hand_is_one_line_of_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    hostile = CASES[case]
    file = tmp_path / f"{hostile.member}.zip"
    _write(file, hostile)

    assert main(["import", hostile.source, str(file), "--out", str(tmp_path / "out")]) == 1

    shown = capfd.readouterr().err
    assert shown.startswith(f"error: {hostile.member}")
    assert hostile.reason in shown
    assert shown.count("\n") == 1


@pytest.mark.timeout(180)
def test_a_fetched_file_is_counted_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Its rows are counted before it takes the place of the one before."""
    hostile = CASES["a mark and nothing else"]
    _write(tmp_path / "j.csv.zip", hostile)

    with pytest.raises(FetchError, match=r"^j\.csv is empty; download it again"):
        published_files.count_rows_isolated(Limits(), tmp_path / "j.csv.zip", "j.csv.zip", "lt-jar")


def test_the_configuration_bounds_the_memory_of_an_import(tmp_path: Path, imported: Path) -> None:
    shutil.copytree(imported, tmp_path / "work")
    shutil.copytree(RAW / "ie", tmp_path / "work/raw/ie-cro")
    config = _configured(tmp_path, "ie-cro", "import_memory = 0.1")

    assert main(["nightly", str(config)]) == 0

    report = last_report(config)
    assert published(config) == {"EE": 2_665}
    assert "`import_memory`" in report["sources"][1]["motifs"][0]
