"""/docs: the description of the API to be read and tried, in swagger-ui.

The viewer is kept here as its makers publish it (`vendor/`, with its licence; `make viewer` fetches
it again and `vendor/SHA256SUMS` says what it must be), so that the page asks nobody else. Names
hold the version, and are kept for ever by a browser; the page and its few lines of script are ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from serve.api import static_pages
from serve.api.static_pages import FOREVER, SHORT, StaticPage

_FOLDER: Final = Path(__file__).parent
VENDORED: Final = _FOLDER / "vendor"
VERSION: Final = "5.35.0"  # of swagger-ui-dist; the Makefile reads it here

# The name in the address -> the file, its type.
FILES: Final[Mapping[str, tuple[Path, str]]] = {
    f"swagger-ui-{VERSION}.js": (VENDORED / "swagger-ui-bundle.js", "text/javascript"),
    f"swagger-ui-{VERSION}.css": (VENDORED / "swagger-ui.css", "text/css"),
    f"favicon-{VERSION}.png": (VENDORED / "favicon-32x32.png", "image/png"),
    "start.js": (_FOLDER / "start.js", "text/javascript"),
}


def viewer(base_url: str) -> Mapping[str, StaticPage]:
    """The page and its files, by path.

    Args:
        base_url: where the page may send what is tried there, besides where it came from.
    """
    html = (_FOLDER / "index.html").read_text().replace("VERSION", VERSION)
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; connect-src 'self' {base_url}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ).replace(" ;", ";")
    head = static_pages.page(
        html.encode(), "text/html; charset=utf-8", Content_Security_Policy=policy, Vary="Accept"
    )
    files = {
        f"docs/{name}": static_pages.page(
            path.read_bytes(), _kind(kind), FOREVER if VERSION in name else SHORT
        )
        for name, (path, kind) in FILES.items()
    }
    return {"docs": head, **files}


def _kind(kind: str) -> str:
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
