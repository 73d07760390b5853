"""Fetches from a server that replays published files: what is taken, what is refused, what stays."""

import io
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import orjson
import pytest
from blake3 import blake3

from pipeline.errors import FetchError
from pipeline.nightly import fetching, published_files, receipt
from pipeline.nightly.fetching import FetchedFile, FetchSettings
from pipeline.nightly.published_files import SourceSettings
from tests import ROOT
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer

RAW = ROOT / "seeds" / "raw"
EE = "ettevotja_rekvisiidid__lihtandmed.csv.zip"
ESTONIA = (RAW / "ee" / EE).read_bytes()
NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
WIDE = (1, 1 << 30)


@pytest.fixture
def server() -> Iterator[RegisterServer]:
    with ways.serving() as server:
        yield server


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of a hundredth."""
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.001)
    monkeypatch.setattr("shards.mirror.download._LONGEST_SECONDS", 0.3)


def settings(
    server: RegisterServer, source: str = "ee", names: tuple[str, ...] = (EE,)
) -> FetchSettings:
    """Settings that lead to the server, with bounds that fit an excerpt."""
    addresses = {name: f"{server.url}/{name}" for name in names}
    return FetchSettings(
        sources={source: SourceSettings(addresses, size=WIDE, rows=WIDE)}, silence=5
    )


def fetch(
    tmp_path: Path, wanted: FetchSettings, source: str = "ee", now: datetime = NOW
) -> list[FetchedFile]:
    return fetching.run([source], tmp_path / "raw", wanted, now=now)


def one(tmp_path: Path, wanted: FetchSettings, source: str = "ee") -> FetchedFile:
    (found,) = fetch(tmp_path, wanted, source)
    return found


def here(tmp_path: Path, source: str = "ee") -> dict[str, bytes]:
    """The files of a source as an import finds them."""
    folder = tmp_path / "raw" / source
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def zipped(content: bytes, name: str = "data.csv") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def unzipped(packed: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return archive.read(archive.namelist()[0])


# -- what is taken -------------------------------------------------------------------


def test_a_file_is_taken_with_its_digests_and_its_date(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA)

    found = one(tmp_path, settings(server))

    said = orjson.loads((tmp_path / "raw" / "ee" / ".fetch" / f"{EE}.json").read_bytes())
    assert (found.result, here(tmp_path)) == ("nouveau", {EE: ESTONIA})
    assert (said["octets"], said["modifie"]) == (len(ESTONIA), ways.LAST_MODIFIED)
    assert said["lignes"] == unzipped(ESTONIA).count(b"\n") - 1
    assert said["blake3"] == blake3(ESTONIA).hexdigest()
    assert said["sha256"] == sha256(ESTONIA).hexdigest()
    assert server.headers("Accept-Encoding") == ["identity"]


def test_a_register_is_told_who_asks(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA)

    one(tmp_path, replace(settings(server), contact="data@example.org"))

    (agent,) = server.headers("User-Agent")
    assert agent is not None
    assert agent.startswith("societes/")
    assert agent.endswith("(+data@example.org)")


def test_what_has_not_changed_is_not_sent_again(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA)
    one(tmp_path, settings(server))

    (again,) = fetch(tmp_path, settings(server), now=NOW + timedelta(days=1))

    assert again.result == "inchange"
    assert again.receipt is not None
    assert (again.receipt.recu, again.receipt.verifie) == (
        "2026-11-22T03:00:00+00:00", "2026-11-23T03:00:00+00:00",
    )  # fmt: skip
    assert server.headers("If-None-Match") == [None, ways.tag(ESTONIA)]


def test_the_same_bytes_are_the_same_edition_without_validators(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.bare)

    results = [one(tmp_path, settings(server)).result for _ in range(2)]

    assert results == ["nouveau", "inchange"]


def test_a_file_that_was_damaged_here_is_fetched_again(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA)
    one(tmp_path, settings(server))
    (tmp_path / "raw" / "ee" / EE).write_bytes(ESTONIA[:-1])

    found = one(tmp_path, settings(server))

    assert (found.result, here(tmp_path)) == ("nouveau", {EE: ESTONIA})


# -- failures that pass --------------------------------------------------------------


def test_a_download_that_breaks_off_is_resumed(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.cut(1 << 14), ways.honest)

    found = one(tmp_path, settings(server))

    assert (found.result, here(tmp_path)) == ("nouveau", {EE: ESTONIA})
    first, second = server.headers("Range")
    assert first is None
    assert second is not None
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= 1 << 14
    assert server.headers("If-Range") == [None, ways.tag(ESTONIA)]


def test_a_range_may_come_in_portions(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.cut(1 << 14), ways.portions(1 << 14))

    found = one(tmp_path, settings(server))

    assert (found.result, here(tmp_path)) == ("nouveau", {EE: ESTONIA})


def test_a_file_that_changes_during_a_download_comes_whole(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.cut(1 << 14))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shards.mirror.download.TRIES", 1)
        assert one(tmp_path, settings(server)).result == "refuse"
    newer = zipped(unzipped(ESTONIA) + unzipped(ESTONIA).splitlines(keepends=True)[-1])
    server.publish(f"/{EE}", newer)

    found = one(tmp_path, settings(server))

    assert (found.result, here(tmp_path)) == ("nouveau", {EE: newer})
    assert len(server.asked) == 2


def test_the_wait_is_as_long_as_the_server_asks(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.status(503, Retry_After="1"), ways.honest)
    said: list[str] = []

    fetching.run(["ee"], tmp_path / "raw", settings(server), now=NOW, report=said.append)

    (message,) = said
    assert message.endswith("answers 503; trying again in 1 s")


def test_a_server_that_falls_silent_is_given_up(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(2.0), ways.honest)

    found = one(tmp_path, replace(settings(server), silence=0.3))

    assert found.result == "nouveau"
    assert len(server.asked) == 2


# -- what is refused, with the old file in its place -----------------------------------


def _more_columns(content: bytes) -> bytes:
    return content.replace(b";teabesysteemi_link", b";uus_veerg;teabesysteemi_link", 1)


def _other_name(content: bytes) -> bytes:
    return content.replace(b"ariregistri_kood", b"registrikood", 1)


def _half(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


@pytest.mark.parametrize(
    ("content", "way", "why"),
    [
        (ESTONIA[:-5_000], ways.honest, "is no zip"),
        (ESTONIA[:9_000] + b"\0" * 500 + ESTONIA[9_500:], ways.honest, "is damaged"),
        (b"<!doctype html><p>Hooldus", ways.bare, "sends a web page instead of data"),
        (b"", ways.page, "sends a web page instead of data"),
        (zipped(_more_columns(unzipped(ESTONIA))), ways.honest, "unknown column 'uus_veerg'"),
        (zipped(_other_name(unzipped(ESTONIA))), ways.honest, "unknown column 'registrikood'"),
        (zipped(_half(unzipped(ESTONIA))), ways.honest, "the edition before had"),
        (zipped(unzipped(ESTONIA) * 2), ways.honest, "the edition before had"),
        (ESTONIA + b"!", ways.cut(1 << 14), "cannot be read: .*content"),
        (ESTONIA + b"!", ways.status(403), "answers 403"),
        (ESTONIA + b"!", ways.status(301, Location="http://localhost:9/x"), "redirects to http://localhost:9"),
        (ESTONIA + b"!", ways.status(503, Retry_After="7200"), "answers 503"),
    ],
)  # fmt: skip
def test_what_is_no_good_file_changes_nothing(
    tmp_path: Path, server: RegisterServer, content: bytes, way: ways.Way, why: str
) -> None:
    server.publish(f"/{EE}", ESTONIA)
    one(tmp_path, settings(server))
    before = (tmp_path / "raw" / "ee" / ".fetch" / f"{EE}.json").read_bytes()
    server.publish(f"/{EE}", content, way)

    found = one(tmp_path, settings(server))

    assert found.result == "refuse"
    assert re.search(why, found.reason), found.reason
    assert here(tmp_path) == {EE: ESTONIA}
    assert (tmp_path / "raw" / "ee" / ".fetch" / f"{EE}.json").read_bytes() == before


def test_a_file_that_is_announced_too_large_is_not_downloaded(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA)
    small = SourceSettings({EE: f"{server.url}/{EE}"}, size=(1, 1_000), rows=WIDE)

    found = one(tmp_path, FetchSettings(sources={"ee": small}))

    assert found.result == "refuse"
    assert "1 to 1,000 are credible" in found.reason
    assert here(tmp_path) == {}
    assert list((tmp_path / "raw" / "ee" / ".fetch").iterdir()) == []


def test_a_file_with_too_few_rows_is_kept_aside_and_accepted_on_demand(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA)
    many = FetchSettings(
        sources={
            "ee": SourceSettings({EE: f"{server.url}/{EE}"}, size=WIDE, rows=(1 << 20, 1 << 30))
        }
    )

    refused = one(tmp_path, many)
    kept = (tmp_path / "raw" / "ee" / ".fetch" / f"{EE}.refused").read_bytes()
    accepted = one(tmp_path, replace(many, accept=frozenset({"ee"})))

    assert (refused.result, kept, accepted.result) == ("refuse", ESTONIA, "nouveau")
    assert refused.reason.endswith("--accept takes it all the same")


# -- hosts and accounts --------------------------------------------------------------


def test_a_redirect_leads_to_an_allowed_host_without_the_key(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = server.url.replace("127.0.0.1", "localhost")
    server.publish("/new.zip", ESTONIA)
    server.publish(f"/{EE}", b"", ways.status(302, Location=f"{other}/new.zip"))
    (row,) = published_files.read()["ee"]
    monkeypatch.setattr(
        published_files,
        "read",
        lambda: {"ee": (replace(row, hosts=("localhost",), header="X-Key"),)},
    )
    known = settings(server).sources["ee"]

    found = one(tmp_path, FetchSettings(sources={"ee": replace(known, secret="s3cret")}))

    assert (found.result, here(tmp_path)) == ("nouveau", {EE: ESTONIA})
    assert server.headers("X-Key") == ["s3cret", None]


def test_a_source_that_takes_an_account_says_which_variable_to_set(tmp_path: Path) -> None:
    found = one(tmp_path, FetchSettings(), "be-nbb")

    assert found.result == "refuse"
    assert "set FETCH_SECRET_BE_NBB to the value of the header" in found.reason


def test_a_source_without_an_address_says_where_its_files_go(tmp_path: Path) -> None:
    found = one(tmp_path, FetchSettings(), "pl-krs")

    assert found.result == "manuel"
    assert f"put the files into {tmp_path / 'raw' / 'pl-krs'}" in found.reason


def test_an_unknown_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="unknown source 'zz'; known: be-kbo, "):
        fetch(tmp_path, FetchSettings(), "zz")


@pytest.mark.parametrize("name", ["../x.zip", ".x.zip", " "])
def test_the_name_of_a_file_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    wrong = FetchSettings(sources={"ee": SourceSettings({name: "https://example.org/x.zip"})})

    with pytest.raises(FetchError, match="is no name of a file"):
        fetch(tmp_path, wrong)


def test_a_host_is_asked_by_one_connection_at_a_time(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.002))
    server.publish("/companies.csv", RAW / "ie" / "companies.csv", ways.slow(0.002))
    sources = {
        "ee": SourceSettings({EE: f"{server.url}/{EE}"}, size=WIDE, rows=WIDE),
        "ie-cro": SourceSettings(
            {"companies.csv.zip": f"{server.url}/{EE}", "companies.csv": f"{server.url}/companies.csv"},
            size=WIDE, rows=WIDE,
        ),
    }  # fmt: skip

    found = fetching.run(
        ["ee", "ie-cro"], tmp_path / "raw", FetchSettings(sources=sources), now=NOW
    )

    assert [file.result for file in found] == ["nouveau", "refuse", "nouveau"]
    assert server.most_at_once == 1


# -- editions ------------------------------------------------------------------------


def monthly(server: RegisterServer) -> FetchSettings:
    name = "BasicCompanyDataAsOneFile-{date:%Y-%m}-01.zip"
    return FetchSettings(
        sources={"uk-basic": SourceSettings({name: f"{server.url}/{name}"}, size=WIDE, rows=WIDE)}
    )


def test_the_newest_edition_takes_the_place_of_the_one_before(
    tmp_path: Path, server: RegisterServer
) -> None:
    content = (RAW / "uk" / "BasicCompanyData-southyorkshire.zip").read_bytes()
    server.publish("/BasicCompanyDataAsOneFile-2026-10-01.zip", content)
    october = one(tmp_path, monthly(server), "uk-basic")
    server.publish("/BasicCompanyDataAsOneFile-2026-11-01.zip", content)

    november = one(tmp_path, monthly(server), "uk-basic")

    assert [found.name[-14:] for found in (october, november)] == [
        "2026-10-01.zip",
        "2026-11-01.zip",
    ]
    assert list(here(tmp_path, "uk-basic")) == ["BasicCompanyDataAsOneFile-2026-11-01.zip"]


def test_an_edition_that_is_found_nowhere_is_an_error(
    tmp_path: Path, server: RegisterServer
) -> None:
    found = one(tmp_path, monthly(server), "uk-basic")

    assert found.result == "refuse"
    assert "2026-11-01.zip is not there (HTTP 404); the register may have moved it" in found.reason
    assert len(server.asked) == 3  # two periods back


def test_editions_of_days_add_up_and_are_asked_for_once(
    tmp_path: Path, server: RegisterServer
) -> None:
    name = "Accounts_Bulk_Data-{date:%Y-%m-%d}.zip"
    daily = FetchSettings(
        sources={
            "uk-accounts": SourceSettings({name: f"{server.url}/{name}"}, size=WIDE, rows=WIDE)
        }
    )
    for day in ("2026-11-20", "2026-11-21"):
        server.publish(
            f"/Accounts_Bulk_Data-{day}.zip", RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
        )
    first = fetch(tmp_path, daily, "uk-accounts")
    server.asked.clear()

    (again,) = fetch(tmp_path, daily, "uk-accounts")

    assert [file.result for file in first] == ["nouveau", "nouveau"]
    assert again.result == "inchange"
    assert len(here(tmp_path, "uk-accounts")) == 2
    assert not [path for path, _ in server.asked if path.endswith(("11-20.zip", "11-21.zip"))]


def test_a_day_that_is_refused_does_not_keep_the_others_away(
    tmp_path: Path, server: RegisterServer
) -> None:
    name = "Accounts_Bulk_Data-{date:%Y-%m-%d}.zip"
    daily = FetchSettings(
        sources={
            "uk-accounts": SourceSettings({name: f"{server.url}/{name}"}, size=WIDE, rows=WIDE)
        }
    )
    good = (RAW / "uk" / "Accounts_Bulk_Data-sample.zip").read_bytes()
    for day, content in (("2026-11-19", good), ("2026-11-20", good[:-9_000]), ("2026-11-21", good)):
        server.publish(f"/Accounts_Bulk_Data-{day}.zip", content)

    found = fetch(tmp_path, daily, "uk-accounts")

    assert [file.result for file in found] == ["nouveau", "refuse", "nouveau"]


def test_a_full_disk_is_an_error_of_the_disk(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    server.publish(f"/{EE}", ESTONIA)
    monkeypatch.setattr(receipt, "write", full)

    with pytest.raises(OSError, match="No space left"):
        fetch(tmp_path, settings(server))


def test_what_is_never_published_again_is_asked_for_once(
    tmp_path: Path, server: RegisterServer
) -> None:
    name = "de_companies_ocdata.jsonl.bz2"
    server.publish(f"/{name}", RAW / "de" / "offeneregister_excerpt.jsonl.bz2")
    known = settings(server, "de-offeneregister", (name,))

    results = [one(tmp_path, known, "de-offeneregister").result for _ in range(2)]

    assert results == ["nouveau", "inchange"]
    assert len(server.asked) == 1


# -- the command ---------------------------------------------------------------------


def config(tmp_path: Path, server: RegisterServer) -> Path:
    path = tmp_path / "fetch.toml"
    path.write_text(
        f'[source.ee]\naddresses = {{ "{EE}" = "{server.url}/{EE}" }}\n'
        "size = [1, 100_000_000]\nrows = [1, 1_000_000]\n"
    )
    return path


def command(tmp_path: Path, server: RegisterServer) -> list[str]:
    where = ["--out", str(tmp_path / "raw"), "--config", str(config(tmp_path, server))]
    return [sys.executable, "-m", "pipeline", "fetch", "ee", *where]


def test_a_fetch_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA, ways.slow(0.05), ways.honest)
    part = tmp_path / "raw" / "ee" / ".fetch" / EE
    with subprocess.Popen(command(tmp_path, server), cwd=ROOT) as process:
        while not part.exists() or part.stat().st_size < 1 << 14:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    had = part.stat().st_size

    done = subprocess.run(command(tmp_path, server), cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"ee: {EE}: new, {len(ESTONIA):,} bytes, ")
    assert here(tmp_path) == {EE: ESTONIA}
    first, second = server.headers("Range")
    assert first is None
    assert second is not None
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= had  # the last checkpoint


def test_a_fetch_that_is_refused_fails_with_one_line(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", b"", ways.page)

    done = subprocess.run(command(tmp_path, server), cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: ee: {EE}: refused: {server.url}/{EE} sends a web page")
    assert done.stderr.count("\n") == 1


def test_a_fetch_goes_through_the_proxy_of_the_environment(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE}", ESTONIA)
    line = command(tmp_path, server)
    path = tmp_path / "fetch.toml"
    path.write_text(path.read_text().replace(server.url, "http://register.invalid"))

    done = subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"http_proxy": server.url}
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert server.headers("Host") == ["register.invalid"]
