"""Files that are kept between nights, in which bits flip: what is published stays what it would have been."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import digests
from pipeline.nightly import receipt
from shards.generations import pointer
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
from tests.pipeline.nightly.test_rejected_rows import nameless

pytestmark = pytest.mark.slow

__all__ = ["hurried", "server"]  # fixtures


def replaced(path: Path, old: bytes, new: bytes) -> None:
    """Change some bits of a file."""
    content = path.read_bytes()
    assert old in content, content[:2_000]
    path.write_bytes(content.replace(old, new, 1))


def flipped(path: Path) -> None:
    """Flip a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def shard(data: Path) -> bytes:
    """The Estonian shard of the published generation."""
    return (data / str(pointer.current_name(data)) / "EE.shard").read_bytes()


def test_a_damaged_receipt_of_a_country_changes_nothing_that_is_published(
    tmp_path: Path, server: RegisterServer
) -> None:
    """It is still JSON, and says that a row was left out."""
    config = configured(tmp_path, server)
    run(config)
    data = tmp_path / "data"
    before = pointer.current_name(data)
    replaced(data / ".receipts" / "EE.json", b'"gardees":2665', b'"gardees":2664')
    replaced(data / ".receipts" / "IE.json", b'"gardees":1', b'"gardees":3')

    assert run(config) == 0

    assert pointer.current_name(data) == before
    quality = json.loads((data / str(before) / "quality.json").read_bytes())
    assert [quality["pays"][iso2]["gardees"] for iso2 in ("EE", "IE")] == [2_665, 1]
    assert b'"gardees":2665' in (data / ".receipts" / "EE.json").read_bytes()


@pytest.mark.parametrize(
    "name", ["companies/*.parquet", "imports/*.json", "sources.json", digests.LIST]
)
def test_a_damaged_import_is_made_anew(tmp_path: Path, server: RegisterServer, name: str) -> None:
    config = configured(tmp_path, server)
    run(config)
    before = shard(tmp_path / "data")
    [path] = (tmp_path / "work" / "input" / "ee").glob(f"*/{name}")
    flipped(path)

    assert run(config) == 0

    assert shard(tmp_path / "data") == before
    assert published(config) == {"EE": 2_665, "IE": 1}
    [folder] = (tmp_path / "work" / "input" / "ee").iterdir()
    assert digests.is_whole(folder)


def test_a_damaged_import_is_not_what_stays_when_a_new_one_is_refused(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = configured(tmp_path, server)
    run(config)
    [path] = (tmp_path / "work" / "input" / "ee").glob("*/companies/*.parquet")
    flipped(path)
    server.publish(f"/{EE}", nameless(200))

    run(config)

    assert results(config)["ee"] == "absent"


def test_a_damaged_list_of_imports_ends_the_night(
    tmp_path: Path, server: RegisterServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another count in it would let a register through that has lost half its rows."""
    config = configured(tmp_path, server)
    run(config)
    before = pointer.current_name(tmp_path / "data")
    path = tmp_path / "work" / "input" / "ee.json"
    replaced(path, b'"gardes":2665', b'"gardes":1665')
    capsys.readouterr()

    assert run(config) == 1

    assert f"{path} cannot be understood" in capsys.readouterr().err
    assert pointer.current_name(tmp_path / "data") == before


def test_a_list_of_imports_of_the_version_before_is_read(
    tmp_path: Path, server: RegisterServer
) -> None:
    config = configured(tmp_path, server)
    run(config)
    path = tmp_path / "work" / "input" / "ee.json"
    listed = json.loads(path.read_bytes())["imports"]
    path.write_text(json.dumps(listed))
    (path.with_suffix("") / listed[0]["cle"] / digests.LIST).unlink()
    server.publish(f"/{EE}", zipped(b"".join(unzipped(ESTONIA).splitlines(True)[:-500]), "x.csv"))

    assert run(config) == 0

    assert (results(config)["ee"], published(config)["EE"]) == ("precedent", 2_665)


@pytest.mark.parametrize(
    "damage",
    [lambda text: text.replace(b"2026", b"2036"), lambda text: text.replace(b"266", b"166")],
)
def test_a_damaged_receipt_of_a_fetch_does_not_count(
    tmp_path: Path, server: RegisterServer, damage: Callable[[bytes], bytes]
) -> None:
    """With another date of the last change, a server would say 304 for ten years."""
    config = configured(tmp_path, server)
    run(config)
    folder = tmp_path / "work" / "raw" / "ee"
    path = folder / ".fetch" / f"{EE}.json"
    path.write_bytes(damage(path.read_bytes()))
    assert receipt.find_valid(folder, EE) is None
    server.asked.clear()

    assert run(config) == 0

    assert server.headers("If-Modified-Since", f"/{EE}") == [None]
    assert receipt.find_valid(folder, EE) is not None
    assert last_report(config)["etat"] == "complet"
