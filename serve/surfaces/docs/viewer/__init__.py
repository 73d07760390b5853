"""The page /docs/essai: the description of the API in swagger-ui, whose calls can be tried.

`vendor/` has the viewer as it was published, with its licence, so that the page loads nothing from
other hosts. `python tests/judges/openapi/viewer.py` downloads it again, and `vendor/SHA256SUMS` has the digests. The
names of its files contain the version, so browsers may cache them for ever. The page, its script and `essai.css` are
ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from serve.access.call import Response
from serve.contract.parameters import Parameter

_FOLDER: Final = Path(__file__).parent
VENDORED: Final = _FOLDER / "vendor"
VERSION: Final = "5.35.0"  # of swagger-ui-dist

# Of a file with the version in its name, which never changes.
_FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

TRIAL: Final = "essai"  # the name of the page below /docs

# Name in the URL -> file, media type.
FILES: Final[Mapping[str, tuple[Path, str]]] = {
    f"swagger-ui-{VERSION}.js": (VENDORED / "swagger-ui-bundle.js", "text/javascript"),
    f"swagger-ui-{VERSION}.css": (VENDORED / "swagger-ui.css", "text/css"),
    f"favicon-{VERSION}.png": (VENDORED / "favicon-32x32.png", "image/png"),
    "start.js": (_FOLDER / "start.js", "text/javascript"),
    "essai.css": (_FOLDER / "essai.css", "text/css"),
}
# What stands for them in the path.
FILE: Final = Parameter("file", TRIAL, "choice", enum=(TRIAL, *FILES))


def viewer(base_url: str) -> Mapping[str, Response]:
    """The page and its files, by path.

    Args:
        base_url: the address to which the page may send requests, besides its own origin.
    """
    html = (_FOLDER / "index.html").read_text().replace("VERSION", VERSION)
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; connect-src 'self' {base_url}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ).replace(" ;", ";")
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    files = {
        f"docs/{name}": Response(200, path.read_bytes(), _headers(name, kind))
        for name, (path, kind) in FILES.items()
    }
    return {f"docs/{TRIAL}": Response(200, html.encode(), headers), **files}


def _headers(name: str, kind: str) -> dict[str, str]:
    headers = {"Content-Type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind}
    return headers | _FOREVER if VERSION in name else headers
