"""Some hundreds of the hostile requests of `tests/proof/hostile.py`, and a server that would fail them."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.proof import hostile
from tests.proof.hostile import Findings, HostileRequest
from tests.world import company, publish

pytestmark = pytest.mark.slow


def test_hostile_requests_over_all_routes_get_no_5xx_and_no_hang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R14"""
    publish(tmp_path / "data", [company("EE", f"{i}", f"Õun Lab {i}") for i in range(300)])

    status = hostile.main(["--data", str(tmp_path / "data"), "--requests", "500"])

    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == []
    assert status == 0
    assert sum(found["statuses"].values()) == 500
    assert {"200", "400", "401", "404", "405"} <= found["statuses"].keys()


@pytest.mark.parametrize(
    ("answer", "said"),
    [(b"HTTP/1.1 500 Oops\r\n\r\n", "500"), (b"", "0 b''"), (None, "no end within")],
)
def test_a_server_that_fails_is_found_out(
    answer: bytes | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hostile, "ANSWER_S", 0.2)
    found = Findings()

    async def run() -> None:
        ended = asyncio.Event()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if answer is None:
                await asyncio.sleep(0.5)
            writer.write(answer or b"")
            writer.close()
            ended.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        one = iter([HostileRequest(b"GET / HTTP/1.1\r\n\r\n", formed=True)])
        await hostile.attack(f"http://127.0.0.1:{port}", lambda: next(one, None), found)
        await ended.wait()
        server.close()
        await server.wait_closed()

    asyncio.run(run())

    assert len(found.faults) == 1
    assert found.faults[0].startswith(said)
