"""Rounds of a mirror: fetched and linked files, selected countries, refused sources."""

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
from tests.shards.mirror.sources import MemorySource, eager_downloader, manifest_file
from tests.world import company, publish

COMPANIES = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6),
    company("EE", "2", "Lab", division="62"),
    company("UK", "00000001", "'A' Rated & Co"),
    company("FR", "9", "Œuvre"),
]
NEW_COMPANIES = [*COMPANIES, company("FR", "8", "Żabka")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a published generation."""
    publish(tmp_path / "source", COMPANIES)
    return tmp_path / "source"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_only_regular_files_of_a_folder_are_read(source: Path, data: Path, kind: str) -> None:
    """In an earlier version, a FIFO blocked the mirror, and a link led it out of the folder"""
    current = source / "CURRENT"
    outside = current.rename(source.parent / "CURRENT")
    if kind == "link":
        current.symlink_to(outside)
    elif kind == "fifo":
        os.mkfifo(current)
    else:
        current.mkdir()

    with pytest.raises(
        SyncError, match=r"CURRENT is not a regular file; put the file itself there"
    ):
        _mirror(source, data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of the mirror, which does not exist yet."""
    return tmp_path / "data"


def _mirror(source: Path, data: Path, **options: object) -> MirrorOutcome:
    """Run one round from the folder `source` to the folder `data`."""
    return mirror(eager_downloader(Folder(source)), data, replace(MirrorOptions(), **options))  # type: ignore[arg-type]


def _files(folder: Path) -> dict[str, bytes]:
    """The content of each file of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_round_notes_the_time_at_which_the_mirror_was_up_to_date(
    source: Path, data: Path
) -> None:
    """A round without changes notes its time too; a round that fails does not."""
    noon = datetime(2026, 11, 24, 12, tzinfo=UTC)
    times = []
    for hour in range(2):
        _mirror(source, data, clock=lambda hour=hour: noon + timedelta(hours=hour))
        times.append(pointer.last_mirror_time(data))
    shutil.rmtree(source)
    with pytest.raises(SyncError):
        _mirror(source, data, clock=lambda: noon + timedelta(hours=2))

    assert times == [noon, noon + timedelta(hours=1)]
    assert pointer.last_mirror_time(data) == times[1]


def test_a_mirror_has_the_bytes_of_its_source(source: Path, data: Path) -> None:
    name = str(pointer.current_name(source))

    outcome = _mirror(source, data)

    assert outcome == MirrorOutcome(name, fetched=6)
    assert _files(data / name) == _files(source / name)
    assert pointer.current_name(data) == name
    assert {path.name for path in data.iterdir()} == {"CURRENT", pointer.MIRRORED, name}


def test_a_mirror_that_is_up_to_date_requests_only_the_pointer_and_the_signature(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    pointer_bytes = (data / "CURRENT").read_bytes()
    name = pointer.current_name(source)
    memory = MemorySource({"CURRENT": orjson.dumps({"generation": name})})

    outcome = mirror(eager_downloader(memory), data, MirrorOptions())

    assert not outcome.has_published
    assert [path for path, _ in memory.requests] == ["CURRENT", f"signatures/{name}.json"]
    assert (data / "CURRENT").read_bytes() == pointer_bytes


def test_changed_files_are_fetched_and_unchanged_files_are_linked(source: Path, data: Path) -> None:
    _mirror(source, data)
    before = data / str(pointer.current_name(data))
    publish(source, NEW_COMPANIES)

    outcome = _mirror(source, data)

    after = data / outcome.generation
    # Fetched: the shard of France, the lists and the market. Linked: the shards of Estonia and Britain, and the report.
    assert (outcome.fetched, outcome.linked) == (3, 3)
    assert (after / "EE.shard").samefile(before / "EE.shard")
    assert not (after / "FR.shard").samefile(before / "FR.shard")
    current = pointer.read(data)
    assert current
    assert current.previous == before.name


def test_a_mirror_has_the_same_change_files_as_its_source(source: Path, data: Path) -> None:
    _mirror(source, data)
    publish(source, NEW_COMPANIES)
    _mirror(source, data)

    mirrored, original = sorted(data.glob("changes/*/*")), sorted(source.glob("changes/*/*"))
    assert [path.relative_to(data) for path in mirrored] == [
        path.relative_to(source) for path in original
    ]
    assert [path.read_bytes() for path in mirrored] == [path.read_bytes() for path in original]
    assert [path.name for path in mirrored] == ["FR.changes", "changes.json"]


def test_a_file_that_the_disk_has_damaged_is_fetched_instead_of_linked(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    damaged = data / str(pointer.current_name(data)) / "EE.shard"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    publish(source, NEW_COMPANIES)

    outcome = _mirror(source, data)

    assert outcome.fetched == 4  # the three changed files and the damaged file
    assert (data / outcome.generation / "EE.shard").read_bytes() == content


@pytest.mark.parametrize("name", ["EE.shard", "manifest.json", "reference.json"])
def test_a_missing_file_of_the_published_generation_is_restored(
    source: Path, data: Path, name: str
) -> None:
    _mirror(source, data)
    folder = data / str(pointer.current_name(data))
    (folder / name).unlink()

    _mirror(source, data)

    generation_files.verify_digests(folder, generation_files.read_manifest(folder))


def test_a_rollback_of_the_source_is_followed_without_a_download(source: Path, data: Path) -> None:
    first = _mirror(source, data).generation
    publish(source, NEW_COMPANIES)
    _mirror(source, data)
    publication.rollback(source)

    outcome = _mirror(source, data)

    assert (outcome.generation, outcome.fetched) == (first, 0)
    assert pointer.current_name(data) == first


def test_as_many_generations_as_requested_are_kept(source: Path, data: Path) -> None:
    for number in range(4):
        publish(source, [*COMPANIES, company("FR", f"1{number}", "Ç")])
        _mirror(source, data, keep=3)

    current = pointer.read(data)
    assert current
    assert len(current.generations) == 3
    assert {path.parent.name for path in data.glob("*/manifest.json")} == {*current.generations}


def test_parts_of_another_generation_are_removed_before_a_download(
    source: Path, data: Path
) -> None:
    stale = data / ".mirror" / f"{'0' * 64}.part"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"half")
    (source / str(pointer.current_name(source)) / "EE.shard").unlink()

    with pytest.raises(SyncError, match=r"EE.shard is not there"):
        _mirror(source, data)

    assert not stale.exists()


def test_the_remains_of_a_round_that_was_killed_at_its_end_are_removed(
    source: Path, data: Path
) -> None:
    _mirror(source, data)
    (data / ".mirror").mkdir()

    _mirror(source, data)

    assert not (data / ".mirror").exists()


def test_only_one_round_runs_at_a_time(source: Path, data: Path) -> None:
    with locks.write_lock(data), pytest.raises(GenerationError, match="by process"):
        _mirror(source, data)


def test_a_source_that_publishes_during_a_round_is_read_again(source: Path, data: Path) -> None:
    """Publications during the copy remove the generation that is being copied."""

    class PublishingSource(Folder):
        """A source that publishes while it is read, in its first two rounds."""

        openings_with_publications = 2

        def open(self, path: str, start: int = 0):  # type: ignore[no-untyped-def]
            """Open a file; publish two generations before the shard of France is opened."""
            if path.endswith("FR.shard") and self.openings_with_publications:
                self.openings_with_publications -= 1
                publish(
                    source,
                    [*NEW_COMPANIES, company("FR", f"7{self.openings_with_publications}", "Ç")],
                )
                publish(
                    source,
                    [*NEW_COMPANIES, company("FR", f"6{self.openings_with_publications}", "Ç")],
                )
            return super().open(path, start)

    outcome = mirror(eager_downloader(PublishingSource(source)), data, MirrorOptions())

    assert outcome.generation == pointer.current_name(source)


def test_a_file_that_is_missing_at_the_source_is_named(source: Path, data: Path) -> None:
    (source / str(pointer.current_name(source)) / "FR.shard").unlink()

    with pytest.raises(SyncError, match=r"FR.shard is not there, though \w+ is published"):
        _mirror(source, data)
    assert pointer.current_name(data) is None


# -- selected countries ----------------------------------------------------------------


def test_a_partial_mirror_has_only_its_countries_in_lists_counts_and_searches(
    source: Path, data: Path
) -> None:
    outcome = _mirror(source, data, pays=("EE", "FR"))

    assert outcome.fetched == 4  # two shards, the report, the reference lists of the source
    with generation_files.load(data, outcome.generation) as partial:
        assert list(partial.manifest.counts) == ["EE", "FR"]
        assert partial.manifest.total == partial.reference.total == 3
        assert partial.manifest.secteurs == {"62": 2, "-": 1}
        assert [pays.iso2 for pays in partial.reference.pays] == ["EE", "FR"]
        assert len(partial.reference.secteurs) == 3
        assert search(partial.shards, Query(), offset=0, limit=9).total == 3
        # The figures of the source are of all its countries, so a partial mirror leaves them out.
        assert generation_files.MARKET not in partial.manifest.files
    generation_files.verify_digests(data / outcome.generation, partial.manifest)


def test_a_partial_mirror_has_the_manifest_of_the_complete_generation(
    source: Path, data: Path
) -> None:
    complete = str(pointer.current_name(source))

    outcome = _mirror(source, data, pays=("EE",))

    assert outcome.generation != complete
    packed = (data / outcome.generation / "origin.json").read_bytes()
    assert packed == (source / complete / "manifest.json").read_bytes()


def test_a_partial_mirror_stays_and_the_same_countries_give_the_same_name(
    source: Path, data: Path, tmp_path: Path
) -> None:
    first = _mirror(source, data, pays=("EE",))

    assert _mirror(source, data, pays=("EE",)) == MirrorOutcome(first.generation)
    assert _mirror(source, tmp_path / "b", pays=("EE",)).generation == first.generation


def test_a_partial_mirror_can_change_its_countries_and_become_complete(
    source: Path, data: Path
) -> None:
    _mirror(source, data, pays=("EE",))

    assert _mirror(source, data, pays=("EE", "UK")).linked == 2  # EE and the report
    assert _mirror(source, data).generation == pointer.current_name(source)


def test_a_partial_mirror_can_be_mirrored(source: Path, data: Path, tmp_path: Path) -> None:
    partial = _mirror(source, data, pays=("EE", "FR"))

    copy = _mirror(data, tmp_path / "b")
    smaller = _mirror(data, tmp_path / "c", pays=("FR",))

    assert copy.generation == partial.generation
    with generation_files.load(tmp_path / "c", smaller.generation) as generation:
        assert list(generation.manifest.counts) == ["FR"]


def test_a_country_that_the_source_does_not_have_is_named(source: Path, data: Path) -> None:
    with pytest.raises(SyncError, match=r"has no DE; --pays may name EE, FR, UK"):
        _mirror(source, data, pays=("DE", "EE"))
    assert not list(data.glob("*/manifest.json"))


# -- hostile sources ------------------------------------------------------


def _forge_source(source: Path, **files: object) -> MemorySource:
    """A source whose manifest also lists `files` (name to entry), and whose generation has the name for that."""
    name = str(pointer.current_name(source))
    original = generation_files.read_manifest(source / name)
    forged = manifest.make(
        {**original.files, **files},  # type: ignore[dict-item]
        original.sources, original.counts, original.secteurs,
    )  # fmt: skip
    content = {f"{forged.generation}/{path}": body for path, body in _files(source / name).items()}
    content[f"{forged.generation}/manifest.json"] = manifest.dump(forged)
    return MemorySource({**content, "CURRENT": orjson.dumps({"generation": forged.generation})})


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/b", "..", ".", ".hidden", "", "manifest.json", "x\n", "é", "a\0"]
)
def test_a_file_name_that_leads_out_of_the_folder_is_refused(
    source: Path, data: Path, name: str
) -> None:
    memory = _forge_source(source, **{name: manifest.File(1, "0" * 64, "")})

    with pytest.raises(SyncError, match="which is not valid"):
        mirror(eager_downloader(memory), data, MirrorOptions())

    assert {path.name for path in data.rglob("*")} <= {".lock"}


def test_a_manifest_of_too_many_files_is_refused_before_a_file_is_fetched(
    source: Path, data: Path
) -> None:
    """In an earlier version, 60 000 invented files were fetched and published"""
    memory = _forge_source(
        source, **{f"f{number}": manifest.File(1, "0" * 64, "") for number in range(1_000)}
    )

    with pytest.raises(SyncError, match="and the maximum is 1000"):
        mirror(eager_downloader(memory), data, MirrorOptions())

    assert not list(data.glob("*/manifest.json"))


@pytest.mark.parametrize(
    ("size", "digest"),
    [(-1, "0" * 64), ("9", "0" * 64), (1 << 63, "0" * 64), (True, "0" * 64), (1.5, "0" * 64),
     (1, "../" * 21 + "x"), (1, "0" * 63), (1, None), (1, "A" * 64)],
)  # fmt: skip
def test_an_invalid_size_or_digest_is_refused(
    source: Path, data: Path, size: object, digest: object
) -> None:
    memory = _forge_source(source, x=manifest.File(size, digest, ""))  # type: ignore[arg-type]

    with pytest.raises(SyncError, match=r"which is not valid|is not of the type"):
        mirror(eager_downloader(memory), data, MirrorOptions())


def test_a_file_larger_than_the_disk_is_refused_before_it_is_fetched(
    source: Path, data: Path
) -> None:
    memory = _forge_source(source, x=manifest.File(1 << 50, "0" * 64, ""))

    with pytest.raises(SyncError, match=r"bytes are missing and .* has room for"):
        mirror(eager_downloader(memory), data, MirrorOptions())

    assert not any(path.endswith((".shard", "x")) for path, _ in memory.requests)


@pytest.mark.parametrize(
    "packed", [b"", b"{}", b"[]", b'{"generation": "../../etc"}', b'{"generation": 7}', b"\xff"]
)
def test_an_invalid_pointer_is_refused(data: Path, packed: bytes) -> None:
    with pytest.raises(SyncError, match="CURRENT"):
        mirror(eager_downloader(MemorySource({"CURRENT": packed})), data, MirrorOptions())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"total": 4', b'"total": 5', "does not match the digest in its name"),
        (b'"format": ', b'"format": 9', f"has format 9{FORMAT_VERSION}, this code reads"),
        (b'"format": ', b'"Format": ', "is not a manifest"),
    ],
)
def test_an_edited_manifest_is_refused(
    source: Path, data: Path, old: bytes, new: bytes, message: str
) -> None:
    memory = _forge_source(source)
    path = next(path for path in memory.files if path.endswith("manifest.json"))
    memory.files[path] = memory.files[path].replace(old, new)

    with pytest.raises(SyncError, match=message):
        mirror(eager_downloader(memory), data, MirrorOptions())


def test_the_manifest_of_another_generation_is_refused(source: Path, data: Path) -> None:
    memory = _forge_source(source)
    name = str(pointer.current_name(source))
    path = next(path for path in memory.files if path.endswith("manifest.json"))
    publish(source, NEW_COMPANIES)
    later_manifest = (source / str(pointer.current_name(source)) / "manifest.json").read_bytes()
    assert name not in later_manifest.decode()
    memory.files[path] = later_manifest

    with pytest.raises(SyncError, match="is the manifest of"):
        mirror(eager_downloader(memory), data, MirrorOptions())


def test_a_manifest_without_reference_json_is_refused(source: Path, data: Path) -> None:
    name = str(pointer.current_name(source))
    original = generation_files.read_manifest(source / name)
    files = {
        path: file for path, file in original.files.items() if path != generation_files.REFERENCE
    }
    forged = manifest.make(files, (), original.counts, original.secteurs)
    shutil.copytree(source / name, source / forged.generation)
    (source / forged.generation / "manifest.json").write_bytes(manifest.dump(forged))
    pointer.point_to(source, forged.generation)

    for pays in ((), ("EE",)):
        with pytest.raises(SyncError, match=r"reference\.json"):
            _mirror(source, data, pays=pays)


def test_a_generation_that_does_not_open_is_not_published(source: Path, data: Path) -> None:
    downloader = Downloader(Folder(source))
    name = str(pointer.current_name(source))
    original = generation_files.read_manifest(source / name)
    shard = source / name / "EE.shard"
    shutil.copy(shard, source / name / "UK.shard")  # the shard of another country
    files = {**original.files, "UK.shard": original.files["EE.shard"]}
    forged = manifest.make(files, (), original.counts, original.secteurs)
    (source / name / "manifest.json").write_bytes(manifest.dump(forged))
    (source / name).rename(source / forged.generation)
    pointer.point_to(source, forged.generation)

    with pytest.raises(CorruptError, match="companies of EE"):
        mirror(downloader, data, MirrorOptions())
    assert pointer.current_name(data) is None


@pytest.mark.parametrize("pays", [(), ("EE",)])
def test_malformed_reference_lists_are_refused(
    source: Path, data: Path, pays: tuple[str, ...]
) -> None:
    memory = _forge_source(source, **{"reference.json": manifest_file(b'{"pays": 7}')})
    for path in memory.files:
        if path.endswith("reference.json"):
            memory.files[path] = b'{"pays": 7}'

    with pytest.raises(SyncError, match=r"lists of generation .* cannot be understood"):
        mirror(eager_downloader(memory), data, MirrorOptions(pays))


@pytest.mark.parametrize(
    "report", [b"", b'"x"', b"[]", b'{"pays": 1}', b'{"pays": {"FR": 1}}', b'{"pays": {"FR": {}}}']
)
def test_a_report_of_another_shape_counts_no_objections(tmp_path: Path, report: bytes) -> None:
    (tmp_path / "quality.json").write_bytes(report)

    assert not any(mirror_module._objections(tmp_path).values())


# Figures that match no generation of these tests.
FIGURES_OF_NO_COMPANIES: Final = market.dump(market.base_figures(ShardSet()))


def groups_file(shape: str) -> bytes:
    """A `groups.npy` whose header announces rows of this shape, and which has no rows."""
    header = f"{{'descr': {groups._ROW.descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117 + 64 * 4) + "\n"  # with the 10 bytes before it, a multiple of 64
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sources.json", b"null"),
        ("sources.json", b'{"EE": [{"source": 7}]}'),
        ("sources.json", b'{"EE": 7}'),
        ("quality.json", b"null"),
        ("quality.json", b'{"pays": {"EE": {"renseignees": {"nom": "x"}}}}'),
        ("market.json", b"null"),
        ("market.json", FIGURES_OF_NO_COMPANIES),
        ("groups.npy", groups_file("(1152921504606846976,)")),  # 2**60 rows
        ("groups.npy", groups_file("(5,)")),  # more rows than the file has
        ("groups.npy", b"\x80\x04N."),  # a pickle
    ],
)
def test_a_document_that_a_server_cannot_load_is_not_published(
    source: Path, data: Path, name: str, content: bytes
) -> None:
    """In an earlier version (fourth attack, L1), a mirror published it, and its server answered 500"""
    published = str(pointer.current_name(source))
    original = generation_files.read_manifest(source / published)
    (source / published / name).unlink(missing_ok=True)
    (source / published / name).write_bytes(content)
    files = {**original.files, name: manifest.digest(source / published / name)}
    forged = manifest.make(files, (), original.counts, original.secteurs)
    (source / published / "manifest.json").write_bytes(manifest.dump(forged))
    (source / published).rename(source / forged.generation)
    pointer.point_to(source, forged.generation)

    with pytest.raises(ShardError):
        mirror(Downloader(Folder(source)), data, MirrorOptions())
    assert pointer.current_name(data) is None


@pytest.mark.parametrize("code", ["../XX", "ee", "EEE", ""])
def test_reference_lists_with_an_invalid_country_code_are_refused(code: str) -> None:
    entry = dict.fromkeys(("slug", "nom_fr", "nom_en", "devise", "registre"), "x")
    document = {"pays": [{"iso2": code, **entry}], "counts": {code: []}}
    packed = orjson.dumps({**document, "secteurs": [], "sous_secteurs": []})

    with pytest.raises(ValueError, match="is not a country code"):
        reference.load(packed)
