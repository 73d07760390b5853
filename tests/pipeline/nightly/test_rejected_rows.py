"""Imports that reject many of their rows: a night refuses them, the command `import` warns."""

import csv
import io
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.registers import FOLDER, REGISTERS
from pipeline.registers.toml import declaration_reader
from pipeline.registers.toml.declaration import DeclarationError
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE, ESTONIA, unzipped, zipped
from tests.pipeline.nightly.test_nightly import (
    configured,
    hurried,
    last_report,
    published,
    results,
    run,
    server,
)

__all__ = ["hurried", "server"]  # fixtures

ROWS = 2_665
FEW, MANY = 130, 140  # under and over a twentieth


def nameless(count: int) -> bytes:
    """The Estonian file, in which `count` rows have no identifier."""
    header, *rows = csv.reader(unzipped(ESTONIA).decode("utf-8-sig").splitlines(), delimiter=";")
    for row in rows[:count]:
        row[1] = ""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *rows])
    return zipped(text.getvalue().encode(), EE.removesuffix(".zip"))


def test_a_register_that_is_mostly_rejected_stops(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the first night too, when there is nothing to compare it with."""
    config = configured(tmp_path, server)
    server.publish(f"/{EE}", nameless(MANY))

    assert run(config) == 0

    reason = (
        f"{EE}: 140 of 2,665 rows are rejected (5.3%, at most 5.0%): no identifier (140);"
        " --accept ee takes it all the same, [source.ee] max_rejected in the configuration raises the bound"
    )
    assert capsys.readouterr().err == f"warning: ee: {reason}\n"
    assert (results(config)["ee"], published(config)) == ("absent", {"IE": 1})
    assert last_report(config)["sources"][0]["motifs"] == [reason]
    assert run(config, "--accept", "ee") == 0

    assert published(config) == {"EE": ROWS - MANY, "IE": 1}


def test_the_edition_before_stays(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server)
    run(config)
    server.publish(f"/{EE}", nameless(MANY))

    assert run(config) == 0

    assert (results(config)["ee"], published(config)["EE"]) == ("precedent", ROWS)


def test_fewer_are_in_order(tmp_path: Path, server: RegisterServer) -> None:
    config = configured(tmp_path, server)
    server.publish(f"/{EE}", nameless(FEW))

    run(config)

    assert published(config)["EE"] == ROWS - FEW


@pytest.mark.parametrize(("share", "result"), [("0.06", "nouveau"), ("0", "absent")])
def test_the_configuration_says_otherwise(
    tmp_path: Path, server: RegisterServer, share: str, result: str
) -> None:
    config = configured(tmp_path, server)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", f"[source.ee]\nmax_rejected = {share}"))
    server.publish(f"/{EE}", nameless(MANY))

    run(config)

    assert results(config)["ee"] == result


def test_the_command_import_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / EE
    file.write_bytes(nameless(MANY))

    assert main(["import", "ee", str(file), "--out", str(tmp_path / "out")]) == 0

    assert capsys.readouterr().err == (
        "warning: ee: 140 of 2,665 rows are rejected (5.3%, at most 5.0%): no identifier (140);"
        " look into the file\n"
    )


def test_a_register_declares_its_own_share_with_a_reason(tmp_path: Path) -> None:
    ours = FOLDER / "ee.toml"
    path = tmp_path / "ee.toml"
    text = ours.read_text(encoding="utf-8")

    path.write_text('max_rejected = { share = 0.2, reason = "old rows" }\n' + text)
    assert declaration_reader.register(path).max_rejected == 0.2
    assert REGISTERS["ee"].max_rejected == 0.05

    for wrong, why in (
        ("share = 0.2", r"reason\]: is missing; add it"),
        ('share = 0.01, reason = "x"', r"share\]: 0.01 is refused; give a number over 0.05"),
        ('share = 2.0, reason = "x"', r"share\]: 2.0 is refused; give a number of 1 or less"),
        ('share = 0.2, reason = ""', r"reason\]: '' is refused; give a text that is not empty"),
    ):
        path.write_text(f"max_rejected = {{ {wrong} }}\n" + text)
        with pytest.raises(DeclarationError, match=r"ee.toml \[max_rejected\." + why):
            declaration_reader.register(path)
