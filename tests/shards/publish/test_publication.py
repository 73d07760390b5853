"""The gates of a publication, what is kept behind it, who may write and who still reads."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import lmdb
import numpy as np
import orjson
import pytest

from shards import format
from shards.__main__ import main
from shards.errors import CorruptError, GenerationError
from shards.generations import atomic_files, generation_files, locks, manifest, pointer
from shards.publish import publication, smoke_test
from shards.publish.publication import EVERYWHERE, Gates
from shards.query import Query
from shards.search.reader import Shard
from shards.search.search import Base
from tests.shards.verify.test_invariants import Break, put
from tests.world import Company, company, publish, reference, write_shard

FOUND = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0, effectif=6, score=9),
    company("EE", "3", "Żabka", division="47", groupe="47.1", site_web="https://b.ee"),
    company("UK", "00000001", "'A' Rated & Co", site_web="https://a.uk"),
]


def grown(count: int) -> list[Company]:
    return [*FOUND, *(company("FR", f"{number}", "Œuvre") for number in range(count))]


# -- gates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minimums", "told"),
    [
        ({EVERYWHERE: 5}, "the whole has 4 companies, 5 are the minimum"),
        ({"EE": 4}, "EE has 3 companies, 4 are the minimum"),
        ({"FR": 1}, "FR has 0 companies, 1 are the minimum"),
    ],
)
def test_fewer_companies_than_the_minimum_are_not_published(
    tmp_path: Path, minimums: dict[str, int], told: str
) -> None:
    with pytest.raises(GenerationError, match=told):
        publish(tmp_path, FOUND, gates=Gates(minimums=minimums))

    assert pointer.read(tmp_path) is None
    forced = publish(tmp_path, FOUND, gates=Gates(force=True, minimums=minimums))
    assert generation_files.read_manifest(tmp_path / forced).forced == told
    publish(tmp_path / "b", FOUND, gates=Gates(minimums={EVERYWHERE: 4, "EE": 3, "UK": 1}))


def test_a_file_that_is_not_the_one_its_maker_saw_is_not_published(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    known = generation_files.read_manifest(tmp_path / first).files["EE.shard"]

    with pytest.raises(CorruptError, match=r"EE.shard is not the file of the manifest"):
        publish(tmp_path, FOUND, known={"EE.shard": replace(known, blake3="0" * 64)})

    assert pointer.current(tmp_path) == first


def backwards(value: bytes) -> bytes:
    return np.frombuffer(value, dtype="<u4")[::-1].tobytes()


@pytest.mark.parametrize(
    ("table", "key", "change"),
    [
        (format.RANK, b"score", backwards),
        (format.COLUMN, b"facts", put("<u2", 0, 0)),
        (format.SORTED, b"facts", put("<u2", 0, 0)),
        (format.KEY, b"ca_desc", put("<f8", 0, -2e6)),
        (format.ORDER, b"nom", backwards),
        (format.WORD, b"postings", put("<u4", 0, 2)),
        (format.IDENT, b"rows", put("<u4", 0, 2)),
    ],
)
@pytest.mark.parametrize("largest", [1_000, 2])
def test_a_generation_that_opens_and_counts_and_answers_wrongly_is_not_published(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: bytes,
    key: bytes,
    change: Break,
    largest: int,
) -> None:
    """Held to the slow answer: on a whole country, and on sub-sectors of one that is too large."""
    monkeypatch.setattr(smoke_test, "LARGEST", largest)
    path = tmp_path / "EE.shard"
    write_shard(path, "EE", FOUND)
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=20) as env:
        handle = env.open_db(table)
        with env.begin(write=True, db=handle) as txn:
            txn.put(key, change(txn.get(key, b"")))
    lists = reference([one for one in FOUND if one["iso2"] == "EE"], ["EE"])
    base = Base()
    with Shard(path) as base["EE"], pytest.raises(GenerationError, match="answers wrongly: "):
        smoke_test.check(base, lists)


def test_a_query_is_shown_as_it_may_be_repeated() -> None:
    query = Query(pays=("EE",), q="Ä", ca_min=0.5)

    assert smoke_test._text(query) == "pays=('EE',) q='Ä' tri='ca_desc' ca_min=0.5"


# -- what is kept ------------------------------------------------------------------------


def test_so_many_generations_are_kept_as_is_said_and_no_fewer_than_two(tmp_path: Path) -> None:
    names = [publish(tmp_path, grown(count), keep=3) for count in range(5)]

    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept == (names[4], names[3], names[2])
    assert {path.parent.name for path in tmp_path.glob("*/manifest.json")} == set(known.kept)

    publish(tmp_path, grown(4))
    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept == (names[4], names[3])


def test_any_generation_that_is_kept_can_be_gone_back_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [publish(tmp_path, grown(count), keep=3) for count in range(3)]

    assert main(["rollback", str(tmp_path), "--to", names[0]]) == 0
    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept == (names[0], names[2], names[1])
    assert main(["rollback", str(tmp_path), "--to", "0" * 16]) == 1
    assert "there is no generation" in capsys.readouterr().err


def test_a_current_that_makes_no_sense_is_written_anew_by_saying_what_it_should_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = publish(tmp_path, FOUND)
    (tmp_path / "CURRENT").write_bytes(b"{")

    assert main(["rollback", str(tmp_path)]) == 1
    assert "rollback --to GENERATION" in capsys.readouterr().err
    assert main(["rollback", str(tmp_path), "--to", name]) == 0
    assert pointer.current(tmp_path) == name


def test_a_generation_that_is_read_is_not_removed_before_it_is_closed(tmp_path: Path) -> None:
    first = publish(tmp_path, FOUND)
    with generation_files.load(tmp_path, first) as generation:
        publish(tmp_path, grown(1))
        publish(tmp_path, grown(2))
        assert generation.shards["EE"].company(0)["nom"] == "Żabka"
        generation_files.verify_digests(tmp_path / first, generation.manifest)

    publish(tmp_path, grown(3))
    assert not (tmp_path / first).exists()


def test_a_damaged_generation_is_replaced_by_building_it_again(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUND)
    path = tmp_path / name / "EE.shard"
    path.write_bytes(path.read_bytes()[:-1])

    assert publish(tmp_path, FOUND) == name
    generation_files.verify_digests(
        tmp_path / name, generation_files.read_manifest(tmp_path / name)
    )


def test_a_generation_of_another_format_is_replaced_and_its_counts_still_held_against_the_new(
    tmp_path: Path,
) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / "manifest.json"
    document = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**document, "format": format.FORMAT_VERSION - 1}))

    with pytest.raises(GenerationError, match="EE has 2 companies, the published generation has 3"):
        publish(tmp_path, FOUND[1:])
    assert publish(tmp_path, grown(1)) == pointer.current(tmp_path)


def test_counts_of_what_is_no_manifest_are_none() -> None:
    assert manifest.counts(b"{") == manifest.counts(b"[]") == manifest.counts(b'{"counts":1}') == {}


# -- who writes --------------------------------------------------------------------------


def test_one_writes_at_a_time_and_the_other_is_told_who(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(tmp_path, FOUND)
    publish(tmp_path, grown(1))

    with locks.write_lock(tmp_path):
        assert main(["rollback", str(tmp_path)]) == 1
    assert f"by process {os.getpid()};" in capsys.readouterr().err
    assert main(["rollback", str(tmp_path)]) == 0
    assert not (tmp_path / locks.HOLDER).exists()


def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from shards.generations import locks
with locks.write_lock(Path({str(tmp_path)!r})):
    os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)

    assert (tmp_path / locks.HOLDER).exists()
    with locks.write_lock(tmp_path):
        pass


def test_what_is_being_removed_is_not_begun_to_be_read(tmp_path: Path) -> None:
    folder = tmp_path / publish(tmp_path, FOUND)
    with locks.removal_lock(folder) as free:
        assert free
        with pytest.raises(GenerationError, match="is being removed"):
            generation_files.load(tmp_path, folder.name)


def test_a_file_that_is_written_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    atomic_files.write(tmp_path / "x", b"un")
    atomic_files.write(tmp_path / "x", b"deux")

    assert (tmp_path / "x").read_bytes() == b"deux"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_the_least_number_that_is_kept_is_two() -> None:
    assert publication.KEPT == 2


# -- names and what cannot be read -------------------------------------------------------


@pytest.mark.parametrize("text", ["{first}/", "../{data}/{first}", "{path}", "", ".", "{first}x"])
def test_only_the_name_of_a_generation_is_one(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path to it would be published under a name that the next build does not find."""
    data = tmp_path / "data"
    first, second = publish(data, FOUND), publish(data, grown(3))
    wrong = text.format(first=first, data=data.name, path=data / first)

    assert main(["rollback", str(data), "--to", wrong]) == 1
    assert "is no name of a generation" in capsys.readouterr().err
    assert main(["diff", str(data), wrong, second]) == 1
    assert "is no name of a generation" in capsys.readouterr().err
    known = pointer.read(data)
    assert known is not None
    assert known.kept == (second, first)


def test_a_pointer_that_names_a_path_is_not_followed(tmp_path: Path) -> None:
    name = publish(tmp_path, FOUND)
    current = tmp_path / pointer.CURRENT
    current.write_bytes(current.read_bytes().replace(name.encode(), f"../{name}".encode()))

    with pytest.raises(CorruptError, match="16 hexadecimal digits"):
        pointer.read(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_what_cannot_be_compared_with_what_is_published_is_not_published(
    tmp_path: Path, damage: str
) -> None:
    """Nobody can say that nothing was lost; and what is kept is what can be gone back to."""
    whole = publish(tmp_path, grown(100))
    broken = publish(tmp_path, grown(101))
    path = tmp_path / broken / generation_files.MANIFEST
    path.write_bytes(path.read_bytes()[:100])
    if damage == "gone":
        path.unlink()

    with pytest.raises(GenerationError, match="cannot be read, and hence not be compared with"):
        publish(tmp_path, grown(2))
    assert pointer.current(tmp_path) == broken
    forced = publish(tmp_path, grown(2), gates=Gates(force=True))

    known = pointer.read(tmp_path)
    assert known is not None
    assert known.kept == (forced, whole)
    assert publication.rollback(tmp_path).generation == whole


@pytest.mark.parametrize("command", ["list", "inspect", "rollback", "verify"])
def test_a_folder_of_nothing_is_an_error_and_stays_as_it_is(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script can tell a misspelt folder from an empty answer."""
    absent = tmp_path / "absent"

    assert main([command, str(tmp_path)]) == 1
    assert main([command, str(absent)]) == 1

    assert str(absent) in capsys.readouterr().err
    assert not absent.exists()


def test_looking_at_a_shard_that_is_cut_off_or_has_no_such_company_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / "EE.shard"

    assert main(["inspect", str(path), "--id", "1"]) == 0
    assert main(["inspect", str(path), "--id", "99"]) == 1
    assert "no company '99'" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path), "--id", "1"]) == 1
    assert "--id is for a shard file" in capsys.readouterr().err
    os.truncate(path, 20_000)
    assert main(["inspect", str(path)]) == 1
    assert "has 20000 bytes, the manifest says" in capsys.readouterr().err
