"""The cookies of the website (RFC 6265): `visite`, `session`, `appareil`. The API accepts none of them.

`visite` contains the chosen language and a nonce that binds forms to the browser. `session` identifies a person.
`appareil` marks a browser from which a person has logged in. All are HttpOnly and SameSite=Lax. Over https they are
also Secure, and the prefix `__Host-` prevents other hosts of the domain from writing the cookies.

Sessions, devices, forms and candidates are signed with the secret of the STATE folder. The secret is made at the first
start, shared by all processes of the host (mode 0600), and never leaves it. If the file is missing at a start, a new
secret is made, and all signatures become invalid.
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

# The names of the cookies.
VISIT: Final = "visite"
SESSION: Final = "session"
DEVICE: Final = "appareil"

VISIT_SECONDS: Final = 180 * 86_400  # lifetime of `visite`: 180 days
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{22}")

# The file in STATE with the secret of the signatures, and the bytes of the secret.
SECRET_FILE: Final = "pages.secret"
_SECRET_BYTES: Final = 32


def read(header: str | None) -> Mapping[str, str]:
    """The cookies of a request by name; if a name occurs twice, the first cookie counts.

    >>> read("a=1; b=2; a=3")
    {'a': '1', 'b': '2'}
    """
    values: dict[str, str] = {}
    for part in (header or "").split(";"):
        name, equals, value = part.strip().partition("=")
        if equals:
            values.setdefault(name, value)
    return values


def name(kind: str, *, secure: bool) -> str:
    """The name of a cookie as headers have it; `secure` if visitors use https."""
    return f"__Host-{kind}" if secure else kind


def set_cookie(kind: str, value: str, seconds: int, *, secure: bool) -> str:
    """A Set-Cookie header; `seconds` 0 removes the cookie.

    >>> set_cookie("session", "x", 60, secure=True)
    '__Host-session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure'
    """
    secure_attribute = "; Secure" if secure else ""
    return (
        f"{name(kind, secure=secure)}={value}; Path=/; Max-Age={seconds}; HttpOnly; "
        f"SameSite=Lax{secure_attribute}"
    )


def read_visit(values: Mapping[str, str], *, secure: bool) -> tuple[str | None, str | None]:
    """The language and the nonce in the cookie `visite`, each None if absent."""
    lang, _, nonce = values.get(name(VISIT, secure=secure), "").partition(".")
    return lang or None, nonce if _NONCE.fullmatch(nonce) else None


def new_nonce() -> str:
    """A nonce for a new browser: 22 characters."""
    return secrets.token_urlsafe(16)


class Signer:
    """HMAC-SHA256 (RFC 2104) with one secret; a signature is valid for one purpose only."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def signature(self, purpose: str, text: str) -> str:
        """The signature of a text: 43 characters that are valid in cookies and forms."""
        digest = hmac.digest(self._secret, f"{purpose}\0{text}".encode(), hashlib.sha256)
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def is_valid(self, signature: str, purpose: str, text: str) -> bool:
        """Whether `signature` is the signature of this text; compared in constant time."""
        return hmac.compare_digest(signature.encode(), self.signature(purpose, text).encode())


def load_signer(state: Path) -> Signer:
    """The signer of a STATE folder; makes the secret if the file is missing.

    Raises:
        OSError: the secret can be neither read nor written.
    """
    path = state / SECRET_FILE
    if not path.exists():
        _make_secret(path)
    secret = path.read_bytes()
    if len(secret) != _SECRET_BYTES:
        raise OSError(
            f"{path} has {len(secret)} bytes, not {_SECRET_BYTES}; delete it for a new secret"
        )
    return Signer(secret)


def _make_secret(path: Path) -> None:
    """Write the secret to a temporary file, then link it; of several processes, only the first can link its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
    try:
        unfinished.touch(0o600)
        with unfinished.open("wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(unfinished)
    except FileExistsError:  # another process has made the secret
        pass
    except OSError as error:
        raise OSError(
            f"{path} cannot be written: {error.strerror}; give its disk space and write access"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
