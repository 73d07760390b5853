"""The nginx of serve/deploy/, with ports, certificate and folders of a test."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serve.process import port as ports
from tests.proof.tools import WAIT_S, need
from tests.serve.processes import ROOT, eventually

USER, PASSWORD = "edge-7", "Société"


@dataclass(frozen=True)
class Nginx:
    """A configuration: its file, the port it listens on, the certificate to be believed."""

    file: Path
    port: int
    certificate: Path

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"


def configured(folder: Path, data: Path, upstream: int) -> Nginx:
    """The example, giving out `data` and what listens on the port `upstream`."""
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
    free = ports.bind("127.0.0.1", 0)
    port = free.getsockname()[1]
    free.close()
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
    temporary = "\n".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"worker_processes 1; {_user(folder)}\n"
        "events {}\n"
        f"http {{ access_log {folder}/access.log; {temporary}\ninclude {folder}/example.conf; }}\n"
    )
    return Nginx(folder / "nginx.conf", port, certificate)


@contextmanager
def running(nginx: Nginx) -> Iterator[str]:
    """The address of a real nginx."""
    program = need("nginx", "nginx-light")
    with subprocess.Popen([program, "-c", nginx.file]) as process:
        try:
            assert eventually(lambda: _accepts(nginx.port))
            yield nginx.url
        finally:
            process.terminate()


def _accepts(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def _user(folder: Path) -> str:
    """Root's nginx gives its workers another user, who may not read the folder of a test."""
    owner = folder.owner()
    return f"user {owner} {folder.group()};" if owner == "root" else ""
