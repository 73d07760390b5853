"""The paths of the website: a table from a path to the functions of its page."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.access.call import Response
from serve.contract import parameters
from serve.features.account.pages import account, login, members, one_time_links, payment
from serve.features.analyses import pages as analysis
from serve.features.export import form
from serve.features.matching.csv_files import list_file
from serve.features.matching.pages import list_page, matching
from serve.features.record import pages as record
from serve.features.reference import pages as sources
from serve.features.search.pages import explorer, suggestions
from serve.features.service import legal, status
from serve.guests.docs import pages as manual
from serve.guests.site import assets, crawlers
from serve.guests.site.page_request import PageRequest

FIELDS: Final = 32
PAIRS: Final = 64
# A search by the form may name every country and sector, each by a parameter of its own.
_SEARCH_PAIRS: Final = 512
_SEARCHED: Final = frozenset(parameters.names(parameters.SEARCH))
PageHandler = Callable[[PageRequest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WebRoute:
    """A path of the website, and its handler per method.

    Attributes:
        get: shows the page, for GET and HEAD.
        post: processes a form.
        personal: only for people who are logged in; others are redirected to the log-in.
        remembers: has a form for visitors, whose browser must be recognized when it is sent.
        file: the largest form with a file, in bytes; 0 where no form has one.
        fields: as many as a form may have.
        parameters: those of its query that its links to itself repeat.
        pairs: as many parameters as a query may have.
        kept: the page is the same for all who are not logged in, until the next generation.
        signature: the header with the signature of a message that is no form; "" for forms.
        guarded: a form must come from a page of this server (all but those that do nothing).
    """

    name: str
    get: PageHandler | None = None
    post: PageHandler | None = None
    personal: bool = False
    remembers: bool = False
    file: int = 0
    fields: int = FIELDS
    parameters: Collection[str] = ()
    pairs: int = PAIRS
    kept: bool = False
    signature: str = ""
    guarded: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        return (*(("GET", "HEAD") if self.get else ()), *(("POST",) if self.post else ()))


async def _asset(request: PageRequest) -> Response:
    asset = assets.by_path()[request.segments[0]]
    headers = {"Content-Type": asset.kind, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(200, asset.body, headers)


_PLAIN: Final[Mapping[str, WebRoute]] = {
    "/": WebRoute("explorateur", explorer.explorer, parameters=_SEARCHED, pairs=_SEARCH_PAIRS),
    "/chiffres": WebRoute("chiffres", explorer.figures, parameters=_SEARCHED, pairs=_SEARCH_PAIRS),
    "/propositions": WebRoute("propositions", suggestions.suggestions),
    "/tarifs": WebRoute("tarifs", payment.prices, payment.buy, guarded=False, kept=True),
    "/inscription": WebRoute("inscription", login.sign_up_form, login.sign_up, remembers=True),
    "/connexion": WebRoute(
        "connexion", login.log_in_form, login.log_in, remembers=True, parameters=("suite",)
    ),
    "/deconnexion": WebRoute("deconnexion", post=login.log_out),
    "/compte": WebRoute("compte", account.show, personal=True),
    "/compte/cles": WebRoute("cle", post=account.create_key, personal=True),
    "/compte/cles/revocation": WebRoute("revocation", post=account.revoke_key, personal=True),
    "/compte/adresses": WebRoute("adresse", post=account.create_address, personal=True),
    "/compte/adresses/revocation": WebRoute(
        "adresse-revocation", post=account.revoke_address, personal=True
    ),
    "/compte/mot-de-passe": WebRoute("mot-de-passe", post=account.change_password, personal=True),
    "/compte/confirmation": WebRoute(
        "envoi-confirmation", post=one_time_links.send_confirmation, personal=True
    ),
    "/compte/membres": WebRoute("membres", members.show, members.change, personal=True),
    "/mot-de-passe": WebRoute(
        "mot-de-passe-perdu",
        one_time_links.lost_form,
        one_time_links.send_password_link,
        remembers=True,
    ),
    "/rapprochement": WebRoute(
        "liste",
        matching.show,
        matching.match,
        remembers=True,
        file=list_file.LARGEST,
        fields=FIELDS + list_file.MOST_COLUMNS,
    ),
    "/compte/facturation": WebRoute("facturation", post=payment.invoices, personal=True),
    "/paiement/evenements": WebRoute(
        "evenements", post=payment.event, guarded=False, signature="Stripe-Signature"
    ),
    "/robots.txt": WebRoute("robots", crawlers.robots),
    "/.well-known/security.txt": WebRoute("securite", crawlers.security),
    "/favicon.ico": WebRoute("favicon", crawlers.favicon),
    "/sitemap.xml": WebRoute("plan-du-site", crawlers.index),
    "/export": WebRoute("export-page", post=form.download, personal=True),
    "/statut": WebRoute("statut", status.status),
    "/sources": WebRoute("sources", sources.sources, kept=True),
    "/docs": WebRoute("docs", manual.contents, parameters=("q",), kept=True),
    "/mentions-legales": WebRoute("mentions-legales", legal.legal_notice, kept=True),
    "/confidentialite": WebRoute("confidentialite", legal.privacy),
}
# By the second part of the path; the third is variable.
_MANUAL: Final[Mapping[str, WebRoute]] = {
    "guides": WebRoute("docs-guide", manual.guide, kept=True),
    "routes": WebRoute("docs-route", manual.operation, kept=True),
    "objets": WebRoute("docs-objet", manual.described_object, kept=True),
}
_RECORD: Final = WebRoute("fiche", record.record, record.full_record)
_ANALYSIS: Final = WebRoute("analyse", analysis.show, analysis.buy, personal=True)
_SITEMAP: Final = WebRoute("plan-du-site", crawlers.sitemap)
ASSET: Final = WebRoute("asset", _asset)
# Followed by a token, or the code of a list.
_LINKS: Final[Mapping[str, WebRoute]] = {
    "invitation": WebRoute(
        "invitation", one_time_links.show_invitation, one_time_links.accept, remembers=True
    ),
    "confirmation": WebRoute(
        "confirmation", one_time_links.show_confirmation, one_time_links.confirm, personal=True
    ),
    "mot-de-passe": WebRoute(
        "lien-mot-de-passe", one_time_links.show_password, one_time_links.set_password,
        remembers=True,
    ),
    "listes": WebRoute(
        "liste-gardee", list_page.show, list_page.change, remembers=True,
        parameters=("verdict", "page"),
    ),
}  # fmt: skip


def examples() -> Mapping[str, WebRoute]:
    """A path of each route."""
    variable = {
        "/societes/FR/552100554": _RECORD,
        "/societes/FR/552100554/analyse": _ANALYSIS,
        "/sitemap/pages.xml": _SITEMAP,
        assets.names()["style.css"]: ASSET,
        **{f"/{name}/x": route for name, route in _LINKS.items()},
        "/docs/guides/debuter": _MANUAL["guides"],
        "/docs/routes/searchCompanies": _MANUAL["routes"],
        "/docs/objets/Societe": _MANUAL["objets"],
    }
    return {**_PLAIN, **variable}


def resolve(raw: str) -> tuple[WebRoute, tuple[str, ...]] | None:
    """The route of a path, with its variable parts decoded; None if there is none.

    >>> route, parts = resolve("/societes/AT/FN%2F1")
    >>> route.name, parts
    ('fiche', ('AT', 'FN/1'))
    """
    path = raw if raw == "/" else raw.removesuffix("/")
    if path in _PLAIN:
        return _PLAIN[path], ()
    parts = raw.split("/")[1:]
    is_analysis = len(parts) == 4 and parts[3] == "analyse"
    if (len(parts) == 3 or is_analysis) and parts[0] == "societes":
        # As in serve/http/router.py, bytes that are not UTF-8 become U+FFFD, which no company has.
        decoded = tuple(unquote(part.encode("utf-8", "surrogateescape")) for part in parts[1:3])
        return _ANALYSIS if is_analysis else _RECORD, decoded
    if len(parts) == 2 and parts[0] == "sitemap" and parts[1].endswith(".xml"):
        return _SITEMAP, (parts[1].removesuffix(".xml"),)
    if len(parts) == 3 and parts[0] == "docs" and parts[1] in _MANUAL:
        return _MANUAL[parts[1]], (parts[2],)
    if len(parts) == 2 and parts[0] == assets.PREFIX and parts[1] in assets.by_path():
        return ASSET, (parts[1],)
    if len(parts) == 2 and parts[0] in _LINKS:
        return _LINKS[parts[0]], (parts[1],)
    return None
