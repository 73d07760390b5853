"""A server at a distance: a proxy that holds back each reply, and a count of the round trips."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import pytest

from quota.redis.store import RedisStore

_PIECE: Final = 1 << 20


@contextmanager
def at_distance(port: int, seconds: float) -> Iterator[str]:
    """The URL of the server of this port, each reply of which takes so long."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for here, there, wait in ((near, far, 0.0), (far, near, seconds)):
                    threading.Thread(target=_pass, args=(here, there, wait), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
    finally:
        listening.close()


def _pass(here: socket.socket, there: socket.socket, wait: float) -> None:
    """Pass on what comes; the end of either side ends the other's."""
    with suppress(OSError), here:
        while piece := here.recv(_PIECE):
            time.sleep(wait)
            there.sendall(piece)
    with suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)


def counted_trips(store: RedisStore, patch: pytest.MonkeyPatch) -> list[int]:
    """The commands of each round trip of a store from here on."""
    counted: list[int] = []
    send = store._connection._send

    def counting(commands: Sequence[Any]) -> list[Any]:
        counted.append(len(commands))
        return send(commands)

    patch.setattr(store._connection, "_send", counting)
    return counted
