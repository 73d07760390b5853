"""The wheel, built, installed into an empty environment and used from another folder.

In CI pip installs the dependencies from requirements/serve.lock, with hashes, so a missing dependency fails the tests.
Elsewhere a `.pth` file gives the environment the libraries of this one, because the machine of a developer may be
offline. The rooms always come from the wheel, as `test_every_room_is_imported_from_the_wheel` checks.
"""

import json
import os
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

import pytest

from seeds import VERSION
from tests import ROOT, wheels
from tests.bench.synth import writer
from tests.bench.synth.writer import SynthOptions
from tests.serve.processes import ask, read_line
from tests.wheels import ROOMS, empty_environment, install, lend_libraries, run, variables

pytestmark = pytest.mark.slow

# Files for readers and administrators; no command opens them.
NOT_INSTALLED: Final = ("*.md", "*.pxd", "deploy/*", "screenshots/*")
INSTALLED_NOTICES: Final = PurePosixPath("serve/surfaces/docs/viewer/vendor/README.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return wheels.built_wheel(tmp_path_factory)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the packages of a host of the API."""
    folder = tmp_path_factory.mktemp("host")
    binaries = empty_environment(folder)
    if os.environ.get("CI"):
        locked = ("--require-hashes", "--requirement", str(ROOT / "requirements" / "serve.lock"))
        install(binaries, *locked)
    else:
        lend_libraries(folder)
    install(binaries, "--no-deps", "--no-index", str(wheel))
    return binaries


@pytest.fixture(scope="module")
def batch_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment with the extra `pipeline` and the libraries of this environment."""
    return wheels.batch_environment(wheel, tmp_path_factory.mktemp("batch"))


def test_the_wheel_has_every_module_and_every_file_that_a_command_opens(wheel: Path) -> None:
    files = {
        path.relative_to(ROOT)
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } | {path.relative_to(ROOT) for path in (ROOT / "seeds").glob("*.csv")}
    expected = {
        path.as_posix()
        for path in files
        if path == Path(INSTALLED_NOTICES)
        or not any(path.match(pattern) for pattern in NOT_INSTALLED)
    }

    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())

    assert expected - packed == set()
    assert {
        name for name in packed if name.startswith(("seeds/raw", "seeds/make", "tests/"))
    } == set()


def test_every_room_is_imported_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    rooms = "pipeline, quota, seeds, serve, shards"
    program = f"import {rooms}; print(*(room.__file__ for room in ({rooms})))"

    files = run([str(environment / "python"), "-c", program], tmp_path).split()

    assert len(files) == 5
    assert all(Path(file).is_relative_to(environment.parent) for file in files)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_a_command_and_a_module_that_runs(
    room: str, environment: Path, batch_environment: Path, tmp_path: Path
) -> None:
    binaries = batch_environment if room == "pipeline" else environment

    command = run([str(binaries / f"societes-{room}"), "--help"], tmp_path)
    module = run([str(binaries / "python"), "-m", room, "--help"], tmp_path)

    assert command == module
    assert command.startswith(f"usage: python -m {room} ")
    assert (
        run([str(binaries / f"societes-{room}"), "--version"], tmp_path) == f"societes {VERSION}\n"
    )


def test_an_installed_project_builds_serves_charges_and_exports(
    environment: Path, batch_environment: Path, tmp_path: Path
) -> None:
    """Companies are created and built, then verified, served to a key, shown as pages, exported."""
    pipeline = str(batch_environment / "societes-pipeline")
    quota = [str(environment / "societes-quota"), "--state", "state"]
    writer.run(SynthOptions(companies=2_000, seed=1, out=tmp_path / "input", comptes=0.1))
    run([pipeline, *["build", "--input", "input", "--out", "data"]], tmp_path)

    run([str(environment / "societes-shards"), "verify", "data"], tmp_path)
    account = json.loads(
        run([*quota, *["account", "create", "--plan", "marches", "--json"]], tmp_path)
    )
    key = json.loads(run([*quota, "key", "create", account["account"], "--json"], tmp_path))
    headers = {"Authorization": f"Bearer {key['key']}"}
    with _served(environment / "societes-serve", tmp_path) as address:
        search = ask(address, "/api/v1/societes?pays=EE&limit=1", headers)
        workbook = ask(address, "/api/v1/export?pays=EE", headers)
        texts = {
            path: ask(address, path)
            for path in ("/", "/assets", "/docs", "/openapi.json", "/llms.txt", "/healthz")
        }

    assert search[0] == 200
    assert json.loads(search[1])["total"] > 0
    assert (workbook[0], workbook[1][:4]) == (200, b"PK\x03\x04")
    assert {path: status for path, (status, _) in texts.items()} == {
        "/": 200, "/assets": 404, "/docs": 200, "/openapi.json": 200, "/llms.txt": 200,
        "/healthz": 200,
    }  # fmt: skip


def test_the_commands_of_the_wheel_are_those_of_the_rooms() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert sorted(project["scripts"]) == [f"societes-{room}" for room in ROOMS]


@contextmanager
def _served(command: Path, folder: Path) -> Iterator[str]:
    """Serve `data` in a folder; yield the address of the server, which must stop without an error."""
    flags = ["--data", "data", "--state", "state", "--port", "0"]
    with subprocess.Popen(
        [str(command), *flags], cwd=folder, env=variables(), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield read_line(process)
            process.terminate()
            assert process.wait(timeout=120) == 0
        finally:
            process.kill()
