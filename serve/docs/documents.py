"""All pages of the service, by path: the description of the API in its three forms."""

from collections.abc import Mapping
from functools import cache

from serve.api.static_pages import StaticPage
from serve.config import BurstLimits
from serve.docs import llms
from serve.docs.openapi import document
from serve.docs.viewer import viewer


@cache
def documents(base_url: str, debit: BurstLimits) -> Mapping[str, StaticPage]:
    """Made once.

    Args:
        base_url: where the service is, as its callers write it.
        debit: the limits that it keeps.
    """
    described = {"openapi.json": document.page(base_url, debit)}
    return {**described, **viewer(base_url), **llms.made(base_url, debit)}
