"""The metrics of /metrics (G10), and the memory and the processor time of processes."""

import mmap
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serve.generation.current_generation import GenerationStatus
from serve.observe import metrics
from serve.observe.metrics import EXPORT, WORKER
from tests.serve.client import Served, serving

MEBIBYTE = 1 << 20
# Says a line once it has taken 64 MiB and 0.3 s of a processor, and ends with its stdin.
BUSY = """
import time
taken = b"x" * (64 << 20)
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def test_memory_that_is_written_counts_until_it_is_freed() -> None:
    """The memory is mapped, since an allocator may keep what it is given back."""
    before = metrics.measure_processes(())[WORKER].memory
    with mmap.mmap(-1, 64 * MEBIBYTE, flags=mmap.MAP_PRIVATE) as held:
        for at in range(0, len(held), MEBIBYTE):
            held[at : at + MEBIBYTE] = b"x" * MEBIBYTE
        during = metrics.measure_processes(())[WORKER].memory

    assert 60 * MEBIBYTE < during - before < 80 * MEBIBYTE
    assert metrics.measure_processes(())[WORKER].memory < during - 60 * MEBIBYTE


def test_a_mapped_file_is_no_memory_of_a_process(tmp_path: Path) -> None:
    """Shards are mapped files: they are the page cache."""
    (tmp_path / "shard").write_bytes(b"x" * (64 * MEBIBYTE))
    before = metrics.measure_processes(())[WORKER].memory
    with (
        (tmp_path / "shard").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        assert all(mapped[place] == ord("x") for place in range(0, len(mapped), 4_096))
        assert metrics.measure_processes(())[WORKER].memory - before < 8 * MEBIBYTE


def test_an_exporter_counts_while_it_runs_and_its_time_after_that() -> None:
    before = metrics.measure_processes(())[EXPORT]
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        during = metrics.measure_processes([process.pid])[EXPORT]
        process.kill()
    after = metrics.measure_processes([process.pid])[EXPORT]

    assert during.memory > 60 * MEBIBYTE
    assert after.memory == 0
    assert during.processor - before.processor > 0.2
    assert after.processor - before.processor > 0.2


def test_the_time_of_this_process_is_counted_in_seconds() -> None:
    before, begun = metrics.measure_processes(())[WORKER].processor, time.process_time()
    while time.process_time() - begun < 0.2:
        pass

    assert 0.15 < metrics.measure_processes(())[WORKER].processor - before < 2


@pytest.fixture(scope="module")
def own(data_of_its_own: Path) -> Iterator[Served]:
    with serving(data_of_its_own) as server:
        yield server


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(served: Served) -> Samples:
    text = served.ask("/metrics").body.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def eventually(served: Served, claim: Callable[[Samples], bool]) -> bool:
    """A request is counted just after its answer has been sent."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if claim(samples(served)):
            return True
        time.sleep(0.02)
    return False


def requests(route: str, plan: str, status: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return "societes_requests_total", (("plan", plan), ("route", route), ("status", status))


def test_requests_are_counted_by_route_plan_and_status(own: Served) -> None:
    customer = own.customer("data")
    for _ in range(3):
        own.ask("/api/v1/societes", headers=customer.headers)
    own.ask("/api/v1/societes?limit=0", headers=customer.headers)
    own.ask("/api/v1/societes/FR/x")
    own.ask("/api/v1/inconnue")
    own.raw("nonsense\r\n\r\n")

    wanted = {
        requests("societes", "data", "2xx"): 3,
        requests("societes", "data", "4xx"): 1,
        requests("societe", "visiteur", "4xx"): 1,
        requests("aucune", "aucun", "4xx"): 2,
        ("societes_request_seconds_count", (("route", "societes"),)): 4,
    }
    assert eventually(own, lambda found: wanted.items() <= found.items()), samples(own)


def test_refusals_are_counted_by_code(own: Served) -> None:
    customer = own.customer("free")
    for _ in range(52):
        own.ask("/api/v1/societes", headers=customer.headers)

    refused = ("societes_refusals_total", (("code", "quota_api"),))
    assert eventually(own, lambda found: found[refused] == 2)


def test_the_generation_is_told_with_its_age(own: Served) -> None:
    found = samples(own)

    generation = own.ask("/api/v1/pays").headers["X-Donnees-Version"]
    assert found["societes_generation_info", (("generation", generation),)] == 1
    assert 0 <= found["societes_generation_age_seconds", ()] < 300


def test_each_source_is_as_old_as_its_newest_edition(own: Served) -> None:
    """Estonia's day, the month of the UK's; gleif-rr gives no companies."""
    now = datetime.now(UTC)
    found = samples(own)

    ages = {
        dict(labels)["source"]: value
        for (name, labels), value in found.items()
        if name == "societes_source_age_seconds"
    }
    dates = {
        "ee-registre": datetime(2022, 1, 15, tzinfo=UTC),
        "fr-comptes": datetime(2026, 11, 19, tzinfo=UTC),
        "fr-registre": datetime(2026, 11, 1, tzinfo=UTC),
        "lei": datetime(2018, 9, 1, tzinfo=UTC),
        "uk-registre": datetime(2026, 10, 1, tzinfo=UTC),
    }
    assert ages.keys() == dates.keys()
    for source, date in dates.items():
        assert ages[source] == pytest.approx((now - date).total_seconds(), abs=60)


def test_the_memory_and_the_processor_are_told_by_kind_of_process(own: Served) -> None:
    before = samples(own)
    customer = own.customer("data")
    assert own.ask("/api/v1/export?pays=FR", headers=customer.headers).status == 200
    after = samples(own)

    worker, export = (("kind", "worker"),), (("kind", "export"),)
    assert after["societes_memory_bytes", worker] > 20 << 20
    assert before["societes_memory_bytes", export] == 0
    assert after["societes_memory_bytes", export] > 10 << 20
    for kind in (worker, export):
        told = "societes_processor_seconds_total", kind
        # In steps of 10 ms.
        assert eventually(own, lambda found, told=told: found[told] > before[told])  # type: ignore[misc]


def test_a_server_without_mail_and_without_a_source_tells_of_neither(own: Served) -> None:
    names = {name for name, _ in samples(own)}

    assert not names & {"societes_mails_waiting", "societes_mirror_age_seconds"}


def test_it_is_text_for_prometheus_and_for_no_cache(own: Served) -> None:
    reply = own.ask("/metrics")

    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert reply.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_labels_are_few_and_none_is_what_a_caller_sent(own: Served) -> None:
    customer = own.customer("data")
    for path in ("/wp-login.php", "/api/v1/societes?q=Secret", "/api/v1/societes/FR/Secret"):
        own.ask(path, headers={**customer.headers, "X-Request-Id": "Secret"})

    text = own.ask("/metrics").body.decode()

    for word in ("Secret", "wp-login", customer.key, customer.account, "127.0.0"):
        assert word not in text
    assert set(re.findall(r'(\w+)="', text)) <= {
        "route", "plan", "status", "code", "le", "generation", "kind", "source",
    }  # fmt: skip


def test_a_link_that_others_left_beside_the_figures_ends_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_MEMORY", tmp_path)
    dead = "4194305"  # more than any process has (PID_MAX_LIMIT)
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"{metrics._NAME}-{dead}-gone").symlink_to(tmp_path / "nothing")
    (tmp_path / f"{metrics._NAME}-{dead}-there").symlink_to(tmp_path / "theirs")
    (tmp_path / f"{metrics._NAME}-{dead}-left").mkdir()

    with metrics.share_with_children(tmp_path):
        left = {path.name.rpartition("-")[2] for path in tmp_path.glob(f"{metrics._NAME}-{dead}-*")}

    assert left == {"gone", "there"}
    assert (tmp_path / "theirs").is_dir()


def test_a_server_of_another_container_keeps_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both may share a folder, and neither sees the processes of the other: its number is that of no process here"""
    monkeypatch.setattr(metrics, "_MEMORY", tmp_path)
    with metrics.share_with_children(tmp_path):
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        renamed = folder.rename(tmp_path / f"{metrics._NAME}-4194305-there")

        metrics._remove_leftovers(tmp_path)
        left = list(tmp_path.iterdir())
        renamed.rename(folder)

    assert left == [renamed]
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_just_starting_hides_the_figures_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are empty for a moment; a read of one was an error of the whole answer."""
    monkeypatch.setattr(metrics, "_MEMORY", tmp_path)
    status = GenerationStatus(None, None, None, None, (), 1)
    with metrics.share_with_children(tmp_path):
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        for kind in ("counter", "histogram", "gauge_livesum"):
            (folder / f"{kind}_4194305.db").touch()

        text = metrics.Metrics().text(status, datetime.now(UTC), {})

    assert b"societes_countries_missing 0.0" in text
