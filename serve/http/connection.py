"""HTTP below the routes: what is answered to a request that cannot even be read, and the log line.

aiohttp answers such a request itself, with plain text; here that becomes the error object of §2.6.
So every byte a client can send gets JSON or a closed connection.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger
from aiohttp.http_exceptions import InvalidURLError, LineTooLong

from serve.access.result import of_error
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.http.app import Handler
from serve.http.headers import request_id
from serve.http.reply import Reply
from serve.observe.log import LogQueue, line, query_fields
from serve.observe.metrics import Metrics
from serve.observe.request_trace import RequestTrace
from serve.request.client_address import truncated

# 84 sector labels come near aiohttp's own limit of 8 190 (contract F4).
LONGEST_LINE: Final = 64 * 1024
LONGEST_FIELD: Final = 8 * 1024  # a header

# Also bounds a connection that sends nothing, or its headers a byte at a time.
KEEPALIVE_SECONDS: Final = 15.0

_GLANCE_SECONDS: Final = 0.05

_log: Final = logging.getLogger("serve.http.connection")


def make_server(
    handler: Handler, metrics: Metrics, write: Callable[[bytes], None] | None = None
) -> "Server":
    """The protocol factory of a listening socket; `write` gets the line of each request (stderr).

    These lines do not go through `logging`, which takes as long as the rest of a 304.
    """
    return Server(
        handler,
        access_log_class=_access_log(metrics, write or LogQueue()),
        access_log=_log,
        max_line_size=LONGEST_LINE,
        max_field_size=LONGEST_FIELD,
        keepalive_timeout=KEEPALIVE_SECONDS,
        # A compressed body could be any size; it is refused where there is one (serve/request/json_body.py).
        auto_decompress=False,
    )


class _Connection(web.RequestHandler):
    """One connection, whose unreadable requests are answered in JSON."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        trace = RequestTrace(request_id(None), request.rel_url.raw_path)
        trace.address = request.remote
        if status >= 500:
            # Not the routes, which serve/http/app.py guards: the answer itself could not be written.
            _log.error("connection failed", exc_info=exc)
            answer = of_error(errors.erreur_interne(trace.request_id))
        else:
            answer = of_error(_unreadable(exc))
        return Reply(answer, trace, opened=True, last=True)


def _unreadable(exc: BaseException | None) -> ApiError:
    """What is wrong with a request of which aiohttp made nothing."""
    if isinstance(exc, LineTooLong):
        if str(LONGEST_LINE) in map(str, exc.args):
            return errors.uri_trop_longue(LONGEST_LINE)
        return errors.parametre_invalide("en-tête", f"plus de {LONGEST_FIELD} octets en un seul")
    if isinstance(exc, InvalidURLError):
        why = (
            "l'adresse contient un caractère qui s'écrit %XX, comme tout accent "
            "(curl : -G --data-urlencode 'q=société')"
        )
        return errors.parametre_invalide("requête", why)
    return errors.parametre_invalide("requête", "ce n'est pas du HTTP/1.1 lisible")


class Server(web.Server):
    """A web.Server that makes our kind of connection, and can let them come to an end."""

    def __init__(self, handler: Handler, **options: Any) -> None:
        super().__init__(self._handle, **options)
        self._handler = handler
        self._options = options
        self._ending = False

    async def drain(self, seconds: float) -> None:
        """Answer what comes on open connections, each for the last time, for so long at most.

        Nobody is cut off between two requests: a client whose next one is on its way would not know
        whether it was answered.
        """
        self._ending = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self.connections and loop.time() < deadline:
            await asyncio.sleep(_GLANCE_SECONDS)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        reply = await self._handler(request)
        if self._ending and isinstance(reply, Reply):
            reply.end()
        return reply

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop(), **self._options)


def _access_log(metrics: Metrics, write: Callable[[bytes], None]) -> type[AbstractAccessLogger]:
    class AccessLog(AbstractAccessLogger):
        """One line a request (contract G11), and its figures (G10), once it has been answered."""

        def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
            assert isinstance(response, Reply)  # whatever is answered, it is made here or in app
            trace = response.trace
            seconds = trace.seconds
            metrics.request(trace.route, trace.plan, response.status, trace.quota, seconds)
            write(line("info", "request", _fields(request, response, trace, seconds)))

    return AccessLog


def _fields(
    request: web.BaseRequest, response: web.StreamResponse, trace: RequestTrace, seconds: float
) -> dict[str, Any]:
    return {
        "method": request.method,
        "path": trace.path[:2_000],
        "route": trace.route,
        "query": query_fields(trace.pairs),
        "status": response.status,
        "ms": round(seconds * 1_000, 3),
        "bytes": response.body_length,
        "request_id": trace.request_id,
        "plan": trace.plan,
        "account": trace.account,
        **({"tool": trace.tool} if trace.tool else {}),
        "quota": trace.quota or None,
        "generation": trace.generation,
        "ip": truncated(trace.address),
    }
