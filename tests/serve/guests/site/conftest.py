"""One browser for all tests of a module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.serve.guests.site import browser as browsers


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browsers.browser() as started:
        yield started
