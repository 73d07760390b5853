"""The request for a page: the visitor, the language, the form, and the context to answer from.

`serve/surfaces/site/adapter.py` makes one from HTTP. Every page is a function of a `PageRequest`.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from quota.accounts import Account
from quota.ledger.calls import Meter
from quota.ledger.people import Person
from quota.store.account_book import AccountBook
from quota.store.interface import Store
from serve.access.call import Response
from serve.access.context import ServerContext
from serve.access.rights import Caller
from serve.observe.request_trace import RequestTrace
from serve.request.query_string import Pairs
from serve.surfaces.site import page_errors
from serve.surfaces.site.cookies import Signer
from serve.surfaces.site.routes import Pages

# The parameters of an export that its form has fields for.
EXPORT_FIELDS: Final = ("format", "comptes", "colonnes", "limit")


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
    def accounts(self) -> AccountBook:
        """The accounts and people of the store.

        Raises:
            ApiError: 503: an edge has neither (`quota/edge/edge_store.py`).
            StoreUnavailable
        """
        accounts = self.store.accounts
        if accounts is None:
            raise page_errors.comptes_au_centre()
        return accounts


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
        head: only the headers are wanted.
        is_gone: whether the visitor has left, so that nobody waits for a file any more.
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
    head: bool
    trace: RequestTrace
    now: datetime
    file: bytes = b""
    is_gone: Callable[[], bool] = lambda: False
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
    def accounts(self) -> AccountBook:
        """As `PageContext.accounts`, with its errors."""
        return self.context.accounts

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
