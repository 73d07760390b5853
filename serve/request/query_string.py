"""A query string as names and values, in their order. What they mean is in `reader`.

Texts that clients wrote are remembered only if they are short, and a bounded number of them: a client that sends
thousands of different texts costs a few megabytes and no more. Whom a key belongs to is never remembered here (A11),
so a revocation takes effect at the next call.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeVar
from urllib.parse import parse_qsl, quote

from serve.contract import errors

T = TypeVar("T")

Pairs = Sequence[tuple[str, str]]

# Parameters of a call. Each of a thousand companies may be one (B5).
MOST_PAIRS: Final = 2_048

_REMEMBERED: Final = 2_048
_LONGEST: Final = 400  # characters


def memoise(read: Callable[[str], T]) -> Callable[[str], T]:
    """A decorator that remembers the results of `read` for short texts, but not its exceptions."""
    remembered = lru_cache(_REMEMBERED)(read)

    def recall(text: str) -> T:
        return remembered(text) if len(text) <= _LONGEST else read(text)

    return recall


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
