"""Entity tags (contract G8) and If-None-Match (RFC 9110 §13.1.2).

A tag is strong: it names the exact bytes of a response. These depend on the generation, on the plan
and its offer, and on the request once it is understood; nothing else may enter a body. So the tag is
known before the search is made.
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
    """The quoted tag of the bytes that `parts` determine."""
    text = repr((_EDITION, *parts)).encode()
    return f'"{blake2b(text, digest_size=12).hexdigest()}"'


def matches(if_none_match: str | None, tag: str) -> bool:
    """Does the header name `tag`? The comparison is weak, as the RFC requires.

    >>> matches('W/"a", "b"', '"a"'), matches("*", '"a"'), matches('"c"', '"a"')
    (True, True, False)
    """
    if if_none_match is None:
        return False
    if if_none_match == tag:  # what nearly every client sends
        return True
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
