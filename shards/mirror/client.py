"""The HTTP client of mirrors and nightly fetches. It limits requests per host, and checks redirects.

A host is a name and a port, and has one request at a time. A redirect is followed to the same name and to the names
that the caller allows, never from https to http; the key of an account is sent only to the first host, or to its https.
Proxies and certificates come from the environment (`https_proxy`, `no_proxy`, `SSL_CERT_FILE`). Bodies are not
unpacked, so ranges and digests are those of the published file.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple
from uuid import uuid4

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from shards.mirror.source import AbsentError, Body, FaultError, RangeError, SyncError

# The longest time without a byte from a server.
SILENCE_SECONDS: Final = 30.0
# The most bytes of a piece of a body.
PIECE: Final = 1 << 18
_MOST_REDIRECTS: Final = 5
_STEPS: Final = 3  # connection, handshake and headers can each take the longest silence
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
# Status codes of temporary failures (RFC 9110 §15.5.9, §15.6; RFC 6585 §4), in addition to those from 500 on. 304 is a
# failure if the request has no condition: a cache on the way is wrong.
_TEMPORARY_STATUSES: Final = frozenset({304, 408, 425, 429})
# The headers of a conditional request, which 304 answers.
_CONDITIONAL_HEADERS: Final = frozenset({"If-None-Match", "If-Modified-Since"})
# The exceptions of aiohttp. HttpProcessingError is listed, because it is not a subclass of ClientError.
_AIOHTTP_ERRORS: Final = (TimeoutError, aiohttp.ClientError, HttpProcessingError)
# Content-Range of a 206 (RFC 9110 §14.4): the first byte, and the size of the complete file or `*`.
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)")


class UnchangedError(SyncError):
    """The file has not changed since the condition of the request (304)."""


class Remedies(NamedTuple):
    """The remedies in messages.

    Attributes:
        redirect: for a redirect that is not followed.
        account: for a server that demands an account (401, 403).
        address: for every other refusal.
    """

    redirect: str
    account: str
    address: str


@dataclass(slots=True)
class Client:
    """A session, which sends the next request to a host when the last response has been read.

    Attributes:
        silence: the seconds without a byte after which a request fails.
        _host_locks: a lock for each host and port, so that a host has one request at a time.
    """

    session: aiohttp.ClientSession
    silence: float
    remedies: Remedies
    _host_locks: dict[tuple[str | None, int | None], asyncio.Lock] = field(default_factory=dict)

    @asynccontextmanager
    async def get(
        self,
        address: str,
        headers: Mapping[str, str],
        key: Mapping[str, str],
        allowed: Collection[str] = (),
    ) -> AsyncIterator[Body]:
        """Request `address`.

        Args:
            headers: headers that are sent to every host.
            key: headers that are sent only to the host of `address`.
            allowed: other hosts to which a redirect is followed.

        Raises:
            AbsentError: there is no such file.
            RangeError: the server has no bytes from the requested position on.
            FaultError: the server failed in a way that may be temporary.
            UnchangedError: the file is unchanged since the condition in `headers`.
            SyncError: the server refuses, or redirects to another host.
        """
        try:
            url = origin = _read_url(address)
        except ValueError as error:
            raise SyncError(
                f"{address} is not an address: {error}; {self.remedies.address}"
            ) from error
        for _ in range(_MOST_REDIRECTS):
            all_headers = {
                **headers,
                "X-Request-Id": str(uuid4()),
                **(key if _is_same_host(origin, url) else {}),
            }
            async with self._send(url, all_headers) as response:
                if response.status not in _REDIRECT_STATUSES:
                    yield self._body(response, url, headers)
                    return
                target = _redirect_target(url, response)
            if target.host not in {origin.host, *allowed} or target.scheme not in {
                url.scheme,
                "https",
            }:
                raise SyncError(
                    f"{url} redirects to {target.scheme}://{target.authority}, which is not followed; "
                    + self.remedies.redirect
                )
            url = target
        raise SyncError(
            f"{address} redirects more than {_MOST_REDIRECTS} times; {self.remedies.address}"
        )

    @asynccontextmanager
    async def _send(
        self, url: URL, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request when the host has no other request, and yield the response; translate the errors of aiohttp.

        Raises:
            SyncError: the certificate of the host is not trusted.
            FaultError: another failure, after which a retry can succeed.
        """
        async with self._host_locks.setdefault((url.host, url.port), asyncio.Lock()):
            try:
                async with asyncio.timeout(_STEPS * self.silence):
                    response = await self.session.get(url, headers=headers, allow_redirects=False)
            except aiohttp.ClientConnectorCertificateError as error:
                raise SyncError(
                    f"{url} has a certificate that is not trusted ({_why_untrusted(error)}); "
                    f"set SSL_CERT_FILE to that of its authority, or {self.remedies.address}"
                ) from error
            except _AIOHTTP_ERRORS as error:
                raise FaultError(f"{url} cannot be read: {self._reason(error)}") from error
            async with response:
                yield response

    def _reason(self, error: Exception) -> str:
        """The reason of a failure of aiohttp, whose own messages are for programmers."""
        match error:
            case aiohttp.ConnectionTimeoutError():
                return f"no connection within {self.silence:g} s"
            case aiohttp.ServerTimeoutError():
                return f"no byte for {self.silence:g} s"
            case TimeoutError():
                return f"its headers did not end within {_STEPS * self.silence:g} s"
            case aiohttp.ClientConnectorDNSError():
                return f"the name of the host {error.host} leads to no address"
            case aiohttp.ClientConnectorSSLError():
                return "there is no TLS at this port"
            case aiohttp.ClientHttpProxyError():
                return f"the proxy of the environment answers {error.status}"
            case aiohttp.ServerDisconnectedError():
                return "the connection was closed before an answer"
            case aiohttp.ClientPayloadError() if isinstance(error.__cause__, OSError):
                return self._reason(error.__cause__)
            case aiohttp.ClientPayloadError():
                return "the connection was closed"
            case OSError() if error.errno:
                return os.strerror(error.errno)
            case OSError():
                return "the connection failed"
            case _:
                return "the answer is not valid HTTP"

    def _body(self, response: aiohttp.ClientResponse, url: URL, headers: Mapping[str, str]) -> Body:
        """The body of a response of status 200 or 206; raises the error for any other status."""
        start = 0
        status, size = response.status, response.content_length
        if status == 206:
            start, size = _parse_content_range(url, response.headers.get("Content-Range", ""))
        elif status != 200:
            raise self._refusal(response, url, headers)
        encoding = response.headers.get("Content-Encoding", "identity")
        # Some servers declare the compression of a published .gz file as an encoding of the response.
        if encoding != "identity" and not url.path.endswith((".gz", ".bz2", ".zip")):
            raise SyncError(
                f"{url} sends the encoding {encoding!r} without a request for it; unpacking it would break digests "
                f"and ranges; switch compression off there, or {self.remedies.address}"
            )
        return Body(
            start,
            self._pieces(response, url, start, size),
            size,
            response.headers.get("ETag", ""),
            response.headers.get("Last-Modified", ""),
            response.content_type,
        )

    async def _pieces(
        self, response: aiohttp.ClientResponse, url: URL, at: int, size: int | None
    ) -> AsyncIterator[bytes]:
        """The pieces of a body from the byte `at` on; raises FaultError if the body breaks off."""
        try:
            while True:
                # After a malformed chunk aiohttp reads no more, and its own time-out never comes.
                async with asyncio.timeout(self.silence):
                    piece = await response.content.read(PIECE)
                if not piece:
                    return
                yield piece
                at += len(piece)
        except _AIOHTTP_ERRORS as error:
            of_size = "" if size is None else f" of {size:,}"
            is_silent = isinstance(error, TimeoutError)
            reason = f"no byte for {self.silence:g} s" if is_silent else self._reason(error)
            raise FaultError(f"{url} breaks off at byte {at:,}{of_size}: {reason}") from error

    def _refusal(
        self, response: aiohttp.ClientResponse, url: URL, headers: Mapping[str, str]
    ) -> SyncError:
        """The error for a response that is neither a body nor a redirect.

        Its type says how the caller can go on: FaultError if a retry can succeed, AbsentError if there is no such file,
        UnchangedError after a conditional request, RangeError after a range that does not exist, else SyncError.
        """
        status = response.status
        if status == 304 and headers.keys() & _CONDITIONAL_HEADERS:
            return UnchangedError(f"{url} is unchanged")
        if status == 416:
            return RangeError(f"{url} answers 416 to {headers.get('Range', 'a request for all')}")
        if status in (404, 410):
            return AbsentError(f"{url} is not there (HTTP {status})")
        message = f"{url} answers {status}"
        if status >= 500 or status in _TEMPORARY_STATUSES:
            return FaultError(message, retry_after_seconds(response.headers.get("Retry-After", "")))
        remedy = self.remedies.account if status in (401, 403) else self.remedies.address
        return SyncError(f"{message}; {remedy}")


@asynccontextmanager
async def connect(agent: str, silence: float, remedies: Remedies) -> AsyncIterator[Client]:
    """A client that calls itself `agent`; `silence` is the longest time without a byte."""
    async with aiohttp.ClientSession(
        headers={"User-Agent": agent, "Accept-Encoding": "identity"},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence),
        trust_env=True,
        auto_decompress=False,
    ) as session:
        yield Client(session, silence, remedies)


def _why_untrusted(error: aiohttp.ClientConnectorCertificateError) -> str:
    """The reason why OpenSSL refuses a certificate."""
    return str(getattr(error.certificate_error, "verify_message", "") or "it is for another name")


def _is_same_host(origin: URL, url: URL) -> bool:
    """Whether a key for `origin` can also be sent to `url`: another port is another program."""
    if url.host != origin.host:
        return False
    return url.port == origin.port or not (url.explicit_port or origin.explicit_port)


def _read_url(text: str) -> URL:
    """Parse an absolute or relative address; the host becomes ASCII. Raises ValueError."""
    if not text.isprintable():  # control characters, and bytes that are not UTF-8
        raise ValueError("it has a character that an address cannot have")
    url = URL(text, encoded=True)
    host = url.raw_host or ""
    url = url if host.isascii() else url.with_host(host)
    # yarl raises the ValueError for an invalid host or port only when they are read.
    _ = (url.host, url.port)
    return url


def _redirect_target(url: URL, response: aiohttp.ClientResponse) -> URL:
    """The address to which a response redirects."""
    location = response.headers.get("Location", "")
    try:
        return url.join(_read_url(location))
    except ValueError as error:
        raise FaultError(f"{url} redirects to {location!r}, which is not an address") from error


def _parse_content_range(url: URL, content_range: str) -> tuple[int, int | None]:
    """The position at which a 206 begins, and the size of the complete file, if the server announces it."""
    match = _CONTENT_RANGE.fullmatch(content_range)
    if not match:
        raise RangeError(
            f"{url} answers 206 with the Content-Range {content_range!r}, which cannot be understood"
        )
    return int(match[1]), None if match[2] == "*" else int(match[2])


def retry_after_seconds(retry_after: str) -> float | None:
    """The seconds that Retry-After asks to wait, given as a number or a date; None if it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])  # nine digits: a longer number could become infinite
    try:
        until = parsedate_to_datetime(retry_after)
        wait = until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # the header can contain anything
        return None
    return max(0.0, wait.total_seconds())
