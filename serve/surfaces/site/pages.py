"""The pages of the site itself: assets, and those that programs ask every site for (/robots.txt, /sitemap.xml and its
parts, /.well-known/security.txt, the icon).

Assets are the stylesheet, the scripts, the letters, the icon, and the picture of shared links (1200 by 630 pixels).
The path of each contains a digest of its bytes, so that browsers may keep it for ever. The stylesheet names the files
of letters (Inter, by the Inter Project Authors, OFL 1.1; `inter-LICENSE.txt`), which are served under their paths.

The sitemap lists the pages without a search and, for each country, its search by sector. Companies are not listed: they
are public one by one, but a list of all of them is what plans sell (§8). Crawlers find them by these searches.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from quota.periods import iso
from serve.access.call import Response
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.search_form import query_string
from shards.generations.reference import Reference

_API: Final = "/api/"
_SEARCH: Final = "/"
_URI: Final = re.compile(r"(?i)(?:https|mailto|tel):")
_CONTACT: Final = re.compile(r"(?i)https://\S+|mailto:[^\s@]+@[^\s@]+|tel:\+?[0-9.()-]+")
_SCHEMA: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_LASTS: Final = timedelta(days=180)  # of security.txt; RFC 9116 §2.5.5 wants less than a year
_KEPT: Final = {"Cache-Control": "public, max-age=3600"}
# Without `base_url` the addresses have the `Host` of the caller, which nobody else may be given.
_OWN: Final = {"Cache-Control": "private, no-store"}

ASSETS: Final = Path(__file__).parent / "assets"
PREFIX: Final = "assets"

_ASSET_KINDS: Final = {
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
def asset_paths() -> Mapping[str, str]:
    """The path of each asset by file name: `style.css` → `/assets/1a2b3c4d-style.css`."""
    return {path.name: f"/{PREFIX}/{_digest(path)}-{path.name}" for path in _files()}


@cache
def assets_by_name() -> Mapping[str, Asset]:
    """Each asset by the last part of its path."""
    return {
        asset_paths()[path.name].rpartition("/")[2]: Asset(_ASSET_KINDS[path.suffix], _body(path))
        for path in _files()
    }


def _files() -> list[Path]:
    return sorted(path for path in ASSETS.iterdir() if path.suffix in _ASSET_KINDS)


def _body(path: Path) -> bytes:
    body = path.read_bytes()
    if path.suffix == ".css":
        for letters in ASSETS.glob("*.woff2"):
            served = f"/{PREFIX}/{_digest(letters)}-{letters.name}"
            body = body.replace(f"url({letters.name})".encode(), f"url({served})".encode())
    return body


def _digest(path: Path) -> str:
    return hashlib.sha256(_body(path)).hexdigest()[:8]


async def robots(request: PageRequest) -> Response:
    """The rules for crawlers."""
    closed = "".join(f"Disallow: {path}\n" for path in (*request.context.pages.closed, _API))
    text = f"User-agent: *\n{closed}Sitemap: {request.origin}/sitemap.xml\n"
    kind = {"Content-Type": "text/plain; charset=utf-8"}
    return Response(200, text.encode(), {**kind, **_tag_headers(request)})


async def security(request: PageRequest) -> Response:
    """Where to report a weakness (RFC 9116), made anew for each request, so that it never expires.

    Raises:
        ApiError: 404: the operator has no address that is a URI or of mail.
    """
    address = request.server.config.operator_address or ""
    contact = address if _URI.match(address) else f"mailto:{address}"
    if not _CONTACT.fullmatch(contact):
        raise request.server.product.unknown_path(request.path)
    expires = request.now.replace(microsecond=0) + _LASTS
    lines = [f"Contact: {contact}", f"Expires: {iso(expires)}", "Preferred-Languages: fr, en"]
    if base := request.server.config.base_url:
        lines.append(f"Canonical: {base}/.well-known/security.txt")
    kind = {"Content-Type": "text/plain; charset=utf-8"}
    return Response(200, "".join(f"{line}\n" for line in lines).encode(), {**kind, **_KEPT})


async def favicon(_request: PageRequest) -> Response:
    """The icon, for programs that ask for it without reading the page."""
    asset = assets_by_name()[asset_paths()["icon.svg"].rpartition("/")[2]]
    return Response(200, asset.body, {"Content-Type": asset.kind, **_KEPT})


async def index(request: PageRequest) -> Response:
    """The index of the sitemaps: the pages, then each country with companies.

    Raises:
        ApiError: 503: there is no generation.
    """
    with request.server.published.lease() as generation:
        parts = _searched_countries(request, generation.reference)
    places = [f"{request.origin}/sitemap/{part}.xml" for part in ("pages", *parts)]
    return _xml(request, "sitemapindex", "sitemap", places)


async def sitemap(request: PageRequest) -> Response:
    """One of the sitemaps of the index.

    Raises:
        ApiError: 404, 503.
    """
    name = request.segments[0].removesuffix(".xml")
    if name == "pages":
        summary = request.server.product.operation("readSummary")
        paths = [page.path for page in request.context.pages.menu]
        paths += [summary.path] if summary else []
        return _xml(request, "urlset", "url", [request.origin + path for path in paths])
    with request.server.published.lease() as generation:
        reference = generation.reference
        if name not in _searched_countries(request, reference):
            raise request.server.product.unknown_path(request.path)
        known = {cell.secteur for cell in reference.counts[name] if cell.n}
        searches = [[("pays", name)]]
        searches += [
            [("pays", name), ("secteur", one.slug)]
            for one in reference.secteurs
            if one.code in known
        ]
    places = [f"{request.origin}/?{query_string(one)}" for one in searches]
    return _xml(request, "urlset", "url", places)


def _searched_countries(request: PageRequest, reference: Reference) -> list[str]:
    """The countries whose searches are listed: those with companies, if the site has a search."""
    if _SEARCH not in request.context.pages:
        return []
    return [one.iso2 for one in reference.pays if reference.societes(one.iso2)]


def _tag_headers(request: PageRequest) -> dict[str, str]:
    return _KEPT if request.server.config.base_url else _OWN


def _xml(request: PageRequest, root: str, item: str, places: Iterable[str]) -> Response:
    """A document of the sitemap protocol (sitemaps.org, version 0.9)."""
    items = "".join(f"<{item}><loc>{escape(place)}</loc></{item}>\n" for place in places)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{_SCHEMA}">\n{items}</{root}>\n'
    return Response(
        200, text.encode(), {"Content-Type": "application/xml", **_tag_headers(request)}
    )


async def _asset(request: PageRequest) -> Response:
    """A file of pages."""
    asset = assets_by_name()[request.segments[0]]
    headers = {"Content-Type": asset.kind, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(200, asset.body, headers)


PAGES: Final = (
    WebRoute("/robots.txt", "robots", robots),
    WebRoute("/.well-known/security.txt", "securite", security),
    WebRoute("/favicon.ico", "favicon", favicon),
    WebRoute("/sitemap.xml", "plan-du-site", index),
    WebRoute(
        "/sitemap/{file}", "plan-du-site", sitemap,
        example="/sitemap/pages.xml", has=lambda _, name: name.endswith(".xml"),
    ),
    WebRoute(
        f"/{PREFIX}/{{file}}", "asset", _asset,
        example=asset_paths()["style.css"], is_file=True, has=lambda _, name: name in assets_by_name(),
    ),
)  # fmt: skip
