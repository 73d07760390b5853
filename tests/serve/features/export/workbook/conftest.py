"""The workbook of the companies of the HTTP tests, by a plan that sees everything and by `free`."""

import pytest

from tests.serve.features.export.workbook.workbooks import ACCOUNTS, File, of_world


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> File:
    return of_world(tmp_path_factory.mktemp("whole"), comptes=ACCOUNTS)


@pytest.fixture(scope="session")
def free(tmp_path_factory: pytest.TempPathFactory) -> File:
    return of_world(tmp_path_factory.mktemp("free"), plan="free")


@pytest.fixture(scope="session")
def english(tmp_path_factory: pytest.TempPathFactory) -> File:
    return of_world(tmp_path_factory.mktemp("english"), comptes=ACCOUNTS, lang="en")
