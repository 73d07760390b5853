"""The body of a request, bounded in size and time."""

import asyncio
from typing import Final

from aiohttp import web

from serve.contract import errors
from serve.request.json_body import LARGEST

# A body is 64 KiB at most: who takes longer to send it is not sending it.
BODY_SECONDS: Final = 10.0


async def body(request: web.BaseRequest) -> bytes:
    """All bytes of it.

    Raises:
        ApiError: 413; 400: it does not come, or not as it should.
    """
    if (request.content_length or 0) > LARGEST:
        raise errors.corps_trop_grand(LARGEST)
    if request.headers.get("Expect", "").lower() == "100-continue":  # RFC 9110 §10.1.1
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    raw = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.content.iter_any():
                raw += piece
                if len(raw) > LARGEST:
                    raise errors.corps_trop_grand(LARGEST)
    except TimeoutError:
        why = f"il n'est pas arrivé en {BODY_SECONDS:g} s"
        raise errors.corps_invalide(why) from None
    except web.RequestPayloadError as error:
        raise errors.corps_invalide("il ne peut être lu") from error
    return bytes(raw)
