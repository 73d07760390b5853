"""POST /export: the file of a search, for a person who is logged in (extensions X10).

It is the export of the API with the rights and the meter of the organisation's plan, whatever its keys may do; a
form with the token of the session asks for it, never a link. The form is templates/export_form.html.
"""

from typing import Final

from serve.access import admission, billing
from serve.access.call import Response
from serve.contract.files import OwnList
from serve.features.export import export
from serve.request import reader
from serve.request.reader import Pairs
from serve.surfaces.site.page_request import EXPORT_FIELDS, PageRequest, WebRoute, pairs_without

# The parameters of a page of results that an export does not have.
_OF_A_PAGE: Final = ("limit", "offset", "version", "lang")


async def download(request: PageRequest, own: OwnList | None = None) -> Response:
    """The file, counted as an export of the month; that of a list has its name.

    Raises:
        ApiError: 400, 409, 429, 503, each shown as a page; nothing is counted.
        StoreUnavailable: not counted, or `maybe_done`.
    """

    async def read() -> Pairs:
        form = request.form
        search = reader.query_pairs(form.get("recherche", "").removeprefix("?"))
        named = [(name, form[name]) for name in EXPORT_FIELDS if form.get(name)]
        return (
            *pairs_without(search, (*_OF_A_PAGE, *EXPORT_FIELDS)),
            *named,
            ("lang", request.lang),
        )

    call = request.ask("/api/v1/export", ())
    await admission.admit_caller(call, billing.current_exports)
    return await export.make_export(call, read, own=own)


PAGES: Final = (WebRoute("/export", "export-page", post=download, personal=True),)
