"""The cookies of the website (RFC 6265): `visite`, `session`, `appareil`. None opens the API.

`visite` holds the chosen language and a nonce that binds forms to the browser; `session` identifies a
person; `appareil` is a browser from which a person has logged in. All are HttpOnly and SameSite=Lax.
Over https they are also Secure, and the prefix `__Host-` keeps other hosts of the domain from writing
them.
"""

from collections.abc import Mapping
from typing import Final

VISIT: Final = "visite"
SESSION: Final = "session"
DEVICE: Final = "appareil"

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
    """The name of a cookie in the headers."""
    return f"__Host-{kind}" if secure else kind


def set_cookie(kind: str, value: str, seconds: int, *, secure: bool) -> str:
    """A Set-Cookie header; `seconds` 0 removes the cookie.

    >>> set_cookie("session", "x", 60, secure=True)
    '__Host-session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure'
    """
    end = "; Secure" if secure else ""
    return (
        f"{name(kind, secure=secure)}={value}; Path=/; Max-Age={seconds}; HttpOnly; "
        f"SameSite=Lax{end}"
    )
