"""The pages of a product, and the request for a page: the visitor, the language, the form, the context to answer from.

Each feature lists its pages in `PAGES` of its module `pages`. A page is a function of a `PageRequest`, which
`serve/surfaces/site/adapter.py` makes from HTTP.
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

FIELDS: Final = 32
PAIRS: Final = 64
RECORD: Final = "/societes/{iso}/{id}"
# The parameters of an export that its form has fields for.
EXPORT_FIELDS: Final = ("format", "comptes", "colonnes", "limit")

PageHandler = Callable[["PageRequest"], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class WebRoute:
    """A path of the website, and its handler per method.

    Attributes:
        path: with the names of its variable parts: `/societes/{iso}/{id}`.
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
        menu: its name in the menu; such a page is in the sitemap, too.
        below: the beginning of the paths that belong to it in the menu.
        place: menu and sitemap are in the order of places.
        closed: crawlers are told to leave it alone.
        secret: whoever reads its address has a right with it.
        example: a path of it, where it has variable parts.
        is_file: counted as a file of a page, not as a page.
        has: whether its variable part has this value in a product; other paths are no page.
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
    kept: bool = False
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
        return (*(("GET", "HEAD") if self.get else ()), *(("POST",) if self.post else ()))


def record_path(iso2: str, identifier: str) -> str:
    """The path of the record of a company.

    >>> record_path("AT", "FN/1")
    '/societes/AT/FN%2F1'
    """
    return f"/societes/{iso2}/{quote(identifier, safe='')}"


class Pages:
    """The pages of a product, by path. The first of the menu answers `/`, also in a product without the search."""

    def __init__(self, product: Product) -> None:
        pages = tuple(page for module in product.modules("pages") for page in module.PAGES)
        self.all: Final = pages
        self._product: Final = product
        self._operations: Final = Router(product.operations)
        self.menu: Final = sorted(
            (page for page in pages if page.menu), key=lambda page: page.place
        )
        self._paths: Final = frozenset(page.path for page in pages)
        self.closed: Final = tuple(page.path for page in pages if page.closed)
        # The beginnings of paths that end with a token, or with the code of a list.
        self.secret: Final = tuple(page.path.partition("{")[0] for page in pages if page.secret)
        self._plain: Final = {page.path: page for page in pages if "{" not in page.path}
        if self.menu:
            self._plain.setdefault("/", self.menu[0])
        self._variable: Final = [
            (tuple("" if part.startswith("{") else part for part in page.path.split("/")[1:]), page)
            for page in pages
            if "{" in page.path
        ]

    def __contains__(self, path: str) -> bool:
        """Whether a page has this path, with the names of its variable parts."""
        return path in self._paths

    def leads(self, link: str) -> bool:
        """Whether a link leads to a page or document of the product: one to a feature that is left out does not."""
        path = urlsplit(link).path
        if path == "/":  # the search, whatever answers there
            return path in self
        return self.resolve(path) is not None or self._operations.resolve(path) is not None

    def company_path(self, iso2: str, identifier: str) -> str:
        """The page of a company: its record, or the search for it in a product without records."""
        if RECORD in self:
            return record_path(iso2, identifier)
        return f"/?ids={iso2}:{quote(identifier, safe='')}"

    def examples(self) -> Mapping[str, WebRoute]:
        """A path of each route."""
        return {page.example or page.path: page for page in self.all}

    def resolve(self, raw: str) -> tuple[WebRoute, tuple[str, ...]] | None:
        """The route of a path, with its variable parts decoded; None if there is none.

        `/societes/AT/FN%2F1` is the record with `("AT", "FN/1")`.
        """
        if page := self._plain.get(raw if raw == "/" else raw.removesuffix("/")):
            return page, ()
        parts = raw.split("/")[1:]
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
                is_page = page.has is None or page.has(self._product, *variable)
                return (page, variable) if is_page else None
        return None


@cache
def pages_of(product: Product) -> Pages:
    """The pages of the features and surfaces of a product."""
    return Pages(product)


class KeptPages:
    """Pages that were made, for the next who asks; those of one generation, and few enough to be a few megabytes."""

    MOST: Final = 256

    def __init__(self) -> None:
        self._generation: str | None = None
        self._pages: dict[Hashable, Response] = {}

    def find(self, generation: str | None, key: Hashable) -> Response | None:
        """The page, if it was kept while this generation was served."""
        return self._pages.get(key) if generation == self._generation else None

    def keep(self, generation: str | None, key: Hashable, page: Response) -> None:
        """Keep a page of the generation that is served."""
        if generation != self._generation or len(self._pages) >= self.MOST:
            self._pages.clear()
        self._generation = generation
        self._pages[key] = page


@dataclass(frozen=True, slots=True)
class PageContext:
    """The values that every page needs, one set per process.

    Limits and rights are those of `server`: the pages add none of their own.

    Attributes:
        started: when this process started, for /statut.
        kept: pages that are the same for all who are not logged in.
    """

    server: ServerContext
    pages: Pages
    signer: Signer
    started: datetime
    kept: KeptPages = field(default_factory=KeptPages)

    @property
    def is_secure(self) -> bool:
        """Do visitors use https? Then no cookie goes over anything else."""
        return self.server.config.base_url.startswith("https://")

    @property
    def mails(self) -> bool:
        """Does this server send mail?"""
        return self.server.config.courriel is not None

    @property
    def store(self) -> Store:
        """The store that pages count in. Raises StoreUnavailable."""
        return self.server.holder.store

    @property
    def ledger(self) -> LedgerStore:
        """The store, with its accounts and people.

        Raises:
            ApiError: 503: an edge has neither (`quota/edge/edge_store.py`).
            StoreUnavailable
        """
        ledger = self.store.ledger
        if ledger is None:
            raise errors.not_set_up("comptes", page="comptes_au_centre")
        return ledger


@dataclass(frozen=True, slots=True)
class Session:
    """A person who is logged in, the person's account, and the token that the cookie holds."""

    person: Person
    account: Account
    token: bytes


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request for a page.

    Attributes:
        segments: the variable parts of the path, decoded.
        pairs: the query string without `lang`, and without keys.
        linked: those of them that the page has, and repeats in links to itself.
        form: the fields of a form that was sent; of two with one name the last.
        file: the file of that form; empty where there is none.
        device: the cookie of a browser that has logged in; "" if there is none.
        is_known: somebody was logged in from this browser, and no store says whether that is so still.
        caller: the rights and meters that apply to the page (decision 044).
        origin: the address of this server as the visitor calls it: `https://host`.
        nonce: binds the forms of a visitor who is not logged in to the browser.
        keep: the new value of the cookie `visite`, or None.
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
        return self.context.server

    @property
    def store(self) -> Store:
        return self.context.store

    @property
    def ledger(self) -> LedgerStore:
        """As `PageContext.ledger`, with its errors."""
        return self.context.ledger

    @property
    def mails(self) -> bool:
        """Whether this server sends mail; otherwise it shows links to hand over."""
        return self.context.mails

    @property
    def is_unconfirmed(self) -> bool:
        """Whether this server sends mail, and the person has not confirmed the address by the link of one."""
        return self.mails and self.session is not None and not self.session.person.confirmed

    @property
    def token_owner(self) -> str:
        """The value that form tokens are bound to: the session, or else the browser."""
        return self.session.token.hex() if self.session else self.nonce

    def ask(self, path: str, pairs: Pairs | None = None) -> Request:
        """The request for the operation at `path`, with the rights, language and path of the page.

        Args:
            pairs: the parameters; None for those of the page.
        """
        given = self.pairs if pairs is None else pairs
        return self.sent.nested(
            path, lambda: given, segments=self.segments, caller=self.caller, lang=self.lang
        )

    def t(self, fr: str, en: str) -> str:
        """The text in the visitor's language."""
        return en if self.lang == "en" else fr

    async def export_meter(self) -> Meter | None:
        """The exports of the month; None for a visitor, who has none, and where no feature makes files.

        Raises:
            StoreUnavailable
        """
        if self.session is None or self.server.service(Downloads) is None:
            return None
        usage = await self.store.usage(self.session.account.id, self.caller.plan, self.now)
        return usage.exports


@dataclass(frozen=True, slots=True)
class Downloads:
    """The service that makes the file of a form: of a search, or with the list of a reader as well."""

    download: Callable[[PageRequest, Any], Awaitable[Response]]


def last_value(pairs: Pairs, name: str) -> str | None:
    """The last value of that name, or None."""
    values = [value for known, value in pairs if known == name]
    return values[-1] if values else None


def pairs_without(pairs: Pairs, names: Sequence[str]) -> Pairs:
    """The pairs whose name is not among `names`."""
    return tuple(pair for pair in pairs if pair[0] not in names)
