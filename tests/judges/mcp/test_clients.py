"""The official clients of both eras use the tools like an application."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from serve.app import PRODUCT
from serve.surfaces.mcp.tool_list import tools
from tests.judges.conftest import Live
from tests.judges.mcp.running import HERE, MODULES, PATH, python, run
from tests.serve.processes import ask

pytestmark = pytest.mark.judge

MODERN, LEGACY = "2026-07-28", "2025-11-25"


def python_client(era: str, *mode: str) -> Callable[[Path, str, str], str]:
    """A function that runs the Python client of an era: from Node, a URL and a key to its JSON."""
    program = HERE / "use_python.py"
    return lambda _, url, key: run(python(era), program, url, key, *mode)


def node_client(package: str, *mode: str) -> Callable[[Path, str, str], str]:
    """A function that runs a client for Node: from Node, a URL and a key to its JSON."""
    program = HERE / "use_client.mjs"
    return lambda node, url, key: run(node, program, package, url, key, *mode)


@pytest.mark.parametrize(
    ("run_client", "version"),
    [
        pytest.param(python_client("modern", "auto"), MODERN, id="python-2-auto"),
        pytest.param(python_client("modern", MODERN), MODERN, id="python-2-modern"),
        pytest.param(python_client("modern", "legacy"), LEGACY, id="python-2-legacy"),
        pytest.param(python_client("legacy"), LEGACY, id="python-1"),
        pytest.param(node_client("client"), LEGACY, id="typescript-client"),
        pytest.param(node_client("client", "auto"), MODERN, id="typescript-client-auto"),
        pytest.param(node_client("sdk"), LEGACY, id="typescript-sdk"),
    ],
)
def test_a_client_searches_with_a_key(
    live: Live, node: Path, run_client: Callable[[Path, str, str], str], version: str
) -> None:
    key = live.key("integral")

    output: dict[str, Any] = orjson.loads(run_client(node, live.address + PATH, key))

    headers = {"Authorization": f"Bearer {key}"}
    _, body = ask(live.address, "/api/v1/societes?pays=EE&limit=3", headers)
    route = orjson.loads(body)
    assert output["version"] == version
    assert output["tools"] == list(tools(PRODUCT))
    assert (output["result"]["total"], output["result"]["plan"]) == (route["total"], "integral")
    identifiers = [company["id"] for company in output["result"]["societes"]]
    assert identifiers == [company["id"] for company in route["societes"]]
    assert "pays_inconnu" in output["wrong"] and '"EE"' in output["wrong"]


def test_the_inspector_finds_schemas_that_every_client_understands(
    live: Live, node: Path, tmp_path: Path
) -> None:
    cli = MODULES / ".bin" / "mcp-inspector"
    url = live.address + PATH
    command = (node, cli, "--cli", url, "--transport", "http", "--method")

    list_output = run(*command, "tools/list", "--strict", home=tmp_path)
    call_output = run(
        *command, "tools/call", "--tool-name", "count_companies", "--tool-arg", 'pays=["EE"]',
        home=tmp_path,
    )  # fmt: skip

    assert "search_companies" in list_output
    assert orjson.loads(call_output)["structuredContent"]["total"] > 0


def test_mcpcheck_reports_nothing(live: Live) -> None:
    """jbt-mcpcheck: all eight checks pass without a warning"""
    output = run(python("modern", "mcpcheck"), live.address + PATH)

    assert "All 8 checks passed" in output
    assert "warning" not in output
