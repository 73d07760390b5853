"""A request as a page sees it: who visits, in which language, with which form.

`serve/http/website_route.py` makes one from HTTP; all pages are functions of a Desk and a Visit.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from quota.accounts import Account
from quota.ledger.people import Person
from quota.store.account_book import AccountBook
from quota.store.interface import Store
from serve.access.burst_gate import Limiter
from serve.access.caller import Caller
from serve.access.context import ServerContext
from serve.config import BurstLimits
from serve.observe.request_trace import RequestTrace
from serve.request.params import Pairs
from serve.website import cookies, page_errors
from serve.website.facet_counts import FacetCounter
from serve.website.login_throttle import LoginThrottle
from serve.website.signing import Signer

_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True)
class Session:
    """Who is logged in: the person, its account, and the token that its cookie holds."""

    person: Person
    account: Account
    token: bytes


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request for a page.

    Attributes:
        pairs: the query string, `lang` taken out.
        form: the fields of a form that was sent; of two with one name the last.
        caller: whose rights and meters the page has (decision 044).
        origin: what this server is called by the visitor: `https://host`.
        nonce: what the tokens of this browser's forms are bound to while nobody is logged in.
        keep: what has to be remembered in the cookie `visite`, or None.
    """

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
    head: bool
    trace: RequestTrace
    now: datetime

    @property
    def bound(self) -> str:
        """What the tokens of its forms are bound to: the session, or else the browser."""
        return self.session.token.hex() if self.session else self.nonce

    def t(self, fr: str, en: str) -> str:
        """The text in the visitor's language."""
        return en if self.lang == "en" else fr


def remembered(kept: Mapping[str, str], *, secure: bool) -> tuple[str | None, str | None]:
    """The language and the nonce of the cookie `visite`, as far as they are there."""
    lang, _, nonce = kept.get(cookies.name(cookies.VISIT, secure=secure), "").partition(".")
    return lang or None, nonce if _NONCE.fullmatch(nonce) else None


def new_nonce() -> str:
    return secrets.token_urlsafe(16)


def last(pairs: Pairs, name: str) -> str | None:
    """The last value of that name, or None."""
    values = [value for known, value in pairs if known == name]
    return values[-1] if values else None


def without(pairs: Pairs, names: Sequence[str]) -> Pairs:
    return tuple(pair for pair in pairs if pair[0] not in names)


# MERGED serve/website/desk.py
# What every page is made with: the site, its seals, its guard, its figures.
#
# One for a serving process. The limits and rights are those of the site: pages add none of their own.


@dataclass(frozen=True, slots=True)
class PageContext:
    """`started`: of this process, for /statut."""

    site: ServerContext
    seals: Signer
    guard: LoginThrottle
    started: datetime
    figures: FacetCounter = field(default_factory=FacetCounter)

    @property
    def secure(self) -> bool:
        """Do visitors come over https? Then no cookie goes over anything else."""
        return self.site.base_url.startswith("https://")

    @property
    def store(self) -> Store:
        """The store that the pages count with.

        Raises:
            StoreUnavailable: it is not open.
        """
        return self.site.counters.store

    @property
    def accounts(self) -> AccountBook:
        """The accounts and people of the store.

        Raises:
            ApiError: 503: the store of an edge has none.
            StoreUnavailable: it is not open.
        """
        accounts = self.store.accounts
        if accounts is None:
            raise page_errors.comptes_au_centre()
        return accounts


def make_page_context(
    site: ServerContext, seals: Signer, limiter: Limiter, debit: BurstLimits
) -> PageContext:
    return PageContext(site, seals, LoginThrottle(limiter, debit), site.now())
