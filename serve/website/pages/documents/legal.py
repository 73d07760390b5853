"""/mentions-legales: who operates the service, how to reach them, and what is done with personal data."""

from dataclasses import MISSING, fields

from serve.access.result import Response
from serve.services.settings import EditorSettings
from serve.website import sessions
from serve.website.page_request import PageRequest
from serve.website.render import page


async def legal(request: PageRequest) -> Response:
    """The legal notice from the section `[editeur]` of the settings; without it, which settings are missing."""
    return page(
        request, "legal.html",
        editor=request.server.config.editeur,
        needed=[one.name for one in fields(EditorSettings) if one.default is MISSING],
        days=sessions.LASTS.days,
    )  # fmt: skip
