"""/docs/essai in a real browser: it renders, operations can be tried, and it contacts only this server."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.judges.conftest import Live
from tests.serve.conformance import DOCUMENT

# Flags with which the browser itself makes no requests.
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip

pytestmark = pytest.mark.judge


@dataclass
class WatchedPage:
    """A page with its requests and its console messages."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@pytest.fixture
def docs(live: Live) -> Iterator[WatchedPage]:
    """The page `/docs/essai`, open in Chromium and showing the operations; notes its requests and console messages."""
    chromium = shutil.which("chromium")
    assert chromium, "a browser is needed; try: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        watched = WatchedPage(browser.new_page())
        watched.page.on("request", lambda request: watched.requests.append(request.url))
        watched.page.on(
            "console", lambda message: watched.messages.append(f"{message.type}: {message.text}")
        )
        watched.page.on("pageerror", lambda error: watched.messages.append(str(error)))
        watched.page.goto(f"{live.address}/docs/essai")
        watched.page.wait_for_selector(".opblock")
        yield watched
        browser.close()


def test_every_operation_is_listed(docs: WatchedPage) -> None:
    shown_paths = docs.page.locator(".opblock-summary-path").all_inner_texts()
    documented_paths = [path for path, operations in DOCUMENT["paths"].items() for _ in operations]

    assert sorted(text.replace("\u200b", "") for text in shown_paths) == sorted(documented_paths)


def test_the_page_contacts_only_this_server_and_logs_nothing(docs: WatchedPage, live: Live) -> None:
    """The content policy is strict: a request to another server would log an error"""
    assert docs.requests
    assert not [url for url in docs.requests if not url.startswith((live.address, "data:"))]
    assert not docs.messages


def test_an_operation_can_be_tried(docs: WatchedPage) -> None:
    operation = docs.page.locator("#operations-Lists-listCountries")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table tr.response td.response-col_status")
    answer.first.wait_for()
    operation.locator(".live-responses-table", has_text="Royaume-Uni").wait_for()

    assert "200" in answer.first.inner_text()
    assert "Royaume-Uni" in operation.locator(".live-responses-table").inner_text()
    assert not docs.messages
