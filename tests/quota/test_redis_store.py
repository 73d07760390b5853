"""The store over real Redis and Valkey: the machine of the ledger, and servers that fail."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from quota.redis_store import RedisStore
from tests.quota.machine import StoreAgainstModel
from tests.quota.servers import KINDS, Server, running


class _OverServer(StoreAgainstModel):
    """Each example begins with an empty server."""

    server: Server

    def __init__(self) -> None:
        super().__init__()
        with self.server.client as client:
            client.flushall()
        self.redis = self.store = RedisStore(self.server.url)

    def rows(self) -> list[tuple[bytes, bytes]]:
        return self.redis.rows().result()


@pytest.mark.parametrize("kind", KINDS)
def test_the_store_does_what_the_model_does(kind: str) -> None:
    with running(kind, "--appendonly", "no") as server:

        class Machine(_OverServer):
            pass

        Machine.server = server
        run_state_machine_as_test(Machine)
