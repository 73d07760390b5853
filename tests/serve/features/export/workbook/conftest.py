"""Workbooks of the companies of the HTTP tests: plan `integral` in French and English, and plan `free`."""

import pytest

from tests.serve.features.export.workbook.workbooks import ACCOUNTS, WorkbookFile, make_workbook


@pytest.fixture(scope="session")
def full_workbook(tmp_path_factory: pytest.TempPathFactory) -> WorkbookFile:
    """A workbook in French, with contacts and statements."""
    return make_workbook(tmp_path_factory.mktemp("full"), comptes=ACCOUNTS)


@pytest.fixture(scope="session")
def free_workbook(tmp_path_factory: pytest.TempPathFactory) -> WorkbookFile:
    """A workbook in French, as the plan `free` gets it: without contacts, with fewer companies."""
    return make_workbook(tmp_path_factory.mktemp("free"), plan="free")


@pytest.fixture(scope="session")
def english_workbook(tmp_path_factory: pytest.TempPathFactory) -> WorkbookFile:
    """A workbook in English, with contacts and statements."""
    return make_workbook(tmp_path_factory.mktemp("english"), comptes=ACCOUNTS, lang="en")
