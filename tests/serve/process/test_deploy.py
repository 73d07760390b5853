"""The examples of serve/deploy/, checked with the programs that read them."""

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path

import dockerfile
import orjson
import pytest

from serve.features.export import worker_pool
from serve.process import port as ports
from shards.generations import pointer
from tests.proof.tools import need
from tests.serve.client import Server
from tests.serve.nginx import Nginx, configure, run_nginx
from tests.serve.processes import ROOT, ask, eventually, read_line
from tests.world import company, publish

DEPLOY = ROOT / "serve" / "deploy"
UNITS = sorted(path.name for path in DEPLOY.glob("societes*"))
PROGRAM_FOLDER = "/opt/societes"
# Python in the folder of a version (serve/deploy/INSTALL.md).
PYTHON = f"/usr/bin/env {PROGRAM_FOLDER}/${{VERSION}}/bin/python"
# systemd rates the exposure of a unit from 0 (none) to 10. A service that listens has at least 1.
MOST_EXPOSURE = "2.0"
INSTRUCTIONS = {
    "ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL",
    "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A published generation of one company, for a mirror."""
    publish(tmp_path / "source", [company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "source"


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    analyze = need("systemd-analyze", "systemd")
    for name in UNITS:
        (tmp_path / name).write_text(
            (DEPLOY / name).read_text().replace(PROGRAM_FOLDER, str(tmp_path))
        )

    result = _run([analyze, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)])

    assert UNITS == ["societes-alert@.service", "societes-mirror.service", "societes-nightly.service",
                     "societes-nightly.timer", "societes.service", "societes.socket"]  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_a_service_has_few_permissions(name: str) -> None:
    analyze = need("systemd-analyze", "systemd")

    result = _run([analyze, "security", "--offline=true", "--no-pager", str(DEPLOY / name)])

    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)
    assert exposure, result.stderr
    assert float(exposure[1]) <= float(MOST_EXPOSURE)


def test_the_memory_of_a_nightly_run_is_limited() -> None:
    lines = (DEPLOY / "societes-nightly.service").read_text().splitlines()

    assert "MemoryMax=75%" in lines
    assert "MemorySwapMax=0" in lines


def test_a_server_that_takes_all_memory_loses_only_a_worker() -> None:
    lines = (DEPLOY / "societes.service").read_text().splitlines()

    assert "MemoryMax=90%" in lines
    assert "OOMPolicy=continue" in lines  # by default systemd ends the whole unit


def test_the_commands_of_the_units_run(source: Path, tmp_path: Path) -> None:
    """The night fails only because its configuration is missing"""
    serve = _start_command("societes.service", tmp_path)
    assert _run([*serve, "--print-config"]).returncode == 0

    sync = " ".join(_start_command("societes-mirror.service", tmp_path))
    sync = sync.replace("$OPTIONS", "--keep 3").replace("${SOURCE}", str(source))
    result = _run(shlex.split(sync))
    assert result.returncode == 0, result.stderr
    assert pointer.current_name(tmp_path / "data") == pointer.current_name(source)

    nightly = _run(_start_command("societes-nightly.service", tmp_path))
    assert nightly.returncode == 1
    assert (
        nightly.stderr
        == "error: /etc/societes/nightly.toml cannot be read (No such file or directory); "
        "give the path of a readable file\n"
    )


def test_a_failed_night_is_mailed_with_its_journal(tmp_path: Path) -> None:
    """Scripts stand in for sendmail and journalctl, and show what the unit gives them"""
    nightly = (DEPLOY / "societes-nightly.service").read_text()
    assert "OnFailure=societes-alert@%n.service\n" in nightly
    scripts = {"sendmail": 'cat > "$MAIL"', "journalctl": 'echo "error: no source was fetched; $*"'}
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    unit = (DEPLOY / "societes-alert@.service").read_text().replace("\\\n", "")
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    for specifier, value in (
        ("%i", "societes-nightly.service"),
        ("%H", "build1"),
        ("%%", "%"),
        ("\\\\", "\\"),
    ):
        command = command.replace(specifier, value)
    mail, path = tmp_path / "mail", f"{tmp_path}:{os.environ['PATH']}"
    variables = {"PATH": path, "ALERT_TO": "ops@example.org", "MAIL": str(mail)}
    result = subprocess.run(shlex.split(command), env=variables, check=False, capture_output=True)

    assert (result.returncode, result.stderr) == (0, b"")
    assert mail.read_text().splitlines() == [
        "To: ops@example.org",
        "Subject: societes-nightly.service failed on build1",
        "",
        "error: no source was fetched; --unit=societes-nightly.service --lines=100 --no-pager --output=short-iso",
    ]


def test_nginx_understands_the_example(tmp_path: Path) -> None:
    nginx = need("nginx", "nginx-light")

    result = _run([nginx, "-t", "-c", str(configure(tmp_path, tmp_path / "data", 8080).file)])

    assert result.returncode == 0, result.stderr


def test_nginx_does_not_compress() -> None:
    """Distributions set `gzip on` for all servers; a page with a form must stay uncompressed (BREACH)."""
    lines = (DEPLOY / "nginx.conf").read_text().splitlines()

    assert "    gzip off;" in lines
    assert not [line for line in lines if re.match(r"\s*gzip\w* (?!off;)", line)]


def test_nginx_hides_the_metrics_in_every_spelling(tmp_path: Path, server: Server) -> None:
    nginx = configure(tmp_path, tmp_path / "data", server.port)
    spellings = ["metrics", "metric%73", "METRICS", "%256Detrics"]
    ends = ["", "/", "//", "/.", "/x/..", "%2F", "?x=1", "#x", "/%2E", ";x"]
    begins = ["/", "//", "/x/../", "/%2F", "https://localhost/"]
    with run_nginx(nginx):
        replies = {
            target: send_to_nginx(nginx, target)
            for target in map("".join, product(begins, spellings, ends))
        }
        page = send_to_nginx(nginx, "/docs")
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(1 << 20),
            **server.customer().headers,
        }
        accepted = send_to_nginx(nginx, "/api/v1/rapprochement", headers, b" " * (1 << 20))
        refused = send_to_nginx(nginx, "/api/v1/export", headers, b" " * (1 << 20))

    assert b"societes_requests" in server.ask("/metrics").body
    assert [target for target, reply in replies.items() if b"societes_requests" in reply] == []
    assert b" 403 " in replies["/metrics/"].splitlines()[0]
    assert b"\r\nStrict-Transport-Security: max-age=63072000\r\n" in page
    assert b"corps_invalide" in accepted  # the limit of a list is higher, so it is read
    assert b" 413 " in refused.splitlines()[0]


def test_nginx_logs_no_address_that_is_a_key_and_no_referer(tmp_path: Path, server: Server) -> None:
    """An address of the reconciliation service or a link of a mail is a secret: whoever has it can use it"""
    nginx = configure(tmp_path, tmp_path / "data", server.port)
    secret = "Secret0123456789"
    targets = [
        f"/api/v1/reconciliation/soc_rec_{secret}",
        f"/api/v1/reconciliation/soc%5Frec_{secret}/suggest/entity?prefix=a",
        f"//api/v1//reconciliation/{secret}",
        f"/%69nvitation/soc_lien_{secret}",
        f"/mot-de-passe/{secret}",
        f"/compte?cle={secret}",
        f"/x/soc_live_{secret}",
        f"/x/SOC_liste_{secret}",
        f"/x/soc%255Flive%25255F{secret}",
        f"/x/%2573oc_live_{secret}",
    ]
    with run_nginx(nginx):
        for target in targets:
            assert send_to_nginx(nginx, target)
        referer = {"Referer": f"https://localhost/invitation/soc_lien_{secret}"}
        assert send_to_nginx(nginx, "/docs?q=1", referer)

    logs = {path.name: path.read_text() for path in tmp_path.glob("*.log")}
    assert '"GET /docs" 200' in logs["societes.log"]
    assert '"GET /mot-de-passe/-"' in logs["societes.log"]
    assert len(logs["societes.log"].splitlines()) == len(targets) + 1
    assert [name for name, text in logs.items() if secret in text] == []


@pytest.mark.parametrize(
    ("address", "network", "client"),
    [
        ("192.0.2.77", "192.0.2.0/24", "192.0.2.77"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48", "2001:db8:1:2"),
        ("2001:db8:1:2::9", "2001:db8:1::/48", "2001:db8:1:2"),
        ("2001:db8::9", "2001:db8::/48", "2001:db8"),
        ("::ffff:192.0.2.77", "192.0.2.0/24", "192.0.2.77"),
    ],
)
def test_nginx_logs_networks_and_counts_clients_as_the_server_does(
    tmp_path: Path, server: Server, address: str, network: str, client: str
) -> None:
    """L4, L5: /confidentialite says that addresses are truncated. All addresses of a /64 are one client"""
    nginx = configure(tmp_path, tmp_path / "data", server.port)
    example = tmp_path / "example.conf"
    directives = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n"
    location = 'location = /client { return 200 "<$societes_client>"; }\n    location / {'
    example.write_text(directives + example.read_text().replace("location / {", location, 1))
    with run_nginx(nginx):
        answer = send_to_nginx(nginx, "/client", {"X-Forwarded-For": address})

    assert answer.endswith(f"<{client}>".encode())
    assert (tmp_path / "societes.log").read_text().startswith(f"{network} [")


def test_nginx_has_the_limits_and_the_errors_of_the_server(tmp_path: Path, server: Server) -> None:
    """Request lines of 64 KiB; 413 and 414 are errors of the API; nginx waits for exports"""
    nginx = configure(tmp_path, tmp_path / "data", server.port)
    with run_nginx(nginx):
        accepted = send_to_nginx(nginx, "/api/v1/societes?q=" + "x" * 60_000)
        too_long = send_to_nginx(nginx, "/api/v1/societes?q=" + "x" * 70_000)
        too_large = send_to_nginx(
            nginx, "/api/v1/export", {"Content-Length": "70000"}, b" " * 70_000
        )

    assert b" 414 " not in accepted.partition(b"\r\n")[0]
    for response, status, code in (
        (too_long, 414, "uri_trop_longue"),
        (too_large, 413, "corps_trop_grand"),
    ):
        head, _, body = response.partition(b"\r\n\r\n")
        assert f" {status} ".encode() in head.partition(b"\r\n")[0]
        assert b"application/json" in head
        assert orjson.loads(body)["erreur"]["code"] == code
    timeout = re.search(r"proxy_read_timeout (\d+)s", (DEPLOY / "nginx.conf").read_text())
    assert timeout
    assert int(timeout[1]) > worker_pool.WAIT_SECONDS + worker_pool.MAKE_SECONDS


def test_nginx_logs_no_key_when_the_server_is_down(tmp_path: Path) -> None:
    """nginx writes a refused connection to its error log, with the complete request and its Referer."""
    closed_socket = ports.bind("127.0.0.1", 0)
    port = closed_socket.getsockname()[1]
    closed_socket.close()
    nginx = configure(tmp_path, tmp_path / "data", port)
    with run_nginx(nginx):
        answers = [
            send_to_nginx(nginx, f"{path}Secret0123456789")
            for path in (
                "/api/v1/reconciliation/soc_rec_",
                "/invitation/",
                "/mot-de-passe/",
                "/listes/",
                "/api/v1/societes?cle=soc_live_",
                "/docs?q=",
                "/api/v1/rapprochement?soc_live_",
            )
        ]

    assert all(b" 503 " in answer.splitlines()[0] for answer in answers)
    assert not [path for path in tmp_path.glob("*.log") if "Secret" in path.read_text()]


def send_to_nginx(
    nginx: Nginx, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """Send a request with exactly this target, which a client library would normalise; return the response."""
    method = "POST" if body else "GET"
    header_lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    context = ssl.create_default_context(cafile=str(nginx.certificate))
    with (
        socket.create_connection(("127.0.0.1", nginx.port), 20) as tcp,
        context.wrap_socket(tcp, server_hostname="localhost") as stream,
    ):
        stream.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header_lines}\r\n".encode()
            + body
        )
        # nginx may close the connection without the end of TLS.
        with suppress(ssl.SSLEOFError), stream.makefile("rb") as answer:
            return answer.read()
    return b""


def test_the_containerfile_is_valid() -> None:
    commands = dockerfile.parse_file(str(DEPLOY / "Containerfile"))

    assert {command.cmd for command in commands} == INSTRUCTIONS
    assert [command.value for command in commands if command.cmd == "USER"] == [("10001:10001",)]
    assert all(command.json for command in commands if command.cmd in ("ENTRYPOINT", "CMD"))
    bases = [command.value[0] for command in commands if command.cmd == "FROM"]
    assert bases == ["${PYTHON}"] * 2
    (base,) = [command.value[0] for command in commands if command.cmd == "ARG"]
    assert re.fullmatch(r"PYTHON=python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    copied = [(*command.flags, *command.value) for command in commands if command.cmd == "COPY"]
    # The modules of shards/ are compiled in the first stage of the build.
    assert ("--from=build", "/opt/societes/shards", "shards") in copied


def test_the_files_of_the_container_are_enough_to_serve_and_to_mirror(
    source: Path, tmp_path: Path
) -> None:
    """The image does not have the pipeline. The commands run in a copy of the folder of the image"""
    image, commands = tmp_path / "image", dockerfile.parse_file(str(DEPLOY / "Containerfile"))
    image.mkdir()
    for command in commands:
        if command.cmd == "COPY" and not command.flags:
            *paths, target = command.value
            for path in paths:
                copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
                copy(ROOT / path, image / target)
    instructions = {command.cmd: [*command.value] for command in commands}
    python = [sys.executable, *instructions["ENTRYPOINT"][1:]]
    data, state = tmp_path / "data", tmp_path / "state"
    serve_command = [{"/data": str(data), "/state": str(state), "8080": "0"}.get(word, word)
              for word in instructions["CMD"]]  # fmt: skip

    sync = _run([*python, "shards", "sync", str(source), str(data)], cwd=image)
    with subprocess.Popen(
        [*python, *serve_command],
        cwd=image,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        address = read_line(process).replace("0.0.0.0", "127.0.0.1")
        ready = eventually(lambda: ask(address, "/readyz")[0] == 200)
        process.terminate()

    assert sync.returncode == 0, sync.stderr
    assert ready
    assert {path.name for path in image.iterdir()} >= {"shards", "quota", "serve", "seeds"}
    assert not (image / "pipeline").exists()


def test_the_container_installs_the_versions_of_the_tests() -> None:
    dev = _locked_versions("dev")
    serve = _locked_versions("serve")

    assert serve.items() <= dev.items()
    assert {"aiohttp", "lmdb", "numpy", "obstore", "redis", "cryptography"} <= serve.keys()
    assert not {"polars", "pyarrow"} & serve.keys()


def test_a_builder_installs_the_packages_of_a_server_in_the_versions_of_the_tests() -> None:
    build = _locked_versions("build")

    assert _locked_versions("serve").items() <= build.items()
    assert build.items() <= _locked_versions("dev").items()
    assert {"polars", "pyarrow", "ixbrlparse", "python-stdnum"} <= build.keys()


def _start_command(name: str, folder: Path) -> list[str]:
    """The command of a unit, with the interpreter and the folders of the test."""
    start = re.search(r"^ExecStart=(.*)$", (DEPLOY / name).read_text(), re.MULTILINE)
    assert start
    line = start[1].replace(PYTHON, sys.executable).replace("/srv/societes", str(folder))
    return line.replace("/var/lib/societes", str(folder / "state")).split()


def _locked_versions(name: str) -> dict[str, str]:
    """The version of each package in a file of requirements/."""
    lock = (ROOT / "requirements" / f"{name}.lock").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))


def _run(command: list[str], cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run a command without the settings of this machine's environment."""
    return subprocess.run(
        command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60
    )


_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("SOCIETES_")
}
