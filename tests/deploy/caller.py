"""Call a server continuously, on kept and new connections, until SIGTERM.

After the first answer the line STARTED is printed; at the end, the number of answers and the faults.

python -m tests.deploy.caller http://127.0.0.1:8080 /api/v1/pays …
"""

import asyncio
import signal
import sys

import orjson

from tests.proof.reading import Readers, Response

CONNECTIONS = 4  # simultaneous readers
STARTED = "started\n"


def fault_of(response: Response) -> str | None:
    """The fault of a response that should be 200, or None."""
    return None if response.status == 200 else f"{response.status}: {response.body[:200]!r}"


async def call(address: str, paths: list[str]) -> Readers:
    """Request the paths until SIGTERM; return the readers with their counts."""
    readers = Readers(address, paths, fault_of)
    signalled = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, signalled.set)
    reading = asyncio.create_task(readers.run(CONNECTIONS))
    while not readers.answers:
        await asyncio.sleep(0.01)
    sys.stdout.write(STARTED)
    sys.stdout.flush()
    # The readers end before the signal if there are many faults, and a pipe may not hold the output until it is read.
    await signalled.wait()
    readers.stop()
    await reading
    return readers


if __name__ == "__main__":
    readers = asyncio.run(call(sys.argv[1], sys.argv[2:]))
    sys.stdout.write(orjson.dumps({"answers": readers.answers, "faults": readers.faults}).decode())
