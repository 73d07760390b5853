"""The HTTP client of the batch job: polite, and careful about where a redirect leads.

One request at a time goes to a host, which is a name and a port. A redirect is followed on the same host and to the
hosts that seeds/sources.csv allows, never from https to http; the key of an account goes to the first host alone.
Proxies and certificates are those of the environment (`https_proxy`, `no_proxy`, `SSL_CERT_FILE`). Bodies are kept as
they are sent: nothing is unpacked on the way, so that ranges and digests are those of the published file.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import aiohttp
from yarl import URL

from pipeline.errors import FetchError
from seeds import VERSION
from shards.mirror import source
from shards.mirror.source import FaultError

PIECE: Final = 1 << 18
_MOST_REDIRECTS: Final = 5
_ANOTHER: Final = "give another address in the configuration"
_STEPS: Final = 3  # connection, handshake and headers may each take the longest silence
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose body is still to be read.

    Attributes:
        status: 200, 206, 304 or 416.
        start: the place in the file at which the body begins.
        size: the size of the whole file, if the server says it.
    """

    status: int
    start: int
    size: int | None
    etag: str
    modified: str
    content_type: str
    pieces: AsyncIterator[bytes]


@dataclass(slots=True)
class Client:
    """A session, which asks a host again when its answer before has been read.

    Attributes:
        silence: the seconds without a byte after which a server is given up.
    """

    session: aiohttp.ClientSession
    silence: float
    _turns: dict[tuple[str | None, int | None], asyncio.Lock] = field(default_factory=dict)

    @asynccontextmanager
    async def get(
        self,
        address: str,
        headers: Mapping[str, str],
        key: Mapping[str, str],
        allowed: Collection[str],
    ) -> AsyncIterator[Answer]:
        """Ask for `address`.

        Args:
            key: headers for the host of `address` alone.
            allowed: other hosts to which it may redirect.

        Raises:
            AbsentError: there is no such file.
            FaultError: the server failed in a way that may be temporary.
            FetchError: the server refuses, or redirects to another host.
        """
        url = origin = URL(address, encoded=True)
        for _ in range(_MOST_REDIRECTS):
            own = {
                **headers,
                "X-Request-Id": str(uuid4()),
                **(key if url.origin() == origin.origin() else {}),
            }
            async with self._ask(url, own) as response:
                if response.status not in _REDIRECTS:
                    yield _answer(response, url)
                    return
                target = url.join(URL(response.headers.get("Location", ""), encoded=True))
            if target.host not in {origin.host, *allowed} or (url.scheme, target.scheme) == (
                "https",
                "http",
            ):
                raise FetchError(
                    f"{url} redirects to {target.origin()}, which is not followed; if it is the register's,"
                    " add the host to seeds/sources.csv, or give the address in the configuration"
                )
            url = target
        raise FetchError(f"{address} redirects more than {_MOST_REDIRECTS} times; {_ANOTHER}")

    @asynccontextmanager
    async def _ask(
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


@asynccontextmanager
async def connect(contact: str, silence: float) -> AsyncIterator[Client]:
    """A client that names itself and the `contact`; `silence` is the longest time without a byte."""
    agent = f"societes/{VERSION} ({f'+{contact}' if contact else 'batch import of open registers'})"
    async with aiohttp.ClientSession(
        headers={"User-Agent": agent, "Accept-Encoding": "identity"},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence),
        trust_env=True,
        auto_decompress=False,
    ) as session:
        yield Client(session, silence)


def _answer(response: aiohttp.ClientResponse, url: URL) -> Answer:
    start, size = 0, response.content_length
    if response.status == 206:
        sent = response.headers.get("Content-Range", "")
        start, size = source.part_of_whole(str(url), response.status, sent)
    elif response.status not in (200, 304, 416):
        waits = response.headers.get("Retry-After", "")
        raise source.refusal(str(url), response.status, waits) or FetchError(
            f"{url} answers {response.status}; {_ANOTHER}"
        )
    packed = response.headers.get("Content-Encoding", "identity")
    if packed != "identity" and not url.path.endswith((".gz", ".bz2", ".zip")):
        raise FetchError(
            f"{url} sends {packed}, which was not asked for; unpacking it would break digests "
            f"and ranges; {_ANOTHER}"
        )
    return Answer(
        response.status,
        start,
        size,
        response.headers.get("ETag", ""),
        response.headers.get("Last-Modified", ""),
        response.content_type,
        response.content.iter_chunked(PIECE),
    )
