"""The examples in serve/deploy/, judged by the programs that read them."""

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
from tests.serve.client import Served
from tests.serve.nginx import Nginx, configured, running
from tests.serve.processes import ROOT, ask, eventually, line_of
from tests.world import company, publish

DEPLOY = ROOT / "serve" / "deploy"
UNITS = sorted(path.name for path in DEPLOY.glob("societes*"))
HOME = "/opt/societes"
# The folder of a version (serve/deploy/INSTALL.md).
PYTHON = f"/usr/bin/env {HOME}/${{VERSION}}/bin/python"
# 0 is locked up, 10 is free; a service that listens cannot be below 1 by this count.
EXPOSED = "2.0"
INSTRUCTIONS = {
    "ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL",
    "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "source", [company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "source"


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    analyze = need("systemd-analyze", "systemd")
    for name in UNITS:
        (tmp_path / name).write_text((DEPLOY / name).read_text().replace(HOME, str(tmp_path)))

    done = _run([analyze, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)])

    assert UNITS == ["societes-alert@.service", "societes-mirror.service", "societes-nightly.service",
                     "societes-nightly.timer", "societes.service", "societes.socket"]  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_a_service_may_do_little_beside_its_work(name: str) -> None:
    analyze = need("systemd-analyze", "systemd")

    done = _run([analyze, "security", "--offline=true", "--no-pager", str(DEPLOY / name)])

    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) <= float(EXPOSED)


def test_a_nightly_run_that_takes_all_memory_ends_alone() -> None:
    lines = (DEPLOY / "societes-nightly.service").read_text().splitlines()

    assert "MemoryMax=75%" in lines
    assert "MemorySwapMax=0" in lines


def test_a_server_that_takes_all_memory_loses_a_worker_and_no_more() -> None:
    lines = (DEPLOY / "societes.service").read_text().splitlines()

    assert "MemoryMax=90%" in lines
    assert "OOMPolicy=continue" in lines  # by default systemd ends the whole unit


def test_the_commands_of_the_units_are_commands(source: Path, tmp_path: Path) -> None:
    serve = _started_by("societes.service", tmp_path)
    assert _run([*serve, "--print-config"]).returncode == 0

    sync = " ".join(_started_by("societes-mirror.service", tmp_path))
    sync = sync.replace("$OPTIONS", "--keep 3").replace("${SOURCE}", str(source))
    done = _run(shlex.split(sync))
    assert done.returncode == 0, done.stderr
    assert pointer.current_name(tmp_path / "data") == pointer.current_name(source)

    nightly = _run(_started_by("societes-nightly.service", tmp_path))
    assert nightly.returncode == 1
    assert (
        nightly.stderr
        == "error: /etc/societes/nightly.toml cannot be read (No such file or directory); "
        "give the path of a file that can be\n"
    )


def test_a_night_that_fails_is_mailed_with_its_journal(tmp_path: Path) -> None:
    nightly = (DEPLOY / "societes-nightly.service").read_text()
    assert "OnFailure=societes-alert@%n.service\n" in nightly
    said = {"sendmail": 'cat > "$MAIL"', "journalctl": 'echo "error: no source came; $*"'}
    for name, script in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    unit = (DEPLOY / "societes-alert@.service").read_text().replace("\\\n", "")
    (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    for written, meant in (
        ("%i", "societes-nightly.service"),
        ("%H", "build1"),
        ("%%", "%"),
        ("\\\\", "\\"),
    ):
        started = started.replace(written, meant)
    mail, path = tmp_path / "mail", f"{tmp_path}:{os.environ['PATH']}"
    variables = {"PATH": path, "ALERT_TO": "ops@example.org", "MAIL": str(mail)}
    done = subprocess.run(shlex.split(started), env=variables, check=False, capture_output=True)

    assert (done.returncode, done.stderr) == (0, b"")
    assert mail.read_text().splitlines() == [
        "To: ops@example.org",
        "Subject: societes-nightly.service failed on build1",
        "",
        "error: no source came; --unit=societes-nightly.service --lines=100 --no-pager --output=short-iso",
    ]


def test_nginx_understands_the_example(tmp_path: Path) -> None:
    nginx = need("nginx", "nginx-light")

    done = _run([nginx, "-t", "-c", str(configured(tmp_path, tmp_path / "data", 8080).file)])

    assert done.returncode == 0, done.stderr


def test_nginx_compresses_nothing_that_the_server_left_as_it_is() -> None:
    """Distributions switch `gzip on` for all servers; a page with a form must stay as it is (BREACH)."""
    lines = (DEPLOY / "nginx.conf").read_text().splitlines()

    assert "    gzip off;" in lines
    assert not [line for line in lines if re.match(r"\s*gzip\w* (?!off;)", line)]


def test_nginx_hides_the_metrics_in_every_spelling(tmp_path: Path, served: Served) -> None:
    nginx = configured(tmp_path, tmp_path / "data", served.port)
    words = ["metrics", "metric%73", "METRICS", "%256Detrics"]
    ends = ["", "/", "//", "/.", "/x/..", "%2F", "?x=1", "#x", "/%2E", ";x"]
    begins = ["/", "//", "/x/../", "/%2F", "https://localhost/"]
    with running(nginx):
        replies = {
            target: spelled(nginx, target) for target in map("".join, product(begins, words, ends))
        }
        page = spelled(nginx, "/docs")
        lines = {
            "Content-Type": "application/json",
            "Content-Length": str(1 << 20),
            **served.customer().headers,
        }
        accepted = spelled(nginx, "/api/v1/rapprochement", lines, b" " * (1 << 20))
        refused = spelled(nginx, "/api/v1/export", lines, b" " * (1 << 20))

    assert b"societes_requests" in served.ask("/metrics").body
    assert [target for target, reply in replies.items() if b"societes_requests" in reply] == []
    assert b" 403 " in replies["/metrics/"].splitlines()[0]
    assert b"\r\nStrict-Transport-Security: max-age=63072000\r\n" in page
    assert b"corps_invalide" in accepted  # a list may have so many bytes, and is read
    assert b" 413 " in refused.splitlines()[0]


def test_nginx_writes_no_address_that_is_a_key_and_no_referer(
    tmp_path: Path, served: Served
) -> None:
    """An address of the reconciliation service, or a link of a mail, opens what it is for."""
    nginx = configured(tmp_path, tmp_path / "data", served.port)
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
    with running(nginx):
        for target in targets:
            assert spelled(nginx, target)
        referer = {"Referer": f"https://localhost/invitation/soc_lien_{secret}"}
        assert spelled(nginx, "/docs?q=1", referer)

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
    tmp_path: Path, served: Served, address: str, network: str, client: str
) -> None:
    """L4, L5: /confidentialite says that addresses are cut; a /64 is one client"""
    nginx = configured(tmp_path, tmp_path / "data", served.port)
    example = tmp_path / "example.conf"
    real = "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n"
    shown = 'location = /client { return 200 "<$societes_client>"; }\n    location / {'
    example.write_text(real + example.read_text().replace("location / {", shown, 1))
    with running(nginx):
        answer = spelled(nginx, "/client", {"X-Forwarded-For": address})

    assert answer.endswith(f"<{client}>".encode())
    assert (tmp_path / "societes.log").read_text().startswith(f"{network} [")


def test_nginx_takes_what_the_server_takes_and_refuses_in_its_words(
    tmp_path: Path, served: Served
) -> None:
    """Request lines of 64 KiB; 413 and 414 of nginx are errors of the API; it waits for exports"""
    nginx = configured(tmp_path, tmp_path / "data", served.port)
    with running(nginx):
        long = spelled(nginx, "/api/v1/societes?q=" + "x" * 60_000)
        too_long = spelled(nginx, "/api/v1/societes?q=" + "x" * 70_000)
        too_large = spelled(nginx, "/api/v1/export", {"Content-Length": "70000"}, b" " * 70_000)

    assert b" 414 " not in long.partition(b"\r\n")[0]
    for said, status, code in (
        (too_long, 414, "uri_trop_longue"),
        (too_large, 413, "corps_trop_grand"),
    ):
        head, _, body = said.partition(b"\r\n\r\n")
        assert f" {status} ".encode() in head.partition(b"\r\n")[0]
        assert b"application/json" in head
        assert orjson.loads(body)["erreur"]["code"] == code
    patience = re.search(r"proxy_read_timeout (\d+)s", (DEPLOY / "nginx.conf").read_text())
    assert patience
    assert int(patience[1]) > worker_pool.WAITING + worker_pool.MAKING


def test_nginx_names_no_key_when_the_server_is_gone(tmp_path: Path) -> None:
    """A refused connection is a line of the error log, with the whole request and its Referer."""
    free = ports.bind("127.0.0.1", 0)
    gone = free.getsockname()[1]
    free.close()
    nginx = configured(tmp_path, tmp_path / "data", gone)
    with running(nginx):
        answers = [
            spelled(nginx, f"{path}Secret0123456789")
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


def spelled(
    nginx: Nginx, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """The response of nginx to this request target, as it stands."""
    method = "POST" if body else "GET"
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    context = ssl.create_default_context(cafile=str(nginx.certificate))
    with (
        socket.create_connection(("127.0.0.1", nginx.port), 20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as stream,
    ):
        stream.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n".encode()
            + body
        )
        with suppress(ssl.SSLEOFError), stream.makefile("rb") as answer:
            return answer.read()
    return b""


def test_the_containerfile_is_one() -> None:
    commands = dockerfile.parse_file(str(DEPLOY / "Containerfile"))

    assert {command.cmd for command in commands} == INSTRUCTIONS
    assert [command.value for command in commands if command.cmd == "USER"] == [("10001:10001",)]
    assert all(command.json for command in commands if command.cmd in ("ENTRYPOINT", "CMD"))
    bases = [command.value[0] for command in commands if command.cmd == "FROM"]
    assert bases == ["${PYTHON}"] * 2
    (base,) = [command.value[0] for command in commands if command.cmd == "ARG"]
    assert re.fullmatch(r"PYTHON=python:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    copied = [(*command.flags, *command.value) for command in commands if command.cmd == "COPY"]
    assert ("--from=build", "/opt/societes/shards", "shards") in copied  # compiled there


def test_what_the_container_holds_is_enough_to_serve_and_to_mirror(
    source: Path, tmp_path: Path
) -> None:
    """Without the batch job, from its folder, with its command."""
    image, commands = tmp_path / "image", dockerfile.parse_file(str(DEPLOY / "Containerfile"))
    image.mkdir()
    for command in commands:
        if command.cmd == "COPY" and not command.flags:
            *paths, target = command.value
            for path in paths:
                copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
                copy(ROOT / path, image / target)
    told = {command.cmd: [*command.value] for command in commands}
    python = [sys.executable, *told["ENTRYPOINT"][1:]]
    data, state = tmp_path / "data", tmp_path / "state"
    served = [{"/data": str(data), "/state": str(state), "8080": "0"}.get(word, word)
              for word in told["CMD"]]  # fmt: skip

    mirrored = _run([*python, "shards", "sync", str(source), str(data)], cwd=image)
    with subprocess.Popen(
        [*python, *served], cwd=image, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        address = line_of(process).replace("0.0.0.0", "127.0.0.1")
        ready = eventually(lambda: ask(address, "/readyz")[0] == 200)
        process.terminate()

    assert mirrored.returncode == 0, mirrored.stderr
    assert ready
    assert {path.name for path in image.iterdir()} >= {"shards", "quota", "serve", "seeds"}
    assert not (image / "pipeline").exists()


def test_the_container_installs_the_versions_of_the_tests() -> None:
    known = _versions("dev")
    served = _versions("serve")

    assert served.items() <= known.items()
    assert {"aiohttp", "lmdb", "numpy", "obstore", "redis", "cryptography"} <= served.keys()
    assert not {"polars", "pyarrow"} & served.keys()


def test_a_builder_installs_the_versions_of_the_tests_and_what_a_server_has() -> None:
    built = _versions("build")

    assert _versions("serve").items() <= built.items()
    assert built.items() <= _versions("dev").items()
    assert {"polars", "pyarrow", "ixbrlparse", "python-stdnum"} <= built.keys()


def _started_by(name: str, folder: Path) -> list[str]:
    """The command that a unit starts, with our interpreter and folders."""
    found = re.search(r"^ExecStart=(.*)$", (DEPLOY / name).read_text(), re.MULTILINE)
    assert found
    line = found[1].replace(PYTHON, sys.executable).replace("/srv/societes", str(folder))
    return line.replace("/var/lib/societes", str(folder / "state")).split()


def _versions(name: str) -> dict[str, str]:
    lock = (ROOT / "requirements" / f"{name}.lock").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))


def _run(command: list[str], cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=cwd, env=_ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60
    )


_ENVIRONMENT = {name: v for name, v in os.environ.items() if not name.startswith("SOCIETES_")}
