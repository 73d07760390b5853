"""The rows of a published file, counted as its register reads them."""

import tempfile
import zipfile
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.errors import FetchError
from pipeline.nightly import published_files
from pipeline.registers import REGISTERS
from tests import ROOT

RAW = ROOT / "seeds" / "raw"
# An excerpt of the published file of each source.
EXCERPTS = {
    "be-kbo": "be/KboOpenData_2024_09_excerpt.zip",
    "de-offeneregister": "de/offeneregister_excerpt.jsonl.bz2",
    "ee": "ee/ettevotja_rekvisiidid__lihtandmed.csv.zip",
    "fi-prh": "fi/prh_v3_nokia_2026.json",
    "fr-rne": "fr/rne_formalites_2.json",
    "gleif": "gleif/lei2-excerpt-20240505-0000.json.zip",
    "hr-sudreg": "hr/detalji_subjekta_ina.json",
    "ie-cro": "ie/companies.csv",
    "lt-jar": "lt/JAR_IREGISTRUOTI.csv",
    "lv-ur": "lv/register.csv",
    "no-enheter": "no/enheter_6.json",
    "pl-krs": "pl/krs_odpis_aktualny_0000413516.json",
    "ro-onrc": "ro/od_firme_5_of_22_columns.csv",
    "se-bolagsverket": "se/bolagsverket_bulkfil.txt",
    "sk-rpo": "sk/rpo_slovnaft_2026.json",
    "uk-accounts": "uk/Accounts_Bulk_Data-sample.zip",
    "uk-basic": "uk/BasicCompanyData-southyorkshire.zip",
}


@pytest.mark.parametrize("source", sorted(EXCERPTS.keys() - {"be-kbo", "uk-accounts"}))
def test_the_count_of_rows_is_the_number_that_the_importer_reads(source: str) -> None:
    path = RAW / EXCERPTS[source]
    with tempfile.TemporaryDirectory() as work:
        rows_read = REGISTERS[source].read([path], Path(work)).counts.read

    assert published_files.count_rows(path, path.name, REGISTERS[source]) == rows_read


def test_the_rows_of_the_read_files_of_an_archive_are_counted() -> None:
    path = RAW / EXCERPTS["be-kbo"]
    with zipfile.ZipFile(path) as archive:
        row_counts = [archive.read(name).count(b"\n") - 1 for name in archive.namelist()]
        names_not_read = [
            name
            for name in archive.namelist()
            if name in ("meta.csv", "branch.csv", "establishment.csv")
        ]
        rows_not_read = sum(archive.read(name).count(b"\n") - 1 for name in names_not_read)

    assert (
        published_files.count_rows(path, path.name, REGISTERS["be-kbo"])
        == sum(row_counts) - rows_not_read
    )


def test_the_filings_of_an_archive_are_counted() -> None:
    path = RAW / EXCERPTS["uk-accounts"]

    # A row of filed accounts is a file of the zip.
    assert published_files.count_rows(path, path.name, REGISTERS["uk-accounts"]) == 283


def test_the_rows_of_a_parquet_file_are_counted_from_its_footer(tmp_path: Path) -> None:
    path = tmp_path / "StockUniteLegale_utf8.parquet"
    pl.read_csv(RAW / "fr" / "StockUniteLegale_utf8.csv", infer_schema=False).write_parquet(path)

    # The rows of the CSV from which the file was made.
    assert published_files.count_rows(path, path.name, REGISTERS["fr-sirene"]) == 5


def test_a_parquet_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "StockUniteLegale_utf8.parquet"
    pl.read_csv(RAW / "fr" / "StockUniteLegale_utf8.csv", infer_schema=False).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-40])

    count_rows = REGISTERS["fr-sirene"].count_rows
    assert count_rows is not None
    with pytest.raises(InputError, match="is not Parquet"):
        count_rows(path)


@pytest.mark.parametrize("source", ["de-offeneregister", "gleif", "no-enheter", "uk-accounts"])
def test_a_file_that_is_cut_is_refused(tmp_path: Path, source: str) -> None:
    intact = RAW / EXCERPTS[source]
    path = tmp_path / intact.name
    path.write_bytes(intact.read_bytes()[:-300])

    with pytest.raises(FetchError):
        published_files.count_rows(path, path.name, REGISTERS[source])
