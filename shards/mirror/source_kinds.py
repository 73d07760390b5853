"""The kinds of mirror sources: a folder, a web server, a bucket.

A folder is on this machine: a mounted disk, a network share, another DATA.

A web server serves files over http or https. A mirror reads a few large files one after the other, so the client of the
standard library is enough. Proxies and certificates are configured by the environment (`https_proxy`,
`SSL_CERT_FILE`). Redirects are followed on the same host only, and never from https to http: a redirect must not choose
another source, or see the password. Another port gets none. Conditional requests are not used: digests are more
reliable, and some servers ignore the conditions.

A bucket is of S3, or of a compatible service: `s3://bucket/prefix`. Keys, region and endpoint come from the usual
environment variables (`AWS_*`; for a public bucket AWS_SKIP_SIGNATURE=true). obstore is an extra:
`pip install 'societes[s3]'`. Its own retries are off, because the mirror has its own, which resume.
"""

import base64
import errno
import http.client
import os
import stat
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from shards.mirror import source
from shards.mirror.source import AbsentError, Body, FaultError, MirrorSource, SyncError

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig, RetryConfig


def find_source(text: str, environment: Mapping[str, str]) -> MirrorSource:
    """The source at the address `text`: a URL of a web server or a bucket, otherwise a folder.

    Raises:
        SyncError: the address is of no known kind, or invalid.
    """
    scheme, found, _ = text.partition("://")
    if not found:
        return Folder(Path(text))
    if scheme in ("http", "https"):
        return Web(text, environment)
    if scheme == "s3":
        return Bucket(text, environment)
    raise SyncError(f"{text!r} is no source; give a folder, http://…, https://… or s3://…")


# -- a folder ----------------------------------------------------------------------------------


_FILE_PIECE: Final = 1 << 20
_IRREGULAR: Final = "{} is no regular file; put the file itself there"


class Folder:
    """The folder DATA at `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        return str(self._root)

    def is_at(self, folder: Path) -> bool:
        """Whether this source is that folder."""
        return self._root.resolve() == folder.resolve()

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Body]:
        where = self._root / path
        try:
            file = _open_regular(where)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise AbsentError(f"{where} is not there") from error
        except OSError as error:
            raise _fault_of_file(where, error) from error
        with file:
            file.seek(start)
            yield Body(start, _pieces_of_file(file, where))


def _open_regular(where: Path) -> IO[bytes]:
    """Open a regular file, without following a link and without waiting for the writer of a FIFO.

    Raises:
        FaultError: it is no regular file.
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            raise
        raise FaultError(_IRREGULAR.format(where)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FaultError(_IRREGULAR.format(where))
    return os.fdopen(descriptor, "rb")


def _pieces_of_file(file: IO[bytes], where: Path) -> Iterator[bytes]:
    try:
        while piece := file.read(_FILE_PIECE):
            yield piece
    except OSError as error:
        raise _fault_of_file(where, error) from error


def _fault_of_file(where: Path, error: OSError) -> FaultError:
    """The error for a share that is away, a disk that fails, or missing permissions."""
    return FaultError(f"{where} cannot be read: {error.strerror or error}")


# -- a web server ------------------------------------------------------------------------------


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
    if source.part_of_whole(url, response.status, sent)[0] != start:
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
    if found := source.refusal(url, error.code, error.headers.get("Retry-After", "")):
        return found
    if error.code == 416:
        return FaultError(f"{url} is shorter than what was read of it (HTTP 416)")
    refused = error.code in (401, 403)
    remedy = f"set {TOKEN} or {PASSWORD} (user:password)" if refused else "give another address"
    return SyncError(f"{url} answers {error.code}; {remedy}")


# -- a bucket ----------------------------------------------------------------------------------


_SILENCE: Final = timedelta(seconds=30)
_WHOLE: Final = timedelta(hours=12)  # the longest duration of one request: a shard is large
_LEAST_PIECE: Final = 1  # byte: as they come, so that whoever reads them sees how slow they are
_LONGEST_MESSAGE: Final = 300


class Bucket:
    """The folder DATA below a prefix of a bucket."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        """Configure the bucket; nothing is sent.

        Raises:
            SyncError: obstore is not installed, or the URL or a setting is invalid.
        """
        try:
            from obstore.exceptions import BaseError
            from obstore.store import S3Store
        except ImportError as error:
            raise SyncError(
                f"{url} needs obstore, which is not installed; pip install 'societes[s3]'"
            ) from error
        self._url = url.rstrip("/")
        endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
        client: ClientConfig = {
            "connect_timeout": _SILENCE, "read_timeout": _SILENCE, "timeout": _WHOLE
        }  # fmt: skip
        if endpoint and endpoint.startswith("http://"):
            client["allow_http"] = True
        retry: RetryConfig = {"max_retries": 0}
        try:
            self._store = S3Store.from_url(self._url, client_options=client, retry_config=retry)
        except (BaseError, ValueError) as error:
            raise SyncError(
                f"{url} cannot be used as a bucket ({_message(error)}); write s3://bucket/prefix"
            ) from error

    @property
    def name(self) -> str:
        return self._url

    @contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Body]:
        from obstore import get
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        where = f"{self._url}/{path}"
        try:
            found = get(self._store, path, options={"range": {"offset": start}} if start else {})
        except FileNotFoundError as error:
            raise AbsentError(f"{where} is not there") from error
        except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
            raise SyncError(
                f"{where} is refused; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                f"or AWS_SKIP_SIGNATURE=true: {_message(error)}"
            ) from error
        except (BaseError, OSError) as error:
            raise FaultError(f"{where} cannot be read: {_message(error)}") from error
        yield Body(found.range[0], _pieces_of_bucket(found, where))


def _pieces_of_bucket(result: "GetResult", where: str) -> Iterator[bytes]:
    from obstore.exceptions import BaseError

    try:
        for piece in result.stream(min_chunk_size=_LEAST_PIECE):
            yield bytes(piece)
    except (BaseError, OSError) as error:
        raise FaultError(f"{where} cannot be read: {_message(error)}") from error


def _message(error: BaseException) -> str:
    """The message of a library error, in one line."""
    return " ".join(str(error).split("Debug source")[0].split())[:_LONGEST_MESSAGE]
