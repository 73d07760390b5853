"""All pages of the service, by path: the description of the API in its three forms."""

from collections.abc import Mapping
from functools import cache

from serve import llms
from serve.openapi import document
from serve.pages import Page
from serve.viewer import viewer


@cache
def documents(base_url: str) -> Mapping[str, Page]:
    """Made once; `base_url`: where the service is, as its callers write it."""
    return {"openapi.json": document.page(base_url), **viewer(base_url), **llms.made(base_url)}
