"""Bits flip in files that stay between nights, and the published generation does not change."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import digests
from pipeline.nightly import receipt
from shards.generations import pointer
from tests.pipeline.nightly.register_server import RegisterServer
from tests.pipeline.nightly.test_fetching import EE_NAME, EE_ZIP, unzipped, zipped
from tests.pipeline.nightly.test_nightly import (
    last_report,
    published_counts,
    run_night,
    source_results,
)
from tests.pipeline.nightly.test_rejected_rows import estonia_without_identifiers

pytestmark = pytest.mark.slow


def replace_bytes(path: Path, old: bytes, new: bytes) -> None:
    """Replace the first occurrence of `old`, as some flipped bits would."""
    content = path.read_bytes()
    assert old in content, content[:2_000]
    path.write_bytes(content.replace(old, new, 1))


def flip_bit(path: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def read_estonian_shard(data: Path) -> bytes:
    """The Estonian shard of the published generation."""
    return (data / str(pointer.current_name(data)) / "EE.shard").read_bytes()


def test_a_damaged_receipt_of_a_country_does_not_change_the_publication(
    tmp_path: Path, config_of_first_night: Path
) -> None:
    """The damaged receipts are still JSON, with wrong counts of kept rows."""
    data = tmp_path / "data"
    before = pointer.current_name(data)
    replace_bytes(data / ".receipts" / "EE.json", b'"gardees":2665', b'"gardees":2664')
    replace_bytes(data / ".receipts" / "IE.json", b'"gardees":1', b'"gardees":3')

    assert run_night(config_of_first_night) == 0

    assert pointer.current_name(data) == before
    quality = json.loads((data / str(before) / "quality.json").read_bytes())
    assert [quality["pays"][iso2]["gardees"] for iso2 in ("EE", "IE")] == [2_665, 1]
    assert b'"gardees":2665' in (data / ".receipts" / "EE.json").read_bytes()


@pytest.mark.parametrize(
    "name", ["companies/*.parquet", "imports/*.json", "sources.json", digests.DIGESTS_FILE]
)
def test_a_damaged_import_is_repeated(
    tmp_path: Path, config_of_first_night: Path, name: str
) -> None:
    before = read_estonian_shard(tmp_path / "data")
    [path] = (tmp_path / "work" / "input" / "ee").glob(f"*/{name}")
    flip_bit(path)

    assert run_night(config_of_first_night) == 0

    assert read_estonian_shard(tmp_path / "data") == before
    assert published_counts(config_of_first_night) == {"EE": 2_665, "IE": 1}
    [folder] = (tmp_path / "work" / "input" / "ee").iterdir()
    assert digests.is_intact(folder)


def test_a_damaged_import_does_not_stay_when_a_new_import_is_refused(
    tmp_path: Path, config_of_first_night: Path, server: RegisterServer
) -> None:
    [path] = (tmp_path / "work" / "input" / "ee").glob("*/companies/*.parquet")
    flip_bit(path)
    server.publish(f"/{EE_NAME}", estonia_without_identifiers(200))

    run_night(config_of_first_night)

    assert source_results(config_of_first_night)["ee"] == "absent"


def test_a_damaged_list_of_imports_ends_the_night(
    tmp_path: Path, config_of_first_night: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a wrong count in it, a register that has lost half its rows would be accepted."""
    before = pointer.current_name(tmp_path / "data")
    path = tmp_path / "work" / "input" / "ee.json"
    replace_bytes(path, b'"gardes":2665', b'"gardes":1665')

    assert run_night(config_of_first_night) == 1

    assert f"{path} cannot be read" in capsys.readouterr().err
    assert pointer.current_name(tmp_path / "data") == before


def test_a_list_of_imports_that_an_older_version_wrote_is_read(
    tmp_path: Path, config_of_first_night: Path, server: RegisterServer
) -> None:
    path = tmp_path / "work" / "input" / "ee.json"
    # The older version wrote the list without its digest, and no digests of the import.
    imports = json.loads(path.read_bytes())["imports"]
    path.write_text(json.dumps(imports))
    (path.with_suffix("") / imports[0]["cle"] / digests.DIGESTS_FILE).unlink()
    # An edition that lost 500 rows is refused, because it is compared with the count in the list.
    server.publish(
        f"/{EE_NAME}", zipped(b"".join(unzipped(EE_ZIP).splitlines(True)[:-500]), "x.csv")
    )

    assert run_night(config_of_first_night) == 0

    assert (
        source_results(config_of_first_night)["ee"],
        published_counts(config_of_first_night)["EE"],
    ) == ("precedent", 2_665)


@pytest.mark.parametrize(
    "damage",
    [lambda text: text.replace(b"2026", b"2036"), lambda text: text.replace(b"266", b"166")],
    ids=["dates", "number of rows"],
)
def test_a_damaged_receipt_of_a_fetch_does_not_count(
    tmp_path: Path,
    config_of_first_night: Path,
    server: RegisterServer,
    damage: Callable[[bytes], bytes],
) -> None:
    """With a later date of the last change in it, a server would answer 304 for ten years."""
    folder = tmp_path / "work" / "raw" / "ee"
    path = folder / ".fetch" / f"{EE_NAME}.json"
    path.write_bytes(damage(path.read_bytes()))
    assert receipt.find_valid(folder, EE_NAME) is None
    server.requests.clear()

    assert run_night(config_of_first_night) == 0

    assert server.headers("If-Modified-Since", f"/{EE_NAME}") == [None]
    assert receipt.find_valid(folder, EE_NAME) is not None
    assert last_report(config_of_first_night)["etat"] == "complet"
