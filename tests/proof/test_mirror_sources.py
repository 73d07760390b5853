"""Mirrors of real servers: the nginx of serve/deploy, Python's web server, a failing S3 server."""

import base64
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from shards.generations import generation_files, pointer
from shards.generations.manifest import File
from shards.mirror import signature
from tests.proof.tools import WAIT_S, next_line
from tests.quota.servers import free_port
from tests.serve.nginx import PASSWORD, USER, configure, run_nginx
from tests.serve.processes import ROOT, eventually, read_line, server_process, stop
from tests.world import company, publish

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

ROUNDS: Final = int(os.environ.get("PROOF_ROUNDS", "60")) // 10  # syncs of the failing bucket
PART_BYTES: Final = 100_000  # bytes of a file that an interrupted round leaves
COMPANIES: Final = [company("UK", str(n), f"Royal Tool Control {n} Ltd") for n in range(500)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The DATA folder of the source; `bucket` is the folder that S3 servers serve as a bucket."""
    publish(tmp_path / "bucket" / "data", [*COMPANIES, company("EE", "1", "Ännchen OÜ")])
    return tmp_path / "bucket" / "data"


def test_nginx_gives_data_to_mirrors_with_a_password_and_to_nobody_else(
    source: Path, tmp_path: Path
) -> None:
    """The example of serve/deploy: TLS, a password, the API on the same server, Cache-Control"""
    (source / "rejected").mkdir()
    (source / "rejected" / "EE.parquet").write_bytes(b"PAR1")
    name = str(pointer.current_name(source))
    shard = f"{name}/EE.shard"
    with server_process(source) as server:
        nginx = configure(tmp_path, source, int(read_line(server).rsplit(":", 1)[1]))
        with run_nginx(nginx) as url:

            def status_and_cache_control(
                path: str, user: str | None = f"{USER}:{PASSWORD}"
            ) -> tuple[int, str]:
                """Request a path of nginx as a user, or without a password if `user` is None."""
                return _get(f"{url}{path}", nginx.certificate, user)

            environment = {"SSL_CERT_FILE": str(nginx.certificate)}
            refused = _sync(f"{url}/data", tmp_path / "m", environment)
            accepted = _sync(f"{url}/data", tmp_path / "m", environment
                         | {"MIRROR_PASSWORD": f"{USER}:{PASSWORD}"}, "--pays", "EE")  # fmt: skip
            answers = {
                path: status_and_cache_control(path)
                for path in ("/data/CURRENT", f"/data/{shard}", "/data/rejected/EE.parquet",
                             "/data/.lock", "/data/", f"/data/{name}/../CURRENT", "/metrics",
                             "/api/v1/pays", f"/data/signatures/{name}.json")
            }  # fmt: skip
            refused_statuses = (
                status_and_cache_control("/data/CURRENT", None)[0],
                status_and_cache_control(f"/data/{shard}", "x:y")[0],
            )
        stop(server)

    assert refused.returncode == 1
    assert "set MIRROR_TOKEN or MIRROR_PASSWORD" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr
    assert PASSWORD not in accepted.stdout + accepted.stderr + refused.stderr
    assert refused_statuses == (401, 401)
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
    file = _leave_part(source, tmp_path / "m")
    nginx = configure(tmp_path, source, 9)  # no server of the API has this port
    environment = {"SSL_CERT_FILE": str(nginx.certificate), "MIRROR_PASSWORD": f"{USER}:{PASSWORD}"}

    with run_nginx(nginx) as url:
        sync = _sync(f"{url}/data", tmp_path / "m", environment)

    assert sync.returncode == 0, sync.stderr
    assert "0.1 MiB resumed" in sync.stdout
    log = (tmp_path / "societes.log").read_text()
    assert re.search(rf'UK.shard" 206 {file.size - PART_BYTES} ', log)


def test_the_web_server_of_python_is_enough(source: Path, tmp_path: Path) -> None:
    """That server ignores ranges"""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1",
         "--directory", source],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        try:
            port = re.search(r"port (\d+)", next_line(server, WAIT_S))
            assert port
            for number in range(3):
                sync = _sync(f"http://127.0.0.1:{port[1]}/", tmp_path / "m", {})
                assert sync.returncode == 0, sync.stderr
                publish(source, [*COMPANIES, company("EE", f"2{number}", "Œuvre")])
        finally:
            server.kill()

    # The other five files are those of the previous generation.
    assert "1 of 6 files fetched" in sync.stdout


def test_a_mirror_reads_a_bucket_that_fails_three_requests_in_ten(
    source: Path, tmp_path: Path
) -> None:
    """The bucket is of hadro, a test server of S3: signed requests (SigV4), seeded faults, limited bandwidth"""
    key, data = tmp_path / "key", tmp_path / "m"
    public = str(signature.keygen(key))
    environment = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s" * 20,
                   "AWS_REGION": "eu-west-2"}  # fmt: skip
    with _run_s3_server(tmp_path, "--access-key", "a", "--secret-key", "s" * 20, "--error-rate", "0.3",
                "--fault-seed", "7", "--bandwidth-mbps", "80") as url:  # fmt: skip
        environment["AWS_ENDPOINT_URL"] = url
        for number in range(ROUNDS):
            name = publish(source, [*COMPANIES, company("EE", f"2{number}", "Œuvre")])
            signature.sign(source, key)
            sync = _sync("s3://bucket/data", data, environment, "--public-key", public)
            assert sync.returncode == 0, sync.stderr
            assert pointer.current_name(data) == name
            generation_files.verify_digests(
                data / name, generation_files.read_manifest(data / name)
            )
        # A thread of the client of the bucket must not abort the process at its end. Once it did so in one run of five.
        with ThreadPoolExecutor(8) as pool:
            wrong = environment | {"AWS_SECRET_ACCESS_KEY": "t"}
            refusals = list(
                pool.map(
                    lambda n: _sync("s3://bucket/data", tmp_path / f"refused-{n}", wrong), range(16)
                )
            )

    # The other five files are those of the previous generation.
    assert "1 of 6 files fetched" in sync.stdout
    for refused in refusals:
        assert refused.returncode == 1
        assert "is refused; set AWS_ACCESS_KEY_ID" in refused.stderr.splitlines()[-1]


def test_the_download_of_an_object_is_resumed(source: Path, tmp_path: Path) -> None:
    _leave_part(source, tmp_path / "m")
    with _run_s3_server(tmp_path) as url:
        sync = _sync("s3://bucket/data", tmp_path / "m",
                     {"AWS_ENDPOINT_URL": url, "AWS_SKIP_SIGNATURE": "true"})  # fmt: skip

    assert sync.returncode == 0, sync.stderr
    assert "0.1 MiB resumed" in sync.stdout
    folder = source / str(pointer.current_name(source))
    total_bytes = sum(path.stat().st_size for path in folder.iterdir())
    fetched_mib = re.search(r"([\d.]+) MiB in", sync.stdout)
    assert fetched_mib
    assert float(fetched_mib[1]) == pytest.approx((total_bytes - PART_BYTES) / (1 << 20), abs=0.06)


@contextmanager
def _run_s3_server(folder: Path, *flags: str) -> Iterator[str]:
    """Start a real S3 server of the folder, whose sub-folders are buckets; yield its address."""
    port = free_port()
    program = Path(sys.executable).with_name("hadro")
    with subprocess.Popen(
        [program, folder, "--port", str(port), "--log-level", "error", *flags],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            assert eventually(lambda: _is_listening(f"http://127.0.0.1:{port}/"))
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _is_listening(url: str) -> bool:
    """Whether a server answers, with any status."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True


def _leave_part(source: Path, data: Path) -> File:
    """Write the beginning of the largest file where a killed round leaves it; return the file."""
    name = str(pointer.current_name(source))
    file = generation_files.read_manifest(source / name).files["UK.shard"]
    part_file = data / ".mirror" / f"{file.blake3}.part"
    part_file.parent.mkdir(parents=True)
    part_file.write_bytes((source / name / "UK.shard").read_bytes()[:PART_BYTES])
    return file


def _sync(
    source: str, data: Path, environment: Mapping[str, str], *flags: str
) -> "subprocess.CompletedProcess[str]":
    """Run `python -m shards sync` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "shards", "sync", source, data, *flags],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def _get(url: str, certificate: Path, user: str | None) -> tuple[int, str]:
    """The status and the Cache-Control of a response; `user` is `name:password`."""
    headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"} if user else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        with urllib.request.urlopen(request, timeout=120, context=context) as response:
            return response.status, response.headers.get("Cache-Control", "")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""
