"""POST /export: the file of a search, for a person who is logged in (extensions X10).

It is the export of the API, with the rights and the meter of the organisation's plan, whatever the rights of its keys.
Only a form with the token of the session starts an export, not a link. The form is templates/export_form.html.
"""

from typing import Final

from serve.access import admission, billing
from serve.access.call import Response
from serve.contract.files import OwnList
from serve.features.export import export
from serve.request import reader
from serve.request.reader import Pairs
from serve.surfaces.site.page_request import EXPORT_FIELDS, PageRequest, WebRoute, pairs_without

# The parameters of a result page that an export does not have.
_PAGE_PARAMETERS: Final = ("limit", "offset", "version", "lang")


async def download(request: PageRequest, own: OwnList | None = None) -> Response:
    """The file of a search or of a list, counted as an export of the month; the list gives its name to the file.

    Raises:
        ApiError: 400, 409, 429, 503, each shown as a page; nothing is counted.
        StoreUnavailable: nothing is counted, or possibly counted if `maybe_done`.
    """

    async def read() -> Pairs:
        """The parameters of the search, then the fields of the export form and the language."""
        form = request.form
        search = reader.query_pairs(form.get("recherche", "").removeprefix("?"))
        fields = [(name, form[name]) for name in EXPORT_FIELDS if form.get(name)]
        return (
            *pairs_without(search, (*_PAGE_PARAMETERS, *EXPORT_FIELDS)),
            *fields,
            ("lang", request.lang),
        )

    call = request.ask("/api/v1/export", ())
    await admission.admit_caller(call, billing.current_exports)
    return await export.make_export(call, read, own=own)


PAGES: Final = (WebRoute("/export", "export-page", post=download, personal=True),)
