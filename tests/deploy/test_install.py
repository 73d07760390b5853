"""Follow INSTALL.md exactly, on a host with an empty root."""

import shutil

import orjson
import pytest

from seeds import VERSION
from tests import ROOT
from tests.deploy.host import DEPLOY, Host, shell_blocks
from tests.serve.processes import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

# The night downloads no file of Estonia, because the host has no network: the test copies an excerpt of the register.
# The limits of the size and the rows are wide, because the excerpt is small.
ESTONIA_BY_HAND = """
[source.ee]
fetch = false
size = [1, 1_000_000_000]
rows = [1, 1_000_000]
"""


def test_a_host_is_installed_builds_serves_and_makes_a_backup(installed: Host) -> None:
    """The commands are the shell blocks of INSTALL.md, in their order"""
    assert installed.run("societes-serve --version") == f"societes {VERSION}\n"
    settings, first_build = shell_blocks("INSTALL.md", "The night")
    installed.run(settings)
    with (installed.root / "etc/societes/nightly.toml").open("a") as file:
        file.write(ESTONIA_BY_HAND)
    raw = installed.root / "srv/societes/nightly/raw/ee"
    raw.mkdir(parents=True)
    for path in (ROOT / "seeds/raw/ee").glob("*.zip"):
        shutil.copy(path, raw)
    installed.run("chown -R societes-build:societes /srv/societes/nightly")

    ready = orjson.loads(installed.run(first_build, seconds=300))
    (backup,) = shell_blocks("INSTALL.md", "Backups")
    installed.run(backup)

    assert ready["statut"] == "pret"
    assert orjson.loads(installed.run(_curl("/api/v1/pays")))
    assert installed.run("ls /var/backups/societes").startswith("quota-")
    assert "societes-nightly.timer" in installed.run("systemctl list-timers --no-pager")
    assert (
        installed.run("systemctl is-enabled societes societes.socket societes-nightly.timer")
        == "enabled\nenabled\nenabled\n"
    )
    assert installed.run("stat -c '%U %G %a' /srv/societes/data /var/lib/societes").splitlines() == [
        "societes-build societes 750", "societes societes 700",
    ]  # fmt: skip


def test_the_user_of_a_unit_cannot_use_the_folders_of_other_units(installed: Host) -> None:
    command = "! runuser -u societes-alert -- ls {} 2>&-"

    for folder in ("/srv/societes", "/var/lib/societes", "/etc/societes/alert.env"):
        installed.run(command.format(folder).replace("ls /etc", "cat /etc"))
    installed.run("! runuser -u societes -- touch /srv/societes/data/x 2>&-")
    installed.run("! runuser -u societes-build -- ls /var/lib/societes 2>&-")


def test_systemd_accepts_the_installed_units_and_their_exposure_is_low(installed: Host) -> None:
    """The installed files are valid; the exposure of the loaded units is at most 2 of 10"""
    units = "/etc/systemd/system/societes*"

    assert installed.run(f"systemd-analyze verify --man=no {units} 2>&1") == ""
    installed.run(
        "systemd-analyze security --no-pager --threshold=20 societes.service societes-nightly.service"
        " societes-alert@societes-nightly.service.service"
    )


def test_a_failed_nightly_build_is_mailed(installed: Host) -> None:
    """By a `sendmail` that writes to the journal, under the restrictions of the unit"""
    sendmail = installed.root / "root/install/sendmail"
    sendmail.write_text("#!/bin/sh\ncat >&2\n")
    installed.run(
        "install sendmail /usr/local/bin/\n"
        "mv /etc/societes/nightly.toml /etc/societes/nightly.away\n"
        "! systemctl start societes-nightly 2>&-\n"
        "mv /etc/societes/nightly.away /etc/societes/nightly.toml\n"
    )
    # journalctl fails if there is no line yet.
    read_journal = "journalctl --no-pager --output=cat --unit='societes-alert@*' || true"

    # The body of the mail is written last.
    assert eventually(
        lambda: "/etc/societes/nightly.toml cannot be read" in installed.run(read_journal)
    )
    assert "To: ops@example.org\nSubject: societes-nightly.service" in installed.run(read_journal)


def test_a_mirror_replaces_the_nightly_build(installed: Host) -> None:
    """The mirror copies the DATA of the last nightly build, which a web server on the host offers"""
    installed.run(
        "systemctl disable --now societes-nightly.timer\n"
        "systemctl stop societes.socket societes\n"
        "mv /srv/societes /srv/source\n"
        "echo SOCIETES_MIRROR=true >> /etc/societes/serve.env\n"
        "systemd-run --unit=source python3 -m http.server 8000 --directory /srv/source/data\n"
    )
    (mirror_commands,) = shell_blocks("INSTALL.md", "A mirror instead of the night")

    installed.run(mirror_commands.replace("https://api.example.org/data", "http://127.0.0.1:8000"))
    installed.run("systemctl start societes")

    assert eventually(lambda: "pret" in installed.run(f"{_curl('/readyz')} || true"))
    assert (installed.root / "srv/societes/data/CURRENT").exists()


def test_install_names_every_unit() -> None:
    page = (DEPLOY / "INSTALL.md").read_text()

    assert [path.name for path in DEPLOY.glob("societes*") if path.name not in page] == []


def _curl(path: str) -> str:
    """A command that prints the response of the server, and fails at an error."""
    return f"curl --silent --fail http://127.0.0.1:8080{path}"
