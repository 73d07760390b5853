"""A query string as names and values, in their order. What they mean is in `reader`."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl, quote

from serve.contract import errors
from serve.request.memo import memoise

Pairs = Sequence[tuple[str, str]]

# Parameters of a call. Each of a thousand companies may be one (B5).
MOST_PAIRS: Final = 2_048


def pairs(raw: str, most: int = MOST_PAIRS) -> Pairs:
    """The names and values of a raw query string; a blank value is kept.

    Raises:
        ApiError: 400 `parametre_invalide`: the text is not UTF-8, or has more than `most` parameters.
    """
    if (count := raw.count("&") + 1) > most:
        why = errors.why("trop_de_parametres", count=count, most=most)
        raise errors.parametre_invalide("chaîne de requête", why)
    try:
        return _pairs(raw)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        # Only the bytes that are wrong: a key may be beside them (A5).
        wrong = error.object[error.start : error.end]
        shown = quote(
            wrong if isinstance(wrong, bytes) else wrong.encode("utf-8", "surrogateescape")
        )
        why = errors.why("pas_de_l_utf8_encode", shown=shown)
        raise errors.parametre_invalide("chaîne de requête", why) from error


@memoise
def _pairs(raw: str) -> Pairs:
    raw.encode()  # bytes that were not UTF-8 arrive as lone surrogates
    if "%" in raw or "+" in raw:
        return tuple(parse_qsl(raw, keep_blank_values=True, errors="strict"))
    # The same where nothing is encoded, at a fifth of the time.
    parts = (part.partition("=") for part in raw.split("&") if part)
    return tuple((name, value) for name, _, value in parts)
