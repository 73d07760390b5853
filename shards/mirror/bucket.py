"""A mirror source in a bucket of S3, or of a compatible service: `s3://bucket/prefix`.

Keys, region and endpoint come from the usual environment variables (`AWS_*`; for a public bucket
AWS_SKIP_SIGNATURE=true). obstore is an extra: `pip install 'societes[s3]'`. Its own retries are off, because the mirror
has its own, which resume.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shards.mirror.errors import AbsentError, FaultError, SyncError
from shards.mirror.source import Body

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig, RetryConfig

_SILENCE: Final = timedelta(seconds=30)
_WHOLE: Final = timedelta(hours=12)  # the longest duration of one request: a shard is large
_PIECE: Final = 1  # byte: as they come, so that whoever reads them sees how slow they are
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
                f"{url} cannot be used as a bucket ({_line(error)}); write s3://bucket/prefix"
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
                f"or AWS_SKIP_SIGNATURE=true: {_line(error)}"
            ) from error
        except (BaseError, OSError) as error:
            raise FaultError(f"{where} cannot be read: {_line(error)}") from error
        yield Body(found.range[0], _pieces(found, where))


def _pieces(result: "GetResult", where: str) -> Iterator[bytes]:
    from obstore.exceptions import BaseError

    try:
        for piece in result.stream(min_chunk_size=_PIECE):
            yield bytes(piece)
    except (BaseError, OSError) as error:
        raise FaultError(f"{where} cannot be read: {_line(error)}") from error


def _line(error: BaseException) -> str:
    """The message of a library error, in one line."""
    return " ".join(str(error).split("Debug source")[0].split())[:_LONGEST_MESSAGE]
