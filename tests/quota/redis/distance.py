"""A server at a distance: a proxy that holds back each reply, and a count of the round trips."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import pytest

from quota.redis.store import RedisStore

# The most bytes that the relay receives, delays and sends on in one piece.
_CHUNK: Final = 1 << 20


@contextmanager
def at_distance(port: int, seconds: float) -> Iterator[str]:
    """The URL of a relay to the server at this port, which delays each reply by `seconds`, as a distant server does."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        """Connect each client to the server, by a thread in each direction."""
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", port))
                for source, target, delay in ((client, server, 0.0), (server, client, seconds)):
                    threading.Thread(
                        target=_pass_on, args=(source, target, delay), daemon=True
                    ).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
    finally:
        listening.close()


def _pass_on(source: socket.socket, target: socket.socket, delay: float) -> None:
    """Pass all bytes on, each chunk after the delay; the end of either connection ends the other connection."""
    with suppress(OSError), source:
        while chunk := source.recv(_CHUNK):
            time.sleep(delay)
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def counted_trips(store: RedisStore, patch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one number for each round trip of the store: the commands that it sent."""
    commands_per_trip: list[int] = []
    send = store._connection._send

    def send_counted(commands: Sequence[Any]) -> list[Any]:
        """Send commands and note their number."""
        commands_per_trip.append(len(commands))
        return send(commands)

    patch.setattr(store._connection, "_send", send_counted)
    return commands_per_trip
