"""Continuous calls of a server, over kept and new connections, until SIGTERM; prints the answers and the faults.

python -m tests.deploy.caller http://127.0.0.1:8080 /api/v1/pays …
"""

import asyncio
import signal
import sys

import orjson

from tests.proof.reading import Readers, Response

CONNECTIONS = 4


def fault_of(response: Response) -> str | None:
    """What is wrong with a response that should be 200; None if nothing is."""
    return None if response.status == 200 else f"{response.status}: {response.body[:200]!r}"


async def call(address: str, paths: list[str]) -> Readers:
    readers = Readers(address, paths, fault_of)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, readers.stop)
    await readers.run(CONNECTIONS)
    return readers


if __name__ == "__main__":
    found = asyncio.run(call(sys.argv[1], sys.argv[2:]))
    sys.stdout.write(orjson.dumps({"answers": found.answers, "faults": found.faults}).decode())
