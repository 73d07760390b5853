"""Hosts with their own systemd, an empty root and no network, booted by systemd-nspawn.

A host shares the programs of this machine (`/usr`, read-only) and has copies of some of its `/etc`; it has its own
users, services and other folders. Units run with all their restrictions.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests import ROOT
from tests.proof.tools import need, skip_or_fail
from tests.serve.processes import eventually

DEPLOY: Final = ROOT / "serve" / "deploy"
START_SECONDS: Final = 150.0  # the longest that a busy machine needs to start a host or a server
# Files of Debian packages in /etc; some may be missing.
_PACKAGE_FILES: Final = (
    "alternatives", "dbus-1", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "login.defs", "nsswitch.conf", "pam.d",
    "security",
)  # fmt: skip


@dataclass(frozen=True)
class Host:
    """A booted host: its root on this machine, and the process that is its systemd."""

    root: Path
    leader: int

    def run(self, script: str, *, seconds: float = START_SECONDS) -> str:
        """Run a script with bash as root in /root/install; return its output. Each line must succeed."""
        result = subprocess.run(
            [*self.namespace_command("--mount", "--uts", "--ipc", "--pid", "--cgroup"), "bash", "-euo", "pipefail"],
            input=f"cd /root/install\n{script}",
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "HOME": "/root"},
            capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
        assert result.returncode == 0, (
            f"{script}\n{result.stdout}\n{result.stderr}\n{self.journal()}"
        )
        return result.stdout

    def namespace_command(self, *namespaces: str) -> Sequence[str]:
        """The beginning of a command that runs in the network of the host and in these namespaces."""
        return ["nsenter", "--target", str(self.leader), "--net", *namespaces]

    def journal(self) -> str:
        """The last 40 lines of the journal of the host, for the message of a failed script."""
        command = ["journalctl", "--no-pager", "--output=cat", "--lines=40", "--directory"]
        # The journal is in /run or /var. If there is none yet, journalctl looks into the root, which holds none.
        (folder,) = [*self.root.glob("run/log/journal/*"), *self.root.glob("var/log/journal/*")][
            :1
        ] or [self.root]
        result = subprocess.run(
            [*command, str(folder)], capture_output=True, text=True, check=False
        )
        return result.stdout


@contextmanager
def boot(folder: Path) -> Iterator[Host]:
    """Boot a host with an empty folder as its root; stop it at the end of the block."""
    nspawn = need("systemd-nspawn", "systemd-container")
    if os.geteuid():
        pytest.skip("only root can boot a host")
    _fill_root(folder)
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
            host = Host(folder, _find_leader(process))
            # "degraded": systemd has started, and some unit has failed, which a container may cause.
            eventually(lambda: _system_state(host) in ("running", "degraded"))
            host.run("install -d /usr/local/bin")
            yield host
            os.kill(host.leader, signal.SIGKILL)
            process.wait(START_SECONDS)
        finally:
            process.terminate()


def _fill_root(root: Path) -> None:
    """Make the folders, links and files of /etc that a host needs to boot."""
    root.chmod(0o755)  # only the owner can read a temporary folder
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
    for name in _PACKAGE_FILES:
        source = Path("/etc", name)
        if source.is_dir():
            shutil.copytree(source, etc / name, symlinks=True)
        elif source.exists():
            shutil.copy(source, etc)
    (etc / "passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nmessagebus:x:100:100::/:/bin/false\n"
    )
    (etc / "group").write_text("root:x:0:\nmessagebus:x:100:\n")
    shutil.copy("/usr/lib/os-release", etc)  # nspawn reads it before /usr is mounted
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    (etc / "machine-id").touch()


def _find_leader(process: "subprocess.Popen[bytes]") -> int:
    """The process id, on this machine, of process 1 of the host; skips or fails the test if it does not start."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for pid in children.read_text().split():
            with suppress(OSError):  # the process has ended
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if command.startswith(b"/usr/lib/systemd/systemd\0"):
                    return int(pid)
        time.sleep(0.1)
    process.terminate()
    output = process.communicate()[0].decode(errors="replace")
    return skip_or_fail(f"this machine cannot boot systemd in a container: {output[-1000:]}")


def _system_state(host: Host) -> str:
    """The state that systemd reports, such as "running"."""
    command = [*host.namespace_command("--mount", "--pid"), "systemctl", "is-system-running"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def shell_blocks(document: str, heading: str) -> list[str]:
    """The blocks of shell commands under a heading of a page of serve/deploy/."""
    text = (DEPLOY / document).read_text(encoding="utf-8")
    section = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    assert section, heading
    return re.findall(r"^```sh\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)


def copy_install_files(host: Host, wheel: Path, packages: Path) -> None:
    """Copy the files that INSTALL.md requires to /root/install; make pip use the fetched packages."""
    install = host.root / "root" / "install"
    for path in (wheel, *(ROOT / "requirements").glob("*.lock"), *DEPLOY.iterdir()):
        shutil.copy(path, install)
    shutil.copytree(packages, host.root / "root" / "packages")
    (host.root / "etc" / "pip.conf").write_text(
        "[global]\nno-index = true\nfind-links = /root/packages\n[install]\nno-compile = true\n"
    )


def fetch_packages(target: Path) -> None:
    """Fetch the packages of requirements/build.lock for the system's Python, and the tools to build source packages."""
    if sys.version_info[:2] != _system_version():
        skip_or_fail(
            "the wheel of this Python cannot be installed: /usr/bin/python3 has another version"
        )
    for pip_arguments in (
        ("--require-hashes", "-r", str(ROOT / "requirements" / "build.lock")),
        ("setuptools", "wheel"),
    ):
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target), *pip_arguments],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        if result.returncode:
            skip_or_fail(f"pip cannot fetch packages: {result.stderr}")


def _system_version() -> tuple[int, ...]:
    """The major and minor version of /usr/bin/python3."""
    # ensurepip is imported because the installation makes a venv, which needs it.
    script = "import ensurepip, sys; print(*sys.version_info[:2])"
    command = [need("/usr/bin/python3", "python3-venv"), "-c", script]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(map(int, output.split()))
