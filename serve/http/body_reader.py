"""The body of a request, bounded in size and time."""

import asyncio
from typing import Final, NamedTuple

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request.json_body import LARGEST, check_kind

# A body is 64 KiB, or 1 MiB of lines, at most: a client that takes longer is not really sending it.
BODY_SECONDS: Final = 10.0
# A file of a form may be 4 MiB, from a line of 1 Mbit/s.
FILE_SECONDS: Final = 40.0
# A file brings this many bytes in every BODY_SECONDS, or nobody is really sending it.
FILE_BYTES: Final = 16 << 10
# Bytes of bodies that one process receives at the same time; slow clients would fill its memory with them.
MOST_AT_ONCE: Final = 64 << 20
# The errors of aiohttp's parser besides its own: it asserts that a part ends with a boundary.
_NO_PARTS: Final = (ValueError, RuntimeError, AssertionError)


async def json_body(message: web.BaseRequest, query: str, largest: int = LARGEST) -> bytes:
    """The JSON body of a POST, whose query string must be empty.

    Raises:
        ApiError: 400: there are parameters in the query string; 415; and as `body`.
    """
    if query:
        why = errors.why("parametres_d_un_post")
        raise errors.parametre_invalide("chaîne de requête", why)
    check_kind(message.headers.get("Content-Type"), message.headers.get("Content-Encoding"))
    return await body(message, largest)


class FormPart(NamedTuple):
    """A part of a multipart form (RFC 7578); a file has a name, which may be empty."""

    name: str
    filename: str | None
    content: bytes


async def form_parts(message: web.BaseRequest, largest: int, most: int) -> list[FormPart]:
    """The parts of a multipart form: at most `most`, of at most `largest` bytes in all.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or is no such form; 503: as `body`.
    """
    await _continue(message, largest)
    parts: list[FormPart] = []
    try:
        async with asyncio.timeout(BODY_SECONDS) as bound:
            pace = _Pace(bound)
            room = _BodyMemory(message, largest)
            async for part in await message.multipart():
                if not isinstance(part, BodyPartReader) or len(parts) == most or not part.name:
                    raise ValueError("a part of another kind, or too many")
                content = bytearray()
                while chunk := await part.read_chunk():
                    room.take(len(chunk))
                    pace.keep(len(chunk))
                    content += chunk
                parts.append(FormPart(part.name, part.filename, bytes(content)))
    except TimeoutError:
        raise _late_error(pace.seconds) from None
    except (*_NO_PARTS, HttpProcessingError, web.RequestPayloadError) as error:
        shown = message.headers.get("Content-Type", "")[:100]
        why = errors.why("pas_multipart", shown=repr(shown))
        raise errors.corps_invalide(why) from error
    return parts


async def body(message: web.BaseRequest, largest: int = LARGEST) -> bytes:
    """The whole body, of at most `largest` bytes.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or cannot be read; 503: too many arrive at once.
    """
    await _continue(message, largest)
    raw = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            room = _BodyMemory(message, largest)
            async for piece in message.content.iter_any():
                room.take(len(piece))
                raw += piece
    except TimeoutError:
        raise _late_error(BODY_SECONDS) from None
    except web.RequestPayloadError as error:
        raise errors.corps_invalide(errors.why("corps_illisible", count=len(raw))) from error
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
    """The room of a body, of that of the process, from its first byte until its request is answered."""

    _taken = 0

    def __init__(self, message: web.BaseRequest, largest: int) -> None:
        self._largest = largest
        self._own = 0
        message[_ROOM] = self

    def give_back(self) -> None:
        _BodyMemory._taken -= self._own
        self._own = 0

    def take(self, size: int) -> None:
        """Take room for so many bytes more.

        Raises:
            ApiError: 413: the body is too large; 503: all bodies together are.
        """
        self._own += size
        _BodyMemory._taken += size
        if self._own > self._largest:
            raise errors.corps_trop_grand(self._largest)
        if _BodyMemory._taken > MOST_AT_ONCE:
            raise errors.indisponible(errors.NO_ROOM)


class _Pace:
    """The time that a file has: BODY_SECONDS more for each FILE_BYTES that came, FILE_SECONDS in all."""

    def __init__(self, bound: asyncio.Timeout) -> None:
        self._bound = bound
        self._since = self._window = asyncio.get_running_loop().time()
        self._came = 0

    @property
    def seconds(self) -> float:
        """The bound that was not kept, in seconds."""
        return min(FILE_SECONDS, self._window + BODY_SECONDS - self._since)

    def keep(self, size: int) -> None:
        """Count so many bytes more; a full window begins the next one."""
        self._came += size
        if self._came >= FILE_BYTES:
            self._came = 0
            self._window = asyncio.get_running_loop().time()
            self._bound.reschedule(min(self._window + BODY_SECONDS, self._since + FILE_SECONDS))


# The place of a body's room among the values of its request.
_ROOM: Final = web.RequestKey("room", _BodyMemory)


async def _continue(message: web.BaseRequest, largest: int) -> None:
    """Let the client send its body, unless it says that this is too large."""
    if (message.content_length or 0) > largest:
        raise errors.corps_trop_grand(largest)
    if waits(message):
        await message.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def form_error(error: ValueError, most: int = 0) -> ApiError:
    """The error of a form that is not UTF-8, or has more than `most` fields."""
    if not isinstance(error, UnicodeDecodeError):
        return errors.corps_invalide(errors.why("trop_de_champs", most=most))
    shown = repr(error.object[error.start : error.end])
    return errors.corps_invalide(errors.why("pas_un_formulaire", shown=shown))


def _late_error(seconds: float) -> ApiError:
    shown = f"{seconds:g} s"
    return errors.corps_invalide(errors.why("corps_tardif", shown=shown))
