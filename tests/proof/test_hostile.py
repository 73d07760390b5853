"""500 hostile requests of `tests/proof/hostile.py`, and servers that fail."""

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

    result = json.loads(capsys.readouterr().out)
    assert result["faults"] == []
    assert status == 0
    assert sum(result["statuses"].values()) == 500
    assert {"200", "400", "401", "404", "405"} <= result["statuses"].keys()


@pytest.mark.parametrize(
    ("answer", "message"),
    # None is a server that does not answer in time.
    [(b"HTTP/1.1 500 Oops\r\n\r\n", "500"), (b"", "0 b''"), (None, "no end within")],
)
def test_a_failing_server_is_reported(
    answer: bytes | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 500, an end without an answer (status 0), and no answer within 0.2 s"""
    monkeypatch.setattr(hostile, "ANSWER_S", 0.2 if answer is None else 30)
    findings = Findings()

    async def attack_once() -> None:
        """Send one request to a server that fails in this way."""
        ended = asyncio.Event()

        async def give_answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Answer the first request, or wait for longer than the attacker does."""
            if answer is None:
                await asyncio.sleep(0.5)
            writer.write(answer or b"")
            writer.close()
            ended.set()

        server = await asyncio.start_server(give_answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        requests = iter([HostileRequest(b"GET / HTTP/1.1\r\n\r\n", is_http=True)])
        await hostile.attack(f"http://127.0.0.1:{port}", lambda: next(requests, None), findings)
        await ended.wait()
        server.close()
        await server.wait_closed()

    asyncio.run(attack_once())

    assert len(findings.faults) == 1
    assert findings.faults[0].startswith(message)
