"""/llms.txt and the documentation by the parser of the format's author, and by afdocs."""

import socket
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.judges.conftest import UNLIMITED
from tests.judges.mcp.running import HERE, MODULES, python, run
from tests.serve.processes import ask, eventually, line_of, started

pytestmark = pytest.mark.judge


@pytest.fixture(scope="module")
def named(demo_data: Path) -> Iterator[str]:
    """The address of a server that is configured with it, so that links begin with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ("--port", str(port), "--base-url", f"http://127.0.0.1:{port}")
    with started(demo_data, *flags, environment=UNLIMITED) as process:
        address = line_of(process)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        yield address


def test_the_parser_reads_every_section_of_the_summary(named: str, tmp_path: Path) -> None:
    _, body = ask(named, "/llms.txt")
    file = tmp_path / "llms.txt"
    file.write_bytes(body)

    read = orjson.loads(run(python("modern"), HERE / "parse_llms.py", file))

    assert read["title"] == "European companies"
    assert read["summary"].startswith("A read-only API")
    assert list(read["sections"]) == ["API", "Documentation", "Optional"]
    links = [link for section in read["sections"].values() for link in section]
    assert all(link["url"].startswith(named) and link["desc"] for link in links)
    assert {ask(named, link["url"].removeprefix(named))[0] for link in links} == {200}


def test_afdocs_has_nothing_against_the_documentation(named: str, node: Path) -> None:
    """All checks that apply.

    /docs is a table of contents beside a menu, /docs.md the whole text: they differ, and menus come first.
    """
    cli = MODULES / ".bin" / "afdocs"

    said = run(
        node, cli, "check", f"{named}/docs", "--format", "json", "--quiet",
        "--skip-checks", "content-start-position,markdown-content-parity",
    )  # fmt: skip

    results = orjson.loads(said)["results"]
    passed = [one["id"] for one in results if one["status"] == "pass"]
    assert [one["message"] for one in results if one["status"] not in ("pass", "skip")] == []
    assert len(passed) >= 24
