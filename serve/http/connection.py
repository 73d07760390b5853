"""Connections: requests that cannot be parsed, slow clients, the end of a server, and the access log.

aiohttp answers an unreadable request itself, with plain text; here the response becomes the error
object of §2.6. So any bytes a client can send get JSON or a closed connection.
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

# Bytes. The labels of 84 sectors come near aiohttp's own limit of 8 190 (contract F4).
LONGEST_LINE: Final = 64 * 1024
LONGEST_FIELD: Final = 8 * 1024  # of a header

# Also limits a connection that sends nothing, or its headers a byte at a time.
KEEPALIVE_SECONDS: Final = 15.0

# In the message of aiohttp: a request line whose method is a token, but none that it knows.
_METHOD: Final = re.compile(r"b[\"']([!#$%&*+.^_`|~0-9A-Za-z-]+) \S+ HTTP/1\.[01][\"']")
# In its message too: the line that it could not read, up to the value of a header, which may be a key.
_READ: Final = re.compile(r"\n  b[\"']([^:'\"]{1,40})")

# In the bytes of a request that could not be parsed.
_LANGUAGE: Final = re.compile(rb"\r\naccept-language:([^\r\n]{0,200})", re.IGNORECASE)
_END_OF_HEAD: Final = b"\r\n\r\n"
_KEPT: Final = 16 * 1024  # of them, the last ones, for the language of the error

# A body that was answered before its end is read for so long, so that its client sees the answer; then the
# connection is closed.
LINGERING_SECONDS: Final = 1.0

# Seconds in which a client must take the bytes that wait for it, and the bytes for which it has a second more.
PATIENCE: Final = 20.0
_SLOWEST: Final = 16 * 1024

# Bytes of a connection since its last request began. Whoever sends on after a refusal would have them all read.
MOST_RECEIVED: Final = 16 << 20

# Bytes of a read that are parsed at once: 700 chunks of one byte, which take 2 ms.
SLICE: Final = 4 << 10

_POLL_SECONDS: Final = 0.05
# A second in all.
_TURNS_OF_REST: Final = 20

_LONGEST: Final = 500  # characters of one logged value
# Those of a search and of its changes: their values are no data of the caller.
_KNOWN: Final = frozenset((*(one.name for one in SEARCH), "depuis", "nature", "curseur"))

_log: Final = logging.getLogger("serve.http.connection")


def make_server(
    handler: Handler,
    metrics: Metrics,
    lanes: VisitorLanes,
    write: Callable[[bytes], None] | None = None,
) -> "Server":
    """The protocol factory of a listening socket.

    Args:
        lanes: where requests wait that cannot be parsed, since nobody knows from whom they are.
        write: gets the log line of each request; stderr by default. These lines do not go through
            `logging`, which takes as long as the rest of a 304.
    """
    return Server(
        handler,
        lanes,
        access_log_class=_access_log(metrics, write or stderr.write_soon),
        access_log=_log,
        max_line_size=LONGEST_LINE,
        max_field_size=LONGEST_FIELD,
        keepalive_timeout=KEEPALIVE_SECONDS,
        lingering_time=LINGERING_SECONDS,
        # A compressed body could be of any size; serve/request/json_body.py refuses it.
        auto_decompress=False,
    )


class _Request(web.BaseRequest):
    """A request that is answered in HTTP/1.1, whatever its own version (RFC 9110 §2.5)."""

    @property
    def version(self) -> HttpVersion:
        return HttpVersion11

    @property
    def is_old(self) -> bool:
        """Whether its connection ends with the response, unless the response says otherwise."""
        return super().version == HttpVersion10


class _Connection(web.RequestHandler):
    """A connection that answers unreadable requests in JSON, and takes no bytes without end.

    aiohttp parses all that a read has brought at once: 256 KiB are 40 000 chunks of one byte, and take 0.2 s. So larger
    reads are parsed in slices, and in each turn of the event loop one slice of all connections.
    """

    __slots__ = ("_cut", "_is_deaf", "_lanes", "_last_bytes", "_received", "_slices", "_unparsed")

    def __init__(self, manager: "Server", **options: Any) -> None:
        super().__init__(manager, **options)
        self._lanes = manager.lanes
        self._slices = manager.slices
        self._received = 0
        self._last_bytes = b""
        self._unparsed = bytearray()
        self._is_deaf = False
        self._cut: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Take the bytes of the next request."""
        was_paused, self._received = self._received > MOST_RECEIVED, 0
        self._last_bytes = b""
        if was_paused and not self._is_held:
            self._resume_transport_reading()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        self._last_bytes = (
            data[-_KEPT:] if len(data) >= _KEPT else (self._last_bytes + data)[-_KEPT:]
        )
        if self._received > MOST_RECEIVED:
            self._pause_transport_reading()
        if self._is_deaf:
            return
        if not data or (len(data) <= SLICE and not self._unparsed):  # aiohttp goes on by no data
            super().data_received(data)
            return
        self._unparsed += data
        self._pause_transport_reading()
        self._slices.add(self)

    def parse_slice(self) -> None:
        """Parse a part of the bytes that were received, unless aiohttp waits for the reader of a body."""
        if self._is_held or self.transport is None:
            return  # aiohttp resumes, or the client has gone
        piece = bytes(self._unparsed[:SLICE])
        del self._unparsed[:SLICE]
        super().data_received(piece)
        if not self._is_held:
            self._resume_transport_reading()

    @property
    def _is_held(self) -> bool:
        """Whether aiohttp takes no bytes until the reader of a body, or the handler of a request, has some."""
        return self._reading_paused or self._buffer_paused

    def ignore_rest(self) -> None:
        """Parse nothing more: the rest of a body has no reader, and the connection closes after the response."""
        self._is_deaf = True
        self._unparsed.clear()
        self._resume_transport_reading()

    async def _read_rest(self) -> None:
        """Read what a client is sending after a request that cannot be parsed, or it may lose the response.

        A connection that is closed while bytes are unread is reset (RFC 9112 §9.6).
        """
        self.ignore_rest()
        received, turns = 0, 0
        while received < self._received > SLICE and turns < _TURNS_OF_REST:
            received, turns = self._received, turns + 1
            await asyncio.sleep(_POLL_SECONDS)

    def _resume_transport_reading(self) -> None:
        if self._unparsed:
            self._slices.add(self)
        elif self._received <= MOST_RECEIVED:
            super()._resume_transport_reading()

    def pause_writing(self) -> None:
        """Wait for the client, which has more than 64 KiB to take; cut it off if it does not take them in time.

        One that takes nothing at all is cut off by the socket (serve/process/port.py).
        """
        super().pause_writing()
        assert self.transport is not None
        waiting = self.transport.get_write_buffer_size()
        self._cut = asyncio.get_running_loop().call_later(
            PATIENCE + waiting / _SLOWEST, self.transport.abort
        )

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_cut()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._cancel_cut()

    def _cancel_cut(self) -> None:
        if self._cut is not None:
            self._cut.cancel()

    def _make_error_handler(
        self, err_info: Any
    ) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        """The handler of a request that cannot be parsed, which waits for a place of its network."""
        answer, lanes = super()._make_error_handler(err_info), self._lanes

        async def answer_in_lane(request: web.BaseRequest) -> web.StreamResponse:
            trace = RequestTrace("", "")
            trace.address = request.remote
            await lanes.enter(trace)
            try:
                await self._read_rest()
                return await answer(request)
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
        trace = RequestTrace(request_id(None), request.rel_url.raw_path)
        trace.address = request.remote
        request[TRACE] = trace
        accepted = self._accepted(request)
        lang = accept.language(accepted) or errors.LANGUAGES[0]
        if status >= 500:
            # Not from a route, which serve/http/app.py guards: the response could not be written.
            _log.error("connection failed", exc_info=exc)
            response = error_response(ApiError("erreur_interne", request_id=trace.request_id), lang)
        elif accepted is None and _END_OF_HEAD not in self._last_bytes:
            response = _in_both_languages(_unreadable_error(exc))
        else:
            response = error_response(_unreadable_error(exc), lang)
        reply = make_reply(response, trace, opened=True)
        reply.force_close()
        return reply

    def _accepted(self, request: web.BaseRequest) -> str | None:
        """Accept-Language, read from the bytes where aiohttp could not parse the request."""
        found = _LANGUAGE.search(self._last_bytes)
        unparsed = found[1].decode("latin-1") if found else None
        return request.headers.get("Accept-Language", unparsed)


def _in_both_languages(error: ApiError) -> Response:
    """The response to a request whose Accept-Language has not been read: no header of it counts."""
    error.texts = Text(*[" / ".join(error.texts)] * 2)
    headers = {**NO_STORE, **error.headers, "Content-Language": ", ".join(errors.LANGUAGES)}
    return Response(error.status, error.body(errors.LANGUAGES[0]), headers)


def _unreadable_error(exc: BaseException | None) -> ApiError:
    """The error for a request that aiohttp could not parse."""
    if isinstance(exc, LineTooLong):
        if str(LONGEST_LINE) in map(str, exc.args):
            return ApiError("uri_trop_longue", limit=LONGEST_LINE)
        too_long = errors.text("en_tete_trop_long", limit=LONGEST_FIELD)
        return errors.invalid_parameter(errors.HEADER, too_long)
    if isinstance(exc, BadHttpMethod) and (method := _METHOD.search(exc.message)):
        return ApiError("methode_non_autorisee", method=method[1][:40], allowed=ALLOW)
    if isinstance(exc, InvalidURLError):
        curl = "curl: -G --data-urlencode 'q=société'"
        return errors.invalid_parameter(errors.REQUEST, "adresse_a_encoder", curl=curl)
    if isinstance(exc, BadHttpMessage) and (read := _READ.search(exc.message)):
        return errors.invalid_parameter(errors.REQUEST, "ligne_pas_du_http", shown=read[1])
    return errors.invalid_parameter(errors.REQUEST, "pas_du_http")


class _Slices:
    """The connections with bytes that are not parsed yet, each in its turn."""

    def __init__(self) -> None:
        self._waiting: dict[_Connection, None] = {}
        self._is_scheduled = False

    def add(self, connection: _Connection) -> None:
        """Have a slice of a connection parsed in one of the next turns of the event loop."""
        self._waiting[connection] = None
        self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._parse_next)

    def _parse_next(self) -> None:
        self._is_scheduled = False
        connection = next(iter(self._waiting))
        del self._waiting[connection]
        try:
            connection.parse_slice()
        finally:
            self._schedule()


class Server(web.Server):
    """A web.Server whose connections are `_Connection`s and can be ended without a loss."""

    def __init__(self, handler: Handler, lanes: VisitorLanes, **options: Any) -> None:
        request_factory = partial(_Request, loop=asyncio.get_running_loop())
        super().__init__(self._handle, request_factory=request_factory, **options)
        self.lanes = lanes
        self.slices = _Slices()
        self._handler = handler
        self._options = options
        self._ending = False

    async def drain(self, seconds: float) -> None:
        """Let each open connection end with its next response; wait `seconds` at most.

        No connection is closed between two requests: a client whose next request is on its way could
        not know whether it was answered.
        """
        self._ending = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while self.connections and loop.time() < deadline:
            await asyncio.sleep(_POLL_SECONDS)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(request, _Request) and isinstance(connection, _Connection)
        connection.begin()
        reply = await self._handler(request)
        is_cut = request.content_length is None and not request.content.is_eof()
        if is_cut:  # chunks that nobody reads would be parsed all the same
            connection.ignore_rest()
        if self._ending or is_cut:
            reply.force_close()
        elif request.is_old and request.keep_alive:
            reply.headers["Connection"] = "keep-alive"
        return reply

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop(), **self._options)


def _access_log(metrics: Metrics, write: Callable[[bytes], None]) -> type[AbstractAccessLogger]:
    class AccessLog(AbstractAccessLogger):
        """Writes one line per answered request (contract G11), and counts it (G10)."""

        def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
            trace = request[TRACE]
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
    """The parameters of a request for its log line: unknown ones without their values (contract A5)."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        values = fields.setdefault(name[:_LONGEST], [])
        if name in _KNOWN:
            values.append(value[:_LONGEST])
    return fields
