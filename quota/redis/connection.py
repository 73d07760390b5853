"""The connection to a Redis or Valkey server: made, judged, used for pipelines, made again.

One connection, for one thread, on which many commands are sent before the first is answered. It is
judged each time it is made, for the server behind an address may be another one, or come back with
other settings: one that may throw rows away is refused, and one that may forget what it
acknowledged is warned of. Nothing is sent twice: a count whose answer was lost may have been made,
and would be made again. While the server cannot be reached, everybody is told so at once.
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
from quota.redis.scripts import META, SCRIPTS, Command

# A server in another country answers in a tenth of a second.
CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
# After a failure nobody waits for the next attempt but who makes it.
PAUSE_S: Final = 0.5
# A connection that nothing was heard of for so long may be dead: it is asked first.
QUIET_S: Final = 10.0
OLDEST: Final = (7, 0)

_log: Final = logging.getLogger("quota.redis")


class RedisConnection:
    """One connection, for one thread."""

    def __init__(self, url: str, *, strict: bool = False) -> None:
        """Connect; `strict` refuses a server that may forget what it acknowledged.

        Raises:
            WrongStoreError: the server is not to be used as it is set.
            StoreUnavailable: it cannot be reached.
        """
        self.shown = shown(url)
        self._strict = strict
        self._known = False  # its rows were seen: from then on they must be there
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
            redis_connect_func=self._greet,
        )
        self.run([("PING",)])

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to `commands`, sent at once; one that is refused replies with an error.

        Raises:
            StoreUnavailable: the server cannot be reached; what was sent may have been done.
        """
        if time.monotonic() < self._closed_until:
            raise StoreUnavailable(self._cause)
        try:
            self._freshen()
            replies = self._send(commands)
            lost = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if lost:  # SCRIPT FLUSH: these were not run
                self._send([("SCRIPT", "LOAD", script) for script in SCRIPTS])
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

    def _freshen(self) -> None:
        if time.monotonic() - self._heard < QUIET_S:
            return
        try:
            self._send([("PING",)])
        except (RedisError, OSError):
            self._client.connection_pool.disconnect()

    def _unavailable(self, error: Exception) -> QuotaError:
        self._client.connection_pool.disconnect()
        if isinstance(error, WrongStoreError) and not self._known:
            return error
        self._cause = f"{self.shown}: {error}"
        self._closed_until = time.monotonic() + PAUSE_S
        return StoreUnavailable(self._cause)

    # -- a new connection ----------------------------------------------------------

    def _greet(self, connection: Any) -> None:
        """What redis-py does on a new connection, and then a look at the server behind it."""
        connection.on_connect()

        def ask(*command: object) -> Any:
            connection.send_command(*command)
            return connection.read_response()

        try:
            told = _told(ask("INFO"))
            self._judge(told)
            self._judge_syncing(told, ask)
            self._judge_rows(ask)
            for script in SCRIPTS:
                ask("SCRIPT", "LOAD", script)
        except BaseException:
            connection.disconnect()
            raise

    def _judge(self, told: dict[str, str]) -> None:
        """Raises WrongStoreError: it is not set to keep counters; StoreUnavailable: not yet."""
        version = told.get("valkey_version") or told["redis_version"]
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise WrongStoreError(
                f"{self.shown} is version {version}; use Redis or Valkey 7 or later"
            )
        if told.get("cluster_enabled") == "1":
            raise WrongStoreError(
                f"{self.shown} is part of a cluster; use a server outside it, with replicas or none"
            )
        if (policy := told["maxmemory_policy"]) != "noeviction":
            raise WrongStoreError(
                f"{self.shown} has maxmemory-policy {policy}, and would throw counters away when "
                "it is full; CONFIG SET maxmemory-policy noeviction, and write it into its file"
            )
        if told["role"] != "master":
            raise StoreUnavailable("it is a replica; name the primary")
        if told.get("loading") == "1":
            raise StoreUnavailable("it is still reading its files")

    def _judge_syncing(self, told: dict[str, str], ask: Any) -> None:
        """Say, or refuse, that an acknowledged call or charge may be forgotten by a power cut."""
        syncing = "appendonly no"
        if told["aof_enabled"] == "1":
            try:
                syncing = f"appendfsync {ask('CONFIG', 'GET', 'appendfsync')[1].decode()}"
            except ResponseError:  # hosted services allow no CONFIG
                syncing = "appendfsync not to be seen"
        if syncing == "appendfsync always":
            return
        what = (
            f"{self.shown} has {syncing}: a power cut may take back calls and charges that were "
            "acknowledged; CONFIG SET appendonly yes, CONFIG SET appendfsync always, and write "
            "both into its file"
        )
        if self._strict:
            raise WrongStoreError(what)
        if not self._warned:
            self._warned = True
            _log.warning("%s", what)

    def _judge_rows(self, ask: Any) -> None:
        """Its rows have our format, and a server that had rows still has them."""
        if not self._known:
            ask("HSETNX", META, row_format.FORMAT, row_format.VERSION)
        found = ask("HGET", META, row_format.FORMAT)
        if found is None:
            raise StoreUnavailable(
                "it has lost its rows; restore them, or start the servers again to begin with none"
            )
        if found != row_format.VERSION:
            raise WrongStoreError(
                f"{self.shown} has format {found.decode(errors='replace')}, this code reads "
                f"{row_format.VERSION.decode()}; use the version that wrote it"
            )
        self._known = True


def shown(url: str) -> str:
    """An address without what is secret in it.

    >>> shown("rediss://quota:secret@10.0.0.7:6380/2?ssl_ca_certs=ca.pem")
    'rediss://10.0.0.7:6380/2'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _told(info: bytes) -> dict[str, str]:
    """The answer of INFO."""
    lines = (line.partition(":") for line in info.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in lines}
