"""Rounds of a mirror: files fetched and linked, countries chosen, sources refused."""

import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import orjson
import pytest

from shards.analyses import market
from shards.errors import CorruptError, GenerationError, ShardError
from shards.format import FORMAT_VERSION
from shards.generations import (
    generation_files,
    groups,
    locks,
    manifest,
    pointer,
    publication,
    reference,
)
from shards.mirror import mirror as mirror_module
from shards.mirror.blobs import Downloader
from shards.mirror.mirror import MirrorOptions, MirrorOutcome, mirror
from shards.mirror.source import SyncError
from shards.mirror.source_kinds import Folder
from shards.query import Query
from shards.search.search import ShardSet, search
from tests.shards.mirror.sources import Memory, eager, file_of
from tests.world import company, publish

FOUND = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6),
    company("EE", "2", "Lab", division="62"),
    company("UK", "00000001", "'A' Rated & Co"),
    company("FR", "9", "Œuvre"),
]
NEW = [*FOUND, company("FR", "8", "Żabka")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "source", FOUND)
    return tmp_path / "source"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_only_regular_files_of_a_folder_are_read(source: Path, data: Path, kind: str) -> None:
    """A FIFO blocked the mirror, a link led it out of the folder"""
    current = source / "CURRENT"
    outside = current.rename(source.parent / "CURRENT")
    if kind == "link":
        current.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(current)
    else:
        current.mkdir()

    with pytest.raises(SyncError, match=r"CURRENT is no regular file; put the file itself there"):
        _mirror(source, data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def _mirror(source: Path, data: Path, **wish: object) -> MirrorOutcome:
    return mirror(eager(Folder(source)), data, replace(MirrorOptions(), **wish))  # type: ignore[arg-type]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_round_notes_when_the_mirror_had_what_its_source_publishes(
    source: Path, data: Path
) -> None:
    """Also a round that finds nothing new, and never one that fails."""
    noon = datetime(2026, 11, 24, 12, tzinfo=UTC)
    noted = []
    for hour in range(2):
        _mirror(source, data, clock=lambda hour=hour: noon + timedelta(hours=hour))
        noted.append(pointer.mirrored_at(data))
    shutil.rmtree(source)
    with pytest.raises(SyncError):
        _mirror(source, data, clock=lambda: noon + timedelta(hours=2))

    assert noted == [noon, noon + timedelta(hours=1)]
    assert pointer.mirrored_at(data) == noted[1]


def test_a_mirror_has_the_bytes_of_its_source(source: Path, data: Path) -> None:
    name = str(pointer.current_name(source))

    outcome = _mirror(source, data)

    assert outcome == MirrorOutcome(name, fetched=6)
    assert _files(data / name) == _files(source / name)
    assert pointer.current_name(data) == name
    assert {path.name for path in data.iterdir()} == {"CURRENT", pointer.MIRRORED, name}


def test_a_mirror_that_is_up_to_date_asks_for_the_pointer_and_whether_it_is_signed_now(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    before = (data / "CURRENT").read_bytes()
    name = pointer.current_name(source)
    memory = Memory({"CURRENT": orjson.dumps({"generation": name})})

    outcome = mirror(eager(memory), data, MirrorOptions())

    assert not outcome.has_published
    assert [path for path, _ in memory.asked] == ["CURRENT", f"signatures/{name}.json"]
    assert (data / "CURRENT").read_bytes() == before


def test_only_what_changed_is_fetched_and_the_rest_is_the_same_file(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    before = data / str(pointer.current_name(data))
    publish(source, NEW)

    outcome = _mirror(source, data)

    after = data / outcome.generation
    assert (outcome.fetched, outcome.linked) == (3, 3)
    assert (after / "EE.shard").samefile(before / "EE.shard")
    assert not (after / "FR.shard").samefile(before / "FR.shard")
    known = pointer.read(data)
    assert known
    assert known.previous == before.name


def test_a_mirror_knows_what_is_different_as_its_source_does(source: Path, data: Path) -> None:
    _mirror(source, data)
    publish(source, NEW)
    _mirror(source, data)

    ours, theirs = sorted(data.glob("changes/*/*")), sorted(source.glob("changes/*/*"))
    assert [path.relative_to(data) for path in ours] == [
        path.relative_to(source) for path in theirs
    ]
    assert [path.read_bytes() for path in ours] == [path.read_bytes() for path in theirs]
    assert [path.name for path in ours] == ["FR.changes", "changes.json"]


def test_a_file_that_the_disk_has_lost_is_fetched_and_not_linked(source: Path, data: Path) -> None:
    _mirror(source, data)
    lost = data / str(pointer.current_name(data)) / "EE.shard"
    content = lost.read_bytes()
    lost.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    publish(source, NEW)

    outcome = _mirror(source, data)

    assert outcome.fetched == 4
    assert (data / outcome.generation / "EE.shard").read_bytes() == content


@pytest.mark.parametrize("name", ["EE.shard", "manifest.json", "reference.json"])
def test_a_published_generation_that_lost_a_file_is_made_whole(
    source: Path, data: Path, name: str
) -> None:
    _mirror(source, data)
    folder = data / str(pointer.current_name(data))
    (folder / name).unlink()

    _mirror(source, data)

    generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def test_a_source_that_goes_back_is_followed_without_a_byte(source: Path, data: Path) -> None:
    first = _mirror(source, data).generation
    publish(source, NEW)
    _mirror(source, data)
    publication.rollback(source)

    outcome = _mirror(source, data)

    assert (outcome.generation, outcome.fetched) == (first, 0)
    assert pointer.current_name(data) == first


def test_generations_stay_as_long_as_they_are_kept(source: Path, data: Path) -> None:
    for number in range(4):
        publish(source, [*FOUND, company("FR", f"1{number}", "Ç")])
        _mirror(source, data, keep=3)

    known = pointer.read(data)
    assert known
    assert len(known.kept_generations) == 3
    assert {path.parent.name for path in data.glob("*/manifest.json")} == {*known.kept_generations}


def test_what_another_generation_had_begun_is_cleared_away_before_anything_is_fetched(
    source: Path, data: Path
) -> None:
    stale = data / ".mirror" / f"{'0' * 64}.part"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"half")
    (source / str(pointer.current_name(source)) / "EE.shard").unlink()

    with pytest.raises(SyncError, match=r"EE.shard is not there"):
        _mirror(source, data)

    assert not stale.exists()


def test_what_a_round_that_was_killed_at_its_end_left_is_cleared_away(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    (data / ".mirror").mkdir()

    _mirror(source, data)

    assert not (data / ".mirror").exists()


def test_one_round_at_a_time(source: Path, data: Path) -> None:
    with locks.write_lock(data), pytest.raises(GenerationError, match="by process"):
        _mirror(source, data)


def test_a_source_that_moves_on_is_read_again(source: Path, data: Path) -> None:
    """It publishes twice while it is read, and removes what it published before."""

    class Moving(Folder):
        moves = 2

        def open(self, path: str, start: int = 0):  # type: ignore[no-untyped-def]
            if path.endswith("FR.shard") and self.moves:
                self.moves -= 1
                publish(source, [*NEW, company("FR", f"7{self.moves}", "Ç")])
                publish(source, [*NEW, company("FR", f"6{self.moves}", "Ç")])
            return super().open(path, start)

    outcome = mirror(eager(Moving(source)), data, MirrorOptions())

    assert outcome.generation == pointer.current_name(source)


def test_a_source_that_lost_a_file_is_said_to(source: Path, data: Path) -> None:
    (source / str(pointer.current_name(source)) / "FR.shard").unlink()

    with pytest.raises(SyncError, match=r"FR.shard is not there, though \w+ is published"):
        _mirror(source, data)
    assert pointer.current_name(data) is None


# -- some countries ----------------------------------------------------------------


def test_a_part_has_its_countries_alone_in_lists_counts_and_searches(
    source: Path, data: Path
) -> None:
    outcome = _mirror(source, data, pays=("EE", "FR"))

    assert outcome.fetched == 4  # two shards, the report, the lists that its own are made of
    with generation_files.load(data, outcome.generation) as part:
        assert list(part.manifest.counts) == ["EE", "FR"]
        assert part.manifest.total == part.reference.total == 3
        assert part.manifest.secteurs == {"62": 2, "-": 1}
        assert [pays.iso2 for pays in part.reference.pays] == ["EE", "FR"]
        assert len(part.reference.secteurs) == 3
        assert search(part.shards, Query(), offset=0, limit=9).total == 3
        assert (
            generation_files.MARKET not in part.manifest.files
        )  # that of the whole would be of other companies
    generation_files.verify_digests(data / outcome.generation, part.manifest)


def test_a_part_says_of_what_it_is_one(source: Path, data: Path) -> None:
    whole = str(pointer.current_name(source))

    outcome = _mirror(source, data, pays=("EE",))

    assert outcome.generation != whole
    packed = (data / outcome.generation / "origin.json").read_bytes()
    assert packed == (source / whole / "manifest.json").read_bytes()


def test_a_part_that_is_up_to_date_stays_and_the_same_part_has_the_same_name(
    source: Path, data: Path, tmp_path: Path
) -> None:
    first = _mirror(source, data, pays=("EE",))

    assert _mirror(source, data, pays=("EE",)) == MirrorOutcome(first.generation)
    assert _mirror(source, tmp_path / "b", pays=("EE",)).generation == first.generation


def test_a_part_can_become_another_and_the_whole(source: Path, data: Path) -> None:
    _mirror(source, data, pays=("EE",))

    assert _mirror(source, data, pays=("EE", "UK")).linked == 2  # EE and the report
    assert _mirror(source, data).generation == pointer.current_name(source)


def test_a_part_can_be_mirrored(source: Path, data: Path, tmp_path: Path) -> None:
    part = _mirror(source, data, pays=("EE", "FR"))

    again = _mirror(data, tmp_path / "b")
    less = _mirror(data, tmp_path / "c", pays=("FR",))

    assert again.generation == part.generation
    with generation_files.load(tmp_path / "c", less.generation) as generation:
        assert list(generation.manifest.counts) == ["FR"]


def test_a_country_that_the_source_has_not_is_named(source: Path, data: Path) -> None:
    with pytest.raises(SyncError, match=r"has no DE; --pays may name EE, FR, UK"):
        _mirror(source, data, pays=("DE", "EE"))
    assert not list(data.glob("*/manifest.json"))


# -- a source that means harm ------------------------------------------------------


def _forged(source: Path, **files: object) -> Memory:
    """A source whose manifest is rightly named, and names these files too."""
    name = str(pointer.current_name(source))
    known = generation_files.read_manifest(source / name)
    forged = manifest.make(
        {**known.files, **files},  # type: ignore[dict-item]
        known.sources, known.counts, known.secteurs,
    )  # fmt: skip
    content = {f"{forged.generation}/{path}": body for path, body in _files(source / name).items()}
    content[f"{forged.generation}/manifest.json"] = manifest.dump(forged)
    return Memory({**content, "CURRENT": orjson.dumps({"generation": forged.generation})})


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/b", "..", ".", ".hidden", "", "manifest.json", "x\n", "é", "a\0"]
)
def test_a_name_that_leads_elsewhere_is_refused(source: Path, data: Path, name: str) -> None:
    memory = _forged(source, **{name: manifest.File(1, "0" * 64, "")})

    with pytest.raises(SyncError, match="which cannot be one"):
        mirror(eager(memory), data, MirrorOptions())

    assert {path.name for path in data.rglob("*")} <= {".lock"}


def test_a_manifest_of_too_many_files_is_refused_before_one_is_fetched(
    source: Path, data: Path
) -> None:
    """60 000 invented files were fetched and published"""
    memory = _forged(source, **{f"f{n}": manifest.File(1, "0" * 64, "") for n in range(1_000)})

    with pytest.raises(SyncError, match="and 1000 are the most"):
        mirror(eager(memory), data, MirrorOptions())

    assert not list(data.glob("*/manifest.json"))


@pytest.mark.parametrize(
    ("size", "digest"),
    [(-1, "0" * 64), ("9", "0" * 64), (1 << 63, "0" * 64), (True, "0" * 64), (1.5, "0" * 64),
     (1, "../" * 21 + "x"), (1, "0" * 63), (1, None), (1, "A" * 64)],
)  # fmt: skip
def test_a_size_or_digest_that_is_none_is_refused(
    source: Path, data: Path, size: object, digest: object
) -> None:
    memory = _forged(source, x=manifest.File(size, digest, ""))  # type: ignore[arg-type]

    with pytest.raises(SyncError, match=r"which cannot be one|is not of the type"):
        mirror(eager(memory), data, MirrorOptions())


def test_a_file_larger_than_the_disk_is_refused_before_a_byte_of_it(
    source: Path, data: Path
) -> None:
    memory = _forged(source, x=manifest.File(1 << 50, "0" * 64, ""))

    with pytest.raises(SyncError, match=r"bytes are missing and .* has room for"):
        mirror(eager(memory), data, MirrorOptions())

    assert not any(path.endswith((".shard", "x")) for path, _ in memory.asked)


@pytest.mark.parametrize(
    "packed", [b"", b"{}", b"[]", b'{"generation": "../../etc"}', b'{"generation": 7}', b"\xff"]
)
def test_a_pointer_that_is_none_is_refused(data: Path, packed: bytes) -> None:
    with pytest.raises(SyncError, match="CURRENT"):
        mirror(eager(Memory({"CURRENT": packed})), data, MirrorOptions())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"total": 4', b'"total": 5', "does not say what its name"),
        (b'"format": ', b'"format": 9', f"has format 9{FORMAT_VERSION}, this code reads"),
        (b'"format": ', b'"Format": ', "is not a manifest"),
    ],
)
def test_a_manifest_that_was_edited_is_refused(
    source: Path, data: Path, old: bytes, new: bytes, said: str
) -> None:
    memory = _forged(source)
    path = next(path for path in memory.files if path.endswith("manifest.json"))
    memory.files[path] = memory.files[path].replace(old, new)

    with pytest.raises(SyncError, match=said):
        mirror(eager(memory), data, MirrorOptions())


def test_the_manifest_of_another_generation_is_refused(source: Path, data: Path) -> None:
    memory = _forged(source)
    name = str(pointer.current_name(source))
    path = next(path for path in memory.files if path.endswith("manifest.json"))
    publish(source, NEW)
    other = (source / str(pointer.current_name(source)) / "manifest.json").read_bytes()
    assert name not in other.decode()
    memory.files[path] = other

    with pytest.raises(SyncError, match="is the manifest of"):
        mirror(eager(memory), data, MirrorOptions())


def test_a_manifest_without_lists_is_refused(source: Path, data: Path) -> None:
    name = str(pointer.current_name(source))
    known = generation_files.read_manifest(source / name)
    files = {path: file for path, file in known.files.items() if path != generation_files.REFERENCE}
    forged = manifest.make(files, (), known.counts, known.secteurs)
    shutil.copytree(source / name, source / forged.generation)
    (source / forged.generation / "manifest.json").write_bytes(manifest.dump(forged))
    pointer.point_to(source, forged.generation)

    for pays in ((), ("EE",)):
        with pytest.raises(SyncError, match=r"reference\.json"):
            _mirror(source, data, pays=pays)


def test_nothing_is_published_that_does_not_open(source: Path, data: Path) -> None:
    fetcher = Downloader(Folder(source))
    name = str(pointer.current_name(source))
    known = generation_files.read_manifest(source / name)
    shard = source / name / "EE.shard"
    shutil.copy(shard, source / name / "UK.shard")  # of another country
    files = {**known.files, "UK.shard": known.files["EE.shard"]}
    forged = manifest.make(files, (), known.counts, known.secteurs)
    (source / name / "manifest.json").write_bytes(manifest.dump(forged))
    (source / name).rename(source / forged.generation)
    pointer.point_to(source, forged.generation)

    with pytest.raises(CorruptError, match="companies of EE"):
        mirror(fetcher, data, MirrorOptions())
    assert pointer.current_name(data) is None


@pytest.mark.parametrize("pays", [(), ("EE",)])
def test_lists_that_are_nonsense_are_said_to_be(
    source: Path, data: Path, pays: tuple[str, ...]
) -> None:
    memory = _forged(source, **{"reference.json": file_of(b'{"pays": 7}')})
    for path in memory.files:
        if path.endswith("reference.json"):
            memory.files[path] = b'{"pays": 7}'

    with pytest.raises(SyncError, match=r"lists of generation .* cannot be understood"):
        mirror(eager(memory), data, MirrorOptions(pays))


@pytest.mark.parametrize(
    "report", [b"", b'"x"', b"[]", b'{"pays": 1}', b'{"pays": {"FR": 1}}', b'{"pays": {"FR": {}}}']
)
def test_a_report_of_another_shape_counts_no_objections(tmp_path: Path, report: bytes) -> None:
    """A mirror publishes what its source does; only the digests must be right"""
    (tmp_path / "quality.json").write_bytes(report)

    assert not any(mirror_module._objections(tmp_path).values())


# Of no company: of other ones than any generation here.
MARKET: Final = market.dump(market.of_whole_base(ShardSet()))


def groups_with(shape: str) -> bytes:
    head = f"{{'descr': {groups._ROW.descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    head = head.ljust(117 + 64 * 4) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sources.json", b"null"),
        ("sources.json", b'{"EE": [{"source": 7}]}'),
        ("sources.json", b'{"EE": 7}'),
        ("quality.json", b"null"),
        ("quality.json", b'{"pays": {"EE": {"renseignees": {"nom": "x"}}}}'),
        ("market.json", b"null"),
        ("market.json", MARKET),
        ("groups.npy", groups_with("(1152921504606846976,)")),
        ("groups.npy", groups_with("(5,)")),
        ("groups.npy", b"\x80\x04N."),
    ],
)
def test_a_document_that_a_server_cannot_load_is_not_published(
    source: Path, data: Path, name: str, content: bytes
) -> None:
    """The fourth attack (L1): a mirror published it, and its server answered 500"""
    old = str(pointer.current_name(source))
    known = generation_files.read_manifest(source / old)
    (source / old / name).unlink(missing_ok=True)
    (source / old / name).write_bytes(content)
    files = {**known.files, name: manifest.digest(source / old / name)}
    forged = manifest.make(files, (), known.counts, known.secteurs)
    (source / old / "manifest.json").write_bytes(manifest.dump(forged))
    (source / old).rename(source / forged.generation)
    pointer.point_to(source, forged.generation)

    with pytest.raises(ShardError):
        mirror(Downloader(Folder(source)), data, MirrorOptions())
    assert pointer.current_name(data) is None


@pytest.mark.parametrize("code", ["../XX", "ee", "EEE", ""])
def test_a_code_of_a_country_that_is_none_is_no_reference(code: str) -> None:
    entry = dict.fromkeys(("slug", "nom_fr", "nom_en", "devise", "registre"), "x")
    document = {"pays": [{"iso2": code, **entry}], "counts": {code: []}}
    packed = orjson.dumps({**document, "secteurs": [], "sous_secteurs": []})

    with pytest.raises(ValueError, match="no code of a country"):
        reference.load(packed)
