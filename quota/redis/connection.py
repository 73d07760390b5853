"""The connection to a Redis or Valkey server: connecting, checking the server, sending pipelines.

One connection, for one thread, on which many commands are sent before the first reply is read. The
server is checked at each connect, because another server may answer at the address, or the same one
with other settings. A server that may evict rows is refused; one that may lose acknowledged writes
causes a warning. Nothing is sent twice: a count whose reply was lost may have been made already.
While the server cannot be reached, every operation fails at once.
"""

import logging
import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.retry import Retry

from quota.errors import QuotaError, StoreUnavailable, WrongStoreError
from quota.ledger import row_format
from quota.redis.hash_layout import META
from quota.redis.scripts import SCRIPTS, Command

# A server in another country replies within a tenth of a second.
CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
# Between two attempts to connect; operations fail at once meanwhile.
PAUSE_S: Final = 0.5
# After so long without a reply the connection may be dead: it is tested with a PING first.
QUIET_S: Final = 10.0
OLDEST: Final = (7, 0)

_log: Final = logging.getLogger("quota.redis")


class RedisConnection:
    """One connection, for one thread."""

    def __init__(self, url: str, *, strict: bool = False) -> None:
        """Connect; `strict` refuses a server that may lose acknowledged writes.

        Raises:
            WrongStoreError: the settings of the server exclude its use.
            StoreUnavailable: the server cannot be reached.
        """
        self.shown = show_address(url)
        self._strict = strict
        self._has_rows = False  # rows were seen on it: from then on they must be there
        self._warned = False
        self._heard = time.monotonic()
        self._closed_until = 0.0
        self._cause = ""
        self._client = Redis.from_url(
            url,
            protocol=2,
            client_name="societes",
            socket_connect_timeout=CONNECT_S,
            socket_timeout=ANSWER_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),
            redis_connect_func=self._on_connect,
        )
        self.run([("PING",)])

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in one pipeline; a command that is refused has an error as its reply.

        Raises:
            StoreUnavailable: the server cannot be reached; commands that were sent may have run.
        """
        if time.monotonic() < self._closed_until:
            raise StoreUnavailable(self._cause)
        try:
            self._test_if_quiet()
            replies = self._send(commands)
            lost = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if lost:  # after a SCRIPT FLUSH; these did not run
                self._send([("SCRIPT", "LOAD", script.source) for script in SCRIPTS])
                for n, reply in zip(lost, self._send([commands[n] for n in lost]), strict=True):
                    replies[n] = reply
        except (RedisError, OSError, QuotaError) as error:
            raise self._unavailable(error) from error
        self._heard = time.monotonic()
        return replies

    def close(self) -> None:
        self._client.close()

    def _send(self, commands: Sequence[Command]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        return replies

    def _test_if_quiet(self) -> None:
        if time.monotonic() - self._heard < QUIET_S:
            return
        try:
            self._send([("PING",)])
        except (RedisError, OSError):
            self._client.connection_pool.disconnect()

    def _unavailable(self, error: Exception) -> QuotaError:
        self._client.connection_pool.disconnect()
        if isinstance(error, WrongStoreError) and not self._has_rows:
            return error
        self._cause = f"{self.shown}: {error}"
        self._closed_until = time.monotonic() + PAUSE_S
        return StoreUnavailable(self._cause)

    # -- checks at each connect ----------------------------------------------------

    def _on_connect(self, connection: Any) -> None:
        """Initialize a new connection as redis-py does, then check the server and load scripts."""
        connection.on_connect()

        def ask(*command: object) -> Any:
            connection.send_command(*command)
            return connection.read_response()

        try:
            info = _parse_info(ask("INFO"))
            self._check_settings(info)
            self._check_syncing(info, ask)
            self._check_rows(ask)
            for script in SCRIPTS:
                ask("SCRIPT", "LOAD", script.source)
        except BaseException:
            connection.disconnect()
            raise

    def _check_settings(self, info: dict[str, str]) -> None:
        """Check that the server keeps rows, and accepts writes now.

        Raises:
            WrongStoreError: its settings, or its version, exclude its use.
            StoreUnavailable: it is a replica, or still loading.
        """
        version = info.get("valkey_version") or info["redis_version"]
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise WrongStoreError(
                f"{self.shown} is version {version}; use Redis or Valkey 7 or later"
            )
        if info.get("cluster_enabled") == "1":
            raise WrongStoreError(
                f"{self.shown} is part of a cluster; use a server outside it, with replicas or none"
            )
        if (policy := info["maxmemory_policy"]) != "noeviction":
            raise WrongStoreError(
                f"{self.shown} has maxmemory-policy {policy}, and would throw counters away when "
                "it is full; CONFIG SET maxmemory-policy noeviction, and write it into its file"
            )
        if info["role"] != "master":
            raise StoreUnavailable("it is a replica; name the primary")
        if info.get("loading") == "1":
            raise StoreUnavailable("it is still reading its files")

    def _check_syncing(self, info: dict[str, str], ask: Any) -> None:
        """Warn, or refuse, if a power cut may undo acknowledged calls and charges."""
        syncing = "appendonly no"
        if info["aof_enabled"] == "1":
            try:
                syncing = f"appendfsync {ask('CONFIG', 'GET', 'appendfsync')[1].decode()}"
            except ResponseError:  # hosted services disable CONFIG
                syncing = "appendfsync not to be seen"
        if syncing == "appendfsync always":
            return
        warning = (
            f"{self.shown} has {syncing}: a power cut may take back calls and charges that were "
            "acknowledged; CONFIG SET appendonly yes, CONFIG SET appendfsync always, and write "
            "both into its file"
        )
        if self._strict:
            raise WrongStoreError(warning)
        if not self._warned:
            self._warned = True
            _log.warning("%s", warning)

    def _check_rows(self, ask: Any) -> None:
        """Check the format of the rows, and that a server that had rows still has them."""
        if not self._has_rows:
            ask("HSETNX", META, row_format.FORMAT, row_format.VERSION)
        version = ask("HGET", META, row_format.FORMAT)
        if version is None:
            raise StoreUnavailable(
                "it has lost its rows; restore them, or start the servers again to begin with none"
            )
        # The rows of the version before are brought up by the store that is opened (`store.py`).
        is_old = version == row_format.UNINDEXED and not self._has_rows
        if version != row_format.VERSION and not is_old:
            raise WrongStoreError(
                f"{self.shown} has format {version.decode(errors='replace')}, this code reads "
                f"{row_format.VERSION.decode()}; use the version that wrote it"
            )
        self._has_rows = True


def show_address(url: str) -> str:
    """The address without user name, password and options.

    >>> show_address("rediss://quota:secret@10.0.0.7:6380/2?ssl_ca_certs=ca.pem")
    'rediss://10.0.0.7:6380/2'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _parse_info(info: bytes) -> dict[str, str]:
    """The reply of INFO as a mapping."""
    lines = (line.partition(":") for line in info.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in lines}
