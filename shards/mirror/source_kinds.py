"""The kinds of mirror sources: a folder, a web server, a bucket.

A folder is on this machine: a mounted disk, a network share, another DATA.

A web server serves files over http or https (`client`). Redirects are followed on the same host only, because another
host must not become the source or see the password. Conditional requests are not used: digests are more reliable, and
some servers ignore the conditions.

A bucket is on S3 or a compatible service: `s3://bucket/prefix`. Keys, region and endpoint come from the usual
environment variables (`AWS_*`; for a public bucket AWS_SKIP_SIGNATURE=true). obstore is an extra:
`pip install 'societes[s3]'`. Its own retries are off, because the mirror retries and resumes itself. Its asynchronous
functions are not used: their threads call Python, which aborts the process if it ends meanwhile
(PyO3/pyo3-async-runtimes#40).
"""

import asyncio
import base64
import errno
import os
import stat
import threading
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

from shards.mirror.source import AbsentError, Body, FaultError, MirrorSource, SyncError

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ClientConfig, RetryConfig

T = TypeVar("T")


def find_source(text: str, environment: Mapping[str, str]) -> MirrorSource:
    """The source at the address `text`: a URL of a web server or a bucket, otherwise a folder.

    Raises:
        SyncError: the address is of no known kind, or invalid.
    """
    scheme, separator, _ = text.partition("://")
    if not separator:
        return Folder(Path(text))
    if scheme in ("http", "https"):
        return Web(text, environment)
    if scheme == "s3":
        return Bucket(text, environment)
    raise SyncError(f"{text!r} is not a source; give a folder, http://…, https://… or s3://…")


# -- a folder ----------------------------------------------------------------------------------


# The most bytes of a piece of a file.
_FILE_PIECE: Final = 1 << 20
# The message for a link, a socket, a FIFO or a folder at the path `{}`.
_IRREGULAR: Final = "{} is not a regular file; put the file itself there"


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

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        """Open a file of the folder; see `MirrorSource.open`."""
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
        FaultError: it is not a regular file.
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


async def _pieces_of_file(file: IO[bytes], where: Path) -> AsyncIterator[bytes]:
    """The content of an open file from its position on; raises FaultError if the disk fails."""
    try:
        while piece := file.read(_FILE_PIECE):
            yield piece
    except OSError as error:
        raise _fault_of_file(where, error) from error


def _fault_of_file(where: Path, error: OSError) -> FaultError:
    """The error for an unreachable share, a failing disk, or missing permissions."""
    return FaultError(f"{where} cannot be read: {error.strerror or error}")


# -- a web server ------------------------------------------------------------------------------


# The environment variables with the credentials of a web source: a bearer token, or `user:password`.
TOKEN: Final = "MIRROR_TOKEN"
PASSWORD: Final = "MIRROR_PASSWORD"


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
                "the address of a web source is https://host/path, without user, password, query "
                f"or fragment; for a password, set {TOKEN} or {PASSWORD} (user:password)"
            )
        self._url = url.rstrip("/")
        self._credentials = _credentials(environment)

    @property
    def name(self) -> str:
        return self._url

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        """Request a file from the server; see `MirrorSource.open`."""
        from shards.mirror import client  # imports aiohttp, which other commands do not need

        remedies = client.Remedies(
            redirect="give that address as the source if you trust it",
            account=f"set {TOKEN} or {PASSWORD} (user:password)",
            address="give another address",
        )
        url = f"{self._url}/{urllib.parse.quote(path)}"
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with (
            client.connect("societes-mirror", client.SILENCE_SECONDS, remedies) as session,
            session.get(url, headers, self._credentials) as body,
        ):
            # A page of a proxy, for example during a deployment: the next response can be the file.
            if body.content_type == "text/html":
                raise FaultError(f"{url} sends a web page instead of the file")
            yield body


def _credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The Authorization header for the token or the password in the environment; empty without both."""
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


# -- a bucket ----------------------------------------------------------------------------------


_SILENCE: Final = timedelta(seconds=30)  # the longest time without a byte
# The longest duration of one request: a shard is large.
_LONGEST_REQUEST: Final = timedelta(hours=12)
_LEAST_PIECE: Final = 1  # byte: pieces as they arrive, so that a slow source is noticed
# The most characters of a message of obstore.
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
            "connect_timeout": _SILENCE, "read_timeout": _SILENCE, "timeout": _LONGEST_REQUEST
        }  # fmt: skip
        if endpoint and endpoint.startswith("http://"):
            client["allow_http"] = True
        retry: RetryConfig = {"max_retries": 0}  # the mirror itself retries and resumes
        try:
            self._store = S3Store.from_url(self._url, client_options=client, retry_config=retry)
        except (BaseError, ValueError) as error:
            raise SyncError(
                f"{url} cannot be used as a bucket ({_one_line(error)}); write s3://bucket/prefix"
            ) from error

    @property
    def name(self) -> str:
        return self._url

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        """Request an object of the bucket; see `MirrorSource.open`."""
        from obstore import get
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        where = f"{self._url}/{path}"
        try:
            options: GetOptions = {"range": {"offset": start}} if start else {}
            result = await _run_in_thread(lambda: get(self._store, path, options=options))
        except FileNotFoundError as error:
            raise AbsentError(f"{where} is not there") from error
        except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
            raise SyncError(
                f"{where} is refused; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                f"or AWS_SKIP_SIGNATURE=true: {_one_line(error)}"
            ) from error
        except (BaseError, OSError) as error:
            raise FaultError(f"{where} cannot be read: {_one_line(error)}") from error
        yield Body(result.range[0], _pieces_of_bucket(result, where))


async def _pieces_of_bucket(result: "GetResult", where: str) -> AsyncIterator[bytes]:
    """The bytes of an object of a bucket as they arrive; raises FaultError if the bucket fails."""
    from obstore.exceptions import BaseError

    try:
        stream = result.stream(min_chunk_size=_LEAST_PIECE)
        while (piece := await _run_in_thread(lambda: next(stream, None))) is not None:
            yield bytes(piece)
    except (BaseError, OSError) as error:
        raise FaultError(f"{where} cannot be read: {_one_line(error)}") from error


async def _run_in_thread(function: Callable[[], T]) -> T:
    """The result of `function`, called in a daemon thread.

    A command that is stopped does not wait for such a thread, as it would for one of `asyncio.to_thread`.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # so it takes a result even if nobody waits for it any more

    def run() -> None:
        """Call `function`, and set its result or its exception."""
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - a panic of obstore is not an Exception
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)


def _one_line(error: BaseException) -> str:
    """The message of an error of obstore on one line, without its part from "Debug source" on."""
    return " ".join(str(error).split("Debug source")[0].split())[:_LONGEST_MESSAGE]
