"""The values that a call passes through.

    Request → PreparedCall → Result → Response

`serve/http/app.py` makes a `Request`. A route turns it into a `PreparedCall`: its parameters are valid and nothing has
been spent yet. `billing.run` runs it, charges for it, and returns a `Result`. The content of a result is a value,
such as a page of companies or a record: the website and the tools read it, the API encodes it as JSON. Only then is it
a `Response`.

Entity tags (contract G8) are strong: a tag names the exact bytes of a response. These depend on the generation, on the
plan and its offer, and on the request once it is understood; nothing else may enter a body. So the tag is known before
the search is made.
"""

import re
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, BinaryIO, Final, Generic, NamedTuple, Protocol, TypeVar

import orjson

from quota.accounts import Account
from quota.store.interface import Store
from serve.access.context import ServerContext
from serve.access.counter_headers import NO_LIMITS, NOTHING_LEFT, BurstRemaining, PlanLimits
from serve.access.rights import Caller
from serve.contract.errors import ApiError
from serve.contract.feature import Operation
from serve.generation.company_ids import FoundCompanies
from serve.generation.open_generation import OpenGeneration
from serve.observe.log import RequestTrace
from serve.request.reader import Pairs

# Raise it when the same data and the same request begin to give other bytes.
_EDITION: Final = "1"
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')

# The header that names the generation of a response (G10).
DATA_VERSION: Final = "X-Donnees-Version"
NO_STORE: Final = {"Cache-Control": "no-store"}
# A response depends on the caller's plan, so no shared cache keeps it. The caller's own cache may, and
# checks each time that the generation is still the same (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

_REFUSED_KEY: Final = 401
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(slots=True)
class Request:
    """A request for an operation, from its first line to its answer; each step adds its findings.

    Pages and tools ask for an operation by `nested`: the same message and caller, with other parameters.

    Attributes:
        context: the data, the counters, the limits and the plans to answer from.
        trace: the facts for the line of the log; nested requests share it.
        message: the message of aiohttp, which only serve/http and the adapters of surfaces read.
        path: as it was sent, without the query string.
        read: reads the parameters when it is their turn; raises ApiError 400.
        query: the query string as it was sent; "" for a nested request.
        lang: the language of texts, `fr` or `en`.
        if_none_match: the tags that the client has.
        operation: None for the path of a page, and for a path that does not exist.
        segments: the variable parts of the path, decoded.
        is_page: the path is no operation and not below the API, so the site answers.
        as_json: the content is encoded before anything is charged for it.
        body: that of a POST; `size`: bytes of a body that is parsed when the operation is prepared.
        arguments: those of a tool that reads them itself.
        now: the time at which it came, then that of its admission.
        caller: a visitor, until `admission.admit` has identified somebody.
        limits: those of the plan; `left`: the requests that burst limits leave.
        named: the companies of `ids`, where admission has looked them up (X19).
    """

    context: ServerContext
    trace: RequestTrace
    caller: Caller
    path: str
    now: datetime
    read: Callable[[], Pairs] = tuple
    message: Any = None
    method: str = "GET"
    query: str = ""
    authorization: Sequence[str] = ()
    lang: str = "fr"
    if_none_match: str | None = None
    operation: Operation | None = None
    segments: tuple[str, ...] = ()
    is_page: bool = False
    as_json: bool = True
    body: bytes = b""
    size: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    limits: PlanLimits = NO_LIMITS
    left: BurstRemaining = NOTHING_LEFT
    named: FoundCompanies | None = None
    _pairs: Pairs | None = field(default=None, init=False)

    @property
    def pairs(self) -> Pairs:
        """The parameters. Raises ApiError 400."""
        if self._pairs is None:
            self._pairs = self.read()
        return self._pairs

    @property
    def head(self) -> bool:
        """Whether only the headers are wanted: as GET, but without credits (G1, D1)."""
        return self.method == "HEAD"

    @property
    def offer(self) -> bytes:
        """JSON of `offre_suivante`."""
        return self.context.offers[self.caller.plan.slug]

    @property
    def account(self) -> Account:
        """The account of an identified caller."""
        assert self.caller.account is not None
        return self.caller.account

    @property
    def store(self) -> Store:
        """The store of counters. Raises StoreUnavailable."""
        return self.context.holder.store

    def header(self, name: str) -> str | None:
        """A header of the message."""
        return joined_header(self.message.headers, name)

    def is_gone(self) -> bool:
        """Whether the client has disconnected, so that nobody waits for a file."""
        transport = self.message.transport
        return transport is None or transport.is_closing()

    def nested(self, path: str, read: Callable[[], Pairs], **changes: Any) -> "Request":
        """The request of a page or a tool for an operation, which shows the content itself."""
        return replace(
            self, path=path, read=read, query="", if_none_match=None, as_json=False, **changes
        )


class Response(NamedTuple):
    """A response with its body as bytes.

    Attributes:
        outcome: what happened to the counters, for the log; "" where none was touched.
        file: sent instead of the body, then closed; the headers give its length and type.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS
    outcome: str = ""
    file: BinaryIO | None = None


class Content(Protocol):
    """The value of a result, which can be encoded as the body of §2."""

    def json(self) -> bytes: ...


T_co = TypeVar("T_co", bound=Content, covariant=True)


class Result(NamedTuple, Generic[T_co]):
    """The result of a call, before it is encoded.

    Attributes:
        content: None for a 304, and for an error that shows nothing else.
        outcome: as in `Response`.
        error: the refusal; content beside it is what the caller may see all the same (A1, D10).
        free: it has nothing to pay for, so it costs a call and no more.
        matched: the companies that lines of a list mean, by country and identifier (X19).
        body: the content as JSON, once it is encoded; without a content, what is sent as it is.
    """

    status: int
    content: T_co | None
    headers: Mapping[str, str] = _NO_HEADERS
    outcome: str = ""
    error: ApiError | None = None
    free: bool = False
    matched: Sequence[tuple[str, str]] = ()
    body: bytes | None = None

    def encoded(self) -> "Result[T_co]":
        """The same result with its content as JSON."""
        if self.body is not None or self.content is None:
            return self
        return self._replace(body=self.content.json())

    def response(self, lang: str) -> Response:
        """The result as JSON; an error speaks `lang`."""
        body, error, headers = self.encoded().body or b"", self.error, self.headers
        if error is not None:
            headers = in_language(headers, lang)
            body = add_error(body, error, lang) if body else error.body(lang)
        return Response(self.status, body, headers, self.outcome)


class PreparedCall(NamedTuple, Generic[T_co]):
    """A call whose parameters are valid: nothing has been searched, counted or charged yet.

    Attributes:
        tag: the entity tag of the result; None where there is nothing to tag.
        company: the company that the call is about ("EE/10000018"), if there is one.
        cost: credits that the company costs, charged before the result may be sent; 0 for a call without credits.
        preview: what to show instead of a company that could not be charged, given the error.
        trials: None, or the trials a month of which the call is one, at no credits (X11).
        calls: calls of the day that it counts as; with 0 nothing is counted.
        find_named: looks up the companies of `ids`, where an account names more than its plan shows (X19).
    """

    run: Callable[[], Awaitable[Result[T_co]]]
    tag: str | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    company: str | None = None
    cost: int = 0
    preview: Callable[[ApiError], T_co] | None = None
    trials: int | None = None
    calls: int = 1
    find_named: Callable[[], Awaitable[FoundCompanies]] | None = None

    @property
    def is_charged(self) -> bool:
        """Whether the call has a price besides the call."""
        return self.cost > 0 or self.trials is not None

    def is_known(self, request: Request) -> bool:
        """Does the client have this very representation already (RFC 9110 §13.1.2)?"""
        # A caller whose key was refused gets a 401, which has no tag.
        if self.tag is None or request.caller.refused:
            return False
        return matches(request.if_none_match, self.tag)


PublicList = Callable[[Request, OpenGeneration], Result[T_co]]
Prepare = Callable[[Request, OpenGeneration], PreparedCall[T_co]]


def joined_header(headers: Any, name: str) -> str | None:
    """A header; one that was sent twice means both lines (RFC 9110 §5.3)."""
    lines = headers.getall(name, None)
    return ", ".join(lines) or None if lines else None


def error_response(error: ApiError, lang: str) -> Response:
    """The response to an error in `lang`; no cache keeps it."""
    headers = in_language(NO_STORE | error.headers, lang)
    return Response(error.status, error.body(lang), headers)


def add_error(body: bytes, error: ApiError, lang: str) -> bytes:
    """A JSON object with `erreur`, and the keys that belong to it, added.

    The refusal of a key comes last, after the visitor's complete result (A1). The refusal of a charge
    comes first, before the preview that is left of the record (D10, G9).
    """
    erreur = b'"erreur":%s' % orjson.dumps(error.erreur(lang))
    extra = b"".join(b",%s:%s" % (orjson.dumps(k), orjson.dumps(v)) for k, v in error.extra.items())
    if error.status == _REFUSED_KEY:
        return b"%s,%s%s}" % (body[:-1], erreur, extra)
    return b"{%s,%s%s}" % (erreur, body[1:-1], extra)


def private_headers(tag: str, version: str, *, path: str = "", lang: str = "") -> dict[str, str]:
    """The headers of an answer from the generation `version` to one caller.

    Args:
        path: the address of what the answer is about, where a request may name it otherwise.
        lang: the language of its texts, where it has any.
    """
    location = {"Content-Location": path} if path else {}
    headers = {"ETag": tag, **PRIVATE, DATA_VERSION: version, **location}
    return in_language(headers, lang) if lang else headers


def in_language(headers: Mapping[str, str], lang: str) -> dict[str, str]:
    """The headers of a response with a message that depends on Accept-Language."""
    vary = f"{headers['Vary']}, Accept-Language" if "Vary" in headers else "Accept-Language"
    return {**headers, "Content-Language": lang, "Vary": vary}


def not_modified(headers: Mapping[str, str]) -> Result[T_co]:
    """A 304: the client has the representation with these headers (RFC 9110 §15.4.5)."""
    return Result(304, None, headers)


def respond_by_tag(request: Request, page: Response) -> Response:
    """A page that is ready, or a 304 if the client has the one with this tag."""
    if not matches(request.if_none_match, page.headers["ETag"]):
        return page
    headers = {name: text for name, text in page.headers.items() if name != "Content-Type"}
    return Response(304, b"", headers)


def etag(*parts: Hashable) -> str:
    """The quoted tag of the bytes that `parts` determine."""
    text = repr((_EDITION, *parts)).encode()
    return f'"{blake2b(text, digest_size=12).hexdigest()}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Does the header name `tag`? The comparison is weak, as the RFC requires.

    >>> matches('W/"a", "b"', '"a"'), matches("*", '"a"'), matches('"c"', '"a"')
    (True, True, False)
    """
    if if_none_match is None:
        return False
    if if_none_match == tag:  # of nearly every client
        return True
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
