"""The connection to a Redis or Valkey server: connecting, checking the server, sending pipelines.

One connection, for one thread, on which many commands are sent before the first reply is read. The
server is checked at each connect, because another server may answer at the address, or the same one
with other settings. A server that may evict rows is refused; one that may lose acknowledged writes
causes a warning. Nothing is sent twice: a count whose reply was lost may have been made already.
While the server cannot be reached, every operation fails at once.

Every pipeline begins with the identity of the store (`identity.py`), and once a minute with the
eviction policy and the clock: rows that were lost are an error, and never rows that there are not.

The replies to one pipeline have a deadline and a size. A timeout of a socket holds for one piece of a reply: a server
that sends a byte a second, or never ends, would keep the thread of all requests, and the end of the process, or fill
the memory.
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

# Longer than a reply may take on its way, and shorter than a stopping server waits.
WHOLE_REPLY_S: Final = 5.0
# The lists of all accounts or people are the largest replies.
LARGEST_REPLY: Final = 64 << 20
# A server in another country replies within a tenth of a second.
CONNECT_S: Final = 1.0
ANSWER_S: Final = 2.0
# Between two attempts to connect; operations fail at once meanwhile.
PAUSE_S: Final = 0.5
# After so long without a reply the connection may be dead: it is tested with a PING first.
QUIET_S: Final = 10.0
# Between two looks at the settings of a server that is connected.
CHECK_S: Final = 60.0
# A difference of clocks from which on the server's counts.
CLOCK_S: Final = 60.0
OLDEST: Final = (7, 0)

_EMPTY: Final = "it has no rows of a store; python -m quota account create makes the first ones"
_LOST: Final = "it has lost its rows; restore them, or start the servers again with --new-store"

_log: Final = logging.getLogger("quota.redis")


class ReplyBounds:
    """The deadline and the size that are left to the replies that are read."""

    def __init__(self) -> None:
        self.sent = False  # whether anything was sent since this was set
        self._end = float("inf")  # of all replies, once the connection is being closed
        self.start()

    def start(self) -> None:
        """Begin a new pipeline."""
        self._deadline = time.monotonic() + WHOLE_REPLY_S
        self._left = LARGEST_REPLY

    def end_in(self, seconds: float) -> None:
        """Let no reply be waited for longer than that, from any thread."""
        self._end = time.monotonic() + seconds

    def next_timeout(self, piece_s: float) -> float:
        """How long to wait for the next piece, which may take `piece_s`.

        Raises:
            TimeoutError: the time of the whole is over.
        """
        left = min(self._deadline, self._end) - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no whole reply in {WHOLE_REPLY_S:g} s")
        return min(piece_s, left)

    def count(self, size: int) -> None:
        """Count bytes that arrived.

        Raises:
            OSError: they are too many.
        """
        self._left -= size
        if self._left < 0:
            raise OSError(f"a reply is larger than {LARGEST_REPLY >> 20} MiB")


class _BoundedSocket:
    """A socket whose `recv` and `sendall` keep to bounds; all else is the socket's."""

    def __init__(self, inner: Any, bounds: ReplyBounds) -> None:
        self._inner = inner
        self._bounds = bounds
        self._timeout: float = inner.gettimeout()

    def settimeout(self, seconds: float) -> None:
        self._timeout = seconds  # redis-py looks with 0 whether anything has arrived

    def recv(self, size: int) -> bytes:
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        received: bytes = self._inner.recv(size)
        self._bounds.count(len(received))
        return received

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        self._bounds.sent = True
        self._inner.sendall(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class BoundedConnection(Connection):
    """A connection without TLS."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)  # type: ignore[no-untyped-call]

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]


class BoundedTlsConnection(SSLConnection):
    """A connection with TLS."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]


class RedisConnection:
    """One connection, for one thread."""

    def __init__(
        self,
        url: str,
        *,
        serves: str = "",
        strict: bool = False,
        state: Path | None = None,
        create: bool = False,
    ) -> None:
        """Connect.

        Args:
            serves: what is answered with 503 without it, for the log; "" for a second connection,
                which says nothing of the server's settings.
            strict: refuse a server that may lose acknowledged writes.
            state: the STATE folder, which remembers the identity of the store.
            create: make a store if the server is empty.

        Raises:
            WrongStoreError: the settings of the server exclude its use.
            StoreUnavailable: the server cannot be reached, or has not the rows of the store.
        """
        self.shown = show_address(url)
        self._serves = serves or "pages and exports"
        self._strict = strict
        self._state = state
        self._create = create
        self._identity = identity.recall(state) if state else None
        self._has_rows = False  # rows were seen on it by this process
        self.ahead = timedelta()  # of the server's clock, if it differs by more than CLOCK_S
        self._warned = not serves
        self._warns_of_clock = bool(serves)
        self._logged: set[str] = set()  # causes since the last reply
        self._heard = self._checked = time.monotonic()
        self._closed_until = 0.0
        self._cause = ""
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
        self._bounds.start()
        try:
            self._test_if_quiet()
            replies = self._send_checked(commands)
            lost = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if lost:  # after a SCRIPT FLUSH; these did not run
                self._send([("SCRIPT", "LOAD", script.source) for script in SCRIPTS])
                for n, reply in zip(lost, self._send([commands[n] for n in lost]), strict=True):
                    replies[n] = reply
        except (RedisError, OSError, QuotaError, *UNREADABLE) as error:
            raise self._unavailable_error(error, commands) from error
        self._heard = time.monotonic()
        if self._logged:
            self._logged.clear()
            _log.info("for %s %s is used again", self._serves, self.shown)
        return replies

    def hasten(self) -> None:
        """Let what is under way, and all that waits, end soon; from any thread."""
        self._bounds.end_in(ANSWER_S)

    def close(self) -> None:
        self._client.close()

    def _send_checked(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands after those that check the server; returns the replies to the former.

        Raises:
            StoreUnavailable: the server has other rows, or would lose some.
        """
        checks: list[Command] = [("HGET", META, row_format.IDENTITY)]
        if due := time.monotonic() - self._checked >= CHECK_S:
            checks += [("INFO", "memory"), ("TIME",)]
        self._bounds.sent = False
        replies = self._send([*checks, *commands])
        if isinstance(replies[0], RedisError):
            raise replies[0]
        if replies[0] != self._identity:
            raise StoreUnavailable(
                _LOST if replies[0] is None else self._other_store_text(replies[0])
            )
        if due:
            self._check_policy(replies[1])
            self._compare_clocks(replies[2])
            self._checked = time.monotonic()
        return replies[len(checks) :]

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

    def _unavailable_error(self, error: Exception, commands: Sequence[Command]) -> QuotaError:
        maybe_done = (
            self._bounds.sent and not isinstance(error, QuotaError) and any(map(writes, commands))
        )
        self._client.connection_pool.disconnect()
        if isinstance(error, WrongStoreError) and not self._has_rows:
            return error
        odd = f"it answers oddly: {error!r}" if isinstance(error, UNREADABLE) else error
        self._cause = f"{self.shown}: {odd}"
        self._closed_until = time.monotonic() + PAUSE_S
        if self._has_rows and self._cause not in self._logged:
            self._logged.add(self._cause)
            _log.error("%s are answered with 503: %s", self._serves, self._cause)
        return StoreUnavailable(self._cause, maybe_done=maybe_done)

    # -- checks at each connect ----------------------------------------------------

    def _on_connect(self, connection: Any) -> None:
        """Initialize a new connection as redis-py does, then check the server and load scripts."""

        def ask(*command: object) -> Any:
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
            self._bounds.sent = False
        self._checked = time.monotonic()

    def _check_settings(self, info: Mapping[str, str]) -> None:
        """Check that the server keeps rows, and accepts writes now.

        Raises:
            WrongStoreError: its settings, or its version, exclude its use.
            StoreUnavailable: it is a replica, or still loading.
        """
        version = info.get("valkey_version") or info.get("redis_version", "0 (it is no Redis)")
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if numbers < OLDEST:
            raise WrongStoreError(
                f"{self.shown} is version {version}; use Redis or Valkey 7 or later"
            )
        if info.get("cluster_enabled") == "1":
            raise WrongStoreError(
                f"{self.shown} is part of a cluster; use a server outside it, with replicas or none"
            )
        self._check_policy(info)
        if info.get("role") != "master":
            raise StoreUnavailable("it is a replica; name the primary")
        if info.get("loading") == "1":
            raise StoreUnavailable("it is still reading its files; wait for it")

    def _check_policy(self, info: Mapping[str, str]) -> None:
        """Check that the server keeps rows where its memory is full.

        Raises:
            WrongStoreError: it does not.
        """
        if (policy := info.get("maxmemory_policy")) != "noeviction":
            raise WrongStoreError(
                f"{self.shown} has maxmemory-policy {policy}, and would throw counters away when "
                "it is full; CONFIG SET maxmemory-policy noeviction, and write it into its file"
            )

    def _check_syncing(self, info: Mapping[str, str], ask: Any) -> None:
        """Warn, or refuse, if a power cut may undo acknowledged calls and charges."""
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
        """Note how far the server's clock is ahead, and warn of a difference."""
        seconds = int(reply[0]) - time.time()
        differs = abs(seconds) > CLOCK_S
        if differs and not self.ahead and self._warns_of_clock:
            _log.warning(
                "the clock of this host is %d s %s that of %s, by which calls are counted; set it",
                abs(seconds), "behind" if seconds > 0 else "ahead of", self.shown,
            )  # fmt: skip
        self.ahead = timedelta(seconds=seconds) if differs else timedelta()

    def _check_rows(self, ask: Any) -> None:
        """Check the format of the rows, and that they are those of the store that this host knows."""
        if self._create and self._identity is None:
            ask("HSETNX", META, row_format.FORMAT, row_format.VERSION)
        version, found = ask("HMGET", META, row_format.FORMAT, row_format.IDENTITY)
        if version is None:
            raise StoreUnavailable(_LOST if self._identity else _EMPTY)
        # The rows of the version before are brought up by the store that is opened (`store.py`).
        is_old = version == row_format.UNINDEXED and not self._has_rows
        if version != row_format.VERSION and not is_old:
            raise WrongStoreError(
                f"{self.shown} has format {version.decode(errors='replace')}, this code reads "
                f"{row_format.VERSION.decode()}; use the version that wrote it"
            )
        if found is None and self._identity is None:
            ask("HSETNX", META, row_format.IDENTITY, secrets.token_hex(8))
            found = ask("HGET", META, row_format.IDENTITY)
        if self._identity not in (None, found):
            raise StoreUnavailable(self._other_store_text(found))
        self._identity = found
        self._has_rows = True
        if self._state:
            identity.remember(self._state, found)

    def _other_store_text(self, identity: bytes | None) -> str:
        known = (self._identity or b"").decode(errors="replace")
        named = (identity or b"none").decode(errors="replace")
        return (
            f"it has the rows of another store ({named}) than this host knows ({known}); restore "
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
