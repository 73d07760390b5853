"""The website as a surface: it has pages and no operation."""

from typing import Final

from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.feature import Feature, OpenFeature
from serve.surfaces.site import cookies, render
from serve.surfaces.site.adapter import Website
from serve.surfaces.site.page_request import PageContext
from serve.surfaces.site.routes import pages_of


def open_site(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Open the pages: templates are compiled, and the key that signs cookies is read."""
    assert context.config.state
    product, signer = context.product, cookies.load_signer(context.config.state)
    render.prepare(product)
    pages = PageContext(context, pages_of(product), signer, context.now())
    return OpenFeature(site=Website(pages))


SURFACE: Final = Feature(__package__, open=open_site)
