"""The rules that all sources of annual accounts share."""

import zipfile
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.annual_accounts import account_import
from tests.pipeline.registers.annual_accounts.filed import counts, imported, instance, values


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
    monkeypatch.setattr("pipeline.registers.statements.filing.LARGEST", 2_000)
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
