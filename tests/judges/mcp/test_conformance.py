"""The official conformance suite: every scenario that a revision requires."""

from pathlib import Path

import pytest

from tests.judges.conftest import Live
from tests.judges.mcp.running import HERE, MODULES, PATH, run

pytestmark = pytest.mark.judge

SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_every_offered_scenario_conforms(
    live: Live, node: Path, tmp_path: Path, revision: str
) -> None:
    """A file has the scenarios that the server does not offer; the suite requires each of them to fail"""
    expected = HERE / f"expected-{revision}.yaml"

    output = run(
        node, SUITE, "server", "--url", live.address + PATH, "--requirements", revision,
        "--expected-failures", expected, "--output-dir", tmp_path,
    )  # fmt: skip

    assert "Baseline check passed" in output
    assert "server-stateless" in output or "server-initialize: 2 passed, 0 failed" in output
    for passed in ("tools-list", "dns-rebinding-protection", "http-header-validation"):
        assert f"✗ {passed}:" not in output
