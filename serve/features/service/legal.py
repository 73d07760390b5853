"""/mentions-legales: who operates the service, how to reach them, what is done with personal data; /confidentialite."""

from datetime import timedelta

from quota.ledger import activity, lists, tickets
from serve.access.call import Response
from serve.surfaces.site import cookies, sessions
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page, see_other


async def legal_notice(request: PageRequest) -> Response:
    """The legal notice from the section `[editeur]` of the settings.

    Cookies, and how long data are kept, are those of the program.
    """
    config, secure = request.server.config, request.context.is_secure
    days = {
        cookies.VISIT: timedelta(seconds=cookies.VISIT_SECONDS).days,
        cookies.SESSION: sessions.LASTS.days,
        cookies.DEVICE: sessions.DEVICE_LASTS.days,
    }
    return page(
        request, "legal.html",
        editor=config.editeur,
        contact=config.operator_address,
        cookies={kind: (cookies.name(kind, secure=secure), last) for kind, last in days.items()},
        links={kind: seconds // 86_400 for kind, seconds in tickets.LASTS_S.items()},
        key_days=activity.KEPT_DAYS,
        list_days=lists.LASTS_S // 86_400,
    )  # fmt: skip


async def privacy(_request: PageRequest) -> Response:
    """A redirect to what the legal notice says of personal data: people type this address, and others print it."""
    return see_other("/mentions-legales#confidentialite")
