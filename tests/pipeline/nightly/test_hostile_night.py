"""Hostile files: each makes its own source fail soon, and the good source of the same night is published."""

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
from tests.pipeline.nightly.test_nightly import RAW, last_report, published_counts

MIB = 1 << 20
ESTONIAN_FILE = next((RAW / "ee").glob("*lihtandmed*"))

# Inline XBRL of a British company; `{}` is the place of its facts.
FILING_HTML = (
    '<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL" xmlns:xbrli="http://www.xbrl.org/2003/instance"'
    ' xmlns:uk-core="http://xbrl.frc.org.uk/fr/2022-01-01/core" xmlns:iso4217="http://www.xbrl.org/2003/iso4217"'
    ' xmlns="http://www.w3.org/1999/xhtml"><body><ix:header><ix:resources><xbrli:context id="c"><xbrli:entity>'
    '<xbrli:identifier scheme="http://www.companieshouse.gov.uk/">00000001</xbrli:identifier></xbrli:entity>'
    "<xbrli:period><xbrli:instant>2023-12-31</xbrli:instant></xbrli:period></xbrli:context>"
    '<xbrli:unit id="u"><xbrli:measure>iso4217:GBP</xbrli:measure></xbrli:unit></ix:resources></ix:header>'
    "{}</body></html>"
)
# A fact of a filing; the places are its scale, its decimals and its text.
FACT_HTML = (
    "<ix:nonFraction name='uk-core:FixedAssets' contextRef='c' unitRef='u' scale='{}' decimals='{}'>"
    "{}</ix:nonFraction>"
)
# The start of a file of LEI data, up to the attributes of its first record.
LEI_FILE_START = (
    '<?xml version="1.0"?><lei:LEIData xmlns:lei="http://www.gleif.org/data/schema/leidata/2016"><lei:LEIRecords>'
    "<lei:LEIRecord"
)
# The places are texts in the entity, the closing date and the value of the only fact.
XBRL_FILING = (
    '<xbrl xmlns="http://www.xbrl.org/2003/instance"><context id="c"><entity><identifier scheme="s">'
    "0200065765</identifier>{}</entity><period><instant>{}</instant></period></context>"
    '<m xmlns="x" contextRef="c" unitRef="u" decimals="0">{}</m></xbrl>'
)
# Headers of the Latvian register and of the LEI relationships.
LATVIAN_HEADER = (
    "regcode;sepa;name;name_before_quotes;name_in_quotes;name_after_quotes;without_quotes;regtype;regtype_text;"
    "type;type_text;registered;terminated;closed;address;index;addressid;region;city;atvk;reregistration_term\n"
)
RELATIONS_HEADER = (
    "Relationship.StartNode.NodeID,Relationship.StartNode.NodeIDType,Relationship.EndNode.NodeID,"
    "Relationship.EndNode.NodeIDType,Relationship.RelationshipType,Relationship.RelationshipStatus,"
    "Registration.RegistrationStatus\n"
)
# A French deposit of accounts without its amounts.
DEPOSIT = {
    "siren": "356000000",
    "confidentiality": "Public",
    "typeBilan": "C",
    "dateCloture": "2023-12-31",
}
# A declaration of Luxembourg accounts with one empty field.
LUXEMBOURG_FORM = (
    "<a><Declarer><RcsNumber>B1</RcsNumber><Declaration type='CA_BILAN'><StartDate>20230101</StartDate>"
    "<EndDate>20231231</EndDate><FormData><Field/></FormData></Declaration></Declarer></a>"
)
# The amounts of a French deposit: one line of one form.
DEPOSIT_PAGES = {"pages": [{"numero": 3, "liasses": [{"code": "FJ", "m3": "1"}]}]}


class HostileFile(NamedTuple):
    """A file in a zip.

    `member` is the name in the zip, `pieces` gives the content, `reason` has words of the expected error.
    """

    source: str
    member: str
    pieces: Callable[[], Iterable[str | bytes]]
    reason: str


def _filing(body: str) -> Callable[[], Iterable[str]]:
    """The content of a British filing with the HTML `body` in the place of its facts."""
    return lambda: [FILING_HTML.format(body)]


def _deposit(**values: object) -> Callable[[], Iterable[str]]:
    """The content of a French deposit of accounts, with some values replaced."""
    identity: dict[str, object] = {
        "bilanSaisi": {"bilan": {"identite": {}, "detail": DEPOSIT_PAGES}}
    }
    return lambda: [json.dumps([DEPOSIT | identity | values])]


def _text_chain(length: int) -> str:
    """Facts whose text continues through `length` elements: a reader searches each from the start of the filing."""
    parts = "".join(
        f"<ix:continuation id='n{number}' continuedAt='n{number + 1}'>t</ix:continuation>"
        for number in range(length)
    )
    text = "<ix:nonNumeric name='uk-core:X' contextRef='c' continuedAt='n0'>t</ix:nonNumeric>"
    return text * 40 + parts


# The amounts of a deposit whose fiscal year has a number of months of 300 digits.
LONG_YEAR = {
    "bilanSaisi": {"bilan": {"identite": {"dureeExerciceN": "9" * 300}, "detail": DEPOSIT_PAGES}}
}
UK_FILING_NAME = "Prod223_1_00000001_20231231.html"
# Hostile files by the fault that they have.
CASES = {
    # The faults that were found before those of other formats and readers below.
    "a number of 5 000 digits": HostileFile(
        "no-enheter",
        "e.json",
        lambda: ['[{"antallAnsatte":', "9" * 5_000, "}]"],
        "a number is too long",
    ),
    "a scale of 10^8": HostileFile(
        "uk-accounts", UK_FILING_NAME, _filing(FACT_HTML.format(10**8, 0, 1)), "implausible scale"
    ),
    "200 000 nested elements": HostileFile(
        "uk-accounts", UK_FILING_NAME, _filing("<div>" * 200_000), "nested too deeply"
    ),
    "an attribute without end": HostileFile(
        "gleif",
        "l.xml",
        lambda: [LEI_FILE_START, ' x="', *["A" * MIB] * 100],
        "a tag or a text is longer",
    ),
    "blank lines": HostileFile(
        "lv-ur",
        "register.csv",
        lambda: [LATVIAN_HEADER, *["\n" * MIB] * 100],
        "of the file are blank",
    ),
    # Faults of the same kinds in other formats and readers.
    "a scale of -10^8": HostileFile(
        "uk-accounts",
        UK_FILING_NAME,
        _filing(FACT_HTML.format(-(10**8), 0, 1)),
        "implausible scale",
    ),
    "decimals of -10^6": HostileFile(
        "se-comptes", "a.xhtml", _filing(FACT_HTML.format(0, -(10**6), 1)), "implausible scale"
    ),
    "a scale in UTF-16": HostileFile(
        "uk-accounts",
        UK_FILING_NAME,
        lambda: [FILING_HTML.format(FACT_HTML.format(10**8, 0, 1)).encode("utf-16")],
        "none of 1 is kept",
    ),
    "a number of 10^6 digits": HostileFile(
        "uk-accounts",
        UK_FILING_NAME,
        _filing(FACT_HTML.format(0, 0, "9" * 10**6)),
        "none of 1 is kept",
    ),
    "nested facts": HostileFile(
        "uk-accounts",
        UK_FILING_NAME,
        _filing(FACT_HTML.format(0, 0, "{}").split("{}")[0] * 20_000),
        "nested too deeply",
    ),
    "a chain of texts": HostileFile(
        "uk-accounts", UK_FILING_NAME, _filing(_text_chain(900)), "takes too long"
    ),
    "blank JSON": HostileFile(
        "no-enheter", "e.json", lambda: ["[", *[" " * MIB] * 100], "a blank is longer"
    ),
    "blank JSON lines": HostileFile(
        "de-offeneregister", "d.jsonl", lambda: ["{}\n", *["\n" * MIB] * 40], "are blank"
    ),
    "deep JSON": HostileFile(
        "no-enheter",
        "e.json",
        lambda: ['[{"a":' + "[" * 400 + "]" * 400 + "}]"],
        "nested too deeply",
    ),
    "deep JSON lines": HostileFile(
        "de-offeneregister",
        "d.jsonl",
        lambda: ['{"a":' + "[" * 400 + "]" * 400 + "}\n"],
        "nested too deeply",
    ),
    "half a character": HostileFile(
        "no-enheter", "e.json", lambda: ['[{"navn":"\\ud800"}]'], "half of a character"
    ),
    "a comment without end": HostileFile(
        "gleif",
        "l.xml",
        lambda: [LEI_FILE_START.rpartition("<")[0], "<!--", *["<a>" * (MIB // 3)] * 60],
        "a tag or a text is longer",
    ),
    "a text without end": HostileFile(
        "gleif-rr", "r.xml", lambda: ["<a>", *["A" * MIB] * 60], "a tag or a text is longer"
    ),
    "a prolog without end": HostileFile(
        "no-regnskap", "m.xml", lambda: ["<!--", *["A" * MIB] * 60], "a tag or a text is longer"
    ),
    "an unknown encoding": HostileFile(
        "lu-comptes", "l.xml", lambda: ['<?xml version="1.0" encoding="shift_jis"?><a/>'], "no XML"
    ),
    "a record that is the root": HostileFile(
        "gleif-rr", "r.xml", lambda: ["<RelationshipRecord/>"], "none of 1 is kept"
    ),
    "a line without end": HostileFile(
        "gleif-rr",
        "r.csv",
        lambda: [RELATIONS_HEADER, *["A" * MIB] * 60],
        "a line is longer than 16 MiB",
    ),
    "nested dimensions": HostileFile(
        "dk-comptes",
        "d.xml",
        lambda: [
            XBRL_FILING.format('<a dimension="x">t' * 30_000 + "</a>" * 30_000, "2023-12-31", 1)
        ],
        "nested too deeply",
    ),
    "midnight of the first day": HostileFile(
        "be-nbb",
        "b.xbrl",
        lambda: [XBRL_FILING.format("", "0001-01-01T00:00:00", 1)],
        "unexpected structure",
    ),
    "a filing of an unknown encoding": HostileFile(
        "fi-comptes",
        "f.xbrl",
        lambda: ['<?xml version="1.0" encoding="x-none"?><a/>'],
        "none of 1 is kept",
    ),
    "a number that is a list": HostileFile(
        "fr-comptes", "c.json", _deposit(siren=[1]), "no company number"
    ),
    "a year of 10^300 months": HostileFile(
        "fr-comptes", "c.json", _deposit(**LONG_YEAR), "unexpected structure"
    ),
    "100 000 fields": HostileFile(
        "lu-comptes",
        "l.xml",
        lambda: [LUXEMBOURG_FORM.replace("<Field/>", "<Field ecdf='1'/>" * 100_000)],
        "none of 1 is kept",
    ),
    "nested statements": HostileFile(
        "sk-ruz", "s.json", lambda: ["[" * 100_000], "none of 1 is kept"
    ),
    "a byte order mark and nothing else": HostileFile(
        "lt-jar", "j.csv", lambda: [b"\xef\xbb\xbf"], "refused"
    ),
    "a Parquet footer without Parquet": HostileFile(
        "fr-sirene",
        "StockUniteLegale.parquet",
        lambda: [b"PAR1", bytes(100), b"\xff\xff\xff\x7fPAR1"],
        "not Parquet",
    ),
}


def _write_zip(path: Path, hostile: HostileFile) -> None:
    """Write a zip with the hostile file at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed, packed.open(hostile.member, "w", force_zip64=True) as member:
        for piece in hostile.pieces():
            member.write(piece.encode() if isinstance(piece, str) else piece)


def _write_config(folder: Path, source: str, *settings: str) -> Path:
    """A configuration of the Estonian source and of `source`, both without fetches."""
    path = folder / "nightly.toml"
    lines = ('work = "work"', 'data = "data"', f'sources = ["ee", "{source}"]', "verify = false", *settings,
             "[source.ee]", "fetch = false", f"[source.{source}]", "fetch = false")  # fmt: skip
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def earlier_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `work` of an earlier night, in which the good source was imported."""
    folder = tmp_path_factory.mktemp("night")
    shutil.copytree(
        ESTONIAN_FILE.parent,
        folder / "work/raw/ee",
        ignore=lambda _, names: {*names} - {ESTONIAN_FILE.name},
    )
    main(["nightly", str(_write_config(folder, "lv-ur"))])
    return folder / "work"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_file_makes_its_own_source_fail_and_no_other(
    tmp_path: Path, earlier_work: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    hostile = CASES[case]
    shutil.copytree(earlier_work, tmp_path / "work")
    _write_zip(tmp_path / "work/raw" / hostile.source / f"{hostile.member}.zip", hostile)
    config = _write_config(tmp_path, hostile.source)

    assert main(["nightly", str(config)]) == 0

    good_report, hostile_report = last_report(config)["sources"]
    assert published_counts(config) == {"EE": 2_665}
    assert (good_report["resultat"], hostile_report["resultat"]) == ("inchange", "absent")
    printed = capfd.readouterr()
    assert hostile.reason in printed.out
    assert "Traceback" not in printed.err


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", ["a number of 5 000 digits", "an attribute without end"])
def test_the_command_import_prints_one_line_of_error_for_a_hostile_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    hostile = CASES[case]
    file = tmp_path / f"{hostile.member}.zip"
    _write_zip(file, hostile)

    assert main(["import", hostile.source, str(file), "--out", str(tmp_path / "out")]) == 1

    printed = capfd.readouterr().err
    assert printed.startswith(f"error: {hostile.member}")
    assert hostile.reason in printed
    assert printed.count("\n") == 1


@pytest.mark.timeout(180)
def test_the_rows_of_a_fetched_file_are_counted_in_a_separate_process(tmp_path: Path) -> None:
    """The rows are counted before the file replaces the previous file."""
    hostile = CASES["a byte order mark and nothing else"]
    _write_zip(tmp_path / "j.csv.zip", hostile)

    with pytest.raises(FetchError, match=r"^j\.csv is empty; download it again"):
        published_files.count_rows_isolated(Limits(), tmp_path / "j.csv.zip", "j.csv.zip", "lt-jar")


def test_the_configuration_bounds_the_memory_of_an_import(
    tmp_path: Path, earlier_work: Path
) -> None:
    shutil.copytree(earlier_work, tmp_path / "work")
    shutil.copytree(RAW / "ie", tmp_path / "work/raw/ie-cro")
    # The limit of 0.1 GiB is less memory than any import needs, so the import fails.
    config = _write_config(tmp_path, "ie-cro", "import_memory = 0.1")

    assert main(["nightly", str(config)]) == 0

    report = last_report(config)
    assert published_counts(config) == {"EE": 2_665}
    assert "`import_memory`" in report["sources"][1]["motifs"][0]
