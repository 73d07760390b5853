"""The page /docs/essai: the description of the API in swagger-ui, where calls can be tried.

`vendor/` has the published files of the viewer with its licence, so the page loads nothing from other hosts.
`python tests/judges/openapi/viewer.py` downloads the files again; `vendor/SHA256SUMS` has their digests. The served
names contain the version, so browsers may cache the files for ever. The page, its script and `essai.css` are not
vendored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from serve.access.call import Response
from serve.contract.parameters import Parameter

_FOLDER: Final = Path(__file__).parent
VENDORED: Final = _FOLDER / "vendor"
VERSION: Final = "5.35.0"  # of swagger-ui-dist

# For files with the version in their names: their content never changes.
_FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

TRIAL: Final = "essai"  # the name of the page below /docs

# The file and the media type of each name in the address.
FILES: Final[Mapping[str, tuple[Path, str]]] = {
    f"swagger-ui-{VERSION}.js": (VENDORED / "swagger-ui-bundle.js", "text/javascript"),
    f"swagger-ui-{VERSION}.css": (VENDORED / "swagger-ui.css", "text/css"),
    f"favicon-{VERSION}.png": (VENDORED / "favicon-32x32.png", "image/png"),
    "start.js": (_FOLDER / "start.js", "text/javascript"),
    "essai.css": (_FOLDER / "essai.css", "text/css"),
}
# The variable part of the path `/docs/{file}`: the name of the page or of a file.
FILE: Final = Parameter("file", TRIAL, "choice", enum=(TRIAL, *FILES))


def viewer(base_url: str) -> Mapping[str, Response]:
    """The page and its files, by path.

    Args:
        base_url: an address to which the page may send requests, in addition to its own origin.
    """
    # The page names its files with the word VERSION in place of the version.
    html = (_FOLDER / "index.html").read_text().replace("VERSION", VERSION)
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; connect-src 'self' {base_url}; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ).replace(" ;", ";")  # without `base_url` a blank is left before a semicolon
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    files = {
        f"docs/{name}": Response(200, path.read_bytes(), _headers(name, kind))
        for name, (path, kind) in FILES.items()
    }
    return {f"docs/{TRIAL}": Response(200, html.encode(), headers), **files}


def _headers(name: str, kind: str) -> dict[str, str]:
    """The headers of the file `name` of media type `kind`; caches may keep a file with the version in its name."""
    headers = {"Content-Type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind}
    return headers | _FOREVER if VERSION in name else headers
