"""The paths of the site itself: files of pages, and files that programs ask every site for."""

from typing import Final

from serve.access.call import Response
from serve.surfaces.site import assets, crawlers
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.routes import WebRoute


async def _asset(request: PageRequest) -> Response:
    """A file of pages. Raises ApiError 404."""
    asset = assets.by_path().get(request.segments[0])
    if asset is None:
        raise request.server.product.unknown_path(request.path)
    headers = {"Content-Type": asset.kind, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(200, asset.body, headers)


PAGES: Final = (
    WebRoute("/robots.txt", "robots", crawlers.robots),
    WebRoute("/.well-known/security.txt", "securite", crawlers.security),
    WebRoute("/favicon.ico", "favicon", crawlers.favicon),
    WebRoute("/sitemap.xml", "plan-du-site", crawlers.index),
    WebRoute("/sitemap/{file}", "plan-du-site", crawlers.sitemap, example="/sitemap/pages.xml"),
    WebRoute(
        f"/{assets.PREFIX}/{{file}}", "asset", _asset,
        example=assets.names()["style.css"], is_file=True,
    ),
)  # fmt: skip
