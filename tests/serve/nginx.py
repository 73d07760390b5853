"""Run nginx with the configuration of serve/deploy/, on the ports and folders of a test."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.proof.tools import WAIT_S, need
from tests.quota.servers import free_port
from tests.serve.processes import ROOT, eventually

# A mirror logs in with these. The password has a letter outside ASCII, as a password may.
USER, PASSWORD = "edge-7", "Société"


@dataclass(frozen=True)
class Nginx:
    """A configuration of nginx: its file, its port, and its certificate, which a client must trust."""

    file: Path
    port: int
    certificate: Path

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"


def configure(folder: Path, data: Path, upstream: int) -> Nginx:
    """Write the example configuration of nginx, changed for the folder `data` and a server on the port `upstream`.

    Also writes a certificate and the password of USER. Each text that is replaced must be in the example.
    """
    openssl = need("openssl", "openssl")
    key, certificate, passwords = folder / "key.pem", folder / "cert.pem", folder / "passwords"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True, timeout=WAIT_S,
    )  # fmt: skip
    hashed = subprocess.run(
        [openssl, "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True
    ).stdout
    passwords.write_text(f"{USER}:{hashed}")
    port = free_port()
    example = (ROOT / "serve" / "deploy" / "nginx.conf").read_text()
    for old, new in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        ("/etc/ssl/societes/fullchain.pem", str(certificate)),
        ("/etc/ssl/societes/privkey.pem", str(key)),
        ("/etc/nginx/societes-mirrors", str(passwords)),
        ("/srv/societes/data", str(data)),
        ("/var/log/nginx/societes.log", str(folder / "societes.log")),
    ):
        assert old in example
        example = example.replace(old, new)
    (folder / "example.conf").write_text(example)
    temporary_folders = "\n".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"worker_processes 1; {_user_directive(folder)}\n"
        "events {}\n"
        f"http {{ access_log {folder}/access.log; {temporary_folders}\ninclude {folder}/example.conf; }}\n"
    )
    return Nginx(folder / "nginx.conf", port, certificate)


@contextmanager
def run_nginx(nginx: Nginx) -> Iterator[str]:
    """Run nginx until the end of the block, which receives its URL."""
    program = need("nginx", "nginx-light")
    with subprocess.Popen([program, "-c", nginx.file]) as process:
        try:
            assert eventually(lambda: _accepts_connections(nginx.port))
            yield nginx.url
        finally:
            process.terminate()


def _accepts_connections(port: int) -> bool:
    """True if a program listens on the port; raises an OSError otherwise."""
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def _user_directive(folder: Path) -> str:
    """The `user` directive for the owner of the folder.

    nginx needs it only as root: by default it gives its workers another user, who cannot read the folder of a test.
    """
    owner = folder.owner()
    return f"user {owner} {folder.group()};" if owner == "root" else ""
