"""UPGRADE.md, followed to the letter under systemd: over a change of format and back, without a lost request.

The newer version is this one with another number of its format, in a wheel of its own.
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
from tests.deploy.host import Host, blocks
from tests.serve.processes import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

NEWER = "9.9.9"
GENEROUS = "\n".join(
    f"SOCIETES_DEBIT_{name}=100000000" for name in ("VISITEUR", "VISITEUR_JOUR", "LISTES")
)
PATHS = ("/api/v1/pays", "/api/v1/societes?pays=FR", "/api/v1/secteurs?pays=EE")
LEAST_ANSWERS = 300
DATA = "/srv/societes/data"
READY = "http://127.0.0.1:8080/readyz"
STATUS = "systemctl status --no-pager societes"


def test_a_server_is_replaced_over_a_change_of_format_and_back(installed: Host) -> None:
    _repack(installed)
    build = "runuser -u societes-build -- /opt/societes/{}/bin/societes-pipeline build"
    build += f" --input /srv/input --out {DATA}"
    writer.run(SynthOptions(companies=3_000, seed=1, out=installed.root / "srv" / "input"))
    installed.run(build.format(VERSION), seconds=200)
    installed.run(f"printf '{GENEROUS}\n' >> /etc/societes/serve.env; systemctl restart societes")
    installed.run(f"curl --silent --fail --retry 30 --retry-all-errors {READY}")
    old = _generation(installed)

    backup, install, name = (
        _with(block, VERSION=NEWER) for block in blocks("UPGRADE.md", "Before")
    )
    trial, restart, look = blocks("UPGRADE.md", "Replace a server")
    back, rollback = (_with(block, OLD=VERSION) for block in blocks("UPGRADE.md", "Back"))
    with _called(installed) as calls:
        installed.run(backup + install + name, seconds=600)
        installed.run(build.format(NEWER), seconds=200)
        waiting = orjson.loads(installed.run(f"sleep 2; curl --silent --fail {READY}"))
        tried = installed.run(f"VERSION={NEWER}\n{trial}")
        installed.run(restart)
        seen = installed.run(look)
        new = _generation(installed)
        installed.run(back + rollback)
        installed.run(restart)
        seen_back = installed.run(look)

    sys.stdout.write(
        f"[{calls['answers']} answers, {len(calls['faults'])} lost] "
    )  # pytest -s shows it
    assert waiting["generation"] == old
    assert waiting["refusee"] == new != old
    assert new in tried
    assert seen.startswith("active\n")
    assert seen_back.startswith("active\n")
    assert _generation(installed) == old
    assert calls["faults"] == []
    assert calls["answers"] >= LEAST_ANSWERS
    # A process that systemd has just begun has another name for a moment.
    assert eventually(lambda: f"/opt/societes/{VERSION}/bin/python" in installed.run(STATUS))


def test_a_version_without_a_generation_that_it_reads_fails_the_trial(installed: Host) -> None:
    name = _with(blocks("UPGRADE.md", "Before")[-1], VERSION=NEWER)
    trial, *_ = blocks("UPGRADE.md", "Replace a server")
    before = _generation(installed)
    current = orjson.loads((installed.root / DATA[1:] / "CURRENT").read_bytes())
    installed.run(f"rm -r {DATA}/{current['previous']}")

    with _called(installed) as calls:
        installed.run(f"{name}\n! bash -euo pipefail <<'END'\nVERSION={NEWER}\n{trial}END\n")
        refused = installed.run("curl --silent http://127.0.0.1:8081/readyz")
        installed.run("systemctl stop societes-trial")
        installed.run(_with(blocks("UPGRADE.md", "Back")[0], OLD=VERSION))

    assert orjson.loads(refused)["erreur"]["code"] == "indisponible"
    assert _generation(installed) == before
    assert calls["faults"] == []


def test_connections_wait_for_a_version_that_starts(installed: Host) -> None:
    """A version that is not there starts again and again, until the old one is named"""
    with _called(installed) as calls:
        installed.run("echo VERSION=0.0.0 > /etc/societes/version.env; systemctl restart societes")
        tries = installed.run("sleep 4; systemctl show --property=NRestarts --value societes")
        installed.run(_with(blocks("UPGRADE.md", "Back")[0], OLD=VERSION))
        installed.run("systemctl restart societes; sleep 1")

    assert int(tries) >= 2
    assert calls["faults"] == []


def test_each_worker_has_a_socket_of_the_unit(installed: Host) -> None:
    """INSTALL.md sets two workers"""
    listening = installed.run("ss --listening --numeric --tcp --no-header 'sport = :8080'")

    assert len(listening.splitlines()) == 2


def test_a_closed_port_is_noticed_by_the_calls(installed: Host) -> None:
    """Where the socket unit stops too, requests are lost: the calls of the other tests would have seen it"""
    with _called(installed) as calls:
        installed.run("systemctl stop societes.socket societes; systemctl start societes; sleep 5")

    assert calls["faults"]


def _repack(host: Host) -> None:
    """A wheel of a newer version with a newer format, beside the one that was brought."""
    install = host.root / "root" / "install"
    (wheel,) = install.glob(f"societes-{VERSION}-*.whl")
    newer = install / wheel.name.replace(VERSION, NEWER)
    with (
        zipfile.ZipFile(wheel) as read,
        zipfile.ZipFile(newer, "w", zipfile.ZIP_DEFLATED) as written,
    ):
        for name in read.namelist():
            content = read.read(name)
            if name == "shards/format.py":
                content = _changed(
                    content,
                    f"FORMAT_VERSION: Final = {FORMAT_VERSION}",
                    f"FORMAT_VERSION: Final = {FORMAT_VERSION + 1}",
                )
            if name.endswith("/METADATA"):
                content = _changed(content, f"Version: {VERSION}", f"Version: {NEWER}")
            written.writestr(name.replace(VERSION, NEWER), content)


def _changed(content: bytes, before: str, after: str) -> bytes:
    assert before.encode() in content
    return content.replace(before.encode(), after.encode())


def _generation(host: Host) -> str:
    return str(orjson.loads(host.run(f"curl --silent --fail {READY}"))["generation"])


def _with(script: str, **variables: str) -> str:
    return "".join(f"{name}={value}\n" for name, value in variables.items()) + script


@contextmanager
def _called(host: Host) -> Iterator[dict[str, Any]]:
    """Continuous calls meanwhile; their number and their faults, once it is over."""
    calling = [sys.executable, "-m", "tests.deploy.caller", READY.rpartition("/")[0], *PATHS]
    command = [*host.entered(), *calling]
    figures: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            yield figures
        finally:
            process.terminate()
            printed, _ = process.communicate(timeout=90)
    figures.update(orjson.loads(printed))
