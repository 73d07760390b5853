"""/docs in a real browser: it renders, it can be tried, and it asks nobody but this server."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.judges.conftest import Live
from tests.serve.conformance import DOCUMENT

# A browser that asks nobody for itself either.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip

pytestmark = pytest.mark.judge


@dataclass
class Seen:
    """A page, and what it did on its own."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def docs(live: Live) -> Iterator[Seen]:
    """The page, once it shows the operations."""
    chromium = shutil.which("chromium")
    assert chromium, "a browser is needed; try: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        seen = Seen(browser.new_page())
        seen.page.on("request", lambda request: seen.asked.append(request.url))
        seen.page.on("console", lambda told: seen.complaints.append(f"{told.type}: {told.text}"))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.goto(f"{live.address}/docs")
        seen.page.wait_for_selector(".opblock")
        yield seen
        browser.close()


def test_every_operation_is_listed(docs: Seen) -> None:
    shown = docs.page.locator(".opblock-summary-path").all_inner_texts()
    described = [path for path, operations in DOCUMENT["paths"].items() for _ in operations]

    assert sorted(text.replace("\u200b", "") for text in shown) == sorted(described)


def test_nothing_is_asked_of_anybody_else_and_nothing_is_complained_of(
    docs: Seen, live: Live
) -> None:
    """The policy is strict: what the viewer would load from elsewhere would be an error here."""
    assert docs.asked
    assert not [url for url in docs.asked if not url.startswith((live.address, "data:"))]
    assert not docs.complaints


def test_an_operation_can_be_tried(docs: Seen) -> None:
    operation = docs.page.locator("#operations-Lists-listCountries")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table tr.response td.response-col_status")
    answer.first.wait_for()

    assert "200" in answer.first.inner_text()
    assert "Royaume-Uni" in operation.locator(".live-responses-table").inner_text()
    assert not docs.complaints
