"""The attacks of one client, in short: each is answered, and a caller with a key goes on searching.

How long that caller waits depends on the other work of the machine. The processor time of the server does not.
"""

from collections.abc import Iterator, Mapping
from itertools import cycle

import pytest

from tests.bench.load import Server, running
from tests.bench.served import keys
from tests.proof import single_client
from tests.proof.single_client import ATTACKS, CALLERS
from tests.world import company, publish

pytestmark = pytest.mark.slow

# Processors that two workers keep busy with one client and the searches of another.
MOST_BUSY = 1.2

Callers = Iterator[Mapping[str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Callers]]:
    folder = tmp_path_factory.mktemp("single")
    publish(folder / "data", [company("EE", f"{i}", f"Õun Lab {i}") for i in range(300)])
    known = keys(folder / "state", CALLERS)
    command = single_client.serve_command(folder / "data", folder / "state", "0", "2")
    with running(command) as server:
        yield server, cycle(known)


@pytest.mark.parametrize("name", ATTACKS)
def test_one_client_leaves_processor_time_to_others(
    served: tuple[Server, Callers], name: str
) -> None:
    """R14, with the limits as shipped"""
    server, callers = served

    alone, beside, busy, statuses = single_client.measure(name, server, callers, 2.0)

    assert busy < MOST_BUSY, (alone, beside, statuses)
    assert not [status for status in statuses if status.startswith("5")]
    assert beside.number > 5
