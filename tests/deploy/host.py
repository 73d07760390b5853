"""Hosts with a systemd of their own, an empty root and no network, booted by systemd-nspawn.

A host has the programs of this machine (`/usr`, read-only) and what its packages put into `/etc`; users, services and
every other folder are its own. Units run in it under all their restrictions.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.proof.tools import absent, need
from tests.serve.processes import eventually

DEPLOY: Final = ROOT / "serve" / "deploy"
BRIEF_S: Final = 150.0  # a busy machine takes long to start a server
# What Debian's packages have in /etc; a missing one is no fault.
_CONFIGURED: Final = (
    "alternatives", "dbus-1", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "login.defs", "nsswitch.conf", "pam.d",
    "security",
)  # fmt: skip


@dataclass(frozen=True)
class Host:
    """A booted host: its root on this machine, and the process that is its systemd."""

    root: Path
    leader: int

    def run(self, script: str, *, seconds: float = BRIEF_S) -> str:
        """What bash prints that runs a script as root, in /root/install, each line of which must succeed."""
        done = subprocess.run(
            [*self.entered("--mount", "--uts", "--ipc", "--pid", "--cgroup"), "bash", "-euo", "pipefail"],
            input=f"cd /root/install\n{script}",
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "HOME": "/root"},
            capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}\n{self.journal()}"
        return done.stdout

    def entered(self, *namespaces: str) -> Sequence[str]:
        """The beginning of a command that runs in the network of the host, and in these namespaces."""
        return ["nsenter", "--target", str(self.leader), "--net", *namespaces]

    def journal(self) -> str:
        """The last lines of the journal of all units of ours."""
        command = ["journalctl", "--no-pager", "--output=cat", "--lines=40", "--directory"]
        (folder,) = [*self.root.glob("run/log/journal/*"), *self.root.glob("var/log/journal/*")][
            :1
        ] or [self.root]
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        return done.stdout


@contextmanager
def booted(folder: Path) -> Iterator[Host]:
    """Boot a host whose root is an empty folder; it is switched off at the end."""
    nspawn = need("systemd-nspawn", "systemd-container")
    if os.geteuid():
        pytest.skip("only root can boot a host")
    _furnish(folder)
    name = f"societes-{os.getpid()}"
    command = [
        nspawn, "--quiet", "--boot", "--register=no", "--keep-unit", "--console=pipe", "--private-network",
        f"--machine={name}", f"--directory={folder}", "--bind-ro=/usr", "--tmpfs=/usr/local:mode=755",
    ]  # fmt: skip
    # With control groups of version 1, systemd in a container does not see that a unit's last process has ended.
    variables = os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
    with subprocess.Popen(
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            host = Host(folder, _leader(process))
            eventually(lambda: _state(host) in ("running", "degraded"))
            host.run("install -d /usr/local/bin")
            yield host
            os.kill(host.leader, signal.SIGKILL)
            process.wait(BRIEF_S)
        finally:
            process.terminate()


def _furnish(root: Path) -> None:
    root.chmod(0o755)  # a temporary folder is for its owner alone
    for name in (
        "usr",
        "etc/systemd/system",
        "var",
        "root/install",
        "run",
        "proc",
        "sys",
        "dev",
        "opt",
        "srv",
    ):
        (root / name).mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    etc = root / "etc"
    for name in _CONFIGURED:
        source = Path("/etc", name)
        if source.is_dir():
            shutil.copytree(source, etc / name, symlinks=True)
        elif source.exists():
            shutil.copy(source, etc)
    (etc / "passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nmessagebus:x:100:100::/:/bin/false\n"
    )
    (etc / "group").write_text("root:x:0:\nmessagebus:x:100:\n")
    shutil.copy("/usr/lib/os-release", etc)  # nspawn looks for it before /usr is there
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    (etc / "machine-id").touch()


def _leader(process: "subprocess.Popen[bytes]") -> int:
    """The process number 1 of the host."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + BRIEF_S
    while time.monotonic() < deadline and process.poll() is None:
        for pid in children.read_text().split():
            started = Path(f"/proc/{pid}/cmdline").read_bytes()
            if started.startswith(b"/usr/lib/systemd/systemd\0"):
                return int(pid)
        time.sleep(0.1)
    process.terminate()
    said = process.communicate()[0].decode(errors="replace")
    return absent(f"systemd cannot be booted in a container here: {said[-1000:]}")


def _state(host: Host) -> str:
    command = [*host.entered("--mount", "--pid"), "systemctl", "is-system-running"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def blocks(document: str, heading: str) -> list[str]:
    """The blocks of shell commands under a heading of a page of serve/deploy/."""
    text = (DEPLOY / document).read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert section, heading
    return re.findall(r"^```sh\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)


def supply(host: Host, wheel: Path, packages: Path) -> None:
    """Put into /root/install what INSTALL.md wants there, and let pip find the packages that it would fetch."""
    install = host.root / "root" / "install"
    for path in (wheel, *(ROOT / "requirements").glob("*.lock"), *DEPLOY.iterdir()):
        shutil.copy(path, install)
    shutil.copytree(packages, host.root / "root" / "packages")
    (host.root / "etc" / "pip.conf").write_text(
        "[global]\nno-index = true\nfind-links = /root/packages\n[install]\nno-compile = true\n"
    )


def fetch_packages(target: Path) -> None:
    """Fetch what requirements/build.lock pins, for the system's Python, and what builds the sources among them."""
    if sys.version_info[:2] != _version_of_the_system():
        absent(
            "the wheel of this Python is of no use to /usr/bin/python3, which has another version"
        )
    for wanted in (
        ("--require-hashes", "-r", str(ROOT / "requirements" / "build.lock")),
        ("setuptools", "wheel"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target), *wanted],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        if done.returncode:
            absent(f"packages cannot be fetched: {done.stderr}")


def _version_of_the_system() -> tuple[int, ...]:
    script = "import ensurepip, sys; print(*sys.version_info[:2])"
    command = [need("/usr/bin/python3", "python3-venv"), "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(map(int, printed.split()))
