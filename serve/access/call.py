"""The stages of a call.

    Request → PreparedCall → Result → Response

`serve/http/app.py` makes a `Request`. A route turns it into a `PreparedCall`: its parameters are valid, and nothing has
been counted yet. `billing.run` runs it, charges for it, and returns a `Result`. The content of a result is a value,
such as a result page or a record. The website and the tools read it; the API encodes it as JSON, in a `Response`.

Entity tags (contract G8) are strong: a tag identifies the exact bytes of a response. The bytes may depend on the
generation, on the plan and the next plan, and on the parsed request, but on nothing else. So the tag is computed before
the search runs.
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
from serve.generation.company_ids import ResolvedCompanies
from serve.generation.open_generation import OpenGeneration
from serve.observe.log import RequestTrace
from serve.request.reader import Pairs

# A part of every tag. Raise this number when the same data and request give different bytes than before.
_EDITION: Final = "1"
# An entity tag in If-None-Match, without the prefix `W/` of a weak tag.
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')

# The header that names the generation of a response (G10).
DATA_VERSION: Final = "X-Donnees-Version"
NO_STORE: Final = {"Cache-Control": "no-store"}
# A response depends on the caller's plan, so shared caches must not keep it. The caller's own cache may keep it, and
# checks before each use that the generation has not changed (G8).
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}

_REFUSED_KEY: Final = 401  # the status of an answer to a refused key
_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(slots=True)
class Request:
    """A request for an operation; each step sets more of its fields.

    Pages and tools call an operation by `nested_request`: the same message and caller, with other parameters.

    Attributes:
        context: the data, the counters, the limits and the plans.
        trace: the fields of the log line; nested requests share it.
        message: the message of aiohttp; only serve/http and the adapters of surfaces read it.
        path: the path as sent, without the query string.
        read: reads the parameters when `pairs` needs them, since earlier checks come first (D5); raises ApiError 400.
        query: the query string as sent; "" for a nested request.
        lang: the language of texts, `fr` or `en`.
        if_none_match: the tags that the client has.
        operation: None for the path of a page, and for a path that does not exist.
        segments: the variable parts of the path, decoded.
        is_page: the path belongs to no operation and is not below the API, so the site answers.
        as_json: the content is encoded as JSON before it is charged; false for pages and tools, which read the value.
        body: the body of a POST.
        size: the bytes of a body that is parsed while the call is prepared; 0 if there is none.
        arguments: the arguments of a tool, for a tool that reads them itself.
        now: the time of arrival, then of admission.
        caller: a visitor, until `admission.admit` identifies the caller.
        limits: the limits of the plan.
        left: the requests that the burst limits leave after this request.
        named: the companies of `ids`, if admission has looked them up (`PreparedCall.find_named`).
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
    named: ResolvedCompanies | None = None
    _pairs: Pairs | None = field(default=None, init=False)

    @property
    def pairs(self) -> Pairs:
        """The parameters of the query, read when first used. Raises ApiError 400."""
        if self._pairs is None:
            self._pairs = self.read()
        return self._pairs

    @property
    def head(self) -> bool:
        """Whether the request is a HEAD: the headers of a GET, at no credits (G1, D1)."""
        return self.method == "HEAD"

    @property
    def offer(self) -> bytes:
        """The plan to propose to the caller (`offre_suivante`), as JSON."""
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
        """A header of the message; repeated lines are joined."""
        return joined_header(self.message.headers, name)

    def is_gone(self) -> bool:
        """Whether the client has disconnected."""
        transport = self.message.transport
        return transport is None or transport.is_closing()

    def nested_request(self, path: str, read: Callable[[], Pairs], **changes: Any) -> "Request":
        """The request of a page or a tool for an operation; the page or tool renders the content."""
        return replace(
            self, path=path, read=read, query="", if_none_match=None, as_json=False, **changes
        )


class Response(NamedTuple):
    """A response with its body as bytes.

    Attributes:
        outcome: the change of the counters, for the log; "" if none changed.
        file: sent instead of the body, then closed; the headers have its length and type.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS
    outcome: str = ""
    file: BinaryIO | None = None


class Content(Protocol):
    """The value of a result, such as a result page; `json` makes the body of §2."""

    def json(self) -> bytes:
        """The value as JSON."""
        ...


T_co = TypeVar("T_co", bound=Content, covariant=True)


class Result(NamedTuple, Generic[T_co]):
    """The result of a call, before it is encoded.

    Attributes:
        content: None for a 304, and for an error without other content.
        outcome: the change of the counters, for the log; "" if none changed.
        error: the refusal; `content` is then the part of the answer that the caller may see (A1, D10).
        free: the result costs a call but no credits.
        matched: the companies that the lines of a list match, by country and identifier (X19).
        body: the encoded content; if there is no content, bytes to send unchanged.
    """

    status: int
    content: T_co | None
    headers: Mapping[str, str] = _NO_HEADERS
    outcome: str = ""
    error: ApiError | None = None
    free: bool = False
    matched: Sequence[tuple[str, str]] = ()
    body: bytes | None = None

    def encode(self) -> "Result[T_co]":
        """The same result with its content as JSON."""
        if self.body is not None or self.content is None:
            return self
        return self._replace(body=self.content.json())

    def response(self, lang: str) -> Response:
        """The result as JSON; the message of an error is in `lang`."""
        body, error, headers = self.encode().body or b"", self.error, self.headers
        if error is not None:
            headers = language_headers(headers, lang)
            body = add_error(body, error, lang) if body else error.body(lang)
        return Response(self.status, body, headers, self.outcome)


class PreparedCall(NamedTuple, Generic[T_co]):
    """A call with valid parameters: nothing has been searched, counted or charged yet.

    Attributes:
        tag: the entity tag of the result; None if the result has no tag.
        company: the subject that is charged once a month: a company (`EE/10000018`), or an analysis, which begins with
            its module (`entreprise/EE/10000018`); None if there is none.
        cost: the credits for `company`, charged before the result is sent; 0 for a call without credits.
        preview: makes the content that is sent with an error, if the company could not be charged.
        trials: the monthly limit of trials, if the call is a trial at no credits (X11); else None.
        calls: the number of calls that the request counts as; 0 if it is not counted.
        find_named: looks up the companies of `ids`; then the call is prepared again, with `Request.named`. A search
            needs them if it names more companies than the plan shows (X19), a market for its subject.
    """

    run: Callable[[], Awaitable[Result[T_co]]]
    tag: str | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    company: str | None = None
    cost: int = 0
    preview: Callable[[ApiError], T_co] | None = None
    trials: int | None = None
    calls: int = 1
    find_named: Callable[[], Awaitable[ResolvedCompanies]] | None = None

    @property
    def is_charged(self) -> bool:
        """Whether the call costs credits or a trial."""
        return self.cost > 0 or self.trials is not None

    def is_known(self, request: Request) -> bool:
        """Whether the client already has the result, according to its If-None-Match (RFC 9110 §13.1.2)."""
        # A caller whose key was refused gets a 401, which has no tag.
        if self.tag is None or request.caller.refused:
            return False
        return matches(request.if_none_match, self.tag)


# A route answers a public list at once (`PublicList`); any other call is prepared, then run by `billing` (`Prepare`).
PublicList = Callable[[Request, OpenGeneration], Result[T_co]]
Prepare = Callable[[Request, OpenGeneration], PreparedCall[T_co]]


def joined_header(headers: Any, name: str) -> str | None:
    """The value of a header; repeated lines are joined by commas (RFC 9110 §5.3)."""
    values = headers.getall(name, None)
    return ", ".join(values) or None if values else None


def error_response(error: ApiError, lang: str) -> Response:
    """The response for an error, in `lang`; caches must not keep it."""
    headers = language_headers(NO_STORE | error.headers, lang)
    return Response(error.status, error.body(lang), headers)


def add_error(body: bytes, error: ApiError, lang: str) -> bytes:
    """Add `erreur` and its extra keys to a JSON object.

    The refusal of a key comes last, after the visitor's complete result (A1). The refusal of a charge comes first,
    before the preview of the record (D10, G9).
    """
    erreur = b'"erreur":%s' % orjson.dumps(error.erreur(lang))
    extra = b"".join(b",%s:%s" % (orjson.dumps(k), orjson.dumps(v)) for k, v in error.extra.items())
    # `body` loses its closing brace, or both of its braces, for the added keys.
    if error.status == _REFUSED_KEY:
        return b"%s,%s%s}" % (body[:-1], erreur, extra)
    return b"{%s,%s%s}" % (erreur, body[1:-1], extra)


def private_headers(tag: str, version: str, *, path: str = "", lang: str = "") -> dict[str, str]:
    """The headers of an answer from the generation `version` to one caller.

    Args:
        path: the canonical path of the company, if requests may spell it differently.
        lang: the language of its texts; "" if it has none.
    """
    location = {"Content-Location": path} if path else {}
    headers = {"ETag": tag, **PRIVATE, DATA_VERSION: version, **location}
    return language_headers(headers, lang) if lang else headers


def language_headers(headers: Mapping[str, str], lang: str) -> dict[str, str]:
    """Add the headers of a response whose texts depend on Accept-Language."""
    vary = f"{headers['Vary']}, Accept-Language" if "Vary" in headers else "Accept-Language"
    return {**headers, "Content-Language": lang, "Vary": vary}


def not_modified(headers: Mapping[str, str]) -> Result[T_co]:
    """A 304: the client has the representation with these headers (RFC 9110 §15.4.5)."""
    return Result(304, None, headers)


def respond_by_tag(request: Request, page: Response) -> Response:
    """`page`, or a 304 without a body if the client has a page with the same tag."""
    if not matches(request.if_none_match, page.headers["ETag"]):
        return page
    headers = {name: text for name, text in page.headers.items() if name != "Content-Type"}
    return Response(304, b"", headers)


def etag(*parts: Hashable) -> str:
    """The entity tag, in quotes, of a response whose bytes depend on `parts` alone."""
    text = repr((_EDITION, *parts)).encode()
    return f'"{blake2b(text, digest_size=12).hexdigest()}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Whether If-None-Match names `tag`. The comparison is weak, as RFC 9110 requires: a prefix `W/` is ignored.

    >>> matches('W/"a", "b"', '"a"'), matches("*", '"a"'), matches('"c"', '"a"')
    (True, True, False)
    """
    if if_none_match is None:
        return False
    if if_none_match == tag:  # the usual case
        return True
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
