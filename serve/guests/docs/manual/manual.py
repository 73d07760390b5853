"""The documentation for people, put together once when a server starts."""

from functools import cache
from typing import NamedTuple

from serve.guests.docs.manual import finder, reference
from serve.guests.docs.manual.finder import ManualEntry
from serve.guests.docs.manual.reference import ManualReference
from serve.guests.docs.openapi import document


class Manual(NamedTuple):
    """The pages of the reference, and what the search of the documentation knows."""

    reference: ManualReference
    entries: tuple[ManualEntry, ...]


@cache
def manual() -> Manual:
    """The documentation; neither address nor limits of a server are in it, so that there is one for all."""
    pages = reference.reference(document.document())
    return Manual(pages, finder.entries(pages))
