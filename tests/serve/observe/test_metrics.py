"""The metrics of /metrics (G10), and the memory and processor time of processes."""

import mmap
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serve.generation.current_generation import GenerationStatus
from serve.observe import metrics
from serve.observe.metrics import EXPORT, WORKER
from tests.serve.client import Server, run_server
from tests.serve.processes import eventually

MEBIBYTE = 1 << 20
NO_PROCESS = "4194305"  # a process number above PID_MAX_LIMIT, which no process has
# Uses 64 MiB and 0.3 s of a processor, then prints a line, and ends with its stdin.
BUSY_PROGRAM = """
import time
taken = b"x" * (64 << 20)
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def test_written_memory_counts_until_it_is_freed() -> None:
    """The memory is mapped directly, because an allocator may keep memory that Python frees"""
    before = metrics.measure_processes(())[WORKER].memory
    with mmap.mmap(-1, 64 * MEBIBYTE, flags=mmap.MAP_PRIVATE) as mapped:
        for start in range(0, len(mapped), MEBIBYTE):
            mapped[start : start + MEBIBYTE] = b"x" * MEBIBYTE
        during = metrics.measure_processes(())[WORKER].memory

    assert 60 * MEBIBYTE < during - before < 80 * MEBIBYTE
    assert metrics.measure_processes(())[WORKER].memory < during - 60 * MEBIBYTE


def test_a_mapped_file_does_not_count_as_memory_of_a_process(tmp_path: Path) -> None:
    """Shards are mapped files: their pages belong to the cache of the system"""
    (tmp_path / "shard").write_bytes(b"x" * (64 * MEBIBYTE))
    before = metrics.measure_processes(())[WORKER].memory
    with (
        (tmp_path / "shard").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        assert all(mapped[start] == ord("x") for start in range(0, len(mapped), 4_096))
        assert metrics.measure_processes(())[WORKER].memory - before < 8 * MEBIBYTE


def test_the_memory_of_an_export_process_counts_while_it_runs_and_its_time_also_later() -> None:
    """The process uses 64 MiB and 0.3 s of a processor"""
    before = metrics.measure_processes(())[EXPORT]
    with subprocess.Popen(
        [sys.executable, "-c", BUSY_PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
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


def test_the_processor_time_of_this_process_is_in_seconds() -> None:
    before, started = metrics.measure_processes(())[WORKER].processor, time.process_time()
    while time.process_time() - started < 0.2:
        pass

    assert 0.15 < metrics.measure_processes(())[WORKER].processor - before < 2


@pytest.fixture(scope="module")
def separate_server(separate_data: Path) -> Iterator[Server]:
    """A server that only these tests call, so that they can count its requests."""
    with run_server(separate_data) as server:
        yield server


# The value of each sample, by the name of its metric and its sorted labels.
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read_samples(server: Server) -> Samples:
    """The samples of /metrics."""
    text = server.ask("/metrics").body.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def samples_become(server: Server, condition: Callable[[Samples], bool]) -> bool:
    """Whether the samples eventually meet a condition: a request is counted just after its response is sent."""
    return eventually(lambda: condition(read_samples(server)))


def requests_series(route: str, plan: str, status: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The key in `Samples` of the number of requests with these labels."""
    return "societes_requests_total", (("plan", plan), ("route", route), ("status", status))


def test_requests_are_counted_by_route_plan_and_status(separate_server: Server) -> None:
    """An unknown path and a line that is not HTTP have neither route nor plan"""
    customer = separate_server.customer("data")
    for _ in range(3):
        separate_server.ask("/api/v1/societes", headers=customer.headers)
    separate_server.ask("/api/v1/societes?limit=0", headers=customer.headers)
    separate_server.ask("/api/v1/societes/FR/x")
    separate_server.ask("/api/v1/inconnue")
    separate_server.send_raw("nonsense\r\n\r\n")

    expected = {
        requests_series("societes", "data", "2xx"): 3,
        requests_series("societes", "data", "4xx"): 1,
        requests_series("societe", "visiteur", "4xx"): 1,
        requests_series("aucune", "aucun", "4xx"): 2,
        ("societes_request_seconds_count", (("route", "societes"),)): 4,
    }
    assert samples_become(separate_server, lambda current: expected.items() <= current.items()), (
        read_samples(separate_server)
    )


def test_refusals_are_counted_by_code(separate_server: Server) -> None:
    customer = separate_server.customer("free")
    for _ in range(52):  # the limit of a day is 50
        separate_server.ask("/api/v1/societes", headers=customer.headers)

    refusals = ("societes_refusals_total", (("code", "quota_api"),))
    assert samples_become(separate_server, lambda current: current[refusals] == 2)


def test_the_metrics_have_the_generation_and_its_age(separate_server: Server) -> None:
    current = read_samples(separate_server)

    generation = separate_server.ask("/api/v1/pays").headers["X-Donnees-Version"]
    assert current["societes_generation_info", (("generation", generation),)] == 1
    assert 0 <= current["societes_generation_age_seconds", ()] < 300


def test_each_source_is_as_old_as_its_newest_edition(separate_server: Server) -> None:
    """The edition of the UK is a month, so its age counts from the first day. gleif-rr has no companies, so no age."""
    now = datetime.now(UTC)
    current = read_samples(separate_server)

    ages = {
        dict(labels)["source"]: value
        for (name, labels), value in current.items()
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


def test_memory_and_processor_time_are_counted_by_kind_of_process(separate_server: Server) -> None:
    before = read_samples(separate_server)
    customer = separate_server.customer("data")
    assert separate_server.ask("/api/v1/export?pays=FR", headers=customer.headers).status == 200
    after = read_samples(separate_server)

    worker, export = (("kind", "worker"),), (("kind", "export"),)
    assert after["societes_memory_bytes", worker] > 20 << 20
    assert before["societes_memory_bytes", export] == 0
    assert after["societes_memory_bytes", export] > 10 << 20
    for kind in (worker, export):
        series = "societes_processor_seconds_total", kind
        # The system counts in steps of 10 ms.
        assert samples_become(separate_server, partial(_is_above, series, before[series]))


def _is_above(
    series: tuple[str, tuple[tuple[str, str], ...]], value: float, samples: Samples
) -> bool:
    """Whether a series has more than a value."""
    return samples[series] > value


def test_a_server_without_mail_and_mirror_has_no_metrics_of_mails_and_mirrors(
    separate_server: Server,
) -> None:
    names = {name for name, _ in read_samples(separate_server)}

    assert not names & {"societes_mails_waiting", "societes_mirror_age_seconds"}


def test_the_metrics_are_text_for_prometheus_and_are_not_cached(separate_server: Server) -> None:
    reply = separate_server.ask("/metrics")

    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert reply.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_labels_are_few_and_have_no_value_of_a_caller(separate_server: Server) -> None:
    customer = separate_server.customer("data")
    for path in ("/wp-login.php", "/api/v1/societes?q=Secret", "/api/v1/societes/FR/Secret"):
        separate_server.ask(path, headers={**customer.headers, "X-Request-Id": "Secret"})

    text = separate_server.ask("/metrics").body.decode()

    for word in ("Secret", "wp-login", customer.key, customer.account, "127.0.0"):
        assert word not in text
    assert set(re.findall(r'(\w+)="', text)) <= {
        "route", "plan", "status", "code", "le", "generation", "kind", "source",
    }  # fmt: skip


def test_links_in_the_shared_folder_do_not_stop_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start removes folders that dead processes left there, but follows no link, which somebody else may have made"""
    monkeypatch.setattr(metrics, "_MEMORY_FOLDER", tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / f"{metrics._FOLDER_PREFIX}-{NO_PROCESS}-gone").symlink_to(tmp_path / "nothing")
    (tmp_path / f"{metrics._FOLDER_PREFIX}-{NO_PROCESS}-there").symlink_to(tmp_path / "theirs")
    (tmp_path / f"{metrics._FOLDER_PREFIX}-{NO_PROCESS}-left").mkdir()

    with metrics.share_with_children(tmp_path):
        names_left = {
            path.name.rpartition("-")[2]
            for path in tmp_path.glob(f"{metrics._FOLDER_PREFIX}-{NO_PROCESS}-*")
        }

    assert names_left == {"gone", "there"}
    assert (tmp_path / "theirs").is_dir()


def test_a_server_of_another_container_keeps_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers may share the folder without seeing each other's processes, so a number that is no process here
    does not prove that the server of the folder has ended.
    """
    monkeypatch.setattr(metrics, "_MEMORY_FOLDER", tmp_path)
    with metrics.share_with_children(tmp_path):
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        renamed = folder.rename(tmp_path / f"{metrics._FOLDER_PREFIX}-{NO_PROCESS}-there")

        metrics._remove_leftovers(tmp_path)
        folders_left = list(tmp_path.iterdir())
        renamed.rename(folder)

    assert folders_left == [renamed]
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_starting_does_not_hide_the_figures_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a starting worker are empty for a moment, which must not be an error of the complete response"""
    monkeypatch.setattr(metrics, "_MEMORY_FOLDER", tmp_path)
    status = GenerationStatus(None, None, None, None, (), 1)
    with metrics.share_with_children(tmp_path):
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        for kind in ("counter", "histogram", "gauge_livesum"):
            (folder / f"{kind}_{NO_PROCESS}.db").touch()

        text = metrics.Metrics().text(status, datetime.now(UTC), {})

    assert b"societes_countries_missing 0.0" in text
