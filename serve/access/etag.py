"""Entity tags (contract G8) and If-None-Match (RFC 9110 §13.1.2).

A tag is strong: it names the exact bytes of an answer, which depend on the generation, the plan and
its offer, and the request once it has been understood; nothing else may enter an answer's body.
So it is known before the search is made.
"""

import re
from collections.abc import Hashable
from functools import lru_cache
from hashlib import blake2b
from typing import Final

# Raise it when the same data and the same request begin to give other bytes.
_EDITION: Final = "1"
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')


@lru_cache(1_024)
def etag(*parts: Hashable) -> str:
    """The tag of what `parts` determine, quoted."""
    text = repr((_EDITION, *parts)).encode()
    return f'"{blake2b(text, digest_size=12).hexdigest()}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Has the client this very answer? Compared weakly, as the RFC wants it.

    >>> matches('W/"a", "b"', '"a"'), matches("*", '"a"'), matches('"c"', '"a"')
    (True, True, False)
    """
    if if_none_match is None:
        return False
    if if_none_match == tag:  # what nearly every client sends
        return True
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
