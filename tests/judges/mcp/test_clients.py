"""The official clients of both eras use the tools as an application would."""

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


def of_python(era: str, *mode: str) -> Callable[[Path, str, str], str]:
    program = HERE / "use_python.py"
    return lambda _, url, key: run(python(era), program, url, key, *mode)


def of_node(package: str, *mode: str) -> Callable[[Path, str, str], str]:
    program = HERE / "use_client.mjs"
    return lambda node, url, key: run(node, program, package, url, key, *mode)


@pytest.mark.parametrize(
    ("use", "version"),
    [
        pytest.param(of_python("modern", "auto"), MODERN, id="python-2-auto"),
        pytest.param(of_python("modern", MODERN), MODERN, id="python-2-modern"),
        pytest.param(of_python("modern", "legacy"), LEGACY, id="python-2-legacy"),
        pytest.param(of_python("legacy"), LEGACY, id="python-1"),
        pytest.param(of_node("client"), LEGACY, id="typescript-client"),
        pytest.param(of_node("client", "auto"), MODERN, id="typescript-client-auto"),
        pytest.param(of_node("sdk"), LEGACY, id="typescript-sdk"),
    ],
)
def test_a_client_searches_with_a_key(
    live: Live, node: Path, use: Callable[[Path, str, str], str], version: str
) -> None:
    key = live.key("integral")

    seen: dict[str, Any] = orjson.loads(use(node, live.address + PATH, key))

    headers = {"Authorization": f"Bearer {key}"}
    _, body = ask(live.address, "/api/v1/societes?pays=EE&limit=3", headers)
    route = orjson.loads(body)
    assert seen["version"] == version
    assert seen["tools"] == list(tools(PRODUCT))
    assert (seen["found"]["total"], seen["found"]["plan"]) == (route["total"], "integral")
    shown = [company["id"] for company in seen["found"]["societes"]]
    assert shown == [company["id"] for company in route["societes"]]
    assert "pays_inconnu" in seen["wrong"] and '"EE"' in seen["wrong"]


def test_the_inspector_finds_schemas_that_every_client_understands(
    live: Live, node: Path, tmp_path: Path
) -> None:
    cli = MODULES / ".bin" / "mcp-inspector"
    url = live.address + PATH
    common = (node, cli, "--cli", url, "--transport", "http", "--method")

    listed = run(*common, "tools/list", "--strict", home=tmp_path)
    called = run(
        *common, "tools/call", "--tool-name", "count_companies", "--tool-arg", 'pays=["EE"]',
        home=tmp_path,
    )  # fmt: skip

    assert "search_companies" in listed
    assert orjson.loads(called)["structuredContent"]["total"] > 0


def test_a_second_opinion_has_nothing_to_say(live: Live) -> None:
    """jbt-mcpcheck: all eight checks, without a warning."""
    said = run(python("modern", "mcpcheck"), live.address + PATH)

    assert "All 8 checks passed" in said
    assert "warning" not in said
