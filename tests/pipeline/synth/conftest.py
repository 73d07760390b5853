"""Synthetic companies for the tests of this folder."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.synth import writer
from pipeline.synth.writer import SynthOptions
from tests.pipeline.synth.synthetic import rows


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synth")
    writer.run(SynthOptions(companies=20_000, seed=1, out=out, comptes=0.2, jobs=1))
    return out


@pytest.fixture(scope="session")
def companies(folder: Path) -> pl.DataFrame:
    return rows(folder, "companies")


@pytest.fixture(scope="session")
def comptes(folder: Path) -> pl.DataFrame:
    return rows(folder, "comptes")
