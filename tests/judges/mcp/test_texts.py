"""/llms.txt is read by the parser of the format's author, and the documentation is checked by afdocs."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.judges.conftest import UNLIMITED
from tests.judges.mcp.running import HERE, MODULES, python, run
from tests.quota.servers import free_port
from tests.serve.processes import ask, eventually, read_line, server_process

pytestmark = pytest.mark.judge


@pytest.fixture(scope="module")
def server_url(demo_data: Path) -> Iterator[str]:
    """The address of a server, which is also its `--base-url`, so that links begin with it."""
    port = free_port()
    flags = ("--port", str(port), "--base-url", f"http://127.0.0.1:{port}")
    with server_process(demo_data, *flags, environment=UNLIMITED) as process:
        address = read_line(process)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        yield address


def test_the_parser_reads_every_section_of_the_summary(server_url: str, tmp_path: Path) -> None:
    _, body = ask(server_url, "/llms.txt")
    file = tmp_path / "llms.txt"
    file.write_bytes(body)

    parsed = orjson.loads(run(python("modern"), HERE / "parse_llms.py", file))

    assert parsed["title"] == "European companies"
    assert parsed["summary"].startswith("A read-only API")
    assert list(parsed["sections"]) == ["API", "Documentation", "Optional"]
    links = [link for section in parsed["sections"].values() for link in section]
    assert all(link["url"].startswith(server_url) and link["desc"] for link in links)
    assert {ask(server_url, link["url"].removeprefix(server_url))[0] for link in links} == {200}


def test_afdocs_reports_nothing(server_url: str, node: Path) -> None:
    """All checks of afdocs except two are run.

    /docs is a menu followed by a table of contents, /docs.md the complete text, so these checks do not apply.
    """
    cli = MODULES / ".bin" / "afdocs"

    output = run(
        node, cli, "check", f"{server_url}/docs", "--format", "json", "--quiet",
        "--skip-checks", "content-start-position,markdown-content-parity",
    )  # fmt: skip

    results = orjson.loads(output)["results"]
    passed = [check["id"] for check in results if check["status"] == "pass"]
    assert [check["message"] for check in results if check["status"] not in ("pass", "skip")] == []
    assert len(passed) >= 24  # so it has run nearly all of its checks
