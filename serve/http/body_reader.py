"""The body of a request, bounded in size and time."""

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

# A body is 64 KiB, or 1 MiB of lines, at most: a client that takes longer is not really sending it.
BODY_SECONDS: Final = 10.0
# A file of a form may be 4 MiB, from a line of 1 Mbit/s.
FILE_SECONDS: Final = 40.0
# A file brings this many bytes in every BODY_SECONDS, or nobody is really sending it.
FILE_BYTES: Final = 16 << 10
# Bytes of bodies that one process receives at the same time; slow clients would fill its memory with them.
MOST_AT_ONCE: Final = 64 << 20
# Of these, the bytes of one network (/24, /48): one that sends slowly leaves room for others.
MOST_OF_NETWORK: Final = 16 << 20
# A body may have so many chunks of any size (RFC 9112 §7.1); with more, they have this many bytes on average: each
# takes as long to parse as a kilobyte.
_FEW_CHUNKS: Final = 64 << 10
_SMALL_CHUNK: Final = 64
# Bytes of the headers of a part.
_LONGEST_HEAD: Final = 8 << 10


async def json_body(request: Request, largest: int = LARGEST, allowed: int | None = None) -> bytes:
    """The JSON body of a POST, whose query string must be empty.

    Args:
        allowed: bytes that this caller may send, where they are fewer than the `largest` body has.

    Raises:
        ApiError: 400: there are parameters in the query string; 415; and as `body`.
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

    The form is taken apart once it is here, in a thread: aiohttp reads the preamble and the headers of a form line by
    line, and counts none of them.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or is no such form; 503: as `body`.
    """
    raw = await body(request, largest, seconds=FILE_SECONDS)
    kind = request.message.headers.get("Content-Type", "")
    try:
        return await loop_guard.parse(len(raw), partial(_split_form, raw, kind, most))
    except ValueError as error:
        raise ApiError("corps_invalide", "pas_multipart", shown=repr(kind[:100])) from error


def _split_form(raw: bytes, kind: str, most: int) -> list[FormPart]:
    """The parts of a form of Content-Type `kind`, which begins with its first boundary, as all programs write it.

    Raises:
        ValueError: it is no such form, or has more than `most` parts.
    """
    header = Message()
    header["Content-Type"] = kind
    boundary = b"--" + (header.get_boundary() or "").encode()
    if not raw.startswith(boundary):
        raise ValueError("it does not begin with its boundary")
    # A part more than there may be is enough to refuse it.
    *parts, end = raw.removeprefix(boundary).split(b"\r\n" + boundary, most + 1)
    if len(parts) > most or not end.startswith(b"--"):
        raise ValueError("it has too many parts, or no end")
    return [_form_part(part) for part in parts]


def _form_part(part: bytes) -> FormPart:
    """The part after a boundary. Raises ValueError."""
    head, blank, content = part.partition(b"\r\n\r\n")
    if not head.startswith(b"\r\n") or not blank or len(head) > _LONGEST_HEAD:
        raise ValueError("the headers of a part are missing, or too long")
    for line in head.decode("utf-8", "surrogateescape").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            _, given = parse_content_disposition(value.strip())
            if field := content_disposition_filename(given, "name"):
                return FormPart(field, content_disposition_filename(given), content)
    raise ValueError("a part has no name")


async def body(
    request: Request,
    largest: int = LARGEST,
    allowed: int | None = None,
    seconds: float | None = None,
) -> bytes:
    """The whole body, of at most `largest` bytes.

    Args:
        allowed: as for `json_body`.
        seconds: the time that it may take while it keeps coming, where that is more than BODY_SECONDS.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or cannot be read; 503: too many arrive at once.
    """
    message: web.BaseRequest = request.message
    lanes, trace = request.context.lanes, request.trace
    allowed = largest if allowed is None else allowed
    room = _BodyMemory(message, network_of(trace.address) or "", allowed, largest)
    room.check(message.content_length or 0)
    if waits(message):
        await message.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        message.writer.output_size = 0  # of the response
    if not message.body_exists:
        # All such requests share one reader in aiohttp, whose second reading of chunks has no end.
        return b""
    raw = bytearray()
    chunks = 0
    pace = None
    # Who is slow keeps nobody of the same network waiting.
    waits_in_lane = trace.lane is not None
    lanes.leave(trace)
    try:
        async with asyncio.timeout(BODY_SECONDS) as bound:
            pace = _Pace(bound, seconds or BODY_SECONDS)
            async for piece, is_chunk in message.content.iter_chunks():
                chunks += is_chunk
                if chunks > _FEW_CHUNKS and len(raw) < chunks * _SMALL_CHUNK:
                    raise ApiError("corps_invalide", "morceaux_trop_petits", least=_SMALL_CHUNK)
                room.take(len(piece))
                pace.keep(len(piece))
                raw += piece
    except TimeoutError:
        raise _late_error(pace.seconds if pace else BODY_SECONDS) from None
    except web.RequestPayloadError as error:
        raise ApiError("corps_invalide", "corps_illisible", count=len(raw)) from error
    if waits_in_lane:
        await lanes.enter(trace)
    return bytes(raw)


def waits(message: web.BaseRequest) -> bool:
    """Does the client wait for leave to send its body (RFC 9110 §10.1.1)?"""
    return message.headers.get("Expect", "").strip().lower() == "100-continue"


def give_back(message: web.BaseRequest) -> None:
    """Give back the room of the body of a request that was answered."""
    room = message.get(_ROOM)
    if room is not None:
        room.give_back()


class _BodyMemory:
    """The room of a body, of that of the process and of its network, until its request is answered."""

    _taken = 0
    _of_networks: ClassVar[Counter[str]] = Counter()

    def __init__(self, message: web.BaseRequest, network: str, allowed: int, largest: int) -> None:
        self._network = network
        self._allowed = allowed
        self._largest = largest
        self._own = 0
        message[_ROOM] = self

    def give_back(self) -> None:
        _BodyMemory._taken -= self._own
        of_networks = _BodyMemory._of_networks
        of_networks[self._network] -= self._own
        if not of_networks[self._network]:
            del of_networks[self._network]
        self._own = 0

    def check(self, size: int) -> None:
        """Raise ApiError 413 for a body of so many bytes, if it is too large."""
        if size > self._allowed:
            if self._largest > self._allowed:  # a caller with a key may send more
                raise ApiError(
                    "corps_trop_grand_sans_compte", limit=self._allowed, most=self._largest
                )
            raise ApiError("corps_trop_grand", limit=self._allowed)

    def take(self, size: int) -> None:
        """Take room for so many bytes more.

        Raises:
            ApiError: 413: the body is too large; 503: all bodies together are, or those of its network.
        """
        self._own += size
        _BodyMemory._taken += size
        _BodyMemory._of_networks[self._network] += size
        self.check(self._own)
        of_network = _BodyMemory._of_networks[self._network]
        if _BodyMemory._taken > MOST_AT_ONCE or of_network > MOST_OF_NETWORK:
            raise ApiError("indisponible", "sans_place")


class _Pace:
    """The time that a body has: BODY_SECONDS more for each FILE_BYTES that came, `longest` seconds in all."""

    def __init__(self, bound: asyncio.Timeout, longest: float) -> None:
        self._bound = bound
        self._longest = longest
        self._since = self._window = asyncio.get_running_loop().time()
        self._came = 0

    @property
    def seconds(self) -> float:
        """The bound that was not kept, in seconds."""
        return min(self._longest, self._window + BODY_SECONDS - self._since)

    def keep(self, size: int) -> None:
        """Count so many bytes more; a full window begins the next one."""
        self._came += size
        if self._came >= FILE_BYTES:
            self._came = 0
            self._window = asyncio.get_running_loop().time()
            self._bound.reschedule(min(self._window + BODY_SECONDS, self._since + self._longest))


# The place of a body's room among the values of its message.
_ROOM: Final = web.RequestKey("room", _BodyMemory)


async def form_fields(raw: bytes, most: int) -> list[tuple[str, str]]:
    """The fields of a form that is `application/x-www-form-urlencoded`; a blank one is kept.

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
    shown = f"{seconds:g} s"
    return ApiError("corps_invalide", "corps_tardif", shown=shown)
