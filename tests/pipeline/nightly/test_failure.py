"""Failures are reported: exit codes, files placed by hand, and the plan of a night."""

from datetime import date
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.nightly import command, published_files
from pipeline.nightly import config as nightly_config
from shards.generations import pointer
from tests.pipeline.nightly import register_server as responders
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE_NAME, EE_ZIP
from tests.pipeline.nightly.test_nightly import (
    IE_NAME,
    IE_ZIP,
    last_report,
    published_counts,
    run_night,
    source_results,
    write_config,
)
from tests.pipeline.nightly.test_rejected_rows import estonia_without_identifiers

TODAY = date(2026, 11, 28)

pytestmark = pytest.mark.slow


# -- exit codes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "responder",
    [responders.send_status(404), responders.send_status(500), responders.send_html_page],
)
def test_a_night_in_which_no_source_could_be_fetched_fails(
    tmp_path: Path,
    config_of_first_night: Path,
    server: RegisterServer,
    capsys: pytest.CaptureFixture[str],
    responder: responders.Responder,
) -> None:
    """The earlier imports are published again, and signed again if there is a key."""
    before = pointer.current_name(tmp_path / "data")
    for path in (EE_NAME, IE_NAME):
        server.publish(f"/{path}", b"", responder)

    assert run_night(config_of_first_night) == 1

    assert capsys.readouterr().err.startswith(
        "error: no source was fetched: each was refused or not reached"
    )
    assert pointer.current_name(tmp_path / "data") == before
    assert last_report(config_of_first_night)["generation"] == before


def test_an_unchanged_source_counts_as_received(
    config_of_first_night: Path, server: RegisterServer
) -> None:
    """The Estonian file is unchanged, and the Irish file cannot be fetched."""
    server.publish(f"/{IE_NAME}", b"", responders.send_status(500))

    assert run_night(config_of_first_night) == 0

    assert [source["obtenue"] for source in last_report(config_of_first_night)["sources"]] == [
        True,
        False,
    ]


def test_an_edition_that_is_refused_each_night_does_not_count_as_received(
    tmp_path: Path, server: RegisterServer
) -> None:
    """The file is unchanged in the second night, and the import of the file is refused again."""
    config = write_config(tmp_path, server)
    config.write_text(config.read_text().replace('"ee", "ie-cro"', '"ee"').split("[source.ie")[0])
    run_night(config)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", "[source.ee]\nmax_rejected = 0"))
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(3))

    assert [run_night(config), run_night(config)] == [1, 1]

    assert source_results(config) == {"ee": "precedent"}
    assert last_report(config)["sources"][0]["fichiers"][0]["resultat"] == "inchange"


@pytest.mark.parametrize(("setting", "flags"), [("", ["--strict"]), ("strict = true", [])])
def test_a_strict_night_of_which_a_source_fails_exits_with_3(
    tmp_path: Path, server: RegisterServer, setting: str, flags: list[str]
) -> None:
    config = write_config(tmp_path, server, setting)
    server.publish(f"/{IE_NAME}", b"", responders.send_status(500))

    assert run_night(config, *flags) == 3

    assert published_counts(config) == {"EE": 2_665}
    server.publish(f"/{IE_NAME}", IE_ZIP)
    assert run_night(config, *flags) == 0


# -- files placed by hand ------------------------------------------------------------


def test_files_that_are_placed_by_hand_are_not_requested(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """A source with `fetch = false` waits for an operator to put its files into the folder of raw files."""
    config = write_config(tmp_path, server)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", "[source.ee]\nfetch = false"))

    assert run_night(config) == 0
    assert f"put the files into {tmp_path}/work/raw/ee" in capsys.readouterr().err
    (tmp_path / "work" / "raw" / "ee").mkdir(exist_ok=True)
    (tmp_path / "work" / "raw" / "ee" / EE_NAME).write_bytes(EE_ZIP)
    assert run_night(config, "--strict") == 0

    assert {path for path, _ in server.requests} == {f"/{IE_NAME}"}
    assert published_counts(config) == {"EE": 2_665, "IE": 1}
    server.publish(f"/{IE_NAME}", b"", responders.send_status(500))
    assert run_night(config) == 1  # the only requested source failed


# -- the plan ------------------------------------------------------------------------


def test_the_plan_sends_no_request_and_writes_nothing(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, server)

    assert main(["nightly", str(config), "--plan"]) == 0

    assert [path.name for path in tmp_path.iterdir()] == ["nightly.toml"]
    assert server.requests == []
    assert capsys.readouterr().out.splitlines() == [
        "ee:",
        f"  fetch: {server.url}/{EE_NAME}",
        f"  import: only new files; no file is in {tmp_path}/work/raw/ee",
        "ie-cro:",
        f"  fetch: {server.url}/{IE_NAME}",
        f"  import: only new files; no file is in {tmp_path}/work/raw/ie-cro",
        f"build: 0 of 2 sources have files here, into {tmp_path}/data",
        "  countries without a change are linked; published now: nothing",
    ]


def test_the_plan_lists_stored_files_and_resumed_downloads(
    tmp_path: Path,
    config_of_first_night: Path,
    server: RegisterServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A new Irish file is in the folder, and a download of the Estonian one has broken off."""
    (tmp_path / "work" / "raw" / "ie-cro" / IE_NAME).write_bytes(IE_ZIP + b"!")
    (tmp_path / "work" / "raw" / "ee" / ".fetch" / EE_NAME).write_bytes(EE_ZIP[:5_000])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    requests = len(server.requests)

    assert run_night(config_of_first_night, "--plan") == 0

    lines = capsys.readouterr().out.splitlines()
    assert f"  imported already: {EE_NAME}" in lines
    assert f"  import: {IE_NAME}" in lines
    assert lines[1].startswith(f"  fetch: {server.url}/{EE_NAME}, of which {EE_NAME} came on 20")
    assert lines[1].endswith(", from byte 5,000 on")
    assert lines[-1].endswith(f"published now: {pointer.current_name(tmp_path / 'data')}")
    assert len(server.requests) == requests
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_plan_names_the_variable_of_a_missing_key_and_the_folder_of_manual_files(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, server)
    config.write_text(config.read_text().replace('"ie-cro"]', '"be-nbb", "sk-rpo"]'))

    assert run_night(config, "--plan") == 0

    printed = capsys.readouterr().out
    assert "FETCH_SECRET_BE_NBB" in printed
    assert f"nothing: an operator puts its files into {tmp_path}/work/raw/sk-rpo" in printed


def test_the_plan_announces_no_request_if_each_daily_edition_is_here(
    tmp_path: Path, server: RegisterServer
) -> None:
    path = write_config(tmp_path, server)
    path.write_text(path.read_text().replace('"ie-cro"]', '"be-nbb"]'))
    settings = nightly_config.read(path)
    keys = {"FETCH_SECRET_BE_NBB": "key"}
    fetches = nightly_config.fetch_settings(settings.contact, settings.source, keys)
    folder = tmp_path / "work" / "raw" / "be-nbb"
    folder.mkdir(parents=True)
    (file,) = published_files.read()["be-nbb"]
    newest, *older = published_files.editions(file, TODAY)
    for edition in older:
        (folder / edition.name).write_bytes(b"PK")

    assert f"  fetch: {newest.address}" in command.plan_lines(settings, fetches, TODAY)
    (folder / newest.name).write_bytes(b"PK")
    assert "  fetch: nothing: each of its editions is here" in command.plan_lines(
        settings, fetches, TODAY
    )
