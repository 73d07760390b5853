"""Follow UPGRADE.md exactly, under systemd: over a change of format and back, without a lost request.

The newer version is a wheel of this version with another format number.
"""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from seeds import VERSION
from shards.format import FORMAT_VERSION
from tests import ROOT
from tests.bench.synth import writer
from tests.bench.synth.writer import SynthOptions
from tests.deploy.caller import STARTED
from tests.deploy.host import Host, shell_blocks
from tests.proof.tools import next_line
from tests.serve.processes import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

NEWER = "9.9.9"
# Burst limits that the continuous calls do not reach.
HIGH_LIMITS = "\n".join(
    f"SOCIETES_DEBIT_{name}=100000000" for name in ("VISITEUR", "VISITEUR_JOUR", "LISTES")
)
PATHS = ("/api/v1/pays", "/api/v1/societes?pays=FR", "/api/v1/secteurs?pays=EE")
LEAST_ANSWERS = 300  # fewer would mean that the calls did not run all the time
DATA = "/srv/societes/data"
READY = "http://127.0.0.1:8080/readyz"
STATUS = "systemctl status --no-pager societes"


def test_a_server_is_replaced_over_a_change_of_format_and_back(installed: Host) -> None:
    """The commands are the shell blocks of UPGRADE.md; the calls must lose no request meanwhile"""
    _make_newer_wheel(installed)
    build = "runuser -u societes-build -- /opt/societes/{}/bin/societes-pipeline build"
    build += f" --input /srv/input --out {DATA}"
    writer.run(SynthOptions(companies=3_000, seed=1, out=installed.root / "srv" / "input"))
    installed.run(build.format(VERSION), seconds=200)
    installed.run(
        f"printf '{HIGH_LIMITS}\n' >> /etc/societes/serve.env; systemctl restart societes"
    )
    installed.run(f"curl --silent --fail --retry 30 --retry-all-errors {READY}")
    old_generation = _generation(installed)

    backup, install, name_version = (
        _set_variables(block, VERSION=NEWER) for block in shell_blocks("UPGRADE.md", "Before")
    )
    trial, restart, check = shell_blocks("UPGRADE.md", "Replace a server")
    name_old_version, rollback = (
        _set_variables(block, OLD=VERSION) for block in shell_blocks("UPGRADE.md", "Back")
    )
    with _continuous_calls(installed) as calls:
        installed.run(backup + install + name_version, seconds=600)
        installed.run(build.format(NEWER), seconds=200)
        assert eventually(lambda: _ready(installed)["refusee"] is not None)
        ready_of_old_server = _ready(installed)
        trial_output = installed.run(f"VERSION={NEWER}\n{trial}")
        installed.run(restart)
        output_after_upgrade = installed.run(check)
        new_generation = _generation(installed)
        installed.run(name_old_version + rollback)
        installed.run(restart)
        output_after_rollback = installed.run(check)

    # pytest -s shows this line.
    sys.stdout.write(f"[{calls['answers']} answers, {len(calls['faults'])} lost] ")
    assert ready_of_old_server["generation"] == old_generation
    assert ready_of_old_server["refusee"] == new_generation != old_generation
    assert new_generation in trial_output
    assert output_after_upgrade.startswith("active\n")
    assert output_after_rollback.startswith("active\n")
    assert _generation(installed) == old_generation
    assert calls["faults"] == []
    assert calls["answers"] >= LEAST_ANSWERS
    # systemd shows a process that it has just started under another name for a moment.
    assert eventually(lambda: f"/opt/societes/{VERSION}/bin/python" in installed.run(STATUS))


def test_the_trial_of_a_version_fails_if_it_can_read_no_generation(installed: Host) -> None:
    """The server of the old version keeps serving meanwhile"""
    name_version = _set_variables(shell_blocks("UPGRADE.md", "Before")[-1], VERSION=NEWER)
    trial, *_ = shell_blocks("UPGRADE.md", "Replace a server")
    served_generation = _generation(installed)
    # The test above ended with a rollback, so the previous generation is that of NEWER. The remaining generation has
    # the old format, which NEWER refuses.
    current = orjson.loads((installed.root / DATA[1:] / "CURRENT").read_bytes())
    installed.run(f"rm -r {DATA}/{current['previous']}")

    with _continuous_calls(installed) as calls:
        installed.run(
            f"{name_version}\n! bash -euo pipefail <<'END'\nVERSION={NEWER}\n{trial}END\n"
        )
        response = installed.run("curl --silent http://127.0.0.1:8081/readyz")
        installed.run("systemctl stop societes-trial")
        installed.run(_set_variables(shell_blocks("UPGRADE.md", "Back")[0], OLD=VERSION))

    assert orjson.loads(response)["erreur"]["code"] == "indisponible"
    assert _generation(installed) == served_generation
    assert calls["faults"] == []


def test_connections_wait_while_a_version_starts(installed: Host) -> None:
    """systemd tries to start a version that is not installed, until version.env names the old version"""
    with _continuous_calls(installed) as calls:
        installed.run("echo VERSION=0.0.0 > /etc/societes/version.env; systemctl restart societes")
        restarts = "systemctl show --property=NRestarts --value societes"
        has_restarted = eventually(lambda: int(installed.run(restarts)) >= 2)
        installed.run(_set_variables(shell_blocks("UPGRADE.md", "Back")[0], OLD=VERSION))
        installed.run("systemctl restart societes; sleep 1")

    assert has_restarted
    assert calls["faults"] == []


def test_each_worker_has_a_socket_of_the_unit(installed: Host) -> None:
    """INSTALL.md sets two workers"""
    sockets = installed.run("ss --listening --numeric --tcp --no-header 'sport = :8080'")

    assert len(sockets.splitlines()) == 2


def test_the_calls_of_these_tests_notice_a_closed_port(installed: Host) -> None:
    """Without the socket unit requests are lost, and the calls count them as faults"""
    stop = "systemctl stop societes.socket societes"
    with _continuous_calls(installed) as calls:
        installed.run(f"{stop}; sleep 3; systemctl start societes; sleep 5")

    assert calls["faults"]


def _make_newer_wheel(host: Host) -> None:
    """Make a wheel of a newer version with a newer format, next to the wheel of the host."""
    install = host.root / "root" / "install"
    (wheel,) = install.glob(f"societes-{VERSION}-*.whl")
    newer = install / wheel.name.replace(VERSION, NEWER)
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(newer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            content = source.read(name)
            if name == "shards/format.py":
                content = _replace(
                    content,
                    f"FORMAT_VERSION: Final = {FORMAT_VERSION}",
                    f"FORMAT_VERSION: Final = {FORMAT_VERSION + 1}",
                )
            if name.endswith("/METADATA"):
                content = _replace(content, f"Version: {VERSION}", f"Version: {NEWER}")
            target.writestr(name.replace(VERSION, NEWER), content)


def _replace(content: bytes, old: str, new: str) -> bytes:
    """Replace a text that the content must have."""
    assert old.encode() in content
    return content.replace(old.encode(), new.encode())


def _generation(host: Host) -> str:
    """The name of the generation that the server of the host serves."""
    return str(_ready(host)["generation"])


def _ready(host: Host) -> dict[str, Any]:
    """The answer of the server of the host to /readyz."""
    return dict(orjson.loads(host.run(f"curl --silent --fail {READY}")))


def _set_variables(script: str, **variables: str) -> str:
    """A script that first assigns these shell variables."""
    return "".join(f"{name}={value}\n" for name, value in variables.items()) + script


@contextmanager
def _continuous_calls(host: Host) -> Iterator[dict[str, Any]]:
    """Call the server from another process, again and again, during the block.

    The block begins after the first answer. It receives an empty dict, which gets the number of `answers` and the list
    of `faults` when the block ends.
    """
    caller = [sys.executable, "-m", "tests.deploy.caller", READY.rpartition("/")[0], *PATHS]
    command = [*host.namespace_command(), *caller]
    figures: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE) as process:
        try:
            assert next_line(process, 120) == STARTED
            yield figures
        finally:
            process.terminate()
            output, _ = process.communicate(timeout=260)
    figures.update(orjson.loads(output))
