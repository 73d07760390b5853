"""Connections: requests that cannot be parsed, slow clients, the end of a server, and the access log.

aiohttp answers a request that it cannot parse with plain text; here the response becomes the error object of §2.6. So
a client gets JSON or a closed connection for any bytes.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from aiohttp import HttpVersion, HttpVersion10, HttpVersion11, web
from aiohttp.abc import AbstractAccessLogger
from aiohttp.http_exceptions import BadHttpMessage, BadHttpMethod, InvalidURLError, LineTooLong

from serve.access.call import NO_STORE, Response, error_response
from serve.access.loop_guard import VisitorLanes
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import SEARCH
from serve.contract.text import Text
from serve.http.app import Handler
from serve.http.reply import TRACE, make_reply, request_id
from serve.http.router import ALLOW
from serve.observe.log import RequestTrace, line, stderr
from serve.observe.metrics import Metrics
from serve.request import accept
from serve.request.client_address import network_of
from serve.request.reader import Pairs

# The most bytes of a request line. The labels of 84 sectors come near aiohttp's own limit of 8 190 (contract F4).
LONGEST_LINE: Final = 64 * 1024
LONGEST_FIELD: Final = 8 * 1024  # bytes of a header

# After this time without a complete request a connection is closed, also if it sends its headers a byte at a time.
KEEPALIVE_SECONDS: Final = 15.0

# In an error message of aiohttp: a request line with an unknown method.
_UNKNOWN_METHOD: Final = re.compile(r"b[\"']([!#$%&*+.^_`|~0-9A-Za-z-]+) \S+ HTTP/1\.[01][\"']")
# In an error message of aiohttp: the line that it could not read, up to the value of a header, which may be a key.
_UNREADABLE_LINE: Final = re.compile(r"\n  b[\"']([^:'\"]{1,40})")

# The header Accept-Language in the bytes of a request that could not be parsed.
_LANGUAGE: Final = re.compile(rb"\r\naccept-language:([^\r\n]{0,200})", re.IGNORECASE)
_END_OF_HEAD: Final = b"\r\n\r\n"  # the blank line after the headers
_KEPT_BYTES: Final = 16 * 1024  # the most recent bytes, from which the language of an error is read

# Seconds in which the rest of an answered body is read, so that the client sees the answer; then the connection is
# closed.
LINGERING_SECONDS: Final = 1.0

# A client must take waiting bytes in PATIENCE_SECONDS plus the time that they need at _SLOWEST_BYTES_PER_SECOND.
PATIENCE_SECONDS: Final = 20.0
_SLOWEST_BYTES_PER_SECOND: Final = 16 * 1024

# The most bytes read from a connection since its last request began, for clients that send on after a refusal.
MOST_RECEIVED: Final = 16 << 20

# The bytes that are parsed in one turn of the event loop: even as 700 chunks of one byte each, they take only 2 ms.
SLICE: Final = 4 << 10

_POLL_SECONDS: Final = 0.05  # between two looks at the received bytes, or at the open connections
# The most polls for the rest of a request that cannot be parsed: a second in all.
_REST_POLLS: Final = 20

_LONGEST_VALUE: Final = 500  # characters of one logged value
# The parameters of a search and of changes: their values are not personal data, so they are logged.
_LOGGED_PARAMETERS: Final = frozenset(
    (*(parameter.name for parameter in SEARCH), "depuis", "nature", "curseur")
)

_log: Final = logging.getLogger("serve.http.connection")


def make_server(
    handler: Handler,
    metrics: Metrics,
    lanes: VisitorLanes,
    write: Callable[[bytes], None] | None = None,
) -> "Server":
    """The protocol factory of a listening socket.

    Args:
        lanes: the places that a request needs if it cannot be parsed, since the caller is then unknown.
        write: writes the log line of each request; stderr by default. These lines do not go through `logging`, which
            takes as long as the rest of a 304.
    """
    return Server(
        handler,
        lanes,
        access_log_class=_access_log_class(metrics, write or stderr.write_soon),
        access_log=_log,
        max_line_size=LONGEST_LINE,
        max_field_size=LONGEST_FIELD,
        keepalive_timeout=KEEPALIVE_SECONDS,
        lingering_time=LINGERING_SECONDS,
        # A compressed body could unpack to any size, so it stays compressed, and serve/request/json_body.py refuses it.
        auto_decompress=False,
    )


class _Request(web.BaseRequest):
    """A request that is answered in HTTP/1.1, whatever its own version (RFC 9110 §2.5)."""

    @property
    def version(self) -> HttpVersion:
        """HTTP/1.1, from which aiohttp takes the version of the response."""
        return HttpVersion11

    @property
    def is_old(self) -> bool:
        """Whether the request is HTTP/1.0: its connection ends with the response, unless a header keeps it open."""
        return super().version == HttpVersion10


class _Connection(web.RequestHandler):
    """A connection that answers unreadable requests in JSON, and limits the bytes that it reads.

    aiohttp parses all bytes of a read at once: 256 KiB may be 40 000 chunks of one byte, and take 0.2 s. So larger
    reads are parsed in slices: a turn of the event loop parses one slice of one connection.
    """

    __slots__ = (
        "_cut_timer",
        "_discards",
        "_lanes",
        "_last_bytes",
        "_received",
        "_slices",
        "_unparsed",
    )

    def __init__(self, manager: "Server", **options: Any) -> None:
        """Begin a connection of the server `manager`, with aiohttp's options."""
        super().__init__(manager, **options)
        self._lanes = manager.lanes
        self._slices = manager.slices
        self._received = 0  # bytes since the last request began
        self._last_bytes = b""  # at most _KEPT_BYTES of the last request
        self._unparsed = bytearray()  # received, and waiting for their slice
        self._discards = False  # whether further bytes are dropped
        self._cut_timer: asyncio.TimerHandle | None = (
            None  # set by `pause_writing`, to cut off a client
        )

    def begin(self) -> None:
        """Count the bytes of the next request from 0; read on if the last request had reached the limit."""
        was_paused, self._received = self._received > MOST_RECEIVED, 0
        self._last_bytes = b""
        if was_paused and not self._is_held:
            self._resume_transport_reading()

    def data_received(self, data: bytes) -> None:
        """Count the bytes; parse short data now, and queue longer data in slices, between which other requests run.

        While data is queued, or more than MOST_RECEIVED bytes were received, no more is read from the connection.
        """
        self._received += len(data)
        self._last_bytes = (
            data[-_KEPT_BYTES:]
            if len(data) >= _KEPT_BYTES
            else (self._last_bytes + data)[-_KEPT_BYTES:]
        )
        if self._received > MOST_RECEIVED:
            self._pause_transport_reading()
        if self._discards:
            return
        # aiohttp passes empty data to parse the bytes that it has kept.
        if not data or (len(data) <= SLICE and not self._unparsed):
            super().data_received(data)
            return
        self._unparsed += data
        self._pause_transport_reading()
        self._slices.add(self)

    def parse_slice(self) -> None:
        """Parse a part of the received bytes, unless aiohttp waits until a handler reads a body."""
        if self._is_held or self.transport is None:
            return  # aiohttp will resume the reading, or the client has gone
        next_bytes = bytes(self._unparsed[:SLICE])
        del self._unparsed[:SLICE]
        super().data_received(next_bytes)
        if not self._is_held:
            self._resume_transport_reading()

    @property
    def _is_held(self) -> bool:
        """Whether aiohttp takes no bytes until a body is read or a handler has taken a request."""
        return self._reading_paused or self._buffer_paused

    def ignore_rest(self) -> None:
        """Parse nothing more: the rest of a body has no reader, and the connection closes after the response."""
        self._discards = True
        self._unparsed.clear()
        self._resume_transport_reading()

    async def _read_rest(self) -> None:
        """Read the bytes after a request that cannot be parsed, so that the client gets the response.

        A connection that is closed with unread bytes is reset (RFC 9112 §9.6).
        """
        self.ignore_rest()
        received_before, polls = 0, 0
        # The loop waits while more bytes arrive, and more than SLICE have arrived in all.
        while received_before < self._received > SLICE and polls < _REST_POLLS:
            received_before, polls = self._received, polls + 1
            await asyncio.sleep(_POLL_SECONDS)

    def _resume_transport_reading(self) -> None:
        """Read on, unless received bytes are not parsed yet, or more than MOST_RECEIVED have arrived."""
        if self._unparsed:
            self._slices.add(self)
        elif self._received <= MOST_RECEIVED:
            super()._resume_transport_reading()

    def pause_writing(self) -> None:
        """Set a deadline for the client to take the waiting bytes, more than 64 KiB; after it the client is cut off.

        The socket cuts off a client that takes nothing at all (serve/process/port.py).
        """
        super().pause_writing()
        assert self.transport is not None
        waiting = self.transport.get_write_buffer_size()
        self._cut_timer = asyncio.get_running_loop().call_later(
            PATIENCE_SECONDS + waiting / _SLOWEST_BYTES_PER_SECOND, self.transport.abort
        )

    def resume_writing(self) -> None:
        """The client has taken enough of the waiting bytes: cancel its deadline."""
        super().resume_writing()
        self._cancel_cut()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection has ended: cancel the deadline of its client."""
        super().connection_lost(exc)
        self._cancel_cut()

    def _cancel_cut(self) -> None:
        """Cancel the deadline that `pause_writing` has set to cut a connection whose client reads too slowly."""
        if self._cut_timer is not None:
            self._cut_timer.cancel()

    def _make_error_handler(
        self, err_info: Any
    ) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        """The handler of a request that cannot be parsed.

        As any other request, it waits until fewer requests of its network are being answered (`VisitorLanes.enter`).
        """
        make_answer, lanes = super()._make_error_handler(err_info), self._lanes

        async def answer_in_lane(request: web.BaseRequest) -> web.StreamResponse:
            """Answer once the caller's network has a place."""
            trace = RequestTrace("", "")
            trace.address = request.remote
            await lanes.enter(trace)
            try:
                await self._read_rest()
                return await make_answer(request)
            finally:
                lanes.leave(trace, refused=True)

        return answer_in_lane

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The JSON response to a request that cannot be parsed, or whose response could not be written.

        The trace of the request is set for its log line, and the connection is closed after the response.
        """
        trace = RequestTrace(request_id(None), request.rel_url.raw_path)
        trace.address = request.remote
        request[TRACE] = trace
        accepted = self._accept_language(request)
        lang = accept.language(accepted) or errors.LANGUAGES[0]
        if status >= 500:
            # serve/http/app.py handles the errors of routes, so here the response could not be written.
            _log.error("connection failed", exc_info=exc)
            response = error_response(ApiError("erreur_interne", request_id=trace.request_id), lang)
        # The header with the language may not have arrived, so the response is in both languages.
        elif accepted is None and _END_OF_HEAD not in self._last_bytes:
            response = _bilingual_error(_unreadable_error(exc))
        else:
            response = error_response(_unreadable_error(exc), lang)
        reply = make_reply(response, trace, opened=True)
        reply.force_close()
        return reply

    def _accept_language(self, request: web.BaseRequest) -> str | None:
        """Accept-Language; from the bytes, if aiohttp could not parse the request."""
        match = _LANGUAGE.search(self._last_bytes)
        unparsed = match[1].decode("latin-1") if match else None
        return request.headers.get("Accept-Language", unparsed)


def _bilingual_error(error: ApiError) -> Response:
    """The response in both languages, for a request whose Accept-Language cannot be read."""
    error.texts = Text(*[" / ".join(error.texts)] * 2)
    headers = {**NO_STORE, **error.headers, "Content-Language": ", ".join(errors.LANGUAGES)}
    return Response(error.status, error.body(errors.LANGUAGES[0]), headers)


def _unreadable_error(exc: BaseException | None) -> ApiError:
    """The error, with a remedy, for a request that aiohttp could not parse, by the exception of aiohttp."""
    if isinstance(exc, LineTooLong):
        if str(LONGEST_LINE) in map(str, exc.args):
            return ApiError("uri_trop_longue", limit=LONGEST_LINE)
        too_long = errors.text("en_tete_trop_long", limit=LONGEST_FIELD)
        return errors.invalid_parameter(errors.HEADER, too_long)
    if isinstance(exc, BadHttpMethod) and (method := _UNKNOWN_METHOD.search(exc.message)):
        return ApiError("methode_non_autorisee", method=method[1][:40], allowed=ALLOW)
    if isinstance(exc, InvalidURLError):
        curl = "curl: -G --data-urlencode 'q=société'"
        return errors.invalid_parameter(errors.REQUEST, "adresse_a_encoder", curl=curl)
    if isinstance(exc, BadHttpMessage) and (line_match := _UNREADABLE_LINE.search(exc.message)):
        return errors.invalid_parameter(errors.REQUEST, "ligne_pas_du_http", shown=line_match[1])
    return errors.invalid_parameter(errors.REQUEST, "pas_du_http")


class _Slices:
    """The queue of connections with bytes that are not parsed yet."""

    def __init__(self) -> None:
        # The connections that wait, as an ordered set: the first one has waited longest.
        self._waiting: dict[_Connection, None] = {}
        self._is_scheduled = False

    def add(self, connection: _Connection) -> None:
        """Queue a connection, to parse a slice in a later turn of the event loop."""
        self._waiting[connection] = None
        self._schedule()

    def _schedule(self) -> None:
        """Let the next turn of the event loop parse a slice, if a connection waits."""
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._parse_next)

    def _parse_next(self) -> None:
        """Parse a slice of the connection that has waited longest, and schedule the next one if any waits."""
        self._is_scheduled = False
        connection = next(iter(self._waiting))
        del self._waiting[connection]
        try:
            connection.parse_slice()
        finally:
            self._schedule()


class Server(web.Server):
    """A web.Server of `_Connection`s that can end without losing requests."""

    def __init__(self, handler: Handler, lanes: VisitorLanes, **options: Any) -> None:
        """Answer requests with `handler`; `options` are those of aiohttp for each connection."""
        request_factory = partial(_Request, loop=asyncio.get_running_loop())
        super().__init__(self._handle, request_factory=request_factory, **options)
        self.lanes = lanes
        self.slices = _Slices()
        self._handler = handler
        self._options = options
        self._is_draining = False  # whether each connection ends with its next response

    async def drain(self, seconds: float) -> None:
        """Let each open connection end with its next response; wait at most `seconds`.

        A connection is not closed between two requests: a client with a request on its way could not know whether the
        request was processed.
        """
        self._is_draining = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self.connections and loop.time() < deadline:
            await asyncio.sleep(_POLL_SECONDS)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request; close its connection afterwards if the server ends, or the body was not read to its end."""
        connection = request.protocol
        assert isinstance(request, _Request) and isinstance(connection, _Connection)
        connection.begin()
        reply = await self._handler(request)
        has_unread_body = request.content_length is None and not request.content.is_eof()
        if has_unread_body:  # else aiohttp would still parse the unread chunks
            connection.ignore_rest()
        if self._is_draining or has_unread_body:
            reply.force_close()
        elif request.is_old and request.keep_alive:
            reply.headers["Connection"] = "keep-alive"
        return reply

    def __call__(self) -> web.RequestHandler:
        """A new connection; asyncio calls this for each accepted socket."""
        return _Connection(self, loop=asyncio.get_running_loop(), **self._options)


def _access_log_class(
    metrics: Metrics, write: Callable[[bytes], None]
) -> type[AbstractAccessLogger]:
    """A class for aiohttp, which after each response counts the request in `metrics` and passes its line to `write`."""

    class AccessLog(AbstractAccessLogger):
        """Writes one line per answered request (contract G11), and counts the request (G10)."""

        def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
            """Count the request, and write its line; aiohttp calls this after the response was sent."""
            trace = request[TRACE]
            seconds = trace.seconds
            metrics.request(trace.route, trace.plan, response.status, trace.quota, seconds)
            write(line("info", "request", _line_fields(request, response, trace, seconds)))

    return AccessLog


def _line_fields(
    request: web.BaseRequest, response: web.StreamResponse, trace: RequestTrace, seconds: float
) -> dict[str, Any]:
    """The fields of the log line of a request, by their names in the log; long values are cut."""
    return {
        "method": request.method,
        "path": trace.path[:2_000],
        "route": trace.route,
        "query": query_fields(trace.pairs),
        "status": response.status,
        "ms": round(seconds * 1_000, 3),
        "bytes": request.writer.output_size,
        "request_id": trace.request_id,
        "plan": trace.plan,
        "account": trace.account,
        **({"tool": trace.tool} if trace.tool else {}),
        "quota": trace.quota or None,
        "generation": trace.generation,
        "ip": network_of(trace.address),
    }


def query_fields(pairs: Pairs) -> dict[str, list[str]]:
    """The parameters of a request for its log line: values only of _LOGGED_PARAMETERS, else names alone (A5)."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST_VALUE], [])
        if name in _LOGGED_PARAMETERS:
            values.append(value[:_LONGEST_VALUE])
    return fields
