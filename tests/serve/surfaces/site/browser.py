"""Debian's Chromium, driven by Playwright; a page that logs an error or leaves the host fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tests.proof.tools import need

# A closed network makes Chromium's own connections fail at every start: it must not try any.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
TIMEOUT = 60_000  # milliseconds; a busy machine takes its time


@dataclass
class Window:
    """A page of a browser, and what it did: requests elsewhere, complaints, what moved."""

    page: Page
    base: str
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def is_calm(self) -> bool:
        """Has nothing complained, and has no request left the host?"""
        assert not self.elsewhere
        assert not self.complaints
        return True


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=need("chromium", "chromium"), args=list(FLAGS)
        )
        yield started
        started.close()


@contextmanager
def window(browser: Browser, base: str, **options: Any) -> Iterator[Window]:
    """A window of its own, with no cookie; `options` as of Playwright's `new_context`."""
    context: BrowserContext = browser.new_context(locale="fr-FR", **options)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    opened = Window(page, base)

    def watch(request: Request) -> None:
        if urlsplit(request.url).netloc != urlsplit(base).netloc:
            opened.elsewhere.append(request.url)

    page.on("request", watch)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on(
        "console",
        lambda said: opened.complaints.append(said.text) if said.type == "error" else None,
    )
    yield opened
    context.close()
