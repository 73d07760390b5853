"""The two cookies of the pages (RFC 6265): `visite` and `session`. They open pages, never the API.

`visite` holds the language that was chosen and a number that forms are bound to; `session` names a
person. Both are HttpOnly and SameSite=Lax; over https also Secure, and `__Host-` in their name
keeps other hosts of the domain from writing them.
"""

from collections.abc import Mapping
from typing import Final

VISIT: Final = "visite"
SESSION: Final = "session"

VISIT_SECONDS: Final = 180 * 86_400


def read(header: str | None) -> Mapping[str, str]:
    """The cookies of a request, by name; of two with one name the first counts.

    >>> read("a=1; b=2; a=3")
    {'a': '1', 'b': '2'}
    """
    found: dict[str, str] = {}
    for part in (header or "").split(";"):
        name, equals, value = part.strip().partition("=")
        if equals:
            found.setdefault(name, value)
    return found


def name(kind: str, *, secure: bool) -> str:
    return f"__Host-{kind}" if secure else kind


def written(kind: str, value: str, seconds: int, *, secure: bool) -> str:
    """A Set-Cookie header; `seconds` 0 takes the cookie away.

    >>> written("session", "x", 60, secure=True)
    '__Host-session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure'
    """
    end = "; Secure" if secure else ""
    return (
        f"{name(kind, secure=secure)}={value}; Path=/; Max-Age={seconds}; HttpOnly; "
        f"SameSite=Lax{end}"
    )
