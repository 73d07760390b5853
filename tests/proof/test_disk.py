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
from tests.proof.tools import WAIT_S, need, next_line, small
from tests.proof.writer import ACCOUNTS, COST, LIMIT, NOW, account_of
from tests.quota.filling import create_account, create_key
from tests.serve.processes import ask, children, line_of, started, stop

pytestmark = pytest.mark.slow

PLAN = load()["data"]
FAULTS = (
    "enable_random name=posix/io/rw/pwrite,probability=0.03,failinfo=28",
    "enable_random name=posix/io/rw/pwritev,probability=0.03,failinfo=28",
    "enable_random name=posix/io/sync/fdatasync,probability=0.05,failinfo=5",
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    with small(tmp_path, "1m"):
        yield tmp_path


def test_a_full_disk_stops_debits_but_not_reads_and_room_cures_it(small_disk: Path) -> None:
    store = LmdbStore(small_disk)
    charged = 0
    with pytest.raises(StoreUnavailable, match=r"quota\.lmdb"):
        for charged in range(100_000):
            _charge(store, charged)
    assert charged > 100

    # Full: the acknowledged debits are there and no other, and further debits are refused.
    assert _used(store) == charged
    for company in range(charged, charged + 20):
        with pytest.raises(StoreUnavailable):
            _charge(store, company)
    assert _used(store) == charged

    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True, timeout=WAIT_S)
    for company in range(charged, charged + 100):
        _charge(store, company)
    assert _used(store) == charged + 100
    store.close()
    assert not damage_of(small_disk / FILE)


def test_an_import_onto_a_full_disk_names_the_disk(tmp_path: Path) -> None:
    with small(tmp_path, "48k"):
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "import", "no-enheter",
             "seeds/raw/no/enheter_6.json", "--out", str(tmp_path / "in")],
            cwd=ROOT, capture_output=True, text=True, timeout=2 * WAIT_S,
        )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"the disk of {tmp_path / 'in'} is full; give it space" in done.stderr


def test_a_build_onto_a_full_disk_is_one_line_and_publishes_nothing(tmp_path: Path) -> None:
    """L11: LMDB says "Input/output error" """
    disk = tmp_path / "disk"
    disk.mkdir()
    synthetic.run(SynthOptions(companies=3_000, seed=1, out=tmp_path / "in"))
    with small(disk, "1m"):
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "build",
             "--input", str(tmp_path / "in"), "--out", str(disk / "data")],
            cwd=ROOT, capture_output=True, text=True, timeout=4 * WAIT_S,
        )  # fmt: skip
        published = (disk / "data" / "CURRENT").exists()

    assert done.returncode == 1
    assert not published
    assert "Traceback" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert "space" in last


def test_a_first_start_on_a_full_disk_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    """L12"""
    disk, data = tmp_path / "disk", tmp_path / "data"
    disk.mkdir()
    world.publish(data, [world.company("EE", "1", "Ä")])
    with small(disk, "16k"):
        with suppress(OSError), (disk / "filling").open("ab") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "serve", "--data", str(data), "--state", str(disk), "--port", "0"],
            cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S,
        )  # fmt: skip
        left = [path.name for path in disk.glob("*.partial")]

    assert done.returncode == 1
    assert f"serve: {disk / 'pages.secret'} cannot be written" in done.stderr
    assert "give its disk space" in done.stderr
    assert left == []


def test_a_server_with_a_full_disk_answers_503_to_debits_only_and_resumes(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """G9"""
    data = tmp_path_factory.mktemp("served") / "data"
    world.publish(data, [world.company("EE", str(i), f"Ä {i}") for i in range(4_000)], filed=True)
    state = small_disk / "state"
    store = LmdbStore(state)
    plans, now = load(), datetime.now(UTC)
    account = create_account(store, "integral", plans, now).result()
    key = {"Authorization": f"Bearer {create_key(store, account.id, plans, now).result()[1]}"}
    limits = {f"SOCIETES_DEBIT_{plan}": "1000000" for plan in ("INTEGRAL", "VISITEUR")}

    with started(data, "--state", str(state), environment=limits) as server:
        address = line_of(server)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(4_096))
        answered = _charged_until_refused(address, key)
        used = store.usage(account.id, plans["integral"], now).result().credits.used

        assert answered[-1] == 503
        assert used == COST * (len(answered) - 1)
        assert ask(address, "/api/v1/societes?pays=EE")[0] == 200  # a visitor
        assert ask(address, "/api/v1/compte", key)[0] == 200  # a read

        filler.unlink()
        assert ask(address, "/api/v1/societes/EE/3999", key)[0] == 200
        stop(server)
    store.close()


def test_failing_writes_and_syncs_never_give_a_false_acknowledgement(tmp_path: Path) -> None:
    fiu_run = need("fiu-run", "fiu-utils")
    command = [sys.executable, "-m", "tests.proof.writer", str(tmp_path / "state"), "3", "3000"]
    with subprocess.Popen(
        [fiu_run, "-x", *command], cwd=ROOT, text=True, stdout=subprocess.PIPE
    ) as writer:
        first = next_line(writer, WAIT_S)  # faults are injected once Python has started
        child = _child(writer.pid)
        _control(child, *FAULTS)
        try:
            lines = [first, *writer.communicate(timeout=120)[0].splitlines()]
        finally:
            writer.kill()
        assert writer.returncode == 0
    acked = [int(line.split()[1]) for line in lines if line.startswith("ack")]
    failed = [int(line.split()[1]) for line in lines if line.startswith("fail")]

    assert not damage_of(tmp_path / "state" / FILE)
    store = LmdbStore(tmp_path / "state")
    assert failed
    assert len(acked) > 1_000
    for company in random.Random(5).sample(acked, 500):
        _, charge = store.take_and_charge(
            Purchase(account_of(company), LIMIT, f"EE:{company}", COST, LIMIT), NOW
        ).result(WAIT_S)
        assert charge
        assert charge.outcome == "already", f"company {company} was acknowledged and is not there"
    store.close()


def test_a_server_whose_disk_fails_now_and_then_says_503_and_needs_no_restart(
    tmp_path: Path,
) -> None:
    """R3: every record that was answered is charged, and after the faults all are"""
    fiu_run, plans, now = need("fiu-run", "fiu-utils"), load(), datetime.now(UTC)
    data, state = tmp_path / "data", tmp_path / "state"
    world.publish(data, [world.company("EE", str(i), f"Ä {i}") for i in range(300)], filed=True)
    store = LmdbStore(state)
    account = create_account(store, "integral", plans, now).result()
    _, text = create_key(store, account.id, plans, now).result()
    key = {"Authorization": f"Bearer {text}"}
    command = [fiu_run, "-x", sys.executable, "-m", "serve", "--data", str(data)]
    command += ["--state", str(state), "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"SOCIETES_DEBIT_INTEGRAL": "1000000"},
    ) as server:  # fmt: skip
        try:
            address = next_line(server, WAIT_S).strip()
            (child,) = children(server.pid)  # fiu-run has become the server
            _control(child, *FAULTS)
            statuses = [ask(address, f"/api/v1/societes/EE/{i}", key)[0] for i in range(250)]
            _control(
                child, *(f"disable name={fault.split('=')[1].split(',')[0]}" for fault in FAULTS)
            )
            after = [ask(address, f"/api/v1/societes/EE/{i}", key)[0] for i in range(250, 300)]
        finally:
            server.terminate()
    charged = [store.is_charged(account.id, f"EE/{i}", now).result() for i in range(250)]
    report = store.audit()
    store.close()

    assert set(statuses) == {200, 503}
    assert after == [200] * 50
    assert all(paid for status, paid in zip(statuses, charged, strict=True) if status == 200)
    assert report.differences == []


def _control(pid: int, *commands: str) -> None:
    """Switch faults of a process on or off."""
    for command in commands:
        subprocess.run(["fiu-ctrl", "-c", command, str(pid)], check=True, timeout=WAIT_S)


def _child(pid: int) -> int:
    """The first child of a process, or the process itself, as fiu-run is after exec."""
    time.sleep(0.2)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def _charged_until_refused(address: str, key: Mapping[str, str]) -> list[int]:
    """Statuses of full records, read one after the other up to the first that is not 200."""
    found: list[int] = []
    while not found or found[-1] == 200:
        found.append(ask(address, f"/api/v1/societes/EE/{len(found)}", key)[0])
    return found


def _charge(store: LmdbStore, company: int) -> None:
    future = store.take_and_charge(Purchase(ACCOUNTS[0], LIMIT, f"EE:{company}", COST, LIMIT), NOW)
    _, charge = future.result(WAIT_S)
    assert charge
    assert charge.outcome == "charged"


def _used(store: LmdbStore) -> int:
    """Companies charged; calls and credits must agree."""
    usage = store.usage(ACCOUNTS[0], PLAN, NOW).result()
    assert usage.credits.used == COST * usage.calls.used
    return usage.calls.used
