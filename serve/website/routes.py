"""Which path is which page. A table, so that the pages can be read at a glance."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.access.result import Response
from serve.website import assets
from serve.website.page_request import PageContext, PageRequest
from serve.website.pages import account, entry, explorer, prices, record, status

Show = Callable[[PageContext, PageRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WebRoute:
    """A page: what shows it, and what a form of it does.

    Attributes:
        personal: for who is logged in; others are sent to the log-in.
        remembers: has a form for visitors, whose browser has to be known again.
        guarded: a form must come from a page of ours (all but what does nothing).
    """

    name: str
    show: Show | None = None
    send: Show | None = None
    personal: bool = False
    remembers: bool = False
    guarded: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        return (*(("GET", "HEAD") if self.show else ()), *(("POST",) if self.send else ()))


async def _asset(desk: PageContext, visit: PageRequest) -> Response:
    asset = assets.by_path()[visit.segments[0]]
    headers = {"Content-Type": asset.kind, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(200, asset.body, headers)


_PLAIN: Final[Mapping[str, WebRoute]] = {
    "/": WebRoute("explorateur", explorer.explorer),
    "/chiffres": WebRoute("chiffres", explorer.figures),
    "/tarifs": WebRoute("tarifs", prices.prices, prices.buy, guarded=False),
    "/inscription": WebRoute("inscription", entry.sign_up_form, entry.sign_up, remembers=True),
    "/connexion": WebRoute("connexion", entry.log_in_form, entry.log_in, remembers=True),
    "/deconnexion": WebRoute("deconnexion", send=entry.log_out),
    "/compte": WebRoute("compte", account.show, personal=True),
    "/compte/cles": WebRoute("cle", send=account.create_key, personal=True),
    "/compte/cles/revocation": WebRoute("revocation", send=account.revoke_key, personal=True),
    "/compte/mot-de-passe": WebRoute("mot-de-passe", send=account.change_password, personal=True),
    "/statut": WebRoute("statut", status.status),
}
_RECORD: Final = WebRoute("fiche", record.record, record.full_record)
_ASSET: Final = WebRoute("asset", _asset)


def resolve(raw: str) -> tuple[WebRoute, tuple[str, ...]] | None:
    """The page at this path, with its variable parts decoded; None if there is none.

    >>> page, parts = resolve("/societes/AT/FN%2F1")
    >>> page.name, parts
    ('fiche', ('AT', 'FN/1'))
    """
    path = raw if raw == "/" else raw.removesuffix("/")
    if path in _PLAIN:
        return _PLAIN[path], ()
    parts = raw.split("/")[1:]
    if len(parts) == 3 and parts[0] == "societes":
        # What is not UTF-8 becomes U+FFFD, as in serve/api/routes.py: well-formed, and of no company.
        decoded = tuple(unquote(part.encode("utf-8", "surrogateescape")) for part in parts[1:])
        return _RECORD, decoded
    if len(parts) == 2 and parts[0] == assets.PREFIX and parts[1] in assets.by_path():
        return _ASSET, (parts[1],)
    return None
