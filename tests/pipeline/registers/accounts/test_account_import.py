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
from tests.pipeline.registers.accounts.filed import (
    import_accounts,
    instance_xml,
    outcome_counts,
    statement_values,
)


def filing_of_assets(assets: float, day: str = "2024-12-31", number: str = "24256790") -> str:
    """A Danish XBRL filing of the company `number` whose only fact is the total assets on `day`."""
    fact = f'<f:Assets contextRef="c" unitRef="EUR" decimals="0">{assets}</f:Assets>'
    return instance_xml(fact, day=day, number=number)


def with_earlier_balance(filing_text: str, element: str, day: str) -> str:
    """A filing of `filing_of_assets` with 6 as the value of another balance, `element`, of an earlier day."""
    context = (
        '<context id="b"><entity><identifier scheme="s">24256790</identifier></entity><period>'
        f"<instant>{day}</instant></period></context>"
    )
    fact = f'<f:{element} contextRef="b" unitRef="EUR" decimals="0">6</f:{element}>'
    return filing_text.replace("</xbrl>", f"{context}{fact}</xbrl>")


def write_filing(path: Path, text: str) -> Path:
    """Write a filing with this text to `path`; returns the path."""
    path.write_text(text)
    return path


def write_zip(path: Path, **members: str | bytes) -> Path:
    """A zip with a member `NAME.xml` for each text, and `NAME.zip` for each bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.xml" if isinstance(content, str) else f"{name}.zip", content)
    return path


@pytest.mark.parametrize("backwards", [False, True])
def test_the_last_filed_line_wins_whatever_the_order_of_files(
    tmp_path: Path, backwards: bool
) -> None:
    """A filing also states the figures of the year before, so 2023 is in both filings, and the later one counts."""
    # The filing of 2024 states 7, and 6 in place of the 5 that was filed for 2023.
    restated = with_earlier_balance(filing_of_assets(7), "Assets", "2023-12-31")
    files = [
        write_filing(tmp_path / "b.xml", filing_of_assets(5, "2023-12-31")),
        write_filing(tmp_path / "a.xml", restated),
    ]
    report, lines = import_accounts(
        "dk-comptes", files[:: -1 if backwards else 1], tmp_path / "out"
    )

    assert statement_values(lines, "24256790", 2023, "bilan_actif") == {"TotalAssets": 6.0}
    assert statement_values(lines, "24256790", 2024, "bilan_actif") == {"TotalAssets": 7.0}
    assert report.counts.detail["lignes remplacées par un dépôt ultérieur"] == 1


def test_many_companies_are_sorted_in_pieces_that_fit_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [str(24256790 + company_number) for company_number in range(40)]
    files = [
        write_filing(tmp_path / f"{company_number}.xml", filing_of_assets(1, number=company_number))
        for company_number in numbers
    ]
    _, lines_at_once = import_accounts("dk-comptes", files, tmp_path / "whole")
    monkeypatch.setattr(account_import, "MOST_ROWS_IN_MEMORY", 7)
    monkeypatch.setattr(account_import, "BATCH", 3)
    _, lines_in_pieces = import_accounts("dk-comptes", files, tmp_path / "pieces")

    assert lines_at_once["id"].to_list() == numbers
    assert lines_in_pieces.sort("id").equals(lines_at_once)


def test_an_unreadable_filing_is_rejected_by_name_and_the_others_are_kept(tmp_path: Path) -> None:
    archive = write_zip(
        tmp_path / "virk.zip",
        good=filing_of_assets(5),
        html="<html/>",
        bare=instance_xml(""),
        packed=b"no zip at all",
    )
    report, lines = import_accounts("dk-comptes", [archive], tmp_path / "out")

    assert outcome_counts(report) == {
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
    inner = write_zip(tmp_path / "inner.zip", report=filing_of_assets(5)).read_bytes()
    archive = write_zip(
        tmp_path / "week.zip", one=inner, two=filing_of_assets(6, number="24256791")
    )
    _, lines = import_accounts("dk-comptes", [archive], tmp_path / "out")

    assert lines.select("id", "valeur").rows() == [("24256790", 5.0), ("24256791", 6.0)]


def test_a_filing_beyond_the_largest_size_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.registers.accounts.filing.LARGEST", 2_000)
    files = [
        write_filing(tmp_path / "small.xml", filing_of_assets(5)),
        write_filing(tmp_path / "large.xml", filing_of_assets(5) + " " * 2_000),
    ]
    report, _ = import_accounts("dk-comptes", files, tmp_path / "out")

    assert report.counts.rejected == {"dépôt trop volumineux": 1}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.zip", b"no zip", "bad.zip is not a zip"),
        ("empty.zip", b"PK\x05\x06" + bytes(18), "holds no .xbrl or .xml"),
    ],
)
def test_a_damaged_download_stops_with_the_remedy(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(InputError, match=message):
        import_accounts("dk-comptes", [path], tmp_path / "out")


def test_concepts_that_the_chart_lacks_are_counted_by_name(tmp_path: Path) -> None:
    fact = '<f:Kryptoaktiver contextRef="c" unitRef="EUR" decimals="0">5</f:Kryptoaktiver></xbrl>'
    file = write_filing(tmp_path / "a.xml", filing_of_assets(5).replace("</xbrl>", fact))
    report, _ = import_accounts("dk-comptes", [file], tmp_path / "out")

    assert report.counts.noted == {"concepts inconnus": 1}
    assert report.counts.examples == {"concepts inconnus": ("Kryptoaktiver (1)",)}


def test_a_fact_that_is_no_number_is_counted_and_the_other_facts_are_kept(tmp_path: Path) -> None:
    fact = '<f:Equity contextRef="c" unitRef="EUR" decimals="0">5.000,00</f:Equity></xbrl>'
    file = write_filing(tmp_path / "a.xml", filing_of_assets(5).replace("</xbrl>", fact))
    report, lines = import_accounts("dk-comptes", [file], tmp_path / "out")

    assert report.counts.detail["faits illisibles"] == 1
    assert lines["code"].to_list() == ["TotalAssets"]


# Records of accounts in three layouts; %s is the identifier.
FRENCH_DEPOSIT = """{"siren": "%s", "confidentiality": "Public", "typeBilan": "C", "dateCloture": "2023-12-31",
 "bilanSaisi": {"bilan": {"detail": {"pages": [{"numero": 1, "liasses": [{"code": "CO", "m3": "5"}]}]}}}}"""
NORWEGIAN_RECORD = """<del><hode><orgnr>%s</orgnr><regnskapstype>S</regnskapstype><startdato>20180101</startdato>
 <avslutningsdato>20181231</avslutningsdato><valutakode>NOK</valutakode></hode>
 <info><feltkode>219</feltkode><sum>5</sum></info></del>"""
DECLARER = """<Declarer><RcsNumber>%s</RcsNumber><Declaration type="CA_BILAN"><StartDate>2020-01-01</StartDate>
 <EndDate>2020-12-31</EndDate><Currency>EUR</Currency><FormData><Field ecdf="201"><Data>5</Data></Field></FormData>
 </Declaration></Declarer>"""
# Source -> the name of a document, its text before, between and after its records, a record, a valid identifier.
DOCUMENTS_WITH_RECORDS: dict[str, tuple[str, str, str, str, str, str]] = {
    "fr-comptes": ("a.json", "[", ",", "]", FRENCH_DEPOSIT, "542065479"),
    "no-regnskap": ("a.xml", "<deler>", "", "</deler>", NORWEGIAN_RECORD, "980919676"),
    "lu-comptes": ("a.xml", "<a>", "", "</a>", DECLARER, "B60814"),
}


@pytest.mark.parametrize("source", DOCUMENTS_WITH_RECORDS)
@pytest.mark.parametrize("word", ["Total", "SIREN", "000000000", "orgnr"])
def test_a_word_or_zeros_in_place_of_the_identifier_of_accounts_is_rejected(
    tmp_path: Path, source: str, word: str
) -> None:
    name, text_before, separator, text_after, record, valid_id = DOCUMENTS_WITH_RECORDS[source]
    text = (
        text_before
        + separator.join([record % valid_id, record % word, record % valid_id])
        + text_after
    )
    report, lines = import_accounts(source, [write_filing(tmp_path / name, text)], tmp_path / "out")

    assert set(lines["id"]) == {valid_id}
    assert report.rejected is not None
    rejected = pl.read_parquet(tmp_path / "out" / report.rejected)
    assert rejected.select("fichier", "ligne", "id", "motif").rows() == [
        (name, 2, word, "ligne qui n'est pas une société")
    ]


@pytest.mark.parametrize("word", ["TOTALXXX", "00000000", "COMPANYN"])
def test_a_british_filing_with_a_word_or_zeros_as_company_number_is_rejected(
    tmp_path: Path, word: str
) -> None:
    text = published.xbrl_filing("2023-12-31", CashBankInHand="5")
    valid_name, wrong_name = (
        f"Prod223_2125_{number}_20231231.xml" for number in ("09734389", word)
    )
    archive = zipfile.ZipFile(tmp_path / "a.zip", "w")
    with archive:
        archive.writestr(valid_name, text)
        archive.writestr(wrong_name, text)
    report, lines = import_accounts("uk-accounts", [tmp_path / "a.zip"], tmp_path / "out")

    assert set(lines["id"]) == {"09734389"}
    assert report.counts.rejected == {"ligne qui n'est pas une société": 1}


FILING = "Prod223_2125_09734389_20231231.xml"
UK = published.xbrl_filing("2023-12-31", CashBankInHand="5").encode()


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
def test_a_british_filing_is_read_in_each_packing(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    report, lines = import_accounts("uk-accounts", [tmp_path / name], tmp_path / "out")

    assert (report.counts.read, set(lines["id"])) == (1, {"09734389"})


def _zip_with_changed_headers(packed: bytes, method: int = 0, flag: int = 0) -> bytes:
    """A zip whose two headers of its only member give another compression method, or set a flag such as encryption."""
    changed = bytearray(packed)
    for header_start, offset_of_flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.index(header_start) + offset_of_flags
        changed[place] |= flag
        changed[place + 2] = method or changed[place + 2]
    return bytes(changed)


@pytest.mark.parametrize("source", ["uk-accounts", "be-nbb", "fr-comptes", "ee"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": 9}, "compressed with Deflate64"),
        ({"flag": 1}, "is encrypted; unpack it with its password"),
    ],
)
def test_a_zip_that_is_encrypted_or_packed_with_deflate64_is_refused_with_a_remedy(
    tmp_path: Path, source: str, change: dict[str, int], message: str
) -> None:
    names = {"uk-accounts": FILING, "be-nbb": "a.xbrl", "fr-comptes": "a.json", "ee": "a.csv"}
    (tmp_path / "a.zip").write_bytes(
        _zip_with_changed_headers(published.zip_of({names[source]: UK}), **change)
    )

    with pytest.raises(InputError, match=message):
        import_accounts(source, [tmp_path / "a.zip"], tmp_path / "out")
    with pytest.raises(FetchError, match=message):
        published_files.count_rows(tmp_path / "a.zip", "a.zip", REGISTERS[source])


def test_an_amount_without_a_currency_is_left_out_and_counted(tmp_path: Path) -> None:
    fact = '<f:Equity contextRef="c" unitRef="n" decimals="0">3</f:Equity></xbrl>'
    some = write_filing(tmp_path / "some.xml", filing_of_assets(5).replace("</xbrl>", fact))
    none = write_filing(
        tmp_path / "none.xml", filing_of_assets(5).replace('unitRef="EUR"', 'unitRef="n"')
    )

    report, lines = import_accounts("dk-comptes", [some, none], tmp_path / "out")

    assert lines.select("code", "devise").rows() == [("TotalAssets", "EUR")]
    assert report.counts.detail["montants sans devise"] == 2
    assert report.counts.rejected == {"devise absente": 1}


@pytest.mark.parametrize(
    ("published", "number"),
    [
        (16250110, "016250110"),
        (16250110.0, "016250110"),
        ("16250110", "016250110"),
        ("16250110.0", "016250110"),
        (" 016 250 110", "016250110"),
        ("", None),
        ("  ", None),
        ([16250110], None),
        ({"siren": 16250110}, None),
        (True, None),
    ],
)
def test_a_published_number_has_its_leading_zeros_and_no_blanks(
    published: object, number: str | None
) -> None:
    assert account_import.padded_number(published, 9) == number


def test_a_figure_of_another_day_of_an_earlier_year_replaces_no_accounts(tmp_path: Path) -> None:
    """The filing of 2024 has a balance of June 2023, but the year 2023 closed in March."""
    stray = with_earlier_balance(filing_of_assets(7, "2024-03-31"), "Equity", "2023-06-30")
    files = [
        write_filing(tmp_path / "a.xml", filing_of_assets(5, "2023-03-31")),
        write_filing(tmp_path / "b.xml", stray),
    ]
    _, lines = import_accounts("dk-comptes", files, tmp_path / "out")

    assert lines.select("exercice", "code", "valeur").rows() == [
        (2023, "TotalAssets", 5.0), (2024, "TotalAssets", 7.0),
    ]  # fmt: skip
