"""The secret of a STATE folder, and the signatures made with it: of sessions, devices, forms and candidates.

The secret is made at the first start, shared by all processes of the host (mode 0600), and never
leaves it. A start without the file makes another one: all that was signed with it ends.
"""

import hashlib
import hmac
import os
import secrets
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

FILE: Final = "pages.secret"
_BYTES: Final = 32


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


def load(state: Path) -> Signer:
    """The signer of a STATE folder; the secret is made if there is none.

    Raises:
        OSError: the secret can be neither read nor made.
    """
    path = state / FILE
    if not path.exists():
        _make(path)
    secret = path.read_bytes()
    if len(secret) != _BYTES:
        raise OSError(f"{path} has {len(secret)} bytes, not {_BYTES}; delete it for a new secret")
    return Signer(secret)


def _make(path: Path) -> None:
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
