"""Reading the body of a request, with limits on size and time."""

import asyncio
from collections import Counter
from email.message import Message
from functools import partial
from typing import ClassVar, Final, NamedTuple
from urllib.parse import parse_qsl

from aiohttp import content_disposition_filename, parse_content_disposition, web

from serve.access import loop_guard
from serve.access.call import Request
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request.client_address import network_of
from serve.request.json_body import LARGEST, check_kind

# The most seconds for a body of up to 64 KiB, or for 1 MiB of lines.
BODY_SECONDS: Final = 10.0
# The most seconds for a form with a file: 4 MiB at 1 Mbit/s.
FILE_SECONDS: Final = 40.0
# A file must bring this many bytes in every BODY_SECONDS.
FILE_BYTES: Final = 16 << 10
# The most bytes of bodies that a process receives at the same time; else slow clients could fill its memory.
MOST_AT_ONCE: Final = 64 << 20
# The most bytes of bodies for one network (/24, /48), so that slow clients of a network leave room for others.
MOST_OF_NETWORK: Final = 16 << 20
# A body with more than _FEW_CHUNKS chunks (RFC 9112 §7.1) must have at least _SMALL_CHUNK bytes per chunk on average:
# a chunk takes as long to parse as a kilobyte.
_FEW_CHUNKS: Final = 64 << 10
_SMALL_CHUNK: Final = 64
# The most bytes of the headers of a form part.
_LONGEST_HEAD: Final = 8 << 10


async def json_body(request: Request, largest: int = LARGEST, allowed: int | None = None) -> bytes:
    """The JSON body of a POST, whose query string must be empty.

    Args:
        allowed: the most bytes for this caller, if fewer than `largest`.

    Raises:
        ApiError: 400: the query string has parameters; 415; and as `body`.
    """
    if request.query:
        raise errors.invalid_parameter(errors.QUERY_STRING, "parametres_d_un_post")
    headers = request.message.headers
    check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
    return await body(request, largest, allowed)


class FormPart(NamedTuple):
    """A part of a multipart form (RFC 7578); a file has a name, which may be empty."""

    name: str
    filename: str | None
    content: bytes


async def form_parts(request: Request, largest: int, most: int) -> list[FormPart]:
    """The parts of a multipart form: at most `most`, of at most `largest` bytes in all.

    The form is split in a thread after it has arrived. aiohttp's own reader would read the preamble and the headers
    line by line, without a limit.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or is not such a form; 503: as `body`.
    """
    raw = await body(request, largest, seconds=FILE_SECONDS)
    kind = request.message.headers.get("Content-Type", "")
    try:
        return await loop_guard.parse(len(raw), partial(_split_form, raw, kind, most))
    except ValueError as error:
        raise ApiError("corps_invalide", "pas_multipart", shown=repr(kind[:100])) from error


def _split_form(raw: bytes, kind: str, most: int) -> list[FormPart]:
    """The parts of a form of Content-Type `kind`. It must begin with its first boundary, as browsers write it.

    Raises:
        ValueError: it is not such a form, or has more than `most` parts.
    """
    header = Message()
    header["Content-Type"] = kind
    boundary = b"--" + (header.get_boundary() or "").encode()
    if not raw.startswith(boundary):
        raise ValueError("it does not begin with its boundary")
    # The body is split into at most one part more than is allowed, which is enough to refuse it.
    *parts, end = raw.removeprefix(boundary).split(b"\r\n" + boundary, most + 1)
    if len(parts) > most or not end.startswith(b"--"):
        raise ValueError("it has too many parts, or no end")
    return [_form_part(part) for part in parts]


def _form_part(part: bytes) -> FormPart:
    """The field of a form in the bytes after a boundary: its name, its file name if any, and its content.

    Raises:
        ValueError: the part has no name, or its headers are missing or too long.
    """
    head, blank, content = part.partition(b"\r\n\r\n")
    if not head.startswith(b"\r\n") or not blank or len(head) > _LONGEST_HEAD:
        raise ValueError("the headers of a part are missing, or too long")
    for line in head.decode("utf-8", "surrogateescape").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            _, fields = parse_content_disposition(value.strip())
            if field := content_disposition_filename(fields, "name"):
                return FormPart(field, content_disposition_filename(fields), content)
    raise ValueError("a part has no name")


async def body(
    request: Request,
    largest: int = LARGEST,
    allowed: int | None = None,
    seconds: float | None = None,
) -> bytes:
    """The complete body, of at most `largest` bytes; sends `100 Continue` if the client waits for it.

    The place of a visitor in its lane is free while the body arrives.

    Args:
        allowed: the most bytes for this caller, if fewer than `largest`.
        seconds: the most time in all, if more than BODY_SECONDS.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or cannot be read; 503: all bodies take too much
            memory.
    """
    message: web.BaseRequest = request.message
    lanes, trace = request.context.lanes, request.trace
    allowed = largest if allowed is None else allowed
    memory = _BodyMemory(message, network_of(trace.address) or "", allowed, largest)
    memory.check(message.content_length or 0)
    if expects_continue(message):
        await message.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        message.writer.output_size = 0  # the log must have only the bytes of the response
    if not message.body_exists:
        # All requests without a body share one reader in aiohttp; reading it a second time would not end.
        return b""
    raw = bytearray()
    chunks = 0
    pace = None
    # A slow body must not keep others of the same network waiting.
    waits_in_lane = trace.lane is not None
    lanes.leave(trace)
    try:
        async with asyncio.timeout(BODY_SECONDS) as bound:
            pace = _Pace(bound, seconds or BODY_SECONDS)
            async for data, ends_chunk in message.content.iter_chunks():
                chunks += ends_chunk
                if chunks > _FEW_CHUNKS and len(raw) < chunks * _SMALL_CHUNK:
                    raise ApiError("corps_invalide", "morceaux_trop_petits", least=_SMALL_CHUNK)
                memory.take(len(data))
                pace.count_bytes(len(data))
                raw += data
    except TimeoutError:
        raise _late_error(pace.seconds if pace else BODY_SECONDS) from None
    except (web.RequestPayloadError, ConnectionResetError) as error:
        raise ApiError("corps_invalide", "corps_illisible", count=len(raw)) from error
    if waits_in_lane:
        await lanes.enter(trace)
    return bytes(raw)


def expects_continue(message: web.BaseRequest) -> bool:
    """Whether the client waits for permission to send its body (RFC 9110 §10.1.1)."""
    return message.headers.get("Expect", "").strip().lower() == "100-continue"


def give_back(message: web.BaseRequest) -> None:
    """Give back the memory of the body of an answered request."""
    memory = message.get(_MEMORY_KEY)
    if memory is not None:
        memory.give_back()


class _BodyMemory:
    """The memory that a body takes from the limits of the process and of its network, until its request is answered."""

    _taken = 0  # bytes of all bodies of this process
    # Bytes of the bodies of each network.
    _of_networks: ClassVar[Counter[str]] = Counter()

    def __init__(self, message: web.BaseRequest, network: str, allowed: int, largest: int) -> None:
        """Begin with no bytes, and attach this memory to the message, where `give_back` finds it.

        Args:
            network: the network of the client, whose bodies share a limit.
            allowed: the most bytes of a body of this caller.
            largest: the most bytes with an account, for the error that a caller without an account gets.
        """
        self._network = network
        self._allowed = allowed
        self._largest = largest
        self._own_bytes = 0
        message[_MEMORY_KEY] = self

    def give_back(self) -> None:
        """Give back the memory of the body."""
        _BodyMemory._taken -= self._own_bytes
        of_networks = _BodyMemory._of_networks
        of_networks[self._network] -= self._own_bytes
        if not of_networks[self._network]:
            del of_networks[self._network]
        self._own_bytes = 0

    def check(self, size: int) -> None:
        """Raise ApiError 413 if a body of `size` bytes is too large."""
        if size > self._allowed:
            if self._largest > self._allowed:  # this caller has no key; with one it may send more
                raise ApiError(
                    "corps_trop_grand_sans_compte", limit=self._allowed, most=self._largest
                )
            raise ApiError("corps_trop_grand", limit=self._allowed)

    def take(self, size: int) -> None:
        """Take memory for `size` further bytes.

        Raises:
            ApiError: 413: the body is too large; 503: all bodies, or those of the network, take too much memory.
        """
        self._own_bytes += size
        _BodyMemory._taken += size
        _BodyMemory._of_networks[self._network] += size
        self.check(self._own_bytes)
        of_network = _BodyMemory._of_networks[self._network]
        if _BodyMemory._taken > MOST_AT_ONCE or of_network > MOST_OF_NETWORK:
            raise ApiError("indisponible", "sans_place")


class _Pace:
    """The time limit of a body: BODY_SECONDS, again after each FILE_BYTES, and `longest` seconds in all."""

    def __init__(self, bound: asyncio.Timeout, longest: float) -> None:
        """Start the clock; `bound` is the timeout that is extended when enough bytes arrive."""
        self._timeout = bound
        self._longest_seconds = longest
        self._started_at = self._window_start = asyncio.get_running_loop().time()
        self._window_bytes = 0  # that arrived since `_window_start`

    @property
    def seconds(self) -> float:
        """The current time limit, in seconds since the start."""
        return min(self._longest_seconds, self._window_start + BODY_SECONDS - self._started_at)

    def count_bytes(self, size: int) -> None:
        """Count `size` further bytes; each FILE_BYTES extend the time limit, so a fast large body may take longer."""
        self._window_bytes += size
        if self._window_bytes >= FILE_BYTES:
            self._window_bytes = 0
            self._window_start = asyncio.get_running_loop().time()
            self._timeout.reschedule(
                min(self._window_start + BODY_SECONDS, self._started_at + self._longest_seconds)
            )


# The key of the memory of a body in its aiohttp message.
_MEMORY_KEY: Final = web.RequestKey("room", _BodyMemory)


async def form_fields(raw: bytes, most: int) -> list[tuple[str, str]]:
    """The fields of a form in `application/x-www-form-urlencoded`, including blank fields.

    Raises:
        ApiError: 400: it is not UTF-8, or has more than `most` fields.
    """
    read = partial(parse_qsl, keep_blank_values=True, errors="strict", max_num_fields=most)
    try:
        return await loop_guard.parse(len(raw), lambda: read(raw.decode()))
    except ValueError as error:
        raise form_error(error, most) from error


def form_error(error: ValueError, most: int = 0) -> ApiError:
    """The error of a form that is not UTF-8, or has more than `most` fields."""
    if not isinstance(error, UnicodeDecodeError):
        return ApiError("corps_invalide", "trop_de_champs", most=most)
    shown = repr(error.object[error.start : error.end])
    return ApiError("corps_invalide", "pas_un_formulaire", shown=shown)


def _late_error(seconds: float) -> ApiError:
    """The error for a body that did not arrive within `seconds`."""
    limit = f"{seconds:g} s"
    return ApiError("corps_invalide", "corps_tardif", shown=limit)
