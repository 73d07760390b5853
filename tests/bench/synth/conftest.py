"""Synthetic companies for the tests of this folder."""

from pathlib import Path

import polars as pl
import pytest

from tests.bench.synth import writer
from tests.bench.synth.synthetic import rows
from tests.bench.synth.writer import SynthOptions


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic input of 20 000 companies, a fifth with statements."""
    out = tmp_path_factory.mktemp("synth")
    writer.run(SynthOptions(companies=20_000, seed=1, out=out, comptes=0.2, jobs=1))
    return out


@pytest.fixture(scope="session")
def companies(folder: Path) -> pl.DataFrame:
    """The companies of the input."""
    return rows(folder, "companies")


@pytest.fixture(scope="session")
def comptes(folder: Path) -> pl.DataFrame:
    """The statement lines of the input."""
    return rows(folder, "comptes")
