"""The thread that parses bodies, beside the event loop.

A client without a key may send a body that takes Python as long as a hundred searches. A short one is parsed where it
is; any other in the one thread of the process, one after the other, so that at most one competes with the loop for
Python's lock.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from serve.contract.errors import ApiError
from serve.generation import open_generation

T = TypeVar("T")

# Bytes of a body that are parsed on the loop, in a millisecond at most. Nearly every question is shorter.
PARSED_HERE: Final = 8 << 10

_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="bodies")


async def parse(size: int, read: Callable[[], T]) -> T:
    """The result of `read`, which parses a body of `size` bytes.

    A cancelled caller still waits for it, since it may read a generation that the caller leases.
    """
    if size <= PARSED_HERE:
        return read()
    return await open_generation.run_in(_thread, partial(_read, read))


def _read(read: Callable[[], T]) -> T:
    """The result of `read`; its error leaves nothing behind that was parsed, which the loop would have to free."""
    try:
        return read()
    except ApiError as error:
        error.__cause__ = error.__context__ = None
        raise error.with_traceback(None)  # noqa: B904 - it is the same error
