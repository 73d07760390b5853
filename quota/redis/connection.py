"""The connection to a Redis or Valkey server: connecting, checking the server, sending pipelines.

One connection, for one thread, on which many commands are sent before the first reply is read. The
server is checked at each connect, because another server may answer at the address, or the same server
with other settings. A server that can evict rows is refused; a server that can lose acknowledged writes
causes a warning. No command is sent twice: a call may have been counted even if the reply was lost.
While the server cannot be reached, every operation fails at once.

Every pipeline begins with the identity of the store (`identity.py`), and once a minute with the
eviction policy and the clock. So a server that lost its rows causes an error, and is not taken for an empty
store.

The replies to one pipeline have a deadline and a largest size. The timeout of a socket applies to one piece of a
reply: a server that sends a byte a second, or never ends, would block the thread of all requests and the end of the
process, or fill the memory.
"""

import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.retry import Retry

from quota.errors import UNREADABLE, QuotaError, StoreUnavailable, WrongStoreError
from quota.ledger import row_format
from quota.redis import identity
from quota.redis.scripts import META, SCRIPTS, Command, writes

# The deadline of all replies to one pipeline, in seconds. It is longer than a slow network needs, and shorter than the
# time that a stopping API server waits for its requests.
WHOLE_REPLY_S: Final = 5.0
# The most bytes of the replies to one pipeline. The lists of all accounts or people are the largest replies.
LARGEST_REPLY: Final = 64 << 20
# Timeouts in seconds: to connect, and for each piece of a reply. Even a server in another country replies within a
# tenth of a second.
CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
# Seconds after a failure in which operations fail at once, without an attempt to connect.
PAUSE_S: Final = 0.5
# Seconds without a reply after which the connection may be dead: a PING tests it before the next pipeline.
QUIET_S: Final = 10.0
# Seconds between two checks of the eviction policy and the clock of a connected server.
CHECK_S: Final = 60.0
# If the clocks of this host and of the Redis server differ by more seconds, calls are counted by the server's clock.
CLOCK_S: Final = 60.0
# The oldest version of Redis or Valkey that is accepted.
OLDEST: Final = (7, 0)

# The texts of errors about a server ("it").
_EMPTY: Final = "it has no rows of a store; python -m quota account create makes the first ones"
_LOST: Final = "it has lost its rows; restore them, or start the servers again with --new-store"

_log: Final = logging.getLogger("quota.redis")


class ReplyBounds:
    """The deadline and the remaining size of the replies to a pipeline."""

    def __init__(self) -> None:
        # Whether commands of operations were sent, so that they may have run even if no reply arrives. Each send sets
        # this to True; after a send that only checks the server, the connection sets it back to False.
        self.sent = False
        # While the connection is being closed, no reply is awaited after this time; infinite before.
        self._closing_deadline = float("inf")
        self.start()

    def start(self) -> None:
        """Set the deadline and the largest size of the replies, for a new pipeline."""
        self._deadline = time.monotonic() + WHOLE_REPLY_S
        self._bytes_left = LARGEST_REPLY

    def end_in(self, seconds: float) -> None:
        """End every wait for a reply within `seconds`. Any thread can call this."""
        self._closing_deadline = time.monotonic() + seconds

    def next_timeout(self, piece_s: float) -> float:
        """The timeout for the next piece of a reply, at most `piece_s`.

        Raises:
            TimeoutError: the deadline has passed.
        """
        seconds_left = min(self._deadline, self._closing_deadline) - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError(f"no complete reply in {WHOLE_REPLY_S:g} s")
        return min(piece_s, seconds_left)

    def count(self, size: int) -> None:
        """Subtract the bytes that arrived from the size that is left.

        Raises:
            OSError: the replies are too large.
        """
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise OSError(f"a reply is larger than {LARGEST_REPLY >> 20} MiB")


class _BoundedSocket:
    """A socket with bounds on `recv` and `sendall`; everything else is passed to the socket."""

    def __init__(self, inner: Any, bounds: ReplyBounds) -> None:
        self._inner = inner
        self._bounds = bounds
        self._timeout: float = inner.gettimeout()

    def settimeout(self, seconds: float) -> None:
        """Set the timeout for each piece; `recv` and `sendall` can shorten it."""
        self._timeout = seconds  # redis-py sets 0 to test whether bytes have arrived

    def recv(self, size: int) -> bytes:
        """Receive a piece within the deadline of the pipeline, and count its bytes."""
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        received: bytes = self._inner.recv(size)
        self._bounds.count(len(received))
        return received

    def sendall(self, data: bytes) -> None:
        """Send commands within the deadline of the pipeline, and note that something was sent."""
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        self._bounds.sent = True
        self._inner.sendall(data)

    def __getattr__(self, name: str) -> Any:
        """Any other attribute is that of the socket."""
        return getattr(self._inner, name)


class BoundedConnection(Connection):
    """A connection of redis-py without TLS, with `ReplyBounds`."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)  # type: ignore[no-untyped-call]

    def _connect(self) -> Any:
        """The connected socket, with bounds; redis-py calls this."""
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]


class BoundedTlsConnection(SSLConnection):
    """A connection of redis-py with TLS, with `ReplyBounds`."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)

    def _connect(self) -> Any:
        """The connected socket, with bounds; redis-py calls this."""
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]


class RedisConnection:
    """A connection to the Redis server, for one thread; after a failure it connects again with the next commands."""

    def __init__(
        self,
        url: str,
        *,
        serves: str = "",
        strict: bool = False,
        state: Path | None = None,
        create: bool = False,
    ) -> None:
        """Connect to a Redis or Valkey server, and check the server.

        Args:
            serves: the requests that get 503 without this connection, for the log. With "" (pages and exports)
                the connection logs no warning about the server's settings.
            strict: refuse a server that can lose acknowledged writes.
            state: the STATE folder, which has the identity of the store.
            create: make an empty server a store.

        Raises:
            WrongStoreError: the settings of the server exclude its use.
            StoreUnavailable: the server cannot be reached, or does not have the rows of the store.
        """
        self.shown = show_address(url)  # for messages
        self._serves = serves or "pages and exports"
        self._strict = strict
        self._state = state
        self._create = create
        self._identity = identity.recall(state) if state else None
        self._has_rows = False  # whether this process has seen rows on the server
        # How far the server's clock is ahead of this host's; 0 for a difference of at most CLOCK_S.
        self.ahead = timedelta()
        self._warned = not serves  # whether no warning about syncing is logged any more
        self._warns_of_clock = bool(serves)
        # The causes of failure that were logged since the last reply.
        self._logged: set[str] = set()
        self._last_reply_at = self._last_check_at = time.monotonic()
        self._paused_until = 0.0  # after a failure: operations fail at once until then
        self._cause = ""  # the cause of the last failure, for the errors of that time
        self._bounds = ReplyBounds()
        tls = urlsplit(url).scheme == "rediss"
        self._client = Redis.from_url(
            url,
            connection_class=BoundedTlsConnection if tls else BoundedConnection,
            bounds=self._bounds,
            protocol=2,
            client_name="societes",
            socket_connect_timeout=CONNECT_S,
            socket_timeout=ANSWER_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),
            redis_connect_func=self._prepare_connection,
        )
        self.run([("PING",)])

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in one pipeline; the reply to a refused command is an error.

        Script calls that did not run because the server has lost its scripts are sent again.

        Raises:
            StoreUnavailable: the server cannot be reached; commands that were sent may have run.
        """
        if time.monotonic() < self._paused_until:
            raise StoreUnavailable(self._cause)
        self._bounds.start()
        try:
            self._test_if_quiet()
            replies = self._send_checked(commands)
            without_script = [
                number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)
            ]
            # The server has lost its scripts (SCRIPT FLUSH), so these commands did not run, and are sent again.
            if without_script:
                self._send([("SCRIPT", "LOAD", script.source) for script in SCRIPTS])
                for number, reply in zip(
                    without_script,
                    self._send([commands[number] for number in without_script]),
                    strict=True,
                ):
                    replies[number] = reply
        except (RedisError, OSError, QuotaError, *UNREADABLE) as error:
            raise self._unavailable_error(error, commands) from error
        self._last_reply_at = time.monotonic()
        if self._logged:
            self._logged.clear()
            _log.info("for %s %s is used again", self._serves, self.shown)
        return replies

    def hasten(self) -> None:
        """Make running and waiting operations end within ANSWER_S. Any thread can call this."""
        self._bounds.end_in(ANSWER_S)

    def close(self) -> None:
        """Close the connection to the server; no operation may follow."""
        self._client.close()

    def _send_checked(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands after the commands that check the server; returns the replies to `commands`.

        Raises:
            StoreUnavailable: the server has the rows of another store, or no rows.
            WrongStoreError: the server can evict rows.
        """
        checks: list[Command] = [("HGET", META, row_format.IDENTITY)]
        if check_is_due := time.monotonic() - self._last_check_at >= CHECK_S:
            checks += [("INFO", "memory"), ("TIME",)]
        self._bounds.sent = False
        replies = self._send([*checks, *commands])
        if isinstance(replies[0], RedisError):
            raise replies[0]
        if replies[0] != self._identity:
            raise StoreUnavailable(
                _LOST if replies[0] is None else self._other_store_text(replies[0])
            )
        if check_is_due:
            self._check_policy(replies[1])
            self._compare_clocks(replies[2])
            self._last_check_at = time.monotonic()
        return replies[len(checks) :]

    def _send(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands in one pipeline, without checks; returns their replies."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        return replies

    def _test_if_quiet(self) -> None:
        """After QUIET_S without a reply, test the connection; a dead connection is replaced by the next command."""
        if time.monotonic() - self._last_reply_at < QUIET_S:
            return
        try:
            self._send([("PING",)])
        except (RedisError, OSError):
            self._client.connection_pool.disconnect()

    def _unavailable_error(self, error: Exception, commands: Sequence[Command]) -> QuotaError:
        """Disconnect, refuse commands for PAUSE_S seconds, and log a cause that is new; return the error to raise.

        The error has `maybe_done` if `commands` could have changed rows before the failure.
        """
        maybe_done = (
            self._bounds.sent and not isinstance(error, QuotaError) and any(map(writes, commands))
        )
        self._client.connection_pool.disconnect()
        if isinstance(error, WrongStoreError) and not self._has_rows:
            return error
        cause = f"its answer is not valid: {error!r}" if isinstance(error, UNREADABLE) else error
        self._cause = f"{self.shown}: {cause}"
        self._paused_until = time.monotonic() + PAUSE_S
        if self._has_rows and self._cause not in self._logged:
            self._logged.add(self._cause)
            _log.error("%s are answered with 503: %s", self._serves, self._cause)
        return StoreUnavailable(self._cause, maybe_done=maybe_done)

    # -- checks at each connect ----------------------------------------------------

    def _prepare_connection(self, connection: Any) -> None:
        """Initialize a new connection as redis-py does, then check the server and load scripts."""

        def ask(*command: object) -> Any:
            """Send one command, and return its reply."""
            connection.send_command(*command)
            return connection.read_response()

        try:
            connection.on_connect()
            info = _parse_info(ask("INFO"))
            self._check_settings(info)
            self._check_syncing(info, ask)
            self._check_rows(ask)
            self._compare_clocks(ask("TIME"))
            for script in SCRIPTS:
                connection.send_command("SCRIPT", "LOAD", script.source)
            for _ in SCRIPTS:
                connection.read_response()
        except BaseException:
            connection.disconnect()
            raise
        finally:
            # The commands of this check change no rows; `sent` says only whether commands of operations were sent.
            self._bounds.sent = False
        self._last_check_at = time.monotonic()

    def _check_settings(self, info: Mapping[str, str]) -> None:
        """Check that the server keeps rows, and accepts writes now.

        Raises:
            WrongStoreError: its settings, or its version, exclude its use.
            StoreUnavailable: it is a replica, or still loading.
        """
        version = info.get("valkey_version") or info.get("redis_version", "0 (it is not Redis)")
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if numbers < OLDEST:
            raise WrongStoreError(
                f"{self.shown} is version {version}; use Redis or Valkey 7 or later"
            )
        if info.get("cluster_enabled") == "1":
            raise WrongStoreError(
                f"{self.shown} is part of a cluster; use a server outside a cluster"
            )
        self._check_policy(info)
        if info.get("role") != "master":
            raise StoreUnavailable("it is a replica; name the primary")
        if info.get("loading") == "1":
            raise StoreUnavailable("it is still reading its files; wait for it")

    def _check_policy(self, info: Mapping[str, str]) -> None:
        """Check that the server evicts no rows when its memory is full.

        Raises:
            WrongStoreError: it can evict rows.
        """
        if (policy := info.get("maxmemory_policy")) != "noeviction":
            raise WrongStoreError(
                f"{self.shown} has maxmemory-policy {policy}, and would throw counters away when "
                "it is full; CONFIG SET maxmemory-policy noeviction, and write it into its file"
            )

    def _check_syncing(self, info: Mapping[str, str], ask: Any) -> None:
        """Log a warning, or with `strict` raise WrongStoreError, if a power cut can undo acknowledged writes."""
        syncing = "appendonly no"
        if info.get("aof_enabled") == "1":
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

    def _compare_clocks(self, reply: Sequence[Any]) -> None:
        """Set `ahead` from the reply to TIME, and log a warning when the clocks begin to differ."""
        seconds = int(reply[0]) - time.time()
        differs = abs(seconds) > CLOCK_S
        if differs and not self.ahead and self._warns_of_clock:
            _log.warning(
                "the clock of this host is %d s %s the clock of %s, by which calls are counted; set it",
                abs(seconds), "behind" if seconds > 0 else "ahead of", self.shown,
            )  # fmt: skip
        self.ahead = timedelta(seconds=seconds) if differs else timedelta()

    def _check_rows(self, ask: Any) -> None:
        """Check the format of the rows, and that their identity is the one in the STATE of this host.

        With `create`, an empty server gets a format. Rows without an identity get one, and STATE remembers it.
        """
        if self._create and self._identity is None:
            ask("HSETNX", META, row_format.FORMAT, row_format.VERSION)
        version, identity_of_rows = ask("HMGET", META, row_format.FORMAT, row_format.IDENTITY)
        if version is None:
            raise StoreUnavailable(_LOST if self._identity else _EMPTY)
        # Rows of version 1 are accepted at the first connect: `RedisStore` then migrates them (`store.py`).
        is_old = version == row_format.UNINDEXED and not self._has_rows
        if version != row_format.VERSION and not is_old:
            raise WrongStoreError(
                f"{self.shown} has format {version.decode(errors='replace')}, this code reads "
                f"{row_format.VERSION.decode()}; use the version that wrote it"
            )
        if identity_of_rows is None and self._identity is None:
            ask("HSETNX", META, row_format.IDENTITY, secrets.token_hex(8))
            identity_of_rows = ask("HGET", META, row_format.IDENTITY)
        if self._identity not in (None, identity_of_rows):
            raise StoreUnavailable(self._other_store_text(identity_of_rows))
        self._identity = identity_of_rows
        self._has_rows = True
        if self._state:
            identity.remember(self._state, identity_of_rows)

    def _other_store_text(self, name: bytes | None) -> str:
        """The text of the error for a server whose rows have the identity `name`, not that of STATE."""
        remembered = (self._identity or b"").decode(errors="replace")
        shown = (name or b"none").decode(errors="replace")
        return (
            f"it has the rows of another store ({shown}) than this host knows ({remembered}); restore "
            "them, or start the servers again with --new-store"
        )


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
