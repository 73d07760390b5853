"""Nightly runs: the publication, the data that stays when a source fails, and runs that are killed."""

import csv
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from pipeline.__main__ import main
from pipeline.nightly import nightly
from shards.errors import CorruptError
from shards.generations import generation_files, pointer
from shards.mirror import signature
from shards.reader.shard import Shard
from shards.verify import invariants
from tests import ROOT
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE_NAME, EE_ZIP, unzipped, zipped
from tests.serve.processes import avoid_midnight

RAW = ROOT / "seeds" / "raw"
IE_NAME = "companies.csv.zip"  # of the published file of Ireland
IE_ZIP = zipped((RAW / "ie" / "companies.csv").read_bytes(), "companies.csv")


def write_config(tmp_path: Path, server: RegisterServer, *settings: str) -> Path:
    """A configuration of the Estonian and the Irish source, which are fetched from the server."""
    wide_bounds = "size = [1, 100_000_000]\nrows = [1, 1_000_000]\n"
    path = tmp_path / "nightly.toml"
    path.write_text(
        'work = "work"\ndata = "data"\nsources = ["ee", "ie-cro"]\njobs = 1\n'
        + "".join(f"{line}\n" for line in settings)
        + f'[source.ee]\naddresses = {{ "{EE_NAME}" = "{server.url}/{EE_NAME}" }}\n{wide_bounds}'
        + f'[source.ie-cro]\naddresses = {{ "{IE_NAME}" = "{server.url}/{IE_NAME}" }}\n{wide_bounds}'
    )
    return path


def run_night(config: Path, *flags: str) -> int:
    """Run the command `nightly`; return its exit code."""
    return main(["nightly", str(config), *flags])


def last_report(config: Path) -> dict[str, Any]:
    """The report that was written last."""
    path = max(
        (config.parent / "work" / "reports").glob("*.json"), key=lambda p: p.stat().st_mtime_ns
    )
    return dict(json.loads(path.read_bytes()))


def source_results(config: Path) -> dict[str, str]:
    """The result of each source in the last report."""
    return {source["source"]: source["resultat"] for source in last_report(config)["sources"]}


def published_counts(config: Path) -> dict[str, int]:
    """The number of published companies of each country that has some."""
    data = config.parent / "data"
    name = pointer.current_name(data)
    assert name is not None
    counts = generation_files.read_manifest(data / name).counts
    return {iso2: count for iso2, count in counts.items() if count}


def quality_by_country(config: Path) -> dict[str, Any]:
    """The quality report of each country in the published generation."""
    data = config.parent / "data"
    path = data / str(pointer.current_name(data)) / generation_files.QUALITY
    return dict(json.loads(path.read_bytes())["pays"])


# -- publication ---------------------------------------------------------------------


def test_a_run_publishes_the_companies_of_registers(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, server)

    code = run_night(config)

    printed, report = capsys.readouterr(), last_report(config)
    assert (code, printed.err) == (0, "")
    assert published_counts(config) == {"EE": 2_665, "IE": 1}
    assert (report["etat"], report["precedente"], report["erreur"]) == ("complet", None, "")
    assert report["generation"] == pointer.current_name(tmp_path / "data")
    # A stage is recorded when it ends, and the build ends after the verification that it calls.
    assert list(report["etapes"]) == ["fetch", "import", "verify", "build", "prune"]
    assert printed.out == max((tmp_path / "work" / "reports").glob("*.txt")).read_text()
    assert printed.out.startswith(f"published {report['generation']}; 0 of 2 sources failed\n")


def test_a_run_without_new_editions_keeps_the_published_generation(
    config_of_first_night: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = last_report(config_of_first_night)["generation"]

    assert run_night(config_of_first_night) == 0

    assert last_report(config_of_first_night)["generation"] == before
    assert source_results(config_of_first_night) == {"ee": "inchange", "ie-cro": "inchange"}
    assert "again, nothing has changed" in capsys.readouterr().out


def test_a_new_edition_replaces_the_edition_before(
    tmp_path: Path, config_of_first_night: Path, server: RegisterServer
) -> None:
    server.publish(
        f"/{EE_NAME}", zipped(_rename_a_company(unzipped(EE_ZIP)), EE_NAME.removesuffix(".zip"))
    )

    assert run_night(config_of_first_night) == 0

    assert source_results(config_of_first_night) == {"ee": "nouveau", "ie-cro": "inchange"}
    assert (
        last_report(config_of_first_night)["generation"]
        != last_report(config_of_first_night)["precedente"]
    )
    # The old import is pruned.
    assert len(list((tmp_path / "work" / "input" / "ee").iterdir())) == 1


def test_a_clock_that_jumps_does_not_change_the_result_of_a_night(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fixed: stages had negative durations. The newest edition is published at any hour."""
    jumps = itertools.cycle([timedelta(), timedelta(days=-400), timedelta(days=3)])

    class JumpingClock(datetime):
        """A clock that is right, then 400 days slow, then 3 days fast, at each reading."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "JumpingClock":
            return super().now(tz) + next(jumps)

    monkeypatch.setattr(nightly, "datetime", JumpingClock)
    config = write_config(tmp_path, server, 'textfile = "societes.prom"')
    new_edition = zipped(_rename_a_company(unzipped(EE_ZIP)), EE_NAME.removesuffix(".zip"))
    names = []
    for _ in range(3):
        assert run_night(config) == 0
        report = last_report(config)
        assert min(report["etapes"].values()) >= 0
        assert min(source["secondes"] for source in report["sources"]) >= 0
        names.append(pointer.current_name(tmp_path / "data"))
        server.publish(f"/{EE_NAME}", new_edition)

    assert names[0] != names[1] == names[2]
    assert source_results(config) == {"ee": "inchange", "ie-cro": "inchange"}


def test_a_generation_is_signed(tmp_path: Path, server: RegisterServer) -> None:
    public = signature.keygen(tmp_path / "key")
    config = write_config(tmp_path, server, 'key = "key"')

    assert run_night(config) == 0

    name = last_report(config)["generation"]
    signed = (tmp_path / "data" / signature.path_of(name)).read_bytes()
    manifest = (tmp_path / "data" / name / generation_files.MANIFEST).read_bytes()
    signature.check(signature.public_key(public), name, manifest, signed)


def test_files_that_an_operator_placed_are_imported(tmp_path: Path, server: RegisterServer) -> None:
    config = write_config(tmp_path, server)
    config.write_text(config.read_text().replace('"ie-cro"]', '"sk-rpo"]'))
    (tmp_path / "work" / "raw" / "sk-rpo").mkdir(parents=True)
    (tmp_path / "work" / "raw" / "sk-rpo" / "rpo.json").write_bytes(
        (RAW / "sk" / "rpo_slovnaft_2026.json").read_bytes()
    )

    assert run_night(config) == 0

    assert last_report(config)["etat"] == "complet"
    assert published_counts(config)["SK"] == 1


# -- sources that fail ---------------------------------------------------------------


@pytest.mark.parametrize(
    "responder", [responders.send_html_page, responders.send_status(500), responders.cut_at(100)]
)
def test_a_source_that_fails_keeps_its_earlier_edition(
    config_of_first_night: Path,
    server: RegisterServer,
    capsys: pytest.CaptureFixture[str],
    responder: responders.Responder,
) -> None:
    before = last_report(config_of_first_night)["generation"]
    server.publish(f"/{EE_NAME}", EE_ZIP + b"!", responder)

    code = run_night(config_of_first_night)

    printed, report = capsys.readouterr(), last_report(config_of_first_night)
    assert (code, report["etat"], report["generation"]) == (0, "partiel", before)
    assert source_results(config_of_first_night) == {"ee": "precedent", "ie-cro": "inchange"}
    assert "1 of 2 sources failed" in printed.out
    assert printed.err.startswith(f"warning: ee: {EE_NAME}: ")
    assert published_counts(config_of_first_night) == {"EE": 2_665, "IE": 1}


def test_an_import_that_fails_keeps_the_earlier_import(
    config_of_first_night: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Header, size and rows are right, so the fetch accepts the file; no row has an identifier."""
    header, *rows = csv.reader(unzipped(EE_ZIP).decode("utf-8-sig").splitlines(), delimiter=";")
    text = io.StringIO()
    rows_without_id = [[f"{row[0]} {row[1]}", "", *row[2:]] for row in rows]
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *rows_without_id])
    server.publish(f"/{EE_NAME}", zipped(text.getvalue().encode(), EE_NAME.removesuffix(".zip")))

    assert run_night(config_of_first_night) == 0

    (estonia, _) = last_report(config_of_first_night)["sources"]
    assert (estonia["resultat"], estonia["fichiers"][0]["resultat"]) == ("precedent", "nouveau")
    assert "none of 2,665 is kept: no identifier" in capsys.readouterr().err
    assert published_counts(config_of_first_night) == {"EE": 2_665, "IE": 1}


def test_a_source_with_a_good_and_a_bad_file_is_partial(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = write_config(tmp_path, server)
    days = [f"Accounts_Bulk_Data-2026-11-{day}.zip" for day in (20, 21)]
    good = (RAW / "uk" / "Accounts_Bulk_Data-sample.zip").read_bytes()
    for name, content in zip(days, (good, good[:-9_000]), strict=True):
        server.publish(f"/{name}", content)
    addresses = ", ".join(f'"{name}" = "{server.url}/{name}"' for name in days)
    config.write_text(
        config.read_text().replace('"ie-cro"]', '"uk-accounts"]')
        + f"[source.uk-accounts]\naddresses = {{ {addresses} }}\n"
        + "size = [1, 100_000_000]\nrows = [1, 1_000_000]\n"
    )

    assert run_night(config) == 0

    assert last_report(config)["etat"] == "partiel"
    assert source_results(config) == {"ee": "nouveau", "uk-accounts": "partiel"}
    assert len(list((tmp_path / "work" / "input" / "uk-accounts").iterdir())) == 1


# -- editions that lost rows or are old ----------------------------------------------


def test_an_edition_that_lost_rows_is_imported_only_with_the_option_accept(
    config_of_first_night: Path, server: RegisterServer
) -> None:
    lines = unzipped(EE_ZIP).splitlines(keepends=True)
    server.publish(f"/{EE_NAME}", zipped(b"".join(lines[:-500]), EE_NAME.removesuffix(".zip")))

    assert run_night(config_of_first_night) == 0
    assert source_results(config_of_first_night)["ee"] == "precedent"
    assert run_night(config_of_first_night, "--accept", "ee") == 0

    assert source_results(config_of_first_night)["ee"] == "nouveau"
    assert published_counts(config_of_first_night)["EE"] < 2_665


def test_an_import_that_kept_fewer_rows_is_refused(
    config_of_first_night: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loss of 5 %, which a fetch accepts and the gates of a build do not."""
    lines = unzipped(EE_ZIP).splitlines(keepends=True)
    server.publish(f"/{EE_NAME}", zipped(b"".join(lines[:-135]), EE_NAME.removesuffix(".zip")))

    assert run_night(config_of_first_night) == 0

    assert source_results(config_of_first_night)["ee"] == "precedent"
    assert "the edition before had 2,665; --accept ee accepts it anyway" in capsys.readouterr().err
    assert published_counts(config_of_first_night)["EE"] == 2_665


def test_an_edition_older_than_the_imported_one_is_refused(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", _estonia_founded_on("20.11.2026"))
    run_night(config)
    server.publish(f"/{EE_NAME}", _estonia_founded_on("03.01.2025"))
    capsys.readouterr()

    assert run_night(config) == 0

    printed, (estonia, _) = capsys.readouterr(), last_report(config)["sources"]
    reason = f"{EE_NAME}: the edition is of 2025-01-03, the one before is of 2026-11-20; --accept ee accepts it anyway"
    assert printed.err == f"warning: ee: {reason}\n"
    assert (estonia["resultat"], estonia["motifs"], estonia["date"]) == (
        "precedent", [reason], "2026-11-20",
    )  # fmt: skip
    assert quality_by_country(config)["EE"]["date_source"] == "2026-11-20"
    assert run_night(config, "--accept", "ee") == 0

    assert source_results(config)["ee"] == "nouveau"
    assert quality_by_country(config)["EE"]["date_source"] == "2025-01-03"
    # Later editions are compared with the accepted edition, so the same edition passes without --accept.
    assert run_night(config) == 0
    assert source_results(config)["ee"] == "inchange"


def test_a_recent_copy_of_an_old_register_is_old(tmp_path: Path, server: RegisterServer) -> None:
    """An edition has the date of its newest registration, not the date of its file or of the fetch."""
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", _estonia_founded_on("14.01.2022"))
    avoid_midnight()

    run_night(config)

    (estonia, ireland) = last_report(config)["sources"]
    assert estonia["date"] == "2022-01-14"
    assert estonia["age_jours"] == (datetime.now(UTC) - datetime(2022, 1, 14, tzinfo=UTC)).days
    assert estonia["en_retard"]
    assert (
        f"ee: new, of 2022-01-14, {estonia['age_jours']} days old, overdue"
        in next((tmp_path / "work" / "reports").glob("*.txt")).read_text()
    )
    assert (ireland["date"], quality_by_country(config)["DE"]["date_source"]) == (
        "2020-07-15",
        None,
    )


# -- verification and gates ----------------------------------------------------------


def test_a_generation_that_breaks_an_invariant_is_not_published(
    tmp_path: Path,
    server: RegisterServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def find_fault(*_: object, **__: object) -> None:
        raise CorruptError("EE.shard: row 3 is not in its cell")

    monkeypatch.setattr(invariants, "verify", find_fault)
    config = write_config(tmp_path, server)

    assert run_night(config) == 1

    assert pointer.current_name(tmp_path / "data") is None
    assert capsys.readouterr().err == "error: EE.shard: row 3 is not in its cell\n"


def test_shards_that_have_not_changed_are_not_verified_again(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[list[Path]] = []
    check_all = invariants._check_all

    def record_shards(shards: Sequence[Shard], jobs: int, done: Callable[[], object]) -> None:
        """Record the paths of the shards, and check them as the program does."""
        checked.append([shard.path for shard in shards])
        check_all(shards, jobs, done)

    monkeypatch.setattr(invariants, "_check_all", record_shards)
    config = write_config(tmp_path, server)
    run_night(config)
    server.publish(
        f"/{EE_NAME}", zipped(_rename_a_company(unzipped(EE_ZIP)), EE_NAME.removesuffix(".zip"))
    )

    run_night(config)

    # The first night checks all countries, the second night only the changed one.
    assert [len(shards) for shards in checked] == [25, 1]
    assert checked[1][0].name == "EE.shard"


def test_a_closed_gate_keeps_the_published_generation(
    tmp_path: Path,
    config_of_first_night: Path,
    server: RegisterServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A gate is a condition of publication; here the minimum of companies, which the new edition does not reach."""
    before = pointer.current_name(tmp_path / "data")
    config_with_minimum = write_config(tmp_path, server, 'minimum = ["EE=1000000"]')
    server.publish(
        f"/{EE_NAME}", zipped(_rename_a_company(unzipped(EE_ZIP)), EE_NAME.removesuffix(".zip"))
    )

    code = run_night(config_with_minimum)

    printed, report = capsys.readouterr(), last_report(config_of_first_night)
    assert (code, report["etat"], pointer.current_name(tmp_path / "data")) == (1, "echec", before)
    assert printed.err.startswith("error: EE has 2665 companies, fewer than the minimum of 1000000")
    assert printed.out.startswith("failed: EE has 2665 companies")
    assert f"{before} stays published" in printed.out


# -- first runs, parallel runs and old reports ---------------------------------------


def test_a_first_run_in_which_all_sources_fail_fails(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.publish(f"/{EE_NAME}", b"", responders.send_html_page)
    server.publish(f"/{IE_NAME}", b"", responders.send_html_page)
    config = write_config(tmp_path, server)

    assert run_night(config) == 1

    assert "error: no source has anything to build" in capsys.readouterr().err
    assert source_results(config) == {"ee": "absent", "ie-cro": "absent"}


def test_two_runs_exclude_each_other(tmp_path: Path, server: RegisterServer) -> None:
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(1.0))
    command = [sys.executable, "-m", "pipeline", "nightly", str(config)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        while not (tmp_path / "work" / ".lock").exists():
            assert first.poll() is None
            time.sleep(0.01)
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        first.kill()

    assert second.returncode == 1
    assert re.fullmatch(rf"error: .* by process {first.pid}; .*\n", second.stderr)


def test_older_reports_than_configured_are_deleted(tmp_path: Path, server: RegisterServer) -> None:
    config = write_config(tmp_path, server, "reports = 1")
    reports = tmp_path / "work" / "reports"
    reports.mkdir(parents=True)
    (reports / "20200101T000000Z.json").write_text("{}")
    (reports / "20200101T000000Z.txt").write_text("")

    run_night(config)

    assert len(list(reports.iterdir())) == 2  # the JSON and the text of the last report
    assert not (reports / "20200101T000000Z.json").exists()


# -- runs that are killed --------------------------------------------------------------

# Module, function, and whether the process dies before or after the function.
KILL_MOMENTS = [
    ("pipeline.nightly.receipt", "write", "before"),
    ("pipeline.nightly.download", "RecordedPart.remove_record", "before"),
    ("pipeline.digests", "seal_folder", "before"),
    ("pipeline.nightly.imports", "_import", "after"),
    ("pipeline.publishing.build", "_reference_lists", "before"),
    ("shards.verify.invariants", "verify", "after"),
    ("shards.generations.pointer", "point_to", "before"),
    ("shards.generations.pointer", "point_to", "after"),
    ("shards.mirror.signature", "store", "before"),
    ("pipeline.nightly.imports", "prune", "before"),
]


def files_without_times(config: Path) -> dict[str, bytes]:
    """The files of a run by path, without files that contain times, with the generation's name replaced."""
    folder = config.parent
    # The time of an import is in `sources.json`, so also in the manifest (by a digest) and in the generation's name.
    with_times = re.compile(
        r"data/CURRENT|work/reports/.*|.*/\.fetch/.*|.*/\.lock|.*/(sources|manifest|digests)\.json"
        r"|data/(signatures|\.receipts)/?.*|work/verified"
    )
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for subfolder in ("work", "data")
        for path in sorted((folder / subfolder).rglob("*"))
        if path.is_file()
    }
    return {
        re.sub("data/[0-9a-f]{16}/", "data/GENERATION/", name): content
        for name, content in files.items()
        if not with_times.fullmatch(name)
    }


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function", "moment"), KILL_MOMENTS)
def test_a_killed_run_has_the_same_result_when_it_is_repeated(
    tmp_path: Path, server: RegisterServer, module: str, function: str, moment: str
) -> None:
    """The run is killed at a function; a second run then leaves the same files as a run that was never killed."""
    signature.keygen(tmp_path / "key")
    config = write_config(tmp_path, server, f'key = "{tmp_path / "key"}"')
    undisturbed = tmp_path / "undisturbed" / "nightly.toml"
    undisturbed.parent.mkdir()
    undisturbed.write_text(config.read_text())
    kill_arguments = ["-m", "tests.pipeline.kill_at", module, function, moment]

    killed_run = subprocess.run(
        [sys.executable, *kill_arguments, "nightly", str(config)], cwd=ROOT, check=False
    )
    exit_code = run_night(config)

    assert (killed_run.returncode, exit_code) == (-signal.SIGKILL, 0)
    assert run_night(undisturbed) == 0
    assert files_without_times(config) == files_without_times(undisturbed)


# -- changed editions of the Estonian register ---------------------------------------


def _estonia_founded_on(day: str) -> bytes:
    """The Estonian file, in which the youngest company was founded on `day`, and the others in 2015."""
    header, *rows = csv.reader(unzipped(EE_ZIP).decode("utf-8-sig").splitlines(), delimiter=";")
    column = header.index("ettevotja_esmakande_kpv")
    for row in rows:
        row[column] = "01.01.2015"
    rows[0][column] = day
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *rows])
    return zipped(text.getvalue().encode(), EE_NAME.removesuffix(".zip"))


def _rename_a_company(content: bytes) -> bytes:
    """The register with another name of its last company, as a new edition."""
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:-1], "Õunaaed ".encode() + lines[-1]])
