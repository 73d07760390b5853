"""INSTALL.md, followed to the letter on a host with an empty root."""

import shutil

import orjson
import pytest

from seeds import VERSION
from tests import ROOT
from tests.deploy.host import DEPLOY, Host, blocks
from tests.serve.processes import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

# The host has no network: the file of the register is put in by hand, and is an excerpt.
BY_HAND = """
[source.ee]
fetch = false
size = [1, 1_000_000_000]
rows = [1, 1_000_000]
"""


def test_a_host_is_installed_builds_serves_and_keeps_a_copy(installed: Host) -> None:
    assert installed.run("societes-serve --version") == f"societes {VERSION}\n"
    first, now = blocks("INSTALL.md", "The night")
    installed.run(first)
    with (installed.root / "etc/societes/nightly.toml").open("a") as written:
        written.write(BY_HAND)
    raw = installed.root / "srv/societes/nightly/raw/ee"
    raw.mkdir(parents=True)
    for path in (ROOT / "seeds/raw/ee").glob("*.zip"):
        shutil.copy(path, raw)
    installed.run("chown -R societes-build:societes /srv/societes/nightly")

    ready = orjson.loads(installed.run(now, seconds=300))
    (copy,) = blocks("INSTALL.md", "What to keep")
    installed.run(copy)

    assert ready["statut"] == "pret"
    assert orjson.loads(installed.run(_ask("/api/v1/pays")))
    assert installed.run("ls /var/backups/societes").startswith("quota-")
    assert "societes-nightly.timer" in installed.run("systemctl list-timers --no-pager")
    assert (
        installed.run("systemctl is-enabled societes societes.socket societes-nightly.timer")
        == "enabled\nenabled\nenabled\n"
    )
    assert installed.run("stat -c '%U %G %a' /srv/societes/data /var/lib/societes").splitlines() == [
        "societes-build societes 750", "societes societes 700",
    ]  # fmt: skip


def test_no_user_of_a_unit_reads_what_is_not_its_own(installed: Host) -> None:
    refused = "! runuser -u societes-alert -- ls {} 2>&-"

    for folder in ("/srv/societes", "/var/lib/societes", "/etc/societes/alert.env"):
        installed.run(refused.format(folder).replace("ls /etc", "cat /etc"))
    installed.run("! runuser -u societes -- touch /srv/societes/data/x 2>&-")
    installed.run("! runuser -u societes-build -- ls /var/lib/societes 2>&-")


def test_systemd_takes_the_installed_units_and_leaves_them_little(installed: Host) -> None:
    """Verified in their places, and as they are loaded: of ten points of exposure two at most"""
    units = "/etc/systemd/system/societes*"

    assert installed.run(f"systemd-analyze verify --man=no {units} 2>&1") == ""
    installed.run(
        "systemd-analyze security --no-pager --threshold=20 societes.service societes-nightly.service"
        " societes-alert@societes-nightly.service.service"
    )


def test_a_night_that_fails_is_mailed(installed: Host) -> None:
    """By a `sendmail` that writes to the journal, under the restrictions of the unit"""
    sendmail = installed.root / "root/install/sendmail"
    sendmail.write_text("#!/bin/sh\ncat >&2\n")
    installed.run(
        "install sendmail /usr/local/bin/\n"
        "mv /etc/societes/nightly.toml /etc/societes/nightly.away\n"
        "! systemctl start societes-nightly 2>&-\n"
        "mv /etc/societes/nightly.away /etc/societes/nightly.toml\n"
    )
    read = "journalctl --no-pager --output=cat --unit='societes-alert@*' || true"  # before its first line there is none

    # The body of the mail is the last that is written.
    assert eventually(lambda: "/etc/societes/nightly.toml cannot be read" in installed.run(read))
    assert "To: ops@example.org\nSubject: societes-nightly.service" in installed.run(read)


def test_a_mirror_is_installed_in_the_place_of_the_night(installed: Host) -> None:
    """Its source is the DATA of the night, behind a web server of the host"""
    installed.run(
        "systemctl disable --now societes-nightly.timer\n"
        "systemctl stop societes.socket societes\n"
        "mv /srv/societes /srv/source\n"
        "echo SOCIETES_MIRROR=true >> /etc/societes/serve.env\n"
        "systemd-run --unit=source python3 -m http.server 8000 --directory /srv/source/data\n"
    )
    (block,) = blocks("INSTALL.md", "A mirror instead of the night")

    installed.run(block.replace("https://api.example.org/data", "http://127.0.0.1:8000"))
    installed.run("systemctl start societes")

    assert eventually(lambda: "pret" in installed.run(f"{_ask('/readyz')} || true"))
    assert (installed.root / "srv/societes/data/CURRENT").exists()


def test_every_unit_is_named_by_a_page() -> None:
    pages = (DEPLOY / "INSTALL.md").read_text()

    assert [path.name for path in DEPLOY.glob("societes*") if path.name not in pages] == []


def _ask(path: str) -> str:
    return f"curl --silent --fail http://127.0.0.1:8080{path}"
