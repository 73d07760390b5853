"""Debian's Chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from tests.proof.tools import need

# Without a network, Chromium's own connections would fail at each start: these flags turn them off.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
# Sizes of windows in pixels.
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
TIMEOUT = 60_000  # milliseconds, for a busy machine
expect.set_options(timeout=TIMEOUT)


@dataclass
class Window:
    """A page of a browser, its requests to other hosts and its errors."""

    page: Page
    base: str
    foreign_requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Load a page of the site, and wait until it sends no more requests."""
        self.page.goto(self.base + path)
        self.page.wait_for_load_state("networkidle")
        return self.page

    def has_no_faults(self) -> bool:
        """Is there no error and no request to another host? Fails otherwise."""
        assert not self.foreign_requests
        assert not self.errors
        return True


@contextmanager
def browser() -> Iterator[Browser]:
    """Run Chromium without a window on the screen until the end of the block."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=need("chromium", "chromium"), args=list(FLAGS)
        )
        yield chromium
        chromium.close()


@contextmanager
def window(browser: Browser, base: str, **options: Any) -> Iterator[Window]:
    """A new window without cookies; `options` are those of Playwright's `new_context`."""
    context: BrowserContext = browser.new_context(locale="fr-FR", **options)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    opened = Window(page, base)

    def record_foreign_request(request: Request) -> None:
        """Note a request to another host than the site, since the pages of the site must make none."""
        if urlsplit(request.url).netloc != urlsplit(base).netloc:
            opened.foreign_requests.append(request.url)

    page.on("request", record_foreign_request)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    page.on(
        "console",
        lambda message: opened.errors.append(message.text) if message.type == "error" else None,
    )
    yield opened
    context.close()
