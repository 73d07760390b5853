"""`python -m tests.serve.surfaces.site.pictures DATA` draws the pictures of the README and of shared links.

The README shows pages of the data of `make demo`, as a person with a free account sees them (WebP). All shared links
have the same picture (Open Graph, 1200 by 630 pixels): the map of the front page without numbers.
"""

import base64
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from serve.surfaces.site import pages
from tests import ROOT
from tests.bench.served import serving
from tests.serve.surfaces.site.browser import PHONE, browser, window

SHARED: Final = pages.ASSETS / "share.png"
_FOLDER: Final = ROOT / "serve" / "surfaces" / "site" / "screenshots"
_DESK: Final = {"width": 1280, "height": 860}
_SEARCH: Final = "/?etat=active&tri=ca_desc"
_COMPANY: Final = "/societes/EE/11966711"
_PASSWORD: Final = "correct horse battery"

# A style of the front page for the picture of shared links: it hides most parts, and enlarges the title and the map.
_POSTER_STYLE: Final = """
  .top nav, .who, .under, .chips, form, main > section, .lists, footer, .map .n { display: none !important; }
  html { scrollbar-gutter: auto; } body { overflow: hidden; }
  .top { max-width: none; padding: 40px 60px 0; } .brand { font-size: 44px; }
  main { max-width: none; padding: 20px 60px; } .wow { grid-template-columns: 1fr 560px; }
  .wow h1 { font-size: 44px; } .lead { font-size: 28px; } .map text { translate: 0 6px; }
  .map a rect { fill: var(--accent) !important; } .map a text { fill: var(--accent-ink) !important; }
"""
# Replaces the texts of the picture of shared links.
_SET_TEXTS: Final = """() => {
  document.querySelector("h1").innerHTML = "Une recherche,<br>toute l’Europe.";
  document.querySelector(".lead").textContent = "One search, all of Europe.";
}"""
# Converts a picture in the browser; both pictures are base64.
_PNG_TO_WEBP: Final = """async (png) => {
  const image = new Image(); image.src = "data:image/png;base64," + png; await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.75).split(",")[1];
}"""


def main(data: Path) -> None:
    """Serve the folder `data`, and draw the pictures of its pages."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(data, Path(folder) / "state") as server,
        browser() as chromium,
    ):
        _save_share(chromium, server.address)
        with window(chromium, server.address, viewport=_DESK) as opened:
            _sign_up(opened.page, server.address)
            opened.open("/?lang=en")  # the README is English
            _save_screenshot(opened.open(_SEARCH), "search")
            page = opened.open(_COMPANY)
            page.get_by_role("button", name="Show the full record").click()
            page.set_viewport_size(PHONE)
            _save_screenshot(opened.open(_COMPANY), "company")


def _save_share(chromium: Browser, address: str) -> None:
    """Save the picture of shared links. Without `bypass_csp` the page would refuse the style."""
    size = {"width": 1200, "height": 630}
    with window(chromium, address, viewport=size, bypass_csp=True) as opened:
        page = opened.open("/")
        page.add_style_tag(content=_POSTER_STYLE)
        page.evaluate(_SET_TEXTS)
        page.screenshot(path=SHARED)


def _sign_up(page: Page, address: str) -> None:
    """Create an account and log in."""
    page.goto(f"{address}/inscription")
    page.get_by_label("Organisation").fill("Exemple SARL")
    for button in ("Créer le compte", "Se connecter"):
        page.get_by_label("E-mail").fill("personne@exemple.fr")
        page.get_by_label("Mot de passe").fill(_PASSWORD)
        page.get_by_role("button", name=button).click()
    page.locator(".made").wait_for()


def _save_screenshot(page: Page, name: str) -> None:
    """Save a page as WebP. It is converted on an empty page, which has no policy against it."""
    png = base64.b64encode(page.screenshot()).decode()
    page.goto("about:blank")
    webp = base64.b64decode(page.evaluate(_PNG_TO_WEBP, png))
    (_FOLDER / f"{name}.webp").write_bytes(webp)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("name the DATA folder of the demo")
    main(Path(sys.argv[1]))
