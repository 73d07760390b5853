"""The cookies of the website (RFC 6265): `visite`, `session`, `appareil`. None opens the API.

`visite` holds the chosen language and a nonce that binds forms to the browser; `session` identifies a
person; `appareil` is a browser from which a person has logged in. All are HttpOnly and SameSite=Lax.
Over https they are also Secure, and the prefix `__Host-` keeps other hosts of the domain from writing
them.

Sessions, devices, forms and candidates are signed with the secret of a STATE folder. It is made at the first start,
shared by all processes of the host (mode 0600), and never leaves it. A start without the file makes another one: all
that was signed with it ends.
"""

import hashlib
import hmac
import os
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VISIT: Final = "visite"
SESSION: Final = "session"
DEVICE: Final = "appareil"

VISIT_SECONDS: Final = 180 * 86_400
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{22}")

SECRET_FILE: Final = "pages.secret"
_BYTES: Final = 32


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


def read_visit(kept: Mapping[str, str], *, secure: bool) -> tuple[str | None, str | None]:
    """The language and the nonce in the cookie `visite`; None for each that is absent."""
    lang, _, nonce = kept.get(name(VISIT, secure=secure), "").partition(".")
    return lang or None, nonce if _NONCE.fullmatch(nonce) else None


def new_nonce() -> str:
    """A nonce for a new browser: 22 characters."""
    return secrets.token_urlsafe(16)


class Signer:
    """HMAC-SHA256 (RFC 2104) under one secret; the purpose separates one kind of text from another."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def signature(self, purpose: str, text: str) -> str:
        """The signature of a text: 43 characters that are allowed in a cookie or a form."""
        digest = hmac.digest(self._secret, f"{purpose}\0{text}".encode(), hashlib.sha256)
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def is_valid(self, signature: str, purpose: str, text: str) -> bool:
        """Is it the signature of this text? Compared in constant time."""
        return hmac.compare_digest(signature.encode(), self.signature(purpose, text).encode())


def load_signer(state: Path) -> Signer:
    """The signer of a STATE folder; the secret is made if there is none.

    Raises:
        OSError: the secret can be neither read nor made.
    """
    path = state / SECRET_FILE
    if not path.exists():
        _make_secret(path)
    secret = path.read_bytes()
    if len(secret) != _BYTES:
        raise OSError(f"{path} has {len(secret)} bytes, not {_BYTES}; delete it for a new secret")
    return Signer(secret)


def _make_secret(path: Path) -> None:
    """Write a whole secret under another name, then link it; of several processes the first wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
    try:
        unfinished.touch(0o600)
        with unfinished.open("wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(unfinished)
    except FileExistsError:
        pass
    except OSError as error:
        raise OSError(
            f"{path} cannot be written: {error.strerror}; give its disk space and write access"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
