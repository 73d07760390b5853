"""All documents by path: the description of the API for programs, browsers and language models."""

from collections.abc import Mapping
from functools import cache

from serve.config import BurstLimits
from serve.contract.feature import Product
from serve.http.static_pages import StaticPage
from serve.surfaces.docs import document, llms
from serve.surfaces.docs.viewer import viewer


@cache
def documents(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, StaticPage]:
    """The documents of a server, made once.

    Args:
        base_url: the address of the service as callers write it.
        debit: the burst limits of the server.
    """
    described = {"openapi.json": document.page(product, base_url, debit)}
    return {**described, **viewer(base_url), **llms.make_pages(product, base_url, debit)}
