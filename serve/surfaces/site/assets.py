"""The stylesheet, the scripts, the letters, the icon, and the picture of shared links (1200 by 630 pixels).

The path of each contains a digest of its bytes, so that browsers may keep it for ever. The stylesheet names the files
of letters (Inter, by the Inter Project Authors, OFL 1.1; `inter-LICENSE.txt`), which are served under their paths.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "assets"
PREFIX: Final = "assets"

_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file with its Content-Type."""

    kind: str
    body: bytes


@cache
def names() -> Mapping[str, str]:
    """The path of each asset by file name: `style.css` → `/assets/1a2b3c4d-style.css`."""
    return {path.name: f"/{PREFIX}/{_digest(path)}-{path.name}" for path in _files()}


@cache
def by_path() -> Mapping[str, Asset]:
    """Each asset by the last part of its path."""
    return {
        names()[path.name].rpartition("/")[2]: Asset(_KINDS[path.suffix], _body(path))
        for path in _files()
    }


def _files() -> list[Path]:
    return sorted(path for path in FOLDER.iterdir() if path.suffix in _KINDS)


def _body(path: Path) -> bytes:
    body = path.read_bytes()
    if path.suffix == ".css":
        for letters in FOLDER.glob("*.woff2"):
            served = f"/{PREFIX}/{_digest(letters)}-{letters.name}"
            body = body.replace(f"url({letters.name})".encode(), f"url({served})".encode())
    return body


def _digest(path: Path) -> str:
    return hashlib.sha256(_body(path)).hexdigest()[:8]
