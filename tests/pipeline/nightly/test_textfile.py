"""The metrics of a night, as the parser of Prometheus reads them."""

import stat
import time
from pathlib import Path

import pytest

from pipeline.__main__ import main
from shards.generations import pointer
from shards.mirror import signature
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE
from tests.pipeline.nightly.test_nightly import (
    IE,
    configured,
    hurried,
    last_report,
    run,
    server,
)
from tests.pipeline.nightly.test_rejected_rows import nameless

__all__ = ["hurried", "server"]  # fixtures

PREFIX = "societes_night_"
SUCCESS = f"{PREFIX}last_success_timestamp_seconds"


def measured(path: Path) -> dict[str, float]:
    """The samples of a file, each with its labels; every family has a help and a type before it."""
    found: dict[str, float] = {}
    family = ""
    for line in path.read_text().splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
        elif line.startswith("#"):
            assert line == f"# TYPE {family} gauge"
        else:
            name, value = line.rsplit(" ", 1)
            assert name.partition("{")[0] == family
            found[name] = float(value)
    return found


@pytest.fixture
def prom(tmp_path: Path) -> Path:
    (tmp_path / "metrics").mkdir()
    return tmp_path / "metrics" / "societes.prom"


LINE = 'textfile = "metrics/societes.prom"'


def test_a_night_is_measured(tmp_path: Path, server: RegisterServer, prom: Path) -> None:
    config = configured(tmp_path, server, LINE)
    server.publish(f"/{EE}", nameless(3))
    before = time.time()

    assert run(config) == 0

    found = measured(prom)
    assert found[PREFIX + 'source_tried{source="ee"}'] == 1
    assert found[PREFIX + 'source_fetched{source="ee"}'] == 1
    assert found[PREFIX + 'source_rows{source="ee"}'] == 2_662
    assert found[PREFIX + 'source_rejected_rows{source="ee"}'] == 3
    assert found[PREFIX + 'source_seconds{source="ee"}'] > 0
    estonia, _ = last_report(config)["sources"]
    assert found[PREFIX + 'source_age_seconds{source="ee"}'] == estonia["age_jours"] * 86_400
    assert found[PREFIX + "build_seconds"] > 0
    folder = tmp_path / "data" / str(pointer.current_name(tmp_path / "data"))
    assert found[PREFIX + "build_bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert found[PREFIX + "peak_memory_bytes"] > 50e6
    assert before - 1 <= found[SUCCESS] <= time.time()
    assert [path.name for path in prom.parent.iterdir()] == ["societes.prom"]
    assert stat.S_IMODE(prom.stat().st_mode) == 0o644


def test_a_night_that_fails_is_measured_too(
    tmp_path: Path, server: RegisterServer, prom: Path
) -> None:
    config = configured(tmp_path, server, LINE)
    run(config)
    success = measured(prom)[SUCCESS]
    for path in (EE, IE):
        server.publish(f"/{path}", b"", ways.status(500))
    prom.write_text(prom.read_text().replace(f"{SUCCESS} {success:.10g}", f"{SUCCESS} 1700000000"))

    assert run(config) == 1

    found = measured(prom)
    assert found[PREFIX + 'source_tried{source="ee"}'] == 1
    assert found[PREFIX + 'source_fetched{source="ee"}'] == 0
    assert found[PREFIX + 'source_rows{source="ee"}'] == 2_665  # of the edition before
    assert found[SUCCESS] == 1_700_000_000  # that of the night before stays


def test_a_night_that_does_not_start_is_measured(
    tmp_path: Path, server: RegisterServer, prom: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signature.keygen(tmp_path / "key")
    (tmp_path / "key").write_text("no key")
    prom.write_text(f"{SUCCESS} nan\n")  # damaged

    assert run(configured(tmp_path, server, LINE, 'key = "key"')) == 1

    assert list(measured(prom)) == [PREFIX + "peak_memory_bytes"]
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/key")


@pytest.mark.parametrize(("flags", "is_success"), [([], True), (["--strict"], False)])
def test_a_partial_night_is_a_success_unless_it_is_strict(
    tmp_path: Path, server: RegisterServer, prom: Path, flags: list[str], is_success: bool
) -> None:
    server.publish(f"/{IE}", b"", ways.status(500))

    run(configured(tmp_path, server, LINE), *flags)

    assert (SUCCESS in measured(prom)) == is_success


def test_metrics_that_cannot_be_written_do_not_end_a_night(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(configured(tmp_path, server, LINE)) == 0

    assert (
        f"warning: textfile {tmp_path}/metrics/societes.prom cannot be written: No such file or directory"
        in capsys.readouterr().err
    )


def test_a_name_that_no_collector_reads_is_refused(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server, 'textfile = "societes.txt"')

    assert main(["nightly", str(config)]) == 1

    assert (
        f"{config} [textfile]: 'societes.txt' is no name that a collector reads; write societes.prom"
        in (capsys.readouterr().err)
    )
