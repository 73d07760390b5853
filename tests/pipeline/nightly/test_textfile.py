"""The metrics of a night, as the parser of Prometheus reads them."""

import stat
import time
from pathlib import Path

import pytest

from pipeline.__main__ import main
from shards.generations import pointer
from shards.mirror import signature
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE_NAME
from tests.pipeline.nightly.test_nightly import (
    IE_NAME,
    last_report,
    run_night,
    write_config,
)
from tests.pipeline.nightly.test_rejected_rows import estonia_without_identifiers

PREFIX = "societes_night_"  # of the names of metrics
SUCCESS = f"{PREFIX}last_success_timestamp_seconds"


def read_samples(path: Path) -> dict[str, float]:
    """The values of a metrics file by name and labels; asserts that HELP and TYPE precede each metric."""
    samples: dict[str, float] = {}
    family = ""
    for line in path.read_text().splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
        elif line.startswith("#"):
            assert line == f"# TYPE {family} gauge"
        else:
            name, value = line.rsplit(" ", 1)
            assert name.partition("{")[0] == family
            samples[name] = float(value)
    return samples


@pytest.fixture
def metrics_file(tmp_path: Path) -> Path:
    """The path to which a night of `TEXTFILE_SETTING` writes its metrics."""
    (tmp_path / "metrics").mkdir()
    return tmp_path / "metrics" / "societes.prom"


TEXTFILE_SETTING = 'textfile = "metrics/societes.prom"'  # a line of the configuration


def test_a_night_writes_its_metrics(
    tmp_path: Path, server: RegisterServer, metrics_file: Path
) -> None:
    config = write_config(tmp_path, server, TEXTFILE_SETTING)
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(3))
    before = time.time()

    assert run_night(config) == 0

    samples = read_samples(metrics_file)
    assert samples[PREFIX + 'source_tried{source="ee"}'] == 1
    assert samples[PREFIX + 'source_fetched{source="ee"}'] == 1
    assert samples[PREFIX + 'source_rows{source="ee"}'] == 2_662  # of 2 665 rows, 3 are rejected
    assert samples[PREFIX + 'source_rejected_rows{source="ee"}'] == 3
    assert samples[PREFIX + 'source_seconds{source="ee"}'] > 0
    estonia, _ = last_report(config)["sources"]
    assert samples[PREFIX + 'source_age_seconds{source="ee"}'] == estonia["age_jours"] * 86_400
    assert samples[PREFIX + "build_seconds"] > 0
    folder = tmp_path / "data" / str(pointer.current_name(tmp_path / "data"))
    assert samples[PREFIX + "build_bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert samples[PREFIX + "peak_memory_bytes"] > 50e6  # so the unit is bytes, not KiB
    assert before - 1 <= samples[SUCCESS] <= time.time()
    assert [path.name for path in metrics_file.parent.iterdir()] == ["societes.prom"]
    assert stat.S_IMODE(metrics_file.stat().st_mode) == 0o644


def test_a_night_that_fails_writes_its_metrics_and_the_last_success(
    tmp_path: Path, server: RegisterServer, metrics_file: Path
) -> None:
    config = write_config(tmp_path, server, TEXTFILE_SETTING)
    run_night(config)
    success = read_samples(metrics_file)[SUCCESS]
    for path in (EE_NAME, IE_NAME):
        server.publish(f"/{path}", b"", responders.send_status(500))
    metrics_file.write_text(
        metrics_file.read_text().replace(f"{SUCCESS} {success:.10g}", f"{SUCCESS} 1700000000")
    )

    assert run_night(config) == 1

    samples = read_samples(metrics_file)
    assert samples[PREFIX + 'source_tried{source="ee"}'] == 1
    assert samples[PREFIX + 'source_fetched{source="ee"}'] == 0
    assert samples[PREFIX + 'source_rows{source="ee"}'] == 2_665  # of the earlier edition
    assert samples[SUCCESS] == 1_700_000_000  # the success of the night before stays


def test_a_night_that_cannot_start_writes_its_peak_memory(
    tmp_path: Path, server: RegisterServer, metrics_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signature.keygen(tmp_path / "key")
    (tmp_path / "key").write_text("no key")
    metrics_file.write_text(f"{SUCCESS} nan\n")  # a damaged file

    assert run_night(write_config(tmp_path, server, TEXTFILE_SETTING, 'key = "key"')) == 1

    assert list(read_samples(metrics_file)) == [PREFIX + "peak_memory_bytes"]
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/key")


@pytest.mark.parametrize(("flags", "is_success"), [([], True), (["--strict"], False)])
def test_a_partial_night_is_a_success_unless_it_is_strict(
    tmp_path: Path, server: RegisterServer, metrics_file: Path, flags: list[str], is_success: bool
) -> None:
    server.publish(f"/{IE_NAME}", b"", responders.send_status(500))

    run_night(write_config(tmp_path, server, TEXTFILE_SETTING), *flags)

    assert (SUCCESS in read_samples(metrics_file)) == is_success


def test_metrics_that_cannot_be_written_do_not_end_a_night(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_night(write_config(tmp_path, server, TEXTFILE_SETTING)) == 0

    assert (
        f"warning: textfile {tmp_path}/metrics/societes.prom cannot be written: No such file or directory"
        in capsys.readouterr().err
    )


def test_a_textfile_name_that_no_collector_reads_is_refused(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, server, 'textfile = "societes.txt"')

    assert main(["nightly", str(config)]) == 1

    assert (
        f"{config} [textfile]: 'societes.txt' is not a file name that a collector reads; write societes.prom"
        in (capsys.readouterr().err)
    )
