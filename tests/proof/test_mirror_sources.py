"""Mirrors of real servers: nginx as in serve/deploy, Python's web server, a failing S3 server."""

import base64
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from serve.process import port as ports
from shards.generations import generation_files, pointer
from shards.generations.manifest import File
from shards.mirror import signature
from tests.proof.tools import WAIT_S, next_line
from tests.serve.nginx import PASSWORD, USER, configured, running
from tests.serve.processes import ROOT, eventually, line_of, started, stop
from tests.world import company, publish

pytestmark = pytest.mark.slow

ROUNDS: Final = int(os.environ.get("PROOF_ROUNDS", "60")) // 10
BEGUN: Final = 100_000  # bytes of a file that an interrupted round has left
FOUND: Final = [company("UK", str(n), f"Royal Tool Control {n} Ltd") for n in range(500)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "bucket" / "data", [*FOUND, company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "bucket" / "data"


def test_nginx_gives_data_to_mirrors_with_a_password_and_to_nobody_else(
    source: Path, tmp_path: Path
) -> None:
    """The example of serve/deploy: TLS, a password, the API beside it, Cache-Control"""
    (source / "rejected").mkdir()
    (source / "rejected" / "EE.parquet").write_bytes(b"PAR1")
    name = str(pointer.current_name(source))
    shard = f"{name}/EE.shard"
    with started(source) as server:
        nginx = configured(tmp_path, source, int(line_of(server).rsplit(":", 1)[1]))
        with running(nginx) as url:

            def status(path: str, user: str | None = f"{USER}:{PASSWORD}") -> tuple[int, str]:
                return _get(f"{url}{path}", nginx.certificate, user)

            environment = {"SSL_CERT_FILE": str(nginx.certificate)}
            refused = _sync(f"{url}/data", tmp_path / "m", environment)
            done = _sync(f"{url}/data", tmp_path / "m", environment
                         | {"MIRROR_PASSWORD": f"{USER}:{PASSWORD}"}, "--pays", "EE")  # fmt: skip
            answers = {
                path: status(path)
                for path in ("/data/CURRENT", f"/data/{shard}", "/data/rejected/EE.parquet",
                             "/data/.lock", "/data/", f"/data/{name}/../CURRENT", "/metrics",
                             "/api/v1/pays", f"/data/signatures/{name}.json")
            }  # fmt: skip
            without = status("/data/CURRENT", None)[0], status(f"/data/{shard}", "x:y")[0]
        stop(server)

    assert refused.returncode == 1
    assert "set MIRROR_TOKEN or MIRROR_PASSWORD" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr + refused.stderr
    assert without == (401, 401)
    assert answers == {
        "/data/CURRENT": (200, "no-cache"),
        f"/data/{shard}": (200, "private, max-age=31536000, immutable"),
        "/data/rejected/EE.parquet": (404, ""),
        "/data/.lock": (404, ""),
        "/data/": (404, ""),
        f"/data/{name}/../CURRENT": (200, "no-cache"),
        "/metrics": (403, ""),
        "/api/v1/pays": (200, "public, max-age=300"),
        f"/data/signatures/{name}.json": (404, ""),
    }


def test_nginx_resumes_a_mirror(source: Path, tmp_path: Path) -> None:
    known = _interrupted(source, tmp_path / "m")
    nginx = configured(tmp_path, source, 9)
    environment = {"SSL_CERT_FILE": str(nginx.certificate), "MIRROR_PASSWORD": f"{USER}:{PASSWORD}"}

    with running(nginx) as url:
        done = _sync(f"{url}/data", tmp_path / "m", environment)

    assert done.returncode == 0, done.stderr
    assert "0.1 MiB resumed" in done.stdout
    log = (tmp_path / "societes.log").read_text()
    assert re.search(rf'UK.shard" 206 {known.size - BEGUN} ', log)


def test_the_web_server_of_python_is_enough(source: Path, tmp_path: Path) -> None:
    """That server ignores ranges."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1",
         "--directory", source],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        try:
            found = re.search(r"port (\d+)", next_line(server, WAIT_S))
            assert found
            for number in range(3):
                done = _sync(f"http://127.0.0.1:{found[1]}/", tmp_path / "m", {})
                assert done.returncode == 0, done.stderr
                publish(source, [*FOUND, company("EE", f"2{number}", "Œuvre")])
        finally:
            server.kill()

    assert "1 of 6 files fetched" in done.stdout


def test_a_bucket_that_fails_three_times_in_ten_is_mirrored_and_signed(
    source: Path, tmp_path: Path
) -> None:
    """hadro: signed requests (SigV4), seeded faults, limited bandwidth"""
    key, data = tmp_path / "key", tmp_path / "m"
    public = str(signature.keygen(key))
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s" * 20,
                   "AWS_REGION": "eu-west-2"}  # fmt: skip
    with _hadro(tmp_path, "--access-key", "a", "--secret-key", "s" * 20, "--error-rate", "0.3",
                "--fault-seed", "7", "--bandwidth-mbps", "80") as url:  # fmt: skip
        environment["AWS_ENDPOINT_URL"] = url
        for number in range(ROUNDS):
            name = publish(source, [*FOUND, company("EE", f"2{number}", "Œuvre")])
            signature.sign(source, key)
            done = _sync("s3://bucket/data", data, environment, "--public-key", public)
            assert done.returncode == 0, done.stderr
            assert pointer.current_name(data) == name
            generation_files.verify_digests(
                data / name, generation_files.read_manifest(data / name)
            )
        refused = _sync("s3://bucket/data", data, environment | {"AWS_SECRET_ACCESS_KEY": "t"})

    assert "1 of 6 files fetched" in done.stdout
    assert refused.returncode == 1
    assert "is refused; set AWS_ACCESS_KEY_ID" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_object_goes_on_where_it_was_cut(source: Path, tmp_path: Path) -> None:
    _interrupted(source, tmp_path / "m")
    with _hadro(tmp_path) as url:
        done = _sync("s3://bucket/data", tmp_path / "m",
                     {"AWS_ENDPOINT_URL": url, "AWS_SKIP_SIGNATURE": "true"})  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "0.1 MiB resumed" in done.stdout
    folder = source / str(pointer.current_name(source))
    whole = sum(path.stat().st_size for path in folder.iterdir())
    fetched = re.search(r"([\d.]+) MiB in", done.stdout)
    assert fetched
    assert float(fetched[1]) == pytest.approx((whole - BEGUN) / (1 << 20), abs=0.06)


@contextmanager
def _hadro(folder: Path, *flags: str) -> Iterator[str]:
    """A real S3 server of the folder, whose sub-folders are buckets."""
    free = ports.bind("127.0.0.1", 0)
    port = free.getsockname()[1]
    free.close()
    program = Path(sys.executable).with_name("hadro")
    with subprocess.Popen(
        [program, folder, "--port", str(port), "--log-level", "error", *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            assert eventually(lambda: _answers(f"http://127.0.0.1:{port}/"))
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True


def _interrupted(source: Path, data: Path) -> File:
    """Put the beginning of the largest file where a killed round leaves it."""
    name = str(pointer.current_name(source))
    known = generation_files.read_manifest(source / name).files["UK.shard"]
    part = data / ".mirror" / f"{known.blake3}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes((source / name / "UK.shard").read_bytes()[:BEGUN])
    return known


def _sync(
    source: str, data: Path, environment: Mapping[str, str], *flags: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "shards", "sync", source, data, *flags],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def _get(url: str, certificate: Path, user: str | None) -> tuple[int, str]:
    headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"} if user else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(request, timeout=10, context=context) as response:
            return response.status, response.headers.get("Cache-Control", "")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""
