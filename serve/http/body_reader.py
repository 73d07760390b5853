"""The body of a request, bounded in size and time."""

import asyncio
from typing import Final

from aiohttp import web

from serve.contract import errors
from serve.request.json_body import LARGEST, check_kind

# A body is 64 KiB, or 1 MiB of lines, at most: a client that takes longer is not really sending it.
BODY_SECONDS: Final = 10.0


async def json_body(message: web.BaseRequest, query: str, largest: int = LARGEST) -> bytes:
    """The JSON body of a POST, whose query string must be empty.

    Raises:
        ApiError: 400: there are parameters in the query string; 415; and as `body`.
    """
    if query:
        why = (
            "les paramètres d'un POST sont dans son corps, en JSON",
            "the parameters of a POST are in its body, as JSON",
        )
        raise errors.parametre_invalide("chaîne de requête", why)
    check_kind(message.headers.get("Content-Type"), message.headers.get("Content-Encoding"))
    return await body(message, largest)


async def body(message: web.BaseRequest, largest: int = LARGEST) -> bytes:
    """The whole body, of at most `largest` bytes.

    Raises:
        ApiError: 413: it is too large; 400: it does not arrive, or cannot be read.
    """
    if (message.content_length or 0) > largest:
        raise errors.corps_trop_grand(largest)
    if message.headers.get("Expect", "").lower() == "100-continue":  # RFC 9110 §10.1.1
        await message.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    raw = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in message.content.iter_any():
                raw += piece
                if len(raw) > largest:
                    raise errors.corps_trop_grand(largest)
    except TimeoutError:
        seconds = f"{BODY_SECONDS:g} s"
        why = (f"il n'est pas arrivé en {seconds}", f"it did not come within {seconds}")
        raise errors.corps_invalide(why) from None
    except web.RequestPayloadError as error:
        raise errors.corps_invalide(("il ne peut être lu", "it cannot be read")) from error
    return bytes(raw)
