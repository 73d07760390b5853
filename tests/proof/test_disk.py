"""Full and failing disks: reads continue, no acknowledgement is false, service resumes."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quota.errors import StoreUnavailable
from quota.ledger.calls import Purchase
from quota.plans import load
from quota.store.lmdb_store import FILE, LmdbStore, damage_of
from tests import ROOT, world
from tests.bench.synth import writer as synthetic
from tests.bench.synth.writer import SynthOptions
from tests.proof.tools import WAIT_S, mount_disk, need, next_line
from tests.proof.writer import ACCOUNTS, COST, LIMIT, NOW, account_of
from tests.quota.filling import create_account, create_key
from tests.serve.processes import ask, children, read_line, server_process, stop

pytestmark = pytest.mark.slow

PLAN = load()["data"]
# Faults of libfiu: a share of writes fails with ENOSPC (28), a share of syncs with EIO (5).
FAULTS = (
    "enable_random name=posix/io/rw/pwrite,probability=0.03,failinfo=28",
    "enable_random name=posix/io/rw/pwritev,probability=0.03,failinfo=28",
    "enable_random name=posix/io/sync/fdatasync,probability=0.05,failinfo=5",
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    with mount_disk(tmp_path, "1m"):
        yield tmp_path


def test_a_full_disk_stops_debits_but_not_reads_until_there_is_space(small_disk: Path) -> None:
    """Each company is one debit, so the last number is the number of acknowledged debits"""
    store = LmdbStore(small_disk)
    charged = 0
    with pytest.raises(StoreUnavailable, match=r"quota\.lmdb"):
        for charged in range(100_000):
            _charge(store, charged)
    assert charged > 100  # the disk was not full from the start

    # The disk is full: the store has exactly the acknowledged debits and refuses more.
    assert _count_charges(store) == charged
    for company in range(charged, charged + 20):
        with pytest.raises(StoreUnavailable):
            _charge(store, company)
    assert _count_charges(store) == charged

    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True, timeout=WAIT_S)
    for company in range(charged, charged + 100):
        _charge(store, company)
    assert _count_charges(store) == charged + 100
    store.close()
    assert not damage_of(small_disk / FILE)


def test_an_import_onto_a_full_disk_names_the_disk(tmp_path: Path) -> None:
    with mount_disk(tmp_path, "48k"):
        import_process = subprocess.run(
            [sys.executable, "-m", "pipeline", "import", "no-enheter",
             "seeds/raw/no/enheter_6.json", "--out", str(tmp_path / "in")],
            cwd=ROOT, capture_output=True, text=True, timeout=2 * WAIT_S,
        )  # fmt: skip

    assert import_process.returncode == 1
    assert import_process.stderr.count("\n") == 1
    assert f"the disk of {tmp_path / 'in'} is full; give it space" in import_process.stderr


def test_a_build_onto_a_full_disk_ends_with_an_error_line_and_publishes_nothing(
    tmp_path: Path,
) -> None:
    """L11: LMDB reports "Input/output error" """
    disk = tmp_path / "disk"
    disk.mkdir()
    synthetic.run(SynthOptions(companies=3_000, seed=1, out=tmp_path / "in"))
    with mount_disk(disk, "1m"):
        build = subprocess.run(
            [sys.executable, "-m", "pipeline", "build",
             "--input", str(tmp_path / "in"), "--out", str(disk / "data")],
            cwd=ROOT, capture_output=True, text=True, timeout=4 * WAIT_S,
        )  # fmt: skip
        published = (disk / "data" / "CURRENT").exists()

    assert build.returncode == 1
    assert not published
    assert "Traceback" not in build.stderr
    last_line = build.stderr.strip().splitlines()[-1]
    assert last_line.startswith("error: ")
    assert "space" in last_line


def test_a_first_start_on_a_full_disk_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    """L12: the file is the secret of the pages, the remedy is space on the disk of STATE"""
    disk, data = tmp_path / "disk", tmp_path / "data"
    disk.mkdir()
    world.publish(data, [world.company("EE", "1", "Ä")])
    with mount_disk(disk, "16k"):
        with suppress(OSError), (disk / "filling").open("ab") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        server = subprocess.run(
            [sys.executable, "-m", "serve", "--data", str(data), "--state", str(disk), "--port", "0"],
            cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S,
        )  # fmt: skip
        left_over = [path.name for path in disk.glob("*.partial")]

    assert server.returncode == 1
    assert f"serve: {disk / 'pages.secret'} cannot be written" in server.stderr
    assert "give its disk space" in server.stderr
    assert left_over == []


def test_a_server_with_a_full_disk_answers_503_to_debits_only_and_resumes(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """G9: the disk of STATE is full; each status but the last is a charged record"""
    data = tmp_path_factory.mktemp("served") / "data"
    world.publish(data, [world.company("EE", str(i), f"Ä {i}") for i in range(4_000)], filed=True)
    state = small_disk / "state"
    store = LmdbStore(state)
    plans, now = load(), datetime.now(UTC)
    account = create_account(store, "integral", plans, now).result()
    key = {"Authorization": f"Bearer {create_key(store, account.id, plans, now).result()[1]}"}
    limits = {f"SOCIETES_DEBIT_{plan}": "1000000" for plan in ("INTEGRAL", "VISITEUR")}

    with server_process(data, "--state", str(state), environment=limits) as server:
        address = read_line(server)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4_096))
        statuses = _charge_until_refused(address, key)
        used_credits = store.usage(account.id, plans["integral"], now).result().credits.used

        assert statuses[-1] == 503
        assert used_credits == COST * (len(statuses) - 1)
        assert ask(address, "/api/v1/societes?pays=EE")[0] == 200  # a visitor
        assert ask(address, "/api/v1/compte", key)[0] == 200  # a read

        filler.unlink()
        assert ask(address, "/api/v1/societes/EE/3999", key)[0] == 200
        stop(server)
    store.close()


def test_failing_writes_and_syncs_never_give_a_false_acknowledgement(tmp_path: Path) -> None:
    """A second charge of an acknowledged company must find the first"""
    fiu_run = need("fiu-run", "fiu-utils")
    command = [sys.executable, "-m", "tests.proof.writer", str(tmp_path / "state"), "3", "3000"]
    with subprocess.Popen(
        [fiu_run, "-x", *command, "--wait"], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:  # fmt: skip
        first_line = next_line(writer, WAIT_S)  # faults start only after Python has started
        writer_pid = _child(writer.pid)
        _set_faults(writer_pid, *FAULTS)
        try:
            # `communicate` closes the standard input, and the writer goes on.
            lines = [first_line, *writer.communicate(timeout=120)[0].splitlines()]
        finally:
            writer.kill()
        assert writer.returncode == 0
    acknowledged = [int(line.split()[1]) for line in lines if line.startswith("ack")]
    refused = [int(line.split()[1]) for line in lines if line.startswith("fail")]

    assert not damage_of(tmp_path / "state" / FILE)
    store = LmdbStore(tmp_path / "state")
    assert refused
    assert len(acknowledged) > 1_000  # of the 3000 companies of the writer
    for company in random.Random(5).sample(acknowledged, 500):
        _, charge = store.take_and_charge(
            Purchase(account_of(company), LIMIT, f"EE:{company}", COST, LIMIT), NOW
        ).result(WAIT_S)
        assert charge
        assert charge.outcome == "already", f"company {company} was acknowledged but is not charged"
    store.close()


def test_a_server_with_a_failing_disk_answers_503_and_needs_no_restart(
    tmp_path: Path,
) -> None:
    """R3: every record with a 200 is charged, and after the faults every request is 200"""
    fiu_run, plans, now = need("fiu-run", "fiu-utils"), load(), datetime.now(UTC)
    data, state = tmp_path / "data", tmp_path / "state"
    world.publish(data, [world.company("EE", str(i), f"Ä {i}") for i in range(300)], filed=True)
    store = LmdbStore(state)
    account = create_account(store, "integral", plans, now).result()
    _, key_text = create_key(store, account.id, plans, now).result()
    key = {"Authorization": f"Bearer {key_text}"}
    command = [fiu_run, "-x", sys.executable, "-m", "serve", "--data", str(data)]
    command += ["--state", str(state), "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"SOCIETES_DEBIT_INTEGRAL": "1000000"},
    ) as server:  # fmt: skip
        try:
            address = next_line(server, WAIT_S).strip()
            (server_pid,) = children(server.pid)  # fiu-run has replaced itself by the server
            _set_faults(server_pid, *FAULTS)
            statuses = [ask(address, f"/api/v1/societes/EE/{i}", key)[0] for i in range(250)]
            _set_faults(
                server_pid,
                *(f"disable name={fault.split('=')[1].split(',')[0]}" for fault in FAULTS),
            )
            later_statuses = [
                ask(address, f"/api/v1/societes/EE/{i}", key)[0] for i in range(250, 300)
            ]
        finally:
            server.terminate()
    is_charged = [store.is_charged(account.id, f"EE/{i}", now).result() for i in range(250)]
    report = store.audit()
    store.close()

    assert set(statuses) == {200, 503}
    assert later_statuses == [200] * 50
    assert all(
        charged for status, charged in zip(statuses, is_charged, strict=True) if status == 200
    )
    assert report.differences == []


def _set_faults(pid: int, *commands: str) -> None:
    """Turn faults of a process on or off."""
    for command in commands:
        subprocess.run(["fiu-ctrl", "-c", command, str(pid)], check=True, timeout=WAIT_S)


def _child(pid: int) -> int:
    """The process that fiu-run runs: its first child, or itself if it has replaced itself by exec."""
    time.sleep(0.2)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def _charge_until_refused(address: str, key: Mapping[str, str]) -> list[int]:
    """Read full records one after the other until a status is not 200; return the statuses."""
    statuses: list[int] = []
    while not statuses or statuses[-1] == 200:
        statuses.append(ask(address, f"/api/v1/societes/EE/{len(statuses)}", key)[0])
    return statuses


def _charge(store: LmdbStore, company: int) -> None:
    """Charge a company, which must be charged for the first time."""
    future = store.take_and_charge(Purchase(ACCOUNTS[0], LIMIT, f"EE:{company}", COST, LIMIT), NOW)
    _, charge = future.result(WAIT_S)
    assert charge
    assert charge.outcome == "charged"


def _count_charges(store: LmdbStore) -> int:
    """The number of charged companies; calls and credits must agree."""
    usage = store.usage(ACCOUNTS[0], PLAN, NOW).result()
    assert usage.credits.used == COST * usage.calls.used
    return usage.calls.used
