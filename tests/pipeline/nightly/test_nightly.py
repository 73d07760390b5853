"""Nightly runs: what is published, what stays when a source fails, and runs that are killed."""

import csv
import io
import itertools
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
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
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE, ESTONIA, unzipped, zipped

RAW = ROOT / "seeds" / "raw"
IE = "companies.csv.zip"
IRELAND = zipped((RAW / "ie" / "companies.csv").read_bytes(), "companies.csv")


@pytest.fixture
def server() -> Iterator[RegisterServer]:
    with ways.serving() as server:
        server.publish(f"/{EE}", ESTONIA)
        server.publish(f"/{IE}", IRELAND)
        yield server


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.001)
    monkeypatch.setattr("shards.mirror.download.TRIES", 2)


def configured(tmp_path: Path, server: RegisterServer, *more: str) -> Path:
    """A configuration that leads to the server."""
    wide = "size = [1, 100_000_000]\nrows = [1, 1_000_000]\n"
    path = tmp_path / "nightly.toml"
    path.write_text(
        'work = "work"\ndata = "data"\nsources = ["ee", "ie-cro"]\njobs = 1\n'
        + "".join(f"{line}\n" for line in more)
        + f'[source.ee]\naddresses = {{ "{EE}" = "{server.url}/{EE}" }}\n{wide}'
        + f'[source.ie-cro]\naddresses = {{ "{IE}" = "{server.url}/{IE}" }}\n{wide}'
    )
    return path


def run(config: Path, *flags: str) -> int:
    return main(["nightly", str(config), *flags])


def last_report(config: Path) -> dict[str, Any]:
    path = max(
        (config.parent / "work" / "reports").glob("*.json"), key=lambda p: p.stat().st_mtime_ns
    )
    return dict(json.loads(path.read_bytes()))


def results(config: Path) -> dict[str, str]:
    return {one["source"]: one["resultat"] for one in last_report(config)["sources"]}


def published(config: Path) -> dict[str, int]:
    """The companies of the countries that have any."""
    data = config.parent / "data"
    name = pointer.current_name(data)
    assert name is not None
    counts = generation_files.read_manifest(data / name).counts
    return {iso2: count for iso2, count in counts.items() if count}


def quality(config: Path) -> dict[str, Any]:
    """What the quality report of the published generation says of each country."""
    data = config.parent / "data"
    path = data / str(pointer.current_name(data)) / generation_files.QUALITY
    return dict(json.loads(path.read_bytes())["pays"])


# -- what is published ---------------------------------------------------------------


def test_a_run_publishes_what_registers_publish(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)

    code = run(config)

    shown, report = capsys.readouterr(), last_report(config)
    assert (code, shown.err) == (0, "")
    assert published(config) == {"EE": 2_665, "IE": 1}
    assert (report["etat"], report["precedente"], report["erreur"]) == ("complet", None, "")
    assert report["generation"] == pointer.current_name(tmp_path / "data")
    assert list(report["etapes"]) == ["fetch", "import", "verify", "build", "prune"]
    assert shown.out == max((tmp_path / "work" / "reports").glob("*.txt")).read_text()
    assert shown.out.startswith(f"published {report['generation']}; 0 of 2 sources failed\n")


def test_a_run_without_news_publishes_the_same_again(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    run(config)
    before = last_report(config)["generation"]
    capsys.readouterr()

    assert run(config) == 0

    assert last_report(config)["generation"] == before
    assert results(config) == {"ee": "inchange", "ie-cro": "inchange"}
    assert "again, nothing has changed" in capsys.readouterr().out


def test_a_new_edition_replaces_the_one_before(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server)
    run(config)
    server.publish(f"/{EE}", zipped(_renamed(unzipped(ESTONIA)), EE.removesuffix(".zip")))

    assert run(config) == 0

    assert results(config) == {"ee": "nouveau", "ie-cro": "inchange"}
    assert last_report(config)["generation"] != last_report(config)["precedente"]
    assert len(list((tmp_path / "work" / "input" / "ee").iterdir())) == 1  # the old one is pruned


def test_a_clock_that_is_set_back_and_forth_changes_no_night(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages took less than nothing; the newest edition is published at any hour"""
    jumps = itertools.cycle([timedelta(), timedelta(days=-400), timedelta(days=3)])

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Jumping":
            return super().now(tz) + next(jumps)

    monkeypatch.setattr(nightly, "datetime", Jumping)
    config = configured(tmp_path, server, 'textfile = "societes.prom"')
    second = zipped(_renamed(unzipped(ESTONIA)), EE.removesuffix(".zip"))
    names = []
    for _ in range(3):
        assert run(config) == 0
        found = last_report(config)
        assert min(found["etapes"].values()) >= 0
        assert min(source["secondes"] for source in found["sources"]) >= 0
        names.append(pointer.current_name(tmp_path / "data"))
        server.publish(f"/{EE}", second)

    assert names[0] != names[1] == names[2]
    assert results(config) == {"ee": "inchange", "ie-cro": "inchange"}


def test_a_generation_is_signed(tmp_path: Path, server: RegisterServer) -> None:
    public = signature.keygen(tmp_path / "key")
    config = configured(tmp_path, server, 'key = "key"')

    assert run(config) == 0

    name = last_report(config)["generation"]
    signed = (tmp_path / "data" / signature.path_of(name)).read_bytes()
    manifest = (tmp_path / "data" / name / generation_files.MANIFEST).read_bytes()
    signature.check(signature.public_key(public), name, manifest, signed)


def test_files_that_were_put_there_by_hand_are_imported(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = configured(tmp_path, server)
    config.write_text(config.read_text().replace('"ie-cro"]', '"sk-rpo"]'))
    (tmp_path / "work" / "raw" / "sk-rpo").mkdir(parents=True)
    (tmp_path / "work" / "raw" / "sk-rpo" / "rpo.json").write_bytes(
        (RAW / "sk" / "rpo_slovnaft_2026.json").read_bytes()
    )

    assert run(config) == 0

    assert last_report(config)["etat"] == "complet"
    assert published(config)["SK"] == 1


# -- what fails ----------------------------------------------------------------------


@pytest.mark.parametrize("way", [ways.page, ways.status(500), ways.cut(100)])
def test_a_source_that_fails_leaves_its_edition_of_yesterday(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str], way: ways.Way
) -> None:
    config = configured(tmp_path, server)
    run(config)
    before = last_report(config)["generation"]
    server.publish(f"/{EE}", ESTONIA + b"!", way)
    capsys.readouterr()

    code = run(config)

    shown, report = capsys.readouterr(), last_report(config)
    assert (code, report["etat"], report["generation"]) == (0, "partiel", before)
    assert results(config) == {"ee": "precedent", "ie-cro": "inchange"}
    assert "1 of 2 sources failed" in shown.out
    assert shown.err.startswith(f"warning: ee: {EE}: ")
    assert published(config) == {"EE": 2_665, "IE": 1}


def test_an_import_that_fails_leaves_the_one_of_yesterday(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Header, size and rows are right, so the fetch takes the file; no row has an identifier."""
    config = configured(tmp_path, server)
    run(config)
    header, *rows = csv.reader(unzipped(ESTONIA).decode("utf-8-sig").splitlines(), delimiter=";")
    text = io.StringIO()
    moved = [[f"{row[0]} {row[1]}", "", *row[2:]] for row in rows]
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *moved])
    server.publish(f"/{EE}", zipped(text.getvalue().encode(), EE.removesuffix(".zip")))
    capsys.readouterr()

    assert run(config) == 0

    (estonia, _) = last_report(config)["sources"]
    assert (estonia["resultat"], estonia["fichiers"][0]["resultat"]) == ("precedent", "nouveau")
    assert "none of 2,665 is kept: no identifier" in capsys.readouterr().err
    assert published(config) == {"EE": 2_665, "IE": 1}


def test_a_source_of_which_a_file_fails_is_new_in_part(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = configured(tmp_path, server)
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

    assert run(config) == 0

    assert last_report(config)["etat"] == "partiel"
    assert results(config) == {"ee": "nouveau", "uk-accounts": "partiel"}
    assert len(list((tmp_path / "work" / "input" / "uk-accounts").iterdir())) == 1


def test_an_edition_that_lost_rows_is_taken_when_it_is_accepted(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = configured(tmp_path, server)
    run(config)
    lines = unzipped(ESTONIA).splitlines(keepends=True)
    server.publish(f"/{EE}", zipped(b"".join(lines[:-500]), EE.removesuffix(".zip")))

    assert run(config) == 0
    assert results(config)["ee"] == "precedent"
    assert run(config, "--accept", "ee") == 0

    assert results(config)["ee"] == "nouveau"
    assert published(config)["EE"] < 2_665


def test_an_import_that_kept_fewer_rows_is_refused(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loss of five hundredths, which a fetch lets pass and the gates of a build would not."""
    config = configured(tmp_path, server)
    run(config)
    lines = unzipped(ESTONIA).splitlines(keepends=True)
    server.publish(f"/{EE}", zipped(b"".join(lines[:-135]), EE.removesuffix(".zip")))
    capsys.readouterr()

    assert run(config) == 0

    assert results(config)["ee"] == "precedent"
    assert (
        "were of the edition before; --accept ee takes it all the same" in capsys.readouterr().err
    )
    assert published(config)["EE"] == 2_665


def test_an_edition_never_goes_back(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    server.publish(f"/{EE}", _founded("20.11.2026"))
    run(config)
    server.publish(f"/{EE}", _founded("03.01.2025"))
    capsys.readouterr()

    assert run(config) == 0

    shown, (estonia, _) = capsys.readouterr(), last_report(config)["sources"]
    reason = f"{EE}: the edition is of 2025-01-03, the one before is of 2026-11-20; --accept ee takes it all the same"
    assert shown.err == f"warning: ee: {reason}\n"
    assert (estonia["resultat"], estonia["motifs"], estonia["date"]) == (
        "precedent", [reason], "2026-11-20",
    )  # fmt: skip
    assert quality(config)["EE"]["date_source"] == "2026-11-20"
    assert run(config, "--accept", "ee") == 0

    assert results(config)["ee"] == "nouveau"
    assert quality(config)["EE"]["date_source"] == "2025-01-03"
    assert run(config) == 0  # what was accepted is the edition before
    assert results(config)["ee"] == "inchange"


def test_an_old_register_is_old_however_lately_it_was_copied(
    tmp_path: Path, server: RegisterServer
) -> None:
    """Its server says that it is of today, and it came today."""
    config = configured(tmp_path, server)
    server.publish(f"/{EE}", _founded("14.01.2022"))

    run(config)

    (estonia, ireland) = last_report(config)["sources"]
    assert estonia["date"] == "2022-01-14"
    assert estonia["age_jours"] == (datetime.now(UTC) - datetime(2022, 1, 14, tzinfo=UTC)).days
    assert estonia["en_retard"]
    assert (
        f"ee: new, of 2022-01-14, {estonia['age_jours']} days old, overdue"
        in next((tmp_path / "work" / "reports").glob("*.txt")).read_text()
    )
    assert (ireland["date"], quality(config)["DE"]["date_source"]) == ("2020-07-15", None)


def test_what_breaks_an_invariant_is_not_published(
    tmp_path: Path,
    server: RegisterServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise CorruptError("EE.shard: row 3 is not in its cell")

    monkeypatch.setattr(invariants, "verify", broken)
    config = configured(tmp_path, server)

    assert run(config) == 1

    assert pointer.current_name(tmp_path / "data") is None
    assert capsys.readouterr().err == "error: EE.shard: row 3 is not in its cell\n"


def test_shards_that_have_not_changed_are_not_verified_again(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[list[Path]] = []
    check_all = invariants._check_all

    def spy(shards: Sequence[Shard], jobs: int, done: Callable[[], object]) -> None:
        checked.append([shard.path for shard in shards])
        check_all(shards, jobs, done)

    monkeypatch.setattr(invariants, "_check_all", spy)
    config = configured(tmp_path, server)
    run(config)
    server.publish(f"/{EE}", zipped(_renamed(unzipped(ESTONIA)), EE.removesuffix(".zip")))

    run(config)

    assert [len(shards) for shards in checked] == [25, 1]
    assert checked[1][0].name == "EE.shard"


def test_a_closed_gate_leaves_what_is_published(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    run(config)
    before = pointer.current_name(tmp_path / "data")
    capsys.readouterr()
    strict = configured(tmp_path, server, 'minimum = ["EE=1000000"]')
    server.publish(f"/{EE}", zipped(_renamed(unzipped(ESTONIA)), EE.removesuffix(".zip")))

    code = run(strict)

    shown, report = capsys.readouterr(), last_report(config)
    assert (code, report["etat"], pointer.current_name(tmp_path / "data")) == (1, "echec", before)
    assert shown.err.startswith("error: EE has 2665 companies, 1000000 are the minimum")
    assert shown.out.startswith("failed: EE has 2665 companies")
    assert f"{before} stays published" in shown.out


def test_a_run_without_anything_to_build_fails(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.publish(f"/{EE}", b"", ways.page)
    server.publish(f"/{IE}", b"", ways.page)
    config = configured(tmp_path, server)

    assert run(config) == 1

    assert "error: no source has anything to build" in capsys.readouterr().err
    assert results(config) == {"ee": "absent", "ie-cro": "absent"}


def test_two_runs_exclude_each_other(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server)
    server.publish(f"/{EE}", ESTONIA, ways.slow(1.0))
    command = [sys.executable, "-m", "pipeline", "nightly", str(config)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        while not (tmp_path / "work" / ".lock").exists():
            assert first.poll() is None
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        first.kill()

    assert second.returncode == 1
    assert re.fullmatch(rf"error: .* by process {first.pid}; .*\n", second.stderr)


def test_old_reports_go(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server, "reports = 1")
    reports = tmp_path / "work" / "reports"
    reports.mkdir(parents=True)
    (reports / "20200101T000000Z.json").write_text("{}")
    (reports / "20200101T000000Z.txt").write_text("")

    run(config)

    assert len(list(reports.iterdir())) == 2
    assert not (reports / "20200101T000000Z.json").exists()


# -- runs that are killed --------------------------------------------------------------

MOMENTS = [
    ("pipeline.nightly.receipt", "write", "before"),
    ("pipeline.nightly.download", "RecordedPart.remove_record", "before"),
    ("pipeline.digests", "seal_folder", "before"),
    ("pipeline.nightly.imports", "_import", "after"),
    ("pipeline.publishing.build", "_reference_lists", "before"),
    ("shards.verify.invariants", "verify", "after"),
    ("shards.generations.pointer", "point_to", "before"),
    ("shards.generations.pointer", "point_to", "after"),
    ("shards.mirror.signature", "keep", "before"),
    ("pipeline.nightly.imports", "prune", "before"),
]


def content(config: Path) -> dict[str, bytes]:
    """What a run leaves, but for the times in it."""
    folder = config.parent
    # The time of an import is in `sources.json`, so in the manifest that has its digest, and in the name of this.
    timed = re.compile(
        r"data/CURRENT|work/reports/.*|.*/\.fetch/.*|.*/\.lock|.*/(sources|manifest|digests)\.json"
        r"|data/(signatures|\.receipts)/?.*|work/verified"
    )
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("work", "data")
        for path in sorted((folder / kind).rglob("*"))
        if path.is_file()
    }
    return {
        re.sub("data/[0-9a-f]{16}/", "data/GENERATION/", name): read
        for name, read in found.items()
        if not timed.fullmatch(name)
    }


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function", "when"), MOMENTS)
def test_a_run_that_was_killed_ends_as_if_it_had_not_been(
    tmp_path: Path, server: RegisterServer, module: str, function: str, when: str
) -> None:
    signature.keygen(tmp_path / "key")
    config = configured(tmp_path, server, f'key = "{tmp_path / "key"}"')
    undisturbed = tmp_path / "undisturbed" / "nightly.toml"
    undisturbed.parent.mkdir()
    undisturbed.write_text(config.read_text())
    deadly = ["-m", "tests.pipeline.nightly.kill_at", module, function, when]

    killed = subprocess.run(
        [sys.executable, *deadly, "nightly", str(config)], cwd=ROOT, check=False
    )
    again = run(config)

    assert (killed.returncode, again) == (-signal.SIGKILL, 0)
    assert run(undisturbed) == 0
    assert content(config) == content(undisturbed)


def _founded(day: str) -> bytes:
    """The Estonian file, of which the youngest company was founded on `day`."""
    header, *rows = csv.reader(unzipped(ESTONIA).decode("utf-8-sig").splitlines(), delimiter=";")
    place = header.index("ettevotja_esmakande_kpv")
    for row in rows:
        row[place] = "01.01.2015"
    rows[0][place] = day
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *rows])
    return zipped(text.getvalue().encode(), EE.removesuffix(".zip"))


def _renamed(content: bytes) -> bytes:
    """Another edition: one company has another name."""
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:-1], "Õunaaed ".encode() + lines[-1]])
