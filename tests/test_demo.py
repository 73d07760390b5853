"""The demonstration: it has every bundled excerpt, each with its date, and fifteen countries or more."""

from pathlib import Path
from typing import Final

from pipeline.registers import REGISTERS
from seeds import TABLES
from shards.generations import generation_files, pointer, reference, register_sources
from tests import demo

RAW: Final = TABLES / "raw"
# The CSV of rows whose JSON is imported, and a legend without its table.
LEFT_OUT: Final = {RAW / "no" / "enheter_2024_54col.csv", RAW / "ro" / "web_bl_bs_sl_an2023.csv"}


def test_every_excerpt_is_imported_by_an_importer_that_there_is() -> None:
    found = [path for one in demo.excerpts() for path in RAW.glob(one["fichiers"])]

    assert len(found) == len(set(found))
    assert {*found, *LEFT_OUT} == {path for path in RAW.glob("*/*")}
    assert {one["source"] for one in demo.excerpts()} <= REGISTERS.keys()


def test_the_demonstration_has_companies_of_fifteen_countries_or_more(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current(demo_data))
    lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    there = {one.iso2 for one in lists.pays if lists.societes(one.iso2)}
    registers = {
        iso2
        for iso2, imports in sources.items()
        if any(one.table == "companies" and not one.completes(iso2) for one in imports)
    }
    assert len(there) >= 23
    assert len(registers) >= 15
    assert there <= sources.keys()


def test_no_date_of_the_demonstration_is_that_of_the_checkout(demo_data: Path) -> None:
    folder = demo_data / str(pointer.current(demo_data))
    sources = register_sources.load((folder / register_sources.SOURCES).read_bytes())

    found = {
        (one.source, file.nom): file.origine_date
        for imports in sources.values()
        for one in imports
        for file in one.fichiers
    }
    assert "modification" not in found.values(), found
