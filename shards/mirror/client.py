"""The HTTP client of mirrors and nightly fetches: polite, and careful about where a redirect leads.

A host is a name and a port, and has one request at a time. A redirect is followed on the same name and to the names
that the caller allows, never from https to http; the key of an account goes to the first host alone, or to its https.
Proxies and certificates are those of the environment (`https_proxy`, `no_proxy`, `SSL_CERT_FILE`). Bodies stay as they
are sent: nothing is unpacked on the way, so that ranges and digests are those of the published file.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple
from uuid import uuid4

import aiohttp
from yarl import URL

from shards.mirror.source import AbsentError, Body, FaultError, SyncError

SILENCE_SECONDS: Final = 30.0
PIECE: Final = 1 << 18
_MOST_REDIRECTS: Final = 5
_STEPS: Final = 3  # connection, handshake and headers may each take the longest silence
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
# Status codes of temporary failures (RFC 9110 §15.5.9, §15.6; RFC 6585 §4).
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 509})
# Content-Range of a 206 (RFC 9110 §14.4): the first byte, and the size of the whole or `*`.
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)")


class UnchangedError(SyncError):
    """The file is still the file that the condition of the request names (304)."""


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
    """A session, which sends a host the next request when the answer before has been read.

    Attributes:
        silence: the seconds without a byte after which a server is given up.
    """

    session: aiohttp.ClientSession
    silence: float
    remedies: Remedies
    _turns: dict[tuple[str | None, int | None], asyncio.Lock] = field(default_factory=dict)

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
            key: headers for the host of `address` alone.
            allowed: other hosts to which it may redirect.

        Raises:
            AbsentError: there is no such file.
            FaultError: the server failed in a way that may be temporary.
            UnchangedError: as a condition in `headers` demands.
            SyncError: the server refuses, or redirects to another host.
        """
        try:
            url = origin = _read_url(address)
        except ValueError as error:
            raise SyncError(f"{address} is no address: {error}; {self.remedies.address}") from error
        for _ in range(_MOST_REDIRECTS):
            own = {
                **headers,
                "X-Request-Id": str(uuid4()),
                **(key if _is_same_host(origin, url) else {}),
            }
            async with self._send(url, own) as response:
                if response.status not in _REDIRECTS:
                    yield self._body(response, url)
                    return
                target = _target(url, response)
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
        try:
            async with self._turns.setdefault((url.host, url.port), asyncio.Lock()):
                async with asyncio.timeout(_STEPS * self.silence):
                    response = await self.session.get(url, headers=headers, allow_redirects=False)
                async with response:
                    yield response
        except TimeoutError as error:
            raise FaultError(f"{url} says nothing any more") from error
        except aiohttp.ClientError as error:
            raise FaultError(
                f"{url} cannot be read: {str(error) or type(error).__name__}"
            ) from error

    def _body(self, response: aiohttp.ClientResponse, url: URL) -> Body:
        start: int | None = 0
        status, size = response.status, response.content_length
        if status == 206:
            start, size = _range(url, response.headers.get("Content-Range", ""))
        elif status == 416:
            start = None
        elif status != 200:
            raise self._refusal(response, url)
        packed = response.headers.get("Content-Encoding", "identity")
        if packed != "identity" and not url.path.endswith((".gz", ".bz2", ".zip")):
            raise SyncError(
                f"{url} sends {packed}, which was not asked for; unpacking it would break digests "
                f"and ranges; {self.remedies.address}"
            )
        return Body(
            start,
            response.content.iter_chunked(PIECE),
            size,
            response.headers.get("ETag", ""),
            response.headers.get("Last-Modified", ""),
            response.content_type,
        )

    def _refusal(self, response: aiohttp.ClientResponse, url: URL) -> SyncError:
        status = response.status
        if status == 304:
            return UnchangedError(f"{url} is unchanged")
        if status in (404, 410):
            return AbsentError(f"{url} is not there (HTTP {status})")
        said = f"{url} answers {status}"
        if status in _PASSING:
            return FaultError(said, asked_seconds(response.headers.get("Retry-After", "")))
        remedy = self.remedies.account if status in (401, 403) else self.remedies.address
        return SyncError(f"{said}; {remedy}")


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


def _is_same_host(origin: URL, url: URL) -> bool:
    """Whether a key for `origin` is for `url` too: another port is another program."""
    if url.host != origin.host:
        return False
    return url.port == origin.port or not (url.explicit_port or origin.explicit_port)


def _read_url(text: str) -> URL:
    """An address or a part of one, with its host in ASCII. Raises ValueError."""
    url = URL(text, encoded=True)
    host, _ = url.raw_host or "", url.port  # yarl refuses a port when it is read
    return url if host.isascii() else url.with_host(host)


def _target(url: URL, response: aiohttp.ClientResponse) -> URL:
    location = response.headers.get("Location", "")
    try:
        return url.join(_read_url(location))
    except ValueError as error:
        raise FaultError(f"{url} redirects to {location!r}, which is no address") from error


def _range(url: URL, content_range: str) -> tuple[int, int | None]:
    """The position in the whole file at which a 206 begins, and the size of the whole, if the server announces it."""
    match = _CONTENT_RANGE.fullmatch(content_range)
    if not match:
        raise FaultError(f"{url} answers 206 without a range that can be understood")
    return int(match[1]), None if match[2] == "*" else int(match[2])


def asked_seconds(retry_after: str) -> float | None:
    """The seconds that Retry-After asks to wait, given as a number or a date; None if it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        until = parsedate_to_datetime(retry_after)
        left = until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # the header may contain anything
        return None
    return max(0.0, left.total_seconds())
