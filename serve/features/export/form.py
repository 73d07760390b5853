"""POST /export: the file of a search, for a person who is logged in (extensions X10).

It is the export of the API with the rights and the meter of the organisation's plan, whatever its keys may do; a
form with the token of the session asks for it, never a link. The form is templates/export_form.html.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, urlencode

from quota.results import CountedExport, Meter
from serve.access import admission, billing
from serve.access.call import Response
from serve.guests.files import export
from serve.guests.files.export import ExportCall
from serve.guests.files.workbook.export_request import OwnList
from serve.guests.site.page_request import PageRequest, pairs_without
from serve.request import query_string
from serve.request.query_string import Pairs

# The parameters of a page of results that an export does not have.
_OF_A_PAGE: Final = ("limit", "offset", "version", "lang")
# The parameters that fields of the form have.
_OWN: Final = ("format", "comptes", "colonnes", "limit")


async def download(request: PageRequest, own: OwnList | None = None) -> Response:
    """The file, counted as an export of the month; that of a list has its name.

    Raises:
        ApiError: 400, 409, 429, 503, each shown as a page; nothing is counted.
        StoreUnavailable: not counted, or `maybe_done`.
    """

    async def read() -> Pairs:
        form = request.form
        search = query_string.pairs(form.get("recherche", "").removeprefix("?"))
        named = [(name, form[name]) for name in _OWN if form.get(name)]
        return (*pairs_without(search, (*_OF_A_PAGE, *_OWN)), *named, ("lang", request.lang))

    server, trace = request.server, request.trace
    admitted = await admission.admit_caller(server, request.caller, trace, billing.current_exports)
    call = ExportCall(read, None, request.is_gone, own=own)
    return await export.make_export(server, admitted, call, trace)


async def meter(request: PageRequest) -> Meter | None:
    """The exports of the month, for the form; None for a visitor, who has none.

    Raises:
        StoreUnavailable
    """
    if request.session is None:
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
    own = {name: ",".join(value for known, value in given if known == name) for name in _OWN}
    return {"recherche": urlencode(pairs_without(given, _OWN)), **own, "format": export.format}
