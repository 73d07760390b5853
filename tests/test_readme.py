"""README.md: its commands work on the bundled excerpts, its links and targets exist."""

import json
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from serve.app import PRODUCT
from serve.surfaces.mcp.tool_list import tools
from tests import ROOT

README: Final = (ROOT / "README.md").read_text()
ADDRESS: Final = "http://127.0.0.1:8080"

# A command, and the JSON that the document shows below it.
_EXAMPLE: Final = re.compile(r"```sh\n(curl [^\n]+)\n```\n\n```json\n(.*?)\n```", re.DOTALL)
_CURL: Final = re.compile(r"^curl [^|#\n]+", re.MULTILINE)


class Demo(NamedTuple):
    """A server of the bundled excerpts, and a key of the plan `data`."""

    address: str
    key: str


class Reply(NamedTuple):
    """The status and the body of an answer."""

    status: int
    body: bytes


@pytest.fixture(scope="module")
def demo(demo_data: Path) -> Iterator[Demo]:
    """The server, started as a user starts it."""
    state = str(demo_data.with_name("state"))
    account = _quota(state, "account", "create", "--plan", "data", "--api-tool")["account"]
    key = _quota(state, "key", "create", account)["key"]
    command = [sys.executable, "-m", "serve", "--data", str(demo_data), "--state", state]
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    ) as server:  # fmt: skip
        assert server.stdout
        yield Demo(server.stdout.readline().strip(), key)
        server.terminate()
        assert server.wait(timeout=120) == 0


def test_the_search_shows_the_lines_that_the_readme_shows(demo: Demo) -> None:
    command, expected = _EXAMPLE.findall(README)[0]
    curl, formatter, head = command.split(" | ")
    assert (formatter, head[:6]) == ("python3 -m json.tool", "head -")

    lines = _run([sys.executable, "-m", "json.tool"], _send(demo, curl).body).splitlines()

    assert "\n".join(lines[: int(head[6:])]) == expected


def test_every_curl_of_the_readme_is_answered(demo: Demo) -> None:
    commands = _CURL.findall(README)

    replies = {command: _send(demo, command) for command in commands}

    assert len(replies) == 11  # so the pattern misses no command
    assert [command for command, reply in replies.items() if reply.status != 200] == []
    files = [reply.body for command, reply in replies.items() if "/export" in command]
    # The first bytes of a workbook (a zip), and of a CSV with a byte order mark.
    assert [body[:2] for body in files] == [b"PK", "\ufeff".encode()[:2]]


def test_the_configuration_of_a_tool_client_is_json() -> None:
    configurations = re.findall(r"`(\{\"mcpServers\".*?)`", README)

    assert [json.loads(text)["mcpServers"]["societes"]["url"] for text in configurations] == [
        f"{ADDRESS}/api/mcp"
    ]


def test_the_readme_has_the_number_of_tools() -> None:
    assert re.findall(r"use (\d+) read-only tools", README) == [str(len(tools(PRODUCT)))]


def test_every_file_that_a_document_links_is_there() -> None:
    for document in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *ROOT.glob("*/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document} links {target}"


def test_every_heading_that_the_architecture_links_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    headings = {heading.lower() for heading in re.findall(r"^##+ (.+)$", text, re.MULTILINE)}

    assert set(re.findall(r"\]\(#([^)]+)\)", text)) == {"glossary", "memos"} <= headings


def test_every_make_target_that_the_readme_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"`?make ([a-z]+)", README)) <= targets
    assert {"help", "setup", "demo", "test", "check", "bench"} <= targets


def _send(demo: Demo, command: str) -> Reply:
    """Send the request of a curl command of README.md to the server of the test; returns the reply, also an error."""
    words = shlex.split(command.replace("$KEY", demo.key))
    request = urllib.request.Request(_url(words).replace(ADDRESS, demo.address))
    for option, value in pairwise(words):
        if option == "-H":
            request.add_header(*value.split(": ", 1))
        elif option == "--json":
            request.data = value.encode()
            request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request) as response:
            return Reply(response.status, response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.read())


def _url(words: list[str]) -> str:
    """The address of a curl command."""
    [url] = [word for word in words if word.startswith(ADDRESS)]
    return url


def _quota(state: str, *arguments: str) -> dict[str, Any]:
    """The JSON of a command of `quota`."""
    command = [sys.executable, "-m", "quota", "--state", state, *arguments, "--json"]
    answer: dict[str, Any] = json.loads(_run(command))
    return answer


def _run(command: list[str], stdin: bytes = b"") -> str:
    """Run a command, which must succeed; return its output."""
    done = subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, check=True)
    return done.stdout.decode()
