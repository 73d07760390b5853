"""The files of the site itself: assets, /robots.txt, /sitemap.xml and its parts, /.well-known/security.txt, the icon.

Assets are the stylesheet, the scripts, the fonts, the icon, and the picture of shared links (1200 by 630 pixels). The
path of an asset contains a digest of its bytes, so browsers may cache it for ever. The stylesheet names the files of
the font (Inter, by the Inter Project Authors, OFL 1.1; `inter-LICENSE.txt`); the names are replaced by their paths.

The sitemap lists the pages of the menu and, for each country, its searches by sector. It does not list companies:
each record is public, but a list of all companies is a paid export (§8). Crawlers reach records through the searches.
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

# The paths of the API, which crawlers must not read, and of the search page.
_API: Final = "/api/"
_SEARCH: Final = "/"
# The contact in security.txt: the schemes of a URI, and the complete contact.
_URI: Final = re.compile(r"(?i)(?:https|mailto|tel):")
_CONTACT: Final = re.compile(r"(?i)https://\S+|mailto:[^\s@]+@[^\s@]+|tel:\+?[0-9.()-]+")
_SCHEMA: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SECURITY_LIFETIME: Final = timedelta(days=180)  # RFC 9116 §2.5.5 recommends less than a year
_ONE_HOUR: Final = {"Cache-Control": "public, max-age=3600"}
# Without `base_url` the addresses have the `Host` of the caller, so no shared cache may store them.
_NOT_STORED: Final = {"Cache-Control": "private, no-store"}

ASSETS: Final = Path(__file__).parent / "assets"
# The folder in the paths of assets.
PREFIX: Final = "assets"

# The Content-Type of an asset by its file ending.
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
    return {path.name: f"/{PREFIX}/{_asset_digest(path)}-{path.name}" for path in _asset_files()}


@cache
def assets_by_name() -> Mapping[str, Asset]:
    """Each asset by the last part of its path."""
    return {
        asset_paths()[path.name].rpartition("/")[2]: Asset(
            _ASSET_KINDS[path.suffix], _asset_body(path)
        )
        for path in _asset_files()
    }


def _asset_files() -> list[Path]:
    """The files in the folder of assets that are served; its licence is not."""
    return sorted(path for path in ASSETS.iterdir() if path.suffix in _ASSET_KINDS)


def _asset_body(path: Path) -> bytes:
    """The bytes of an asset; in the stylesheet, the names of font files are replaced by their paths."""
    body = path.read_bytes()
    if path.suffix == ".css":
        for font in ASSETS.glob("*.woff2"):
            font_path = f"/{PREFIX}/{_asset_digest(font)}-{font.name}"
            body = body.replace(f"url({font.name})".encode(), f"url({font_path})".encode())
    return body


def _asset_digest(path: Path) -> str:
    """The beginning of the digest of an asset, for its path: changed bytes get another path."""
    return hashlib.sha256(_asset_body(path)).hexdigest()[:8]


async def robots(request: PageRequest) -> Response:
    """The rules for crawlers."""
    closed = "".join(f"Disallow: {path}\n" for path in (*request.context.pages.closed, _API))
    text = f"User-agent: *\n{closed}Sitemap: {request.origin}/sitemap.xml\n"
    kind = {"Content-Type": "text/plain; charset=utf-8"}
    return Response(200, text.encode(), {**kind, **_cache_headers(request)})


async def security(request: PageRequest) -> Response:
    """The contact for reports of vulnerabilities (RFC 9116), made for each request, so that it never expires.

    Raises:
        ApiError: 404: the address of the operator is not a URI or an email address.
    """
    address = request.server.config.operator_address or ""
    contact = address if _URI.match(address) else f"mailto:{address}"
    if not _CONTACT.fullmatch(contact):
        raise request.server.product.unknown_path(request.path)
    expires = request.now.replace(microsecond=0) + _SECURITY_LIFETIME
    lines = [f"Contact: {contact}", f"Expires: {iso(expires)}", "Preferred-Languages: fr, en"]
    if base := request.server.config.base_url:
        lines.append(f"Canonical: {base}/.well-known/security.txt")
    kind = {"Content-Type": "text/plain; charset=utf-8"}
    return Response(200, "".join(f"{line}\n" for line in lines).encode(), {**kind, **_ONE_HOUR})


async def favicon(_request: PageRequest) -> Response:
    """The icon, for programs that request it without reading a page."""
    asset = assets_by_name()[asset_paths()["icon.svg"].rpartition("/")[2]]
    return Response(200, asset.body, {"Content-Type": asset.kind, **_ONE_HOUR})


async def index(request: PageRequest) -> Response:
    """The index of the sitemaps: pages, then each country with companies.

    Raises:
        ApiError: 503: no generation is served.
    """
    with request.server.published.lease() as generation:
        countries = _searched_countries(request, generation.reference)
    addresses = [f"{request.origin}/sitemap/{part}.xml" for part in ("pages", *countries)]
    return _xml(request, "sitemapindex", "sitemap", addresses)


async def sitemap(request: PageRequest) -> Response:
    """A sitemap that the index names: the pages of the menu, or the searches for a country and each of its sectors.

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
        codes = {cell.secteur for cell in reference.counts[name] if cell.n}
        searches = [[("pays", name)]]
        searches += [
            [("pays", name), ("secteur", sector.slug)]
            for sector in reference.secteurs
            if sector.code in codes
        ]
    addresses = [f"{request.origin}/?{query_string(pairs)}" for pairs in searches]
    return _xml(request, "urlset", "url", addresses)


def _searched_countries(request: PageRequest, reference: Reference) -> list[str]:
    """The countries with companies; empty if the site has no search."""
    if _SEARCH not in request.context.pages:
        return []
    return [country.iso2 for country in reference.pays if reference.societes(country.iso2)]


def _cache_headers(request: PageRequest) -> dict[str, str]:
    """The rules for caches of a file that contains addresses of this server."""
    return _ONE_HOUR if request.server.config.base_url else _NOT_STORED


def _xml(
    request: PageRequest, root_name: str, item_name: str, addresses: Iterable[str]
) -> Response:
    """A document of the sitemap protocol (sitemaps.org, version 0.9): a root element with an item for each address."""
    items = "".join(
        f"<{item_name}><loc>{escape(address)}</loc></{item_name}>\n" for address in addresses
    )
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root_name} xmlns="{_SCHEMA}">\n{items}</{root_name}>\n'
    return Response(
        200, text.encode(), {"Content-Type": "application/xml", **_cache_headers(request)}
    )


async def _asset(request: PageRequest) -> Response:
    """An asset, which browsers may cache for ever because its path contains its digest."""
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
