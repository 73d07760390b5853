"""The documentation for people, put together once when a server starts."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, get_args

from serve.contract.feature import Product
from serve.contract.text import Lang
from serve.surfaces.docs import document, finder, reference
from serve.surfaces.docs.finder import ManualEntry
from serve.surfaces.docs.guide_list import guides_of
from serve.surfaces.docs.reference import ManualReference


class Manual(NamedTuple):
    """The pages of the reference by language, and what the search of the documentation knows."""

    references: Mapping[Lang, ManualReference]
    entries: tuple[ManualEntry, ...]


@cache
def manual(product: Product) -> Manual:
    """The documentation; neither address nor limits of a server are in it, so that there is one for all."""
    languages: tuple[Lang, ...] = get_args(Lang)
    pages = {lang: reference.reference(document.document(product, lang=lang)) for lang in languages}
    return Manual(pages, finder.entries(guides_of(product).values(), pages["fr"], pages["en"]))
