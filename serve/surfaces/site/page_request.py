"""The pages of a product, and the request for a page: visitor, language, form, context.

Each feature lists its pages in `PAGES` of its module `pages`. A page is a function of a `PageRequest`, which
`serve/surfaces/site/adapter.py` makes from a request over HTTP.
"""

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from quota.accounts import Account
from quota.ledger.calls import Meter
from quota.ledger.people import Person
from quota.store.interface import LedgerStore, Store
from serve.access.call import Request, Response
from serve.access.context import ServerContext
from serve.access.rights import Caller
from serve.contract import errors
from serve.contract.feature import Product
from serve.contract.text import Text
from serve.http.router import Router
from serve.observe.log import RequestTrace
from serve.request.reader import Pairs
from serve.surfaces.site.cookies import Signer

FIELDS: Final = 32  # the most fields of a form, unless a route has another limit
PAIRS: Final = 64  # the most parameters of a query, unless a route has another limit
# The path of the page of a company, with the names of its variable parts.
RECORD: Final = "/societes/{iso}/{id}"
# The parameters of an export that are fields of its form.
EXPORT_FIELDS: Final = ("format", "comptes", "colonnes", "limit")

# The function that makes a page for a request.
PageHandler = Callable[["PageRequest"], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WebRoute:
    """A path of the website, and its handler per method.

    Attributes:
        path: with the names of its variable parts: `/societes/{iso}/{id}`.
        get: shows the page, for GET and HEAD.
        post: processes a form.
        personal: only for people who are logged in; others are redirected to the log-in.
        remembers: has a form for visitors, whose browser must be recognized when the form is sent.
        file: the largest form with a file, in bytes; 0 if no form has a file.
        fields: the largest number of fields of a form.
        parameters: the parameters of the query that the page repeats in links to itself.
        pairs: the largest number of parameters of a query.
        cached: the page is the same for all visitors who are not logged in, until the next generation.
        signature: the header with the signature of a message that is not a form; "" for forms.
        guarded: a form must come from a page of this server.
        menu: the name of the page in the menu; pages of the menu are also in the sitemap.
        below: the beginning of the paths that belong to the page in the menu.
        place: menu and sitemap are in the order of `place`.
        closed: /robots.txt disallows the page.
        secret: the address of the page contains a token that gives a right.
        example: a path of the page, if it has variable parts.
        is_file: counted as a file, not as a page.
        has: whether the page exists for this value of its variable part.
    """

    path: str
    name: str
    get: PageHandler | None = None
    post: PageHandler | None = None
    personal: bool = False
    remembers: bool = False
    file: int = 0
    fields: int = FIELDS
    parameters: Collection[str] = ()
    pairs: int = PAIRS
    cached: bool = False
    signature: str = ""
    guarded: bool = True
    menu: Text | None = None
    below: str = ""
    place: int = 1_000
    closed: bool = False
    secret: bool = False
    example: str = ""
    is_file: bool = False
    has: Callable[[Product, str], bool] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods of the path: GET and HEAD if it shows a page, POST if it processes a form."""
        return (*(("GET", "HEAD") if self.get else ()), *(("POST",) if self.post else ()))


def record_path(iso2: str, identifier: str) -> str:
    """The path of the record of a company.

    >>> record_path("AT", "FN/1")
    '/societes/AT/FN%2F1'
    """
    return f"/societes/{iso2}/{quote(identifier, safe='')}"


class Pages:
    """The pages of a product, by path. In a product without the search, the first page of the menu answers `/`."""

    def __init__(self, product: Product) -> None:
        """Collect the pages that the modules `pages` of the features and surfaces declare."""
        pages = tuple(page for module in product.modules("pages") for page in module.PAGES)
        self.all: Final = pages
        self._product: Final = product
        self._operations: Final = Router(product.operations)
        self.menu: Final = sorted(
            (page for page in pages if page.menu), key=lambda page: page.place
        )
        self._paths: Final = frozenset(page.path for page in pages)
        # The paths that /robots.txt disallows.
        self.closed: Final = tuple(page.path for page in pages if page.closed)
        # The beginnings of paths that end with a token or with the code of a list.
        self.secret: Final = tuple(page.path.partition("{")[0] for page in pages if page.secret)
        self._fixed_paths: Final = {page.path: page for page in pages if "{" not in page.path}
        if self.menu:
            self._fixed_paths.setdefault("/", self.menu[0])
        # The pages whose paths have variable parts, each after the parts of its path; "" stands for a variable part.
        self._variable: Final = [
            (tuple("" if part.startswith("{") else part for part in page.path.split("/")[1:]), page)
            for page in pages
            if "{" in page.path
        ]

    def __contains__(self, path: str) -> bool:
        """Whether a page has this path, as declared: `/societes/{iso}/{id}`."""
        return path in self._paths

    def leads(self, link: str) -> bool:
        """Whether a link leads to a page or operation: the product may lack the feature that the link belongs to."""
        path = urlsplit(link).path
        if path == "/":  # the search, not the first page of the menu
            return path in self
        return self.resolve(path) is not None or self._operations.resolve(path) is not None

    def company_path(self, iso2: str, identifier: str) -> str:
        """The path of the record of a company, or of a search for the company in a product without records."""
        if RECORD in self:
            return record_path(iso2, identifier)
        return f"/?ids={iso2}:{quote(identifier, safe='')}"

    def examples(self) -> Mapping[str, WebRoute]:
        """A path for each route: its example, or its only path."""
        return {page.example or page.path: page for page in self.all}

    def resolve(self, path: str) -> tuple[WebRoute, tuple[str, ...]] | None:
        """The route of a path, with its variable parts decoded; None if the path has no page.

        `/societes/AT/FN%2F1` is the record with `("AT", "FN/1")`.
        """
        # A slash at the end makes no difference.
        if page := self._fixed_paths.get(path if path == "/" else path.removesuffix("/")):
            return page, ()
        parts = path.split("/")[1:]
        for segments, page in self._variable:
            if len(segments) == len(parts) and all(
                fixed in ("", part) for fixed, part in zip(segments, parts, strict=True)
            ):
                # As in serve/http/router.py, bytes that are not UTF-8 become U+FFFD, which no company has.
                variable = tuple(
                    unquote(part.encode("utf-8", "surrogateescape"))
                    for fixed, part in zip(segments, parts, strict=True)
                    if not fixed
                )
                # A route may declare which values of its variable part exist.
                is_page = page.has is None or page.has(self._product, *variable)
                return (page, variable) if is_page else None
        return None


@cache
def pages_of(product: Product) -> Pages:
    """The pages of the features and surfaces of a product."""
    return Pages(product)


class PageCache:
    """A cache of at most 256 pages of one generation, a few megabytes."""

    MOST: Final = 256  # pages

    def __init__(self) -> None:
        self._generation: str | None = None
        self._pages: dict[Hashable, Response] = {}

    def find(self, generation: str | None, key: Hashable) -> Response | None:
        """The cached page of this generation, or None."""
        return self._pages.get(key) if generation == self._generation else None

    def keep(self, generation: str | None, key: Hashable, page: Response) -> None:
        """Cache a page of the served generation; a full cache is emptied first."""
        if generation != self._generation or len(self._pages) >= self.MOST:
            self._pages.clear()
        self._generation = generation
        self._pages[key] = page


@dataclass(frozen=True, slots=True)
class PageContext:
    """The values that every page needs; each process has a single `PageContext`.

    Limits and rights are those of `server`; pages have no further ones.

    Attributes:
        started: the start of this process, for /statut.
        page_cache: pages that are the same for all visitors who are not logged in.
    """

    server: ServerContext
    pages: Pages
    signer: Signer
    started: datetime
    page_cache: PageCache = field(default_factory=PageCache)

    @property
    def is_secure(self) -> bool:
        """Whether visitors use https; then cookies are sent only over https."""
        return self.server.config.base_url.startswith("https://")

    @property
    def mails(self) -> bool:
        """Whether this server sends mail."""
        return self.server.config.courriel is not None

    @property
    def store(self) -> Store:
        """The store in which pages count calls. Raises StoreUnavailable."""
        return self.server.holder.store

    @property
    def ledger(self) -> LedgerStore:
        """The store, with its accounts and people.

        Raises:
            ApiError: 503: an edge has no accounts (`quota/edge/edge_store.py`).
            StoreUnavailable
        """
        ledger = self.store.ledger
        if ledger is None:
            raise errors.not_set_up("comptes", page="comptes_au_centre")
        return ledger


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is logged in, the person's account, and the token of the cookie."""

    person: Person
    account: Account
    token: bytes


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request for a page.

    Attributes:
        segments: the variable parts of the path, decoded.
        pairs: the query string without `lang`, and without keys.
        linked: the pairs that the page repeats in links to itself.
        form: the fields of the form that was sent; if a name occurs twice, the last field.
        file: the file of the form; empty without a file.
        device: the cookie of a browser that has logged in; "" if absent.
        is_known: the session cookie is signed, but the store cannot say whether the session is still open.
        caller: the rights and meters that apply to the page (decision 044).
        origin: the address of this server for the visitor: `https://host`.
        nonce: binds the forms of a visitor who is not logged in to the browser.
        keep: the new value of the cookie `visite`, or None if it does not change.
        html: the client prefers a page to JSON.
        markdown: the client prefers Markdown to a page.
        sent: the request as it was sent.
    """

    context: PageContext
    path: str
    segments: tuple[str, ...]
    pairs: Pairs
    form: Mapping[str, str]
    lang: str
    caller: Caller
    session: Session | None
    origin: str
    nonce: str
    keep: str | None
    html: bool
    markdown: bool
    sent: Request
    trace: RequestTrace
    now: datetime
    file: bytes = b""
    device: str = ""
    is_known: bool = False
    linked: Pairs = ()

    @property
    def server(self) -> ServerContext:
        """The values that all requests of the server share: data, plans, limits."""
        return self.context.server

    @property
    def store(self) -> Store:
        """The store in which pages count calls. Raises StoreUnavailable."""
        return self.context.store

    @property
    def ledger(self) -> LedgerStore:
        """The store, with its accounts and people. Raises ApiError 503 at an edge, and StoreUnavailable."""
        return self.context.ledger

    @property
    def mails(self) -> bool:
        """Whether this server sends mail; otherwise pages show the links that a mail would have."""
        return self.context.mails

    @property
    def is_unconfirmed(self) -> bool:
        """Whether this server sends mail and the person has not yet confirmed the address."""
        return self.mails and self.session is not None and not self.session.person.confirmed

    @property
    def token_owner(self) -> str:
        """The value that form tokens are bound to: the token of the session, else the nonce of the browser."""
        return self.session.token.hex() if self.session else self.nonce

    def ask(self, path: str, pairs: Pairs | None = None) -> Request:
        """The request for the operation at `path`, with the rights, language and path of the page.

        Args:
            pairs: the parameters; None for the parameters of the page.
        """
        parameters = self.pairs if pairs is None else pairs
        return self.sent.nested_request(
            path, lambda: parameters, segments=self.segments, caller=self.caller, lang=self.lang
        )

    def t(self, fr: str, en: str) -> str:
        """The text in the visitor's language."""
        return en if self.lang == "en" else fr

    async def export_meter(self) -> Meter | None:
        """The exports of the month; None for a visitor, and in a product without exports.

        Raises:
            StoreUnavailable
        """
        if self.session is None or self.server.service(Downloads) is None:
            return None
        usage = await self.store.usage(self.session.account.id, self.caller.plan, self.now)
        return usage.exports


@dataclass(frozen=True, slots=True)
class Downloads:
    """The service that makes the file of an export form, from a search or from a list of the user."""

    download: Callable[[PageRequest, Any], Awaitable[Response]]


def last_value(pairs: Pairs, name: str) -> str | None:
    """The last value of the parameter `name`, or None."""
    values = [value for pair_name, value in pairs if pair_name == name]
    return values[-1] if values else None


def pairs_without(pairs: Pairs, names: Sequence[str]) -> Pairs:
    """The parameters whose name is not among `names`."""
    return tuple(pair for pair in pairs if pair[0] not in names)
