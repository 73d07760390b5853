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
from tests.pipeline.nightly.test_fetching import EE_NAME, EE_ZIP, unzipped, zipped
from tests.pipeline.nightly.test_nightly import (
    last_report,
    published_counts,
    run_night,
    source_results,
    write_config,
)

ESTONIAN_ROWS = 2_665  # of the published file
ACCEPTED_COUNT, REFUSED_COUNT = 130, 140  # rejected rows under and over the bound of 5 %


def estonia_without_identifiers(count: int) -> bytes:
    """The Estonian file, in which `count` rows have no identifier."""
    header, *rows = csv.reader(unzipped(EE_ZIP).decode("utf-8-sig").splitlines(), delimiter=";")
    for row in rows[:count]:
        row[1] = ""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows([header, *rows])
    return zipped(text.getvalue().encode(), EE_NAME.removesuffix(".zip"))


def test_an_import_that_rejects_over_five_percent_is_refused_unless_accepted(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first night has no earlier edition to compare with, and refuses the import all the same."""
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(REFUSED_COUNT))

    assert run_night(config) == 0

    reason = (
        f"{EE_NAME}: 140 of 2,665 rows are rejected (5.3%, at most 5.0%): no identifier (140);"
        " --accept ee accepts it anyway, [source.ee] max_rejected in the configuration raises the bound"
    )
    assert capsys.readouterr().err == f"warning: ee: {reason}\n"
    assert (source_results(config)["ee"], published_counts(config)) == ("absent", {"IE": 1})
    assert last_report(config)["sources"][0]["motifs"] == [reason]
    assert run_night(config, "--accept", "ee") == 0

    assert published_counts(config) == {"EE": ESTONIAN_ROWS - REFUSED_COUNT, "IE": 1}


def test_the_earlier_edition_stays_when_an_import_rejects_too_many_rows(
    config_of_first_night: Path, server: RegisterServer
) -> None:
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(REFUSED_COUNT))

    assert run_night(config_of_first_night) == 0

    assert (
        source_results(config_of_first_night)["ee"],
        published_counts(config_of_first_night)["EE"],
    ) == ("precedent", ESTONIAN_ROWS)


def test_an_import_that_rejects_under_five_percent_is_published(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = write_config(tmp_path, server)
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(ACCEPTED_COUNT))

    run_night(config)

    assert published_counts(config)["EE"] == ESTONIAN_ROWS - ACCEPTED_COUNT


@pytest.mark.parametrize(("share", "result"), [("0.06", "nouveau"), ("0", "absent")])
def test_the_configuration_sets_the_bound_of_rejected_rows(
    tmp_path: Path, server: RegisterServer, share: str, result: str
) -> None:
    """The import rejects a share of 0.053 of its rows."""
    config = write_config(tmp_path, server)
    text = config.read_text()
    config.write_text(text.replace("[source.ee]", f"[source.ee]\nmax_rejected = {share}"))
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(REFUSED_COUNT))

    run_night(config)

    assert source_results(config)["ee"] == result


def test_the_command_import_warns_of_many_rejected_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / EE_NAME
    file.write_bytes(estonia_without_identifiers(REFUSED_COUNT))

    assert main(["import", "ee", str(file), "--out", str(tmp_path / "out")]) == 0

    assert capsys.readouterr().err == (
        "warning: ee: 140 of 2,665 rows are rejected (5.3%, at most 5.0%): no identifier (140);"
        " look into the file\n"
    )


def test_a_declaration_may_raise_its_bound_of_rejected_rows_if_it_gives_a_reason(
    tmp_path: Path,
) -> None:
    declared = FOLDER / "ee.toml"
    path = tmp_path / "ee.toml"
    text = declared.read_text(encoding="utf-8")

    path.write_text('max_rejected = { share = 0.2, reason = "old rows" }\n' + text)
    assert declaration_reader.register(path).max_rejected == 0.2
    assert REGISTERS["ee"].max_rejected == 0.05

    for table, message in (
        ("share = 0.2", r"reason\]: missing; add it"),
        ('share = 0.01, reason = "x"', r"share\]: 0.01 is refused; give a number over 0.05"),
        ('share = 2.0, reason = "x"', r"share\]: 2.0 is refused; give a number of 1 or less"),
        ('share = 0.2, reason = ""', r"reason\]: '' is refused; give a text that is not empty"),
    ):
        path.write_text(f"max_rejected = {{ {table} }}\n" + text)
        with pytest.raises(DeclarationError, match=r"ee.toml \[max_rejected\." + message):
            declaration_reader.register(path)
