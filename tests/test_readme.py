"""What README.md promises, done: its commands on the bundled excerpts, its curl, its links."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def demo(demo_data: Path) -> Iterator[str]:
    """The address of a server of the bundled excerpts."""
    command = [sys.executable, "-m", "serve", "--data", str(demo_data)]
    command += ["--state", str(demo_data.with_name("state"))]
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    ) as server:  # fmt: skip
        assert server.stdout
        yield server.stdout.readline().strip()
        server.terminate()
        assert server.wait(timeout=20) == 0


def test_the_curl_answers_what_the_readme_shows(demo: str) -> None:
    shown = re.search(r"curl -s 'http://127.0.0.1:8080([^']+)' \| head -c (\d+)", README)
    answer = re.search(r"```json\n(.*?)\n```", README, re.DOTALL)
    assert shown
    assert answer

    assert _get(demo + shown[1])[1][: int(shown[2])].decode() == answer[1]


def test_every_other_curl_of_the_readme_is_answered(demo: str) -> None:
    paths = re.findall(r"^curl -s[i ] +'http://127.0.0.1:8080([^']+)'", README, re.MULTILINE)

    statuses = {path: _get(demo + path)[0] for path in paths}

    assert len(statuses) == 7
    assert {path for path, status in statuses.items() if status != 200} == {
        "/api/v1/societes?pays=germany"
    }


def test_every_file_that_a_document_links_is_there() -> None:
    for document in ("README.md", "ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text()):
            assert (ROOT / target).exists(), f"{document} links {target}"


def test_every_make_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
    assert {"help", "setup", "demo", "test", "check", "bench"} <= targets


def _get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
