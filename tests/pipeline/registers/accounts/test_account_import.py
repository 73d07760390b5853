"""The rules that all sources of annual accounts share."""

import bz2
import gzip
import zipfile
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.errors import FetchError
from pipeline.nightly import published_files
from pipeline.registers import REGISTERS
from pipeline.registers.accounts import account_import
from tests.pipeline.registers import published
from tests.pipeline.registers.accounts.filed import counts, imported, instance, values


def filing(assets: float, day: str = "2024-12-31", number: str = "24256790") -> str:
    fact = f'<f:Assets contextRef="c" unitRef="EUR" decimals="0">{assets}</f:Assets>'
    return instance(fact, day=day, number=number)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def packed(path: Path, **members: str | bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.xml" if isinstance(content, str) else f"{name}.zip", content)
    return path


@pytest.mark.parametrize("backwards", [False, True])
def test_the_last_filed_line_wins_whatever_the_order_of_files(
    tmp_path: Path, backwards: bool
) -> None:
    restated = filing(7).replace("</xbrl>", (
        '<context id="b"><entity><identifier scheme="s">24256790</identifier></entity><period>'
        "<instant>2023-12-31</instant></period></context>"
        '<f:Assets contextRef="b" unitRef="EUR" decimals="0">6</f:Assets></xbrl>'
    ))  # fmt: skip
    files = [
        written(tmp_path / "b.xml", filing(5, "2023-12-31")),
        written(tmp_path / "a.xml", restated),
    ]
    report, lines = imported("dk-comptes", files[:: -1 if backwards else 1], tmp_path / "out")

    assert values(lines, "24256790", 2023, "bilan_actif") == {"TotalAssets": 6.0}
    assert values(lines, "24256790", 2024, "bilan_actif") == {"TotalAssets": 7.0}
    assert report.counts.detail["lignes remplacées par un dépôt ultérieur"] == 1


def test_many_companies_are_sorted_in_pieces_that_fit_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [str(24256790 + n) for n in range(40)]
    files = [written(tmp_path / f"{n}.xml", filing(1, number=n)) for n in numbers]
    _, whole = imported("dk-comptes", files, tmp_path / "whole")
    monkeypatch.setattr(account_import, "TOGETHER", 7)
    monkeypatch.setattr(account_import, "BATCH", 3)
    _, pieces = imported("dk-comptes", files, tmp_path / "pieces")

    assert whole["id"].to_list() == numbers
    assert pieces.sort("id").equals(whole)


def test_an_unreadable_filing_is_rejected_by_name_and_the_others_are_kept(tmp_path: Path) -> None:
    archive = packed(
        tmp_path / "virk.zip",
        good=filing(5),
        html="<html/>",
        bare=instance(""),
        packed=b"no zip at all",
    )
    report, lines = imported("dk-comptes", [archive], tmp_path / "out")

    assert counts(report) == {
        "read": 4,
        "kept": 1,
        "dropped": {},
        "rejected": {"aucun poste reconnu": 1, "pas un document XBRL": 2},
    }
    assert lines["valeur"].to_list() == [5.0]
    assert report.rejected is not None
    rejected = pl.read_parquet(tmp_path / "out" / report.rejected)
    assert set(rejected["fichier"]) == {"html.xml", "bare.xml", "packed.zip"}


def test_a_zip_in_a_zip_is_opened(tmp_path: Path) -> None:
    inner = packed(tmp_path / "inner.zip", report=filing(5)).read_bytes()
    archive = packed(tmp_path / "week.zip", one=inner, two=filing(6, number="24256791"))
    _, lines = imported("dk-comptes", [archive], tmp_path / "out")

    assert lines.select("id", "valeur").rows() == [("24256790", 5.0), ("24256791", 6.0)]


def test_a_filing_beyond_the_largest_size_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.registers.accounts.filing.LARGEST", 2_000)
    files = [
        written(tmp_path / "small.xml", filing(5)),
        written(tmp_path / "large.xml", filing(5) + " " * 2_000),
    ]
    report, _ = imported("dk-comptes", files, tmp_path / "out")

    assert report.counts.rejected == {"dépôt trop volumineux": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.zip", b"no zip", "bad.zip is no zip"),
        ("empty.zip", b"PK\x05\x06" + bytes(18), "holds no .xbrl or .xml"),
    ],
)
def test_a_damaged_download_stops_with_the_remedy(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(InputError, match=message):
        imported("dk-comptes", [path], tmp_path / "out")


def test_figures_that_the_chart_lacks_are_counted_by_name(tmp_path: Path) -> None:
    fact = '<f:Kryptoaktiver contextRef="c" unitRef="EUR" decimals="0">5</f:Kryptoaktiver></xbrl>'
    file = written(tmp_path / "a.xml", filing(5).replace("</xbrl>", fact))
    report, _ = imported("dk-comptes", [file], tmp_path / "out")

    assert report.counts.noted == {"concepts inconnus": 1}
    assert report.counts.examples == {"concepts inconnus": ("Kryptoaktiver (1)",)}


def test_a_fact_that_is_no_number_is_counted_and_the_rest_is_kept(tmp_path: Path) -> None:
    fact = '<f:Equity contextRef="c" unitRef="EUR" decimals="0">5.000,00</f:Equity></xbrl>'
    file = written(tmp_path / "a.xml", filing(5).replace("</xbrl>", fact))
    report, lines = imported("dk-comptes", [file], tmp_path / "out")

    assert report.counts.detail["faits illisibles"] == 1
    assert lines["code"].to_list() == ["TotalAssets"]


DEPOSIT = """{"siren": "%s", "confidentiality": "Public", "typeBilan": "C", "dateCloture": "2023-12-31",
 "bilanSaisi": {"bilan": {"detail": {"pages": [{"numero": 1, "liasses": [{"code": "CO", "m3": "5"}]}]}}}}"""
MASS = """<del><hode><orgnr>%s</orgnr><regnskapstype>S</regnskapstype><startdato>20180101</startdato>
 <avslutningsdato>20181231</avslutningsdato><valutakode>NOK</valutakode></hode>
 <info><feltkode>219</feltkode><sum>5</sum></info></del>"""
FORM = """<Declarer><RcsNumber>%s</RcsNumber><Declaration type="CA_BILAN"><StartDate>2020-01-01</StartDate>
 <EndDate>2020-12-31</EndDate><Currency>EUR</Currency><FormData><Field ecdf="201"><Data>5</Data></Field></FormData>
 </Declaration></Declarer>"""
# Source -> the name of a document, its text before, between and after its records, a record, a sound identifier.
MANY: dict[str, tuple[str, str, str, str, str, str]] = {
    "fr-comptes": ("a.json", "[", ",", "]", DEPOSIT, "542065479"),
    "no-regnskap": ("a.xml", "<deler>", "", "</deler>", MASS, "980919676"),
    "lu-comptes": ("a.xml", "<a>", "", "</a>", FORM, "B60814"),
}


@pytest.mark.parametrize("source", MANY)
@pytest.mark.parametrize("word", ["Total", "SIREN", "000000000", "orgnr"])
def test_a_total_or_a_header_among_the_accounts_is_rejected_by_its_number(
    tmp_path: Path, source: str, word: str
) -> None:
    name, before, between, after, record, good = MANY[source]
    text = before + between.join([record % good, record % word, record % good]) + after
    report, lines = imported(source, [written(tmp_path / name, text)], tmp_path / "out")

    assert set(lines["id"]) == {good}
    assert report.rejected is not None
    rejected = pl.read_parquet(tmp_path / "out" / report.rejected)
    assert rejected.select("fichier", "ligne", "id", "motif").rows() == [
        (name, 2, word, "ligne qui n'est pas une société")
    ]


@pytest.mark.parametrize("word", ["TOTALXXX", "00000000", "COMPANYN"])
def test_a_british_filing_named_by_a_word_is_rejected(tmp_path: Path, word: str) -> None:
    text = published.xbrl("2023-12-31", CashBankInHand="5")
    good, bad = (f"Prod223_2125_{number}_20231231.xml" for number in ("09734389", word))
    archive = zipfile.ZipFile(tmp_path / "a.zip", "w")
    with archive:
        archive.writestr(good, text)
        archive.writestr(bad, text)
    report, lines = imported("uk-accounts", [tmp_path / "a.zip"], tmp_path / "out")

    assert set(lines["id"]) == {"09734389"}
    assert report.counts.rejected == {"ligne qui n'est pas une société": 1}


FILING = "Prod223_2125_09734389_20231231.xml"
UK = published.xbrl("2023-12-31", CashBankInHand="5").encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.zip",
            published.zip_of({FILING: UK, f"__MACOSX/._{FILING}": b"\0", ".DS_Store": b"\0"}),
        ),
        ("a.zip", published.zip_of({"day.zip": published.zip_of({FILING: UK})})),
        ("a.zip", published.zip_of({f"{FILING}.gz": gzip.compress(UK)})),
        ("Accounts_Bulk_Data.bin", published.zip_of({FILING: UK})),
        (f"{FILING}.zip", gzip.compress(UK)),
        (f"{FILING}.gz", gzip.compress(UK)),
        (f"{FILING}.bz2", bz2.compress(UK)),
        (FILING, UK),
    ],
    ids=[
        "desktop",
        "zip in zip",
        "gzip in zip",
        "no suffix",
        "gzip as zip",
        "gzip",
        "bzip2",
        "plain",
    ],
)
def test_british_filings_come_in_every_packing(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    report, lines = imported("uk-accounts", [tmp_path / name], tmp_path / "out")

    assert (report.counts.read, set(lines["id"])) == (1, {"09734389"})


def _flagged(packed: bytes, method: int = 0, flag: int = 0) -> bytes:
    """A zip whose members are said to be packed by another method, or encrypted."""
    changed = bytearray(packed)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.index(magic) + flags
        changed[at] |= flag
        changed[at + 2] = method or changed[at + 2]
    return bytes(changed)


@pytest.mark.parametrize("source", ["uk-accounts", "be-nbb", "fr-comptes", "ee"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": 9}, "compressed with Deflate64"),
        ({"flag": 1}, "is encrypted; unpack it with its password"),
    ],
)
def test_a_zip_that_is_not_read_here_has_its_own_remedy(
    tmp_path: Path, source: str, change: dict[str, int], message: str
) -> None:
    names = {"uk-accounts": FILING, "be-nbb": "a.xbrl", "fr-comptes": "a.json", "ee": "a.csv"}
    (tmp_path / "a.zip").write_bytes(_flagged(published.zip_of({names[source]: UK}), **change))

    with pytest.raises(InputError, match=message):
        imported(source, [tmp_path / "a.zip"], tmp_path / "out")
    with pytest.raises(FetchError, match=message):
        published_files.count_rows(tmp_path / "a.zip", "a.zip", REGISTERS[source])
