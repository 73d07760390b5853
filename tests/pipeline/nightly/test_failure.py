"""Failure is heard: exit codes, files placed by hand, and the plan of a night."""

from pathlib import Path

import pytest

from pipeline.__main__ import main
from shards.generations import pointer
from tests.pipeline.nightly import register_server as ways
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE, ESTONIA
from tests.pipeline.nightly.test_nightly import (
    IE,
    IRELAND,
    configured,
    hurried,
    last_report,
    published,
    results,
    run,
    server,
)
from tests.pipeline.nightly.test_rejected_rows import nameless

pytestmark = pytest.mark.slow

__all__ = ["hurried", "server"]  # fixtures


# -- exit codes ----------------------------------------------------------------------


@pytest.mark.parametrize("way", [ways.status(404), ways.status(500), ways.page])
def test_a_night_in_which_no_source_came_fails(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str], way: ways.Way
) -> None:
    """What was imported before is published again, and signed again where there is a key."""
    config = configured(tmp_path, server)
    run(config)
    before = pointer.current_name(tmp_path / "data")
    for path in (EE, IE):
        server.publish(f"/{path}", b"", way)
    capsys.readouterr()

    assert run(config) == 1

    assert capsys.readouterr().err.startswith(
        "error: no source came: each was refused or not reached"
    )
    assert pointer.current_name(tmp_path / "data") == before
    assert last_report(config)["generation"] == before


def test_what_has_not_changed_came(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server)
    run(config)
    server.publish(f"/{IE}", b"", ways.status(500))

    assert run(config) == 0

    assert [one["obtenue"] for one in last_report(config)["sources"]] == [True, False]


def test_an_edition_that_is_refused_each_night_has_not_come(
    tmp_path: Path, server: RegisterServer
) -> None:
    """Its file is unchanged, its import is refused again."""
    config = configured(tmp_path, server)
    config.write_text(config.read_text().replace('"ee", "ie-cro"', '"ee"').split("[source.ie")[0])
    run(config)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", "[source.ee]\nmax_rejected = 0"))
    server.publish(f"/{EE}", nameless(3))

    assert [run(config), run(config)] == [1, 1]

    assert results(config) == {"ee": "precedent"}
    assert last_report(config)["sources"][0]["fichiers"][0]["resultat"] == "inchange"


@pytest.mark.parametrize(("line", "flags"), [("", ["--strict"]), ("strict = true", [])])
def test_a_partial_night_is_heard_where_it_is_strict(
    tmp_path: Path, server: RegisterServer, line: str, flags: list[str]
) -> None:
    config = configured(tmp_path, server, line)
    server.publish(f"/{IE}", b"", ways.status(500))

    assert run(config, *flags) == 3

    assert published(config) == {"EE": 2_665}
    server.publish(f"/{IE}", IRELAND)
    assert run(config, *flags) == 0


# -- files placed by hand ------------------------------------------------------------


def test_files_that_are_placed_by_hand_are_not_asked_for(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", "[source.ee]\nfetch = false"))

    assert run(config) == 0
    assert f"put the files into {tmp_path}/work/raw/ee" in capsys.readouterr().err
    (tmp_path / "work" / "raw" / "ee").mkdir(exist_ok=True)
    (tmp_path / "work" / "raw" / "ee" / EE).write_bytes(ESTONIA)
    assert run(config, "--strict") == 0

    assert {path for path, _ in server.asked} == {f"/{IE}"}
    assert published(config) == {"EE": 2_665, "IE": 1}
    server.publish(f"/{IE}", b"", ways.status(500))
    assert run(config) == 1  # of those that were asked, none came


# -- the plan ------------------------------------------------------------------------


def test_the_plan_asks_no_server_and_writes_nothing(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)

    assert main(["nightly", str(config), "--plan"]) == 0

    assert [path.name for path in tmp_path.iterdir()] == ["nightly.toml"]
    assert server.asked == []
    assert capsys.readouterr().out.splitlines() == [
        "ee:",
        f"  fetch: {server.url}/{EE}",
        f"  import: only what comes; no file is in {tmp_path}/work/raw/ee",
        "ie-cro:",
        f"  fetch: {server.url}/{IE}",
        f"  import: only what comes; no file is in {tmp_path}/work/raw/ie-cro",
        f"build: 0 of 2 sources have files here, into {tmp_path}/data",
        "  countries without a change are linked; published now: nothing",
    ]


def test_the_plan_says_what_is_here(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    run(config)
    (tmp_path / "work" / "raw" / "ie-cro" / IE).write_bytes(IRELAND + b"!")
    (tmp_path / "work" / "raw" / "ee" / ".fetch" / EE).write_bytes(ESTONIA[:5_000])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()
    asked = len(server.asked)

    assert run(config, "--plan") == 0

    lines = capsys.readouterr().out.splitlines()
    assert f"  imported already: {EE}" in lines
    assert f"  import: {IE}" in lines
    assert lines[1].startswith(f"  fetch: {server.url}/{EE}, of which {EE} came on 20")
    assert lines[1].endswith(", from byte 5,000 on")
    assert lines[-1].endswith(f"published now: {pointer.current_name(tmp_path / 'data')}")
    assert len(server.asked) == asked
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_plan_names_the_key_that_is_missing(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configured(tmp_path, server)
    config.write_text(config.read_text().replace('"ie-cro"]', '"be-nbb", "sk-rpo"]'))

    assert run(config, "--plan") == 0

    shown = capsys.readouterr().out
    assert "FETCH_SECRET_BE_NBB" in shown
    assert f"nothing, by hand: its files are put into {tmp_path}/work/raw/sk-rpo" in shown
