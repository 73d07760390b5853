"""A server at a distance: a proxy that holds back each reply."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

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
