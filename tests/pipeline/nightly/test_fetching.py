"""Fetches from a server that replays published files: accepted files, refused files, and files that stay."""

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
from aiohttp import web
from blake3 import blake3

from pipeline.errors import FetchError
from pipeline.nightly import fetching, published_files, receipt
from pipeline.nightly.fetching import FetchedFile, FetchSettings
from pipeline.nightly.published_files import SourceSettings
from tests import ROOT
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer

RAW = ROOT / "seeds" / "raw"
EE_NAME = "ettevotja_rekvisiidid__lihtandmed.csv.zip"  # of the published file of Estonia
EE_ZIP = (RAW / "ee" / EE_NAME).read_bytes()
CUT_BYTES = 1 << 14  # where a download breaks off, inside the Estonian file
NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)  # the time of a fetch
# Another content than the stored file, because the server would answer "unchanged" to the same content.
CHANGED_ZIP = EE_ZIP + b"!"
WIDE_BOUNDS = (1, 1 << 30)  # of sizes and of row counts: an excerpt is within them


@pytest.fixture
def server() -> Iterator[RegisterServer]:
    """A new server for each test."""
    with responders.running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a millisecond before a second attempt, and never longer than 0.3 s."""
    monkeypatch.setattr("shards.mirror.download._FIRST_SECONDS", 0.001)
    monkeypatch.setattr("shards.mirror.download._LONGEST_SECONDS", 0.3)


def settings(
    server: RegisterServer, source: str = "ee", names: tuple[str, ...] = (EE_NAME,)
) -> FetchSettings:
    """Settings that fetch the files `names` of a source from the server, and accept them at any size."""
    addresses = {name: f"{server.url}/{name}" for name in names}
    return FetchSettings(
        sources={source: SourceSettings(addresses, size=WIDE_BOUNDS, rows=WIDE_BOUNDS)}, silence=5
    )


def fetch(
    tmp_path: Path, settings: FetchSettings, source: str = "ee", now: datetime = NOW
) -> list[FetchedFile]:
    """Fetch the files of a source into the folder `raw`."""
    return fetching.run([source], tmp_path / "raw", settings, now=now)


def fetch_one(tmp_path: Path, settings: FetchSettings, source: str = "ee") -> FetchedFile:
    """Fetch the only file of a source."""
    (file,) = fetch(tmp_path, settings, source)
    return file


def stored_files(tmp_path: Path, source: str = "ee") -> dict[str, bytes]:
    """The files of a source that an import would read, by name."""
    folder = tmp_path / "raw" / source
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def zipped(content: bytes, name: str = "data.csv") -> bytes:
    """A zip that contains `content` alone."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def unzipped(packed: bytes) -> bytes:
    """The first file of a zip."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return archive.read(archive.namelist()[0])


# -- accepted files ------------------------------------------------------------------


def test_a_fetched_file_has_a_receipt_with_its_digests_and_its_date(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)

    file = fetch_one(tmp_path, settings(server))

    stored_receipt = orjson.loads(
        (tmp_path / "raw" / "ee" / ".fetch" / f"{EE_NAME}.json").read_bytes()
    )
    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: EE_ZIP})
    assert (stored_receipt["octets"], stored_receipt["modifie"]) == (
        len(EE_ZIP),
        responders.LAST_MODIFIED,
    )
    assert stored_receipt["lignes"] == unzipped(EE_ZIP).count(b"\n") - 1
    assert stored_receipt["blake3"] == blake3(EE_ZIP).hexdigest()
    assert stored_receipt["sha256"] == sha256(EE_ZIP).hexdigest()
    assert server.headers("Accept-Encoding") == ["identity"]


def test_the_user_agent_has_the_contact(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)

    fetch_one(tmp_path, replace(settings(server), contact="data@example.org"))

    (agent,) = server.headers("User-Agent")
    assert agent is not None
    assert agent.startswith("societes/")
    assert agent.endswith("(+data@example.org)")


def test_an_unchanged_file_is_not_sent_again(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    fetch_one(tmp_path, settings(server))

    (second_fetch,) = fetch(tmp_path, settings(server), now=NOW + timedelta(days=1))

    assert second_fetch.result == "inchange"
    assert second_fetch.receipt is not None
    assert (second_fetch.receipt.recu, second_fetch.receipt.verifie) == (
        "2026-11-22T03:00:00+00:00", "2026-11-23T03:00:00+00:00",
    )  # fmt: skip
    assert server.headers("If-None-Match") == [None, responders.etag(EE_ZIP)]


def test_without_validators_the_same_bytes_count_as_unchanged(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.send_without_validators)

    results = [fetch_one(tmp_path, settings(server)).result for _ in range(2)]

    assert results == ["nouveau", "inchange"]


def test_a_stored_file_that_was_damaged_is_fetched_again(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    fetch_one(tmp_path, settings(server))
    (tmp_path / "raw" / "ee" / EE_NAME).write_bytes(EE_ZIP[:-1])

    file = fetch_one(tmp_path, settings(server))

    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: EE_ZIP})


# -- temporary failures --------------------------------------------------------------


def test_a_download_that_breaks_off_is_resumed(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.cut_at(CUT_BYTES), responders.follow_rfc9110)

    file = fetch_one(tmp_path, settings(server))

    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: EE_ZIP})
    first, second = server.headers("Range")
    assert first is None
    assert second is not None
    assert 0 < int(second.removeprefix("bytes=").removesuffix("-")) <= CUT_BYTES
    assert server.headers("If-Range") == [None, responders.etag(EE_ZIP)]


def test_a_resumed_download_may_come_in_several_ranges(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(
        f"/{EE_NAME}", EE_ZIP, responders.cut_at(CUT_BYTES), responders.send_in_portions(CUT_BYTES)
    )

    file = fetch_one(tmp_path, settings(server))

    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: EE_ZIP})


def test_a_file_that_changed_after_a_broken_download_is_fetched_from_its_start(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.cut_at(CUT_BYTES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shards.mirror.download.TRIES", 1)
        assert fetch_one(tmp_path, settings(server)).result == "refuse"
    newer = zipped(unzipped(EE_ZIP) + unzipped(EE_ZIP).splitlines(keepends=True)[-1])
    server.publish(f"/{EE_NAME}", newer)

    file = fetch_one(tmp_path, settings(server))

    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: newer})
    assert len(server.requests) == 2


@pytest.mark.parametrize("change", ["tag", "size"])
def test_bytes_of_two_editions_are_not_joined(
    tmp_path: Path, server: RegisterServer, change: str
) -> None:
    """A server that ignores If-Range sends the end of another edition, so the file is fetched from its start."""
    newer = EE_ZIP[:-1] + b"?" if change == "tag" else EE_ZIP + b"?"

    async def send_newer_edition(request: web.Request, _: bytes) -> web.StreamResponse:
        start = request.http_range.start
        headers = {"Content-Range": f"bytes {start}-{len(newer) - 1}/{len(newer)}"}
        if change == "tag":
            headers["ETag"] = responders.etag(newer)
        return web.Response(status=206, body=newer[start:], headers=headers)

    server.publish(
        f"/{EE_NAME}",
        EE_ZIP,
        responders.cut_at(CUT_BYTES),
        send_newer_edition,
        responders.follow_rfc9110,
    )

    assert fetch_one(tmp_path, settings(server)).result == "nouveau"
    assert stored_files(tmp_path) == {EE_NAME: EE_ZIP}
    first, second, third = server.headers("Range")
    assert (first, third) == (None, None)
    assert second


def test_the_wait_is_as_long_as_the_server_asks(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(
        f"/{EE_NAME}",
        EE_ZIP,
        responders.send_status(503, Retry_After="1"),
        responders.follow_rfc9110,
    )
    messages: list[str] = []

    fetching.run(["ee"], tmp_path / "raw", settings(server), now=NOW, report=messages.append)

    (message,) = messages
    assert message.endswith("answers 503; trying again in 1 s")


def test_a_silent_server_is_requested_again(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(
        f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(10.0), responders.follow_rfc9110
    )

    file = fetch_one(tmp_path, replace(settings(server), silence=5))

    assert file.result == "nouveau"
    assert len(server.requests) == 2


# -- refused files, in whose place the old file stays ------------------------------------


def _add_column(content: bytes) -> bytes:
    """The Estonian CSV with a further name in its header."""
    return content.replace(b";teabesysteemi_link", b";uus_veerg;teabesysteemi_link", 1)


def _rename_id_column(content: bytes) -> bytes:
    """The Estonian CSV with another name of the column of identifiers."""
    return content.replace(b"ariregistri_kood", b"registrikood", 1)


def _first_half(content: bytes) -> bytes:
    """The header and the first half of the rows: a published file that was cut."""
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2])


@pytest.mark.parametrize(
    ("content", "responder", "reason"),
    [
        (EE_ZIP[:-5_000], responders.follow_rfc9110, "is not a zip"),
        (EE_ZIP[:9_000] + b"\0" * 500 + EE_ZIP[9_500:], responders.follow_rfc9110, "is damaged"),
        (b"<!doctype html><p>Hooldus", responders.send_without_validators, "sends a web page instead of data"),
        (b"", responders.send_html_page, "sends a web page instead of data"),
        (zipped(_add_column(unzipped(EE_ZIP))), responders.follow_rfc9110, "unknown column 'uus_veerg'"),
        (zipped(_rename_id_column(unzipped(EE_ZIP))), responders.follow_rfc9110, "unknown column 'registrikood'"),
        (zipped(_first_half(unzipped(EE_ZIP))), responders.follow_rfc9110, "the edition before had"),
        (zipped(unzipped(EE_ZIP) * 2), responders.follow_rfc9110, "the edition before had"),
        (CHANGED_ZIP, responders.cut_at(CUT_BYTES), "breaks off at byte"),
        (CHANGED_ZIP, responders.send_status(403), "answers 403"),
        (
            CHANGED_ZIP,
            responders.send_status(301, Location="http://localhost:9/x"),
            "redirects to http://localhost:9",
        ),
        (CHANGED_ZIP, responders.send_status(503, Retry_After="7200"), "answers 503"),
    ],
)  # fmt: skip
def test_a_bad_file_replaces_neither_the_earlier_file_nor_its_receipt(
    tmp_path: Path,
    server: RegisterServer,
    content: bytes,
    responder: responders.Responder,
    reason: str,
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    fetch_one(tmp_path, settings(server))
    before = (tmp_path / "raw" / "ee" / ".fetch" / f"{EE_NAME}.json").read_bytes()
    server.publish(f"/{EE_NAME}", content, responder)

    file = fetch_one(tmp_path, settings(server))

    assert file.result == "refuse"
    assert re.search(reason, file.reason), file.reason
    assert stored_files(tmp_path) == {EE_NAME: EE_ZIP}
    assert (tmp_path / "raw" / "ee" / ".fetch" / f"{EE_NAME}.json").read_bytes() == before


def test_a_file_that_is_announced_too_large_is_not_downloaded(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    small_bound = SourceSettings(
        {EE_NAME: f"{server.url}/{EE_NAME}"}, size=(1, 1_000), rows=WIDE_BOUNDS
    )

    file = fetch_one(tmp_path, FetchSettings(sources={"ee": small_bound}))

    assert file.result == "refuse"
    assert "1 to 1,000 are credible" in file.reason
    assert stored_files(tmp_path) == {}
    assert list((tmp_path / "raw" / "ee" / ".fetch").iterdir()) == []


def test_a_file_with_too_few_rows_is_kept_aside_and_accepted_on_demand(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    many_rows_required = FetchSettings(
        sources={
            "ee": SourceSettings(
                {EE_NAME: f"{server.url}/{EE_NAME}"}, size=WIDE_BOUNDS, rows=(1 << 20, 1 << 30)
            )
        }
    )

    refused = fetch_one(tmp_path, many_rows_required)
    refused_bytes = (tmp_path / "raw" / "ee" / ".fetch" / f"{EE_NAME}.refused").read_bytes()
    accepted = fetch_one(tmp_path, replace(many_rows_required, accept=frozenset({"ee"})))

    assert (refused.result, refused_bytes, accepted.result) == ("refuse", EE_ZIP, "nouveau")
    assert refused.reason.endswith("--accept accepts it anyway")


# -- sources, hosts and accounts -----------------------------------------------------


def test_a_redirect_leads_to_an_allowed_host_without_the_key(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host that redirects gets the key of the source; the allowed other host gets the request without it."""
    other_host_url = server.url.replace("127.0.0.1", "localhost")
    server.publish("/new.zip", EE_ZIP)
    server.publish(
        f"/{EE_NAME}", b"", responders.send_status(302, Location=f"{other_host_url}/new.zip")
    )
    (row,) = published_files.read()["ee"]
    monkeypatch.setattr(
        published_files,
        "read",
        lambda: {"ee": (replace(row, hosts=("localhost",), header="X-Key"),)},
    )
    source = settings(server).sources["ee"]

    file = fetch_one(tmp_path, FetchSettings(sources={"ee": replace(source, secret="s3cret")}))

    assert (file.result, stored_files(tmp_path)) == ("nouveau", {EE_NAME: EE_ZIP})
    assert server.headers("X-Key") == ["s3cret", None]


def test_a_source_that_requires_an_account_names_the_variable_to_set(tmp_path: Path) -> None:
    file = fetch_one(tmp_path, FetchSettings(), "be-nbb")

    assert file.result == "refuse"
    assert "set FETCH_SECRET_BE_NBB to the value of the header" in file.reason


def test_a_source_without_an_address_names_the_folder_of_its_files(tmp_path: Path) -> None:
    file = fetch_one(tmp_path, FetchSettings(), "pl-krs")

    assert file.result == "manuel"
    assert f"put the files into {tmp_path / 'raw' / 'pl-krs'}" in file.reason


def test_an_unknown_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="unknown source 'zz'; known: be-kbo, "):
        fetch(tmp_path, FetchSettings(), "zz")


@pytest.mark.parametrize("name", ["../x.zip", ".x.zip", " "])
def test_a_name_with_a_path_or_a_leading_dot_or_of_blanks_is_refused(
    tmp_path: Path, name: str
) -> None:
    wrong_settings = FetchSettings(
        sources={"ee": SourceSettings({name: "https://example.org/x.zip"})}
    )

    with pytest.raises(FetchError, match="is not a file name"):
        fetch(tmp_path, wrong_settings)


def test_a_host_gets_one_request_at_a_time(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(0.002))
    server.publish(
        "/companies.csv", RAW / "ie" / "companies.csv", responders.pause_between_chunks(0.002)
    )
    sources = {
        "ee": SourceSettings({EE_NAME: f"{server.url}/{EE_NAME}"}, size=WIDE_BOUNDS, rows=WIDE_BOUNDS),
        "ie-cro": SourceSettings(
            {"companies.csv.zip": f"{server.url}/{EE_NAME}", "companies.csv": f"{server.url}/companies.csv"},
            size=WIDE_BOUNDS, rows=WIDE_BOUNDS,
        ),
    }  # fmt: skip

    files = fetching.run(
        ["ee", "ie-cro"], tmp_path / "raw", FetchSettings(sources=sources), now=NOW
    )

    # The Irish zip is refused, because its address gives the Estonian file.
    assert [file.result for file in files] == ["nouveau", "refuse", "nouveau"]
    assert server.most_open_requests == 1


# -- editions ------------------------------------------------------------------------


def monthly_settings(server: RegisterServer) -> FetchSettings:
    """Settings of a register that publishes an edition a month."""
    name = "BasicCompanyDataAsOneFile-{date:%Y-%m}-01.zip"
    return FetchSettings(
        sources={
            "uk-basic": SourceSettings(
                {name: f"{server.url}/{name}"}, size=WIDE_BOUNDS, rows=WIDE_BOUNDS
            )
        }
    )


def test_the_newest_edition_replaces_the_edition_before(
    tmp_path: Path, server: RegisterServer
) -> None:
    content = (RAW / "uk" / "BasicCompanyData-southyorkshire.zip").read_bytes()
    server.publish("/BasicCompanyDataAsOneFile-2026-10-01.zip", content)
    october = fetch_one(tmp_path, monthly_settings(server), "uk-basic")
    server.publish("/BasicCompanyDataAsOneFile-2026-11-01.zip", content)

    november = fetch_one(tmp_path, monthly_settings(server), "uk-basic")

    assert [edition.name[-14:] for edition in (october, november)] == [
        "2026-10-01.zip",
        "2026-11-01.zip",
    ]
    assert list(stored_files(tmp_path, "uk-basic")) == ["BasicCompanyDataAsOneFile-2026-11-01.zip"]


def test_a_file_without_any_edition_is_an_error(tmp_path: Path, server: RegisterServer) -> None:
    file = fetch_one(tmp_path, monthly_settings(server), "uk-basic")

    assert file.result == "refuse"
    assert "2026-11-01.zip is not there (HTTP 404); the register may have moved it" in file.reason
    assert len(server.requests) == 3  # for this month and the two months before


def test_editions_of_days_add_up_and_are_requested_once(
    tmp_path: Path, server: RegisterServer
) -> None:
    name = "Accounts_Bulk_Data-{date:%Y-%m-%d}.zip"
    daily = FetchSettings(
        sources={
            "uk-accounts": SourceSettings(
                {name: f"{server.url}/{name}"}, size=WIDE_BOUNDS, rows=WIDE_BOUNDS
            )
        }
    )
    for day in ("2026-11-20", "2026-11-21"):
        server.publish(
            f"/Accounts_Bulk_Data-{day}.zip", RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
        )
    first_fetch = fetch(tmp_path, daily, "uk-accounts")
    server.requests.clear()

    (refetched,) = fetch(tmp_path, daily, "uk-accounts")

    assert [file.result for file in first_fetch] == ["nouveau", "nouveau"]
    assert refetched.result == "inchange"
    assert len(stored_files(tmp_path, "uk-accounts")) == 2
    assert not [path for path, _ in server.requests if path.endswith(("11-20.zip", "11-21.zip"))]


def test_a_refused_day_does_not_affect_the_others(tmp_path: Path, server: RegisterServer) -> None:
    name = "Accounts_Bulk_Data-{date:%Y-%m-%d}.zip"
    daily = FetchSettings(
        sources={
            "uk-accounts": SourceSettings(
                {name: f"{server.url}/{name}"}, size=WIDE_BOUNDS, rows=WIDE_BOUNDS
            )
        }
    )
    good = (RAW / "uk" / "Accounts_Bulk_Data-sample.zip").read_bytes()
    for day, content in (("2026-11-19", good), ("2026-11-20", good[:-9_000]), ("2026-11-21", good)):
        server.publish(f"/Accounts_Bulk_Data-{day}.zip", content)

    files = fetch(tmp_path, daily, "uk-accounts")

    assert [file.result for file in files] == ["nouveau", "refuse", "nouveau"]


# -- a full disk ---------------------------------------------------------------------


def test_a_full_disk_ends_a_fetch_with_the_error_of_the_system(
    tmp_path: Path, server: RegisterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    server.publish(f"/{EE_NAME}", EE_ZIP)
    monkeypatch.setattr(receipt, "write", raise_disk_full)

    with pytest.raises(OSError, match="No space left"):
        fetch(tmp_path, settings(server))


# -- a file that is published once ---------------------------------------------------


def test_a_file_that_is_never_published_again_is_requested_once(
    tmp_path: Path, server: RegisterServer
) -> None:
    name = "de_companies_ocdata.jsonl.bz2"
    server.publish(f"/{name}", RAW / "de" / "offeneregister_excerpt.jsonl.bz2")
    german_settings = settings(server, "de-offeneregister", (name,))

    results = [fetch_one(tmp_path, german_settings, "de-offeneregister").result for _ in range(2)]

    assert results == ["nouveau", "inchange"]
    assert len(server.requests) == 1


# -- the command ---------------------------------------------------------------------


def write_fetch_config(tmp_path: Path, server: RegisterServer) -> Path:
    """A configuration that fetches the Estonian file from the server."""
    path = tmp_path / "fetch.toml"
    path.write_text(
        f'[source.ee]\naddresses = {{ "{EE_NAME}" = "{server.url}/{EE_NAME}" }}\n'
        "size = [1, 100_000_000]\nrows = [1, 1_000_000]\n"
    )
    return path


def fetch_command(tmp_path: Path, server: RegisterServer) -> list[str]:
    """The command line that fetches the Estonian file from the server."""
    options = [
        "--out",
        str(tmp_path / "raw"),
        "--config",
        str(write_fetch_config(tmp_path, server)),
    ]
    return [sys.executable, "-m", "pipeline", "fetch", "ee", *options]


def test_a_killed_fetch_continues_where_it_stopped(tmp_path: Path, server: RegisterServer) -> None:
    server.publish(
        f"/{EE_NAME}", EE_ZIP, responders.pause_between_chunks(0.05), responders.follow_rfc9110
    )
    partial_file = tmp_path / "raw" / "ee" / ".fetch" / EE_NAME
    with subprocess.Popen(fetch_command(tmp_path, server), cwd=ROOT) as process:
        while not partial_file.exists() or partial_file.stat().st_size < CUT_BYTES:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    received_size = partial_file.stat().st_size

    process_result = subprocess.run(
        fetch_command(tmp_path, server), cwd=ROOT, capture_output=True, text=True
    )

    assert (process_result.returncode, process_result.stderr) == (0, "")
    assert process_result.stdout.startswith(f"ee: {EE_NAME}: new, {len(EE_ZIP):,} bytes, ")
    assert stored_files(tmp_path) == {EE_NAME: EE_ZIP}
    first, second = server.headers("Range")
    assert first is None
    assert second is not None
    # The download resumes at its last checkpoint, which can be before the last byte received.
    resumed_at = int(second.removeprefix("bytes=").removesuffix("-"))
    assert 0 < resumed_at <= received_size


def test_a_fetch_that_is_refused_fails_with_one_line(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", b"", responders.send_html_page)

    process_result = subprocess.run(
        fetch_command(tmp_path, server), cwd=ROOT, capture_output=True, text=True
    )

    assert (process_result.returncode, process_result.stdout) == (1, "")
    assert process_result.stderr.startswith(
        f"error: ee: {EE_NAME}: refused: {server.url}/{EE_NAME} sends a web page"
    )
    assert process_result.stderr.count("\n") == 1


def test_a_fetch_goes_through_the_proxy_of_the_environment(
    tmp_path: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", EE_ZIP)
    command_line = fetch_command(tmp_path, server)
    path = tmp_path / "fetch.toml"
    path.write_text(path.read_text().replace(server.url, "http://register.invalid"))

    process_result = subprocess.run(
        command_line,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"http_proxy": server.url},
    )

    assert (process_result.returncode, process_result.stderr) == (0, "")
    assert server.headers("Host") == ["register.invalid"]
