"""`python -m tests.serve.surfaces.site.pictures DATA`: the pictures of the README, and the one of shared links.

Those of the README are pages as a person with a free account sees them, of the data of `make demo`, as WebP. A shared
link has one picture, whatever its page (Open Graph, 1200 by 630 pixels): the map of the front page without numbers.
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

# What the picture of shared links leaves out, and the sizes of the rest.
_POSTER: Final = """
  .top nav, .who, .under, .chips, form, main > section, .lists, footer, .map .n { display: none !important; }
  html { scrollbar-gutter: auto; } body { overflow: hidden; }
  .top { max-width: none; padding: 40px 60px 0; } .brand { font-size: 44px; }
  main { max-width: none; padding: 20px 60px; } .wow { grid-template-columns: 1fr 560px; }
  .wow h1 { font-size: 44px; } .lead { font-size: 28px; } .map text { translate: 0 6px; }
  .map a rect { fill: var(--accent) !important; } .map a text { fill: var(--accent-ink) !important; }
"""
_WORDS: Final = """() => {
  document.querySelector("h1").innerHTML = "Une recherche,<br>toute l’Europe.";
  document.querySelector(".lead").textContent = "One search, all of Europe.";
}"""
_WEBP: Final = """async (png) => {
  const image = new Image(); image.src = "data:image/png;base64," + png; await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", 0.75).split(",")[1];
}"""


def main(data: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(data, Path(folder) / "state") as server,
        browser() as chromium,
    ):
        _shared(chromium, server.address)
        with window(chromium, server.address, viewport=_DESK) as opened:
            _sign_up(opened.page, server.address)
            opened.open("/?lang=en")  # the README is English
            _keep(opened.open(_SEARCH), "search")
            page = opened.open(_COMPANY)
            page.get_by_role("button", name="Show the full record").click()
            page.set_viewport_size(PHONE)
            _keep(opened.open(_COMPANY), "company")


def _shared(chromium: Browser, address: str) -> None:
    size = {"width": 1200, "height": 630}
    with window(chromium, address, viewport=size, bypass_csp=True) as opened:
        page = opened.open("/")
        page.add_style_tag(content=_POSTER)
        page.evaluate(_WORDS)
        page.screenshot(path=SHARED)


def _sign_up(page: Page, address: str) -> None:
    """A new account, logged in."""
    page.goto(f"{address}/inscription")
    page.get_by_label("Organisation").fill("Exemple SARL")
    for button in ("Créer le compte", "Se connecter"):
        page.get_by_label("E-mail").fill("personne@exemple.fr")
        page.get_by_label("Mot de passe").fill(_PASSWORD)
        page.get_by_role("button", name=button).click()
    page.locator(".made").wait_for()


def _keep(page: Page, name: str) -> None:
    png = base64.b64encode(page.screenshot()).decode()
    page.goto("about:blank")
    webp = base64.b64decode(page.evaluate(_WEBP, png))
    (_FOLDER / f"{name}.webp").write_bytes(webp)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the DATA folder of the demo")
    main(Path(sys.argv[1]))
