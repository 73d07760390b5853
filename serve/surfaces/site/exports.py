"""Exports as pages show them: the meter of the month, the last ones, and the download where a feature makes files."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from quota.results import CountedExport, Meter
from serve.access.call import Response
from serve.surfaces.site.page_request import PageRequest, pairs_without

# The parameters that fields of the form have.
OWN: Final = ("format", "comptes", "colonnes", "limit")


@dataclass(frozen=True, slots=True)
class Downloads:
    """The service that makes the file of a form: of a search, or with the list of a reader as well."""

    download: Callable[[PageRequest, Any], Awaitable[Response]]


async def meter(request: PageRequest) -> Meter | None:
    """The exports of the month, for the form; None for a visitor, who has none, and where none are offered.

    Raises:
        StoreUnavailable
    """
    if request.session is None or request.server.service(Downloads) is None:
        return None
    usage = await request.store.usage(request.session.account.id, request.caller.plan, request.now)
    return usage.exports


def has_lists(exports: Iterable[CountedExport]) -> bool:
    """Whether one of these exports has the companies of a list."""
    return any(
        name == "ids" and "," in value
        for export in exports
        for name, value in parse_qsl(export.search or "")
    )


def repeat_fields(export: CountedExport) -> dict[str, str]:
    """The fields of the form that makes an export again; none if its parameters were not kept."""
    if export.search is None:
        return {}
    given = parse_qsl(export.search)
    own = {name: ",".join(value for known, value in given if known == name) for name in OWN}
    return {"recherche": urlencode(pairs_without(given, OWN)), **own, "format": export.format}
