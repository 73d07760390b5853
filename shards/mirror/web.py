"""A mirror source on a web server that serves files, over http or https.

A mirror reads a few large files one after the other, so the client of the standard library is enough. Proxies and
certificates are configured by the environment (`https_proxy`, `SSL_CERT_FILE`). Redirects are followed on the same host
only, and never from https to http: a redirect must not choose another source, or see the password. Another port gets
none. Conditional requests are not used: digests are more reliable, and some servers ignore the conditions.
"""

import base64
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from shards.mirror import pacing
from shards.mirror.errors import FaultError, SyncError
from shards.mirror.source import Body

TOKEN: Final = "MIRROR_TOKEN"
PASSWORD: Final = "MIRROR_PASSWORD"

_SILENCE_SECONDS: Final = 30.0  # the longest time without a byte
_PIECE: Final = 1 << 18
_FAILURES: Final = (OSError, http.client.HTTPException, ValueError)


class Web:
    """The folder DATA at a URL."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        """Configure the source; nothing is sent.

        Raises:
            SyncError: the URL has a user, password, query or fragment, or the environment has invalid credentials.
        """
        parts = urllib.parse.urlsplit(url)
        if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise SyncError(
                "a source on the web is written https://host/path, without user, password, query "
                f"or fragment; who needs a password sets {TOKEN} or {PASSWORD} (user:password)"
            )
        self._url = url.rstrip("/")
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "societes-mirror"}
        self._headers |= _credentials(environment)
        self._opener = urllib.request.build_opener(_SameHost)

    @property
    def name(self) -> str:
        return self._url

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Body]:
        url = f"{self._url}/{urllib.parse.quote(path)}"
        headers = self._headers | ({"Range": f"bytes={start}-"} if start else {})
        try:
            request = urllib.request.Request(url, headers=headers)
            response = self._opener.open(request, timeout=_SILENCE_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, url) from error
        except _FAILURES as error:
            raise _fault(url, error) from error
        with response:
            yield Body(_begin(response, url, start), _pieces(response, url))


class _SameHost(urllib.request.HTTPRedirectHandler):
    """A handler that follows redirects on the same host; all others are errors."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        # The scheme may stay as it is, or change from http to https.
        if new.hostname != old.hostname or new.scheme not in (old.scheme, "https"):
            fp.close()
            raise SyncError(
                f"{req.full_url} redirects to {new.scheme}://{new.netloc}, which is not followed; "
                "name that as the source if you trust it"
            )
        followed = super().redirect_request(req, fp, code, msg, headers, newurl)
        if followed is not None and _port(new) != _port(old) and (old.port or new.port):
            followed.remove_header("Authorization")
        return followed


def _port(url: urllib.parse.SplitResult) -> int | None:
    return url.port or {"http": 80, "https": 443}.get(url.scheme)


def _credentials(environment: Mapping[str, str]) -> dict[str, str]:
    token, password = environment.get(TOKEN, ""), environment.get(PASSWORD, "")
    if token and password:
        raise SyncError(f"both {TOKEN} and {PASSWORD} are set; keep one of them")
    if not (token + password).isprintable():
        raise SyncError(
            f"{TOKEN if token else PASSWORD} has a line break or control character; set it without"
        )
    if password and ":" not in password:
        raise SyncError(f"{PASSWORD} is not user:password; write it so, or set {TOKEN} to a token")
    if token:
        return {"Authorization": f"Bearer {token}"}
    if password:
        return {"Authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}
    return {}


def _begin(response: Any, url: str, start: int) -> int:
    """The position in the file at which the body begins."""
    if response.status == 200:
        return 0  # the whole file: a server may ignore the range (RFC 9110 §14.2)
    sent = response.headers.get("Content-Range", "")
    if pacing.part_of_whole(url, response.status, sent)[0] != start:
        raise FaultError(f"{url} was asked for the bytes from {start} on, and sends {sent}")
    return start


def _pieces(response: Any, url: str) -> Iterator[bytes]:
    try:
        # `read1` returns the bytes that have arrived, so that a slow body is stored as it comes.
        while piece := response.read1(_PIECE):
            yield piece
    except _FAILURES as error:
        raise _fault(url, error) from error


def _fault(url: str, error: BaseException) -> FaultError:
    # The cause of a URLError is in its `reason`: a failed name lookup, a time-out.
    reason = getattr(error, "reason", None) or error
    return FaultError(f"{url} cannot be read: {reason or type(error).__name__}")


def _refusal(error: urllib.error.HTTPError, url: str) -> SyncError:
    if found := pacing.refusal(url, error.code, error.headers.get("Retry-After", "")):
        return found
    if error.code == 416:
        return FaultError(f"{url} is shorter than what was read of it (HTTP 416)")
    refused = error.code in (401, 403)
    remedy = f"set {TOKEN} or {PASSWORD} (user:password)" if refused else "give another address"
    return SyncError(f"{url} answers {error.code}; {remedy}")
