"""Signatures with a sequence number and an expiry: a mirror notices a source that replays an old generation."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from shards.__main__ import main
from shards.generations import pointer, publication
from shards.mirror import signature
from shards.mirror.mirror import MirrorOptions, MirrorOutcome, mirror
from shards.mirror.source import SyncError
from shards.mirror.source_kinds import Folder
from tests.shards.mirror.sources import MemorySource, eager_downloader
from tests.world import company, publish

COMPANIES = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]
LATER_COMPANIES = [*COMPANIES, company("FR", "9", "Œuvre")]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The path of a new private key."""
    signature.keygen(tmp_path / "key")
    return tmp_path / "key"


@pytest.fixture
def source(tmp_path: Path, key: Path) -> Path:
    """A folder with a signed generation."""
    publish(tmp_path / "source", COMPANIES)
    signature.sign(tmp_path / "source", key)
    return tmp_path / "source"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of the mirror, which does not exist yet."""
    return tmp_path / "data"


def _options(key: Path, days: float = 0, **options: Any) -> MirrorOptions:
    """The options of a mirror that requires signatures, `days` days from now."""
    return MirrorOptions(
        key=signature.public_key(key.with_name(f"{key.name}.pub")),
        clock=lambda: datetime.now(UTC) + timedelta(days=days),
        **options,
    )


def _snapshot(source: Path) -> MemorySource:
    """The present files of the source, which later publications do not change."""
    return MemorySource(
        {str(path.relative_to(source)): path.read_bytes()
         for path in source.rglob("*") if path.is_file()}
    )  # fmt: skip


def _mirror(source: Path, data: Path, options: MirrorOptions) -> MirrorOutcome:
    """Run one round from the folder `source` to the folder `data`."""
    return mirror(eager_downloader(Folder(source)), data, options)


def _sign_in_older_form(source: Path, key: Path) -> None:
    """Sign as earlier versions did: only the manifest."""
    name = str(pointer.current_name(source))
    packed = (source / name / "manifest.json").read_bytes()
    signed = signature.private_key(key).sign(b"societes generation 1\n" + packed).hex()
    document = {"generation": name, "algorithm": "ed25519", "signature": signed}
    signature.store(source, name, orjson.dumps(document))


@pytest.mark.parametrize("pays", [(), ("EE",)])
def test_a_replaced_generation_is_refused_when_it_is_replayed(
    source: Path, data: Path, key: Path, pays: tuple[str, ...]
) -> None:
    old_source = _snapshot(source)
    publish(source, LATER_COMPANIES)
    signature.sign(source, key)
    newest = _mirror(source, data, _options(key, pays=pays)).generation

    with pytest.raises(SyncError, match="was seen before: the source offers an older signature"):
        mirror(eager_downloader(old_source), data, _options(key, pays=pays))
    assert pointer.current_name(data) == newest
    accepted = mirror(eager_downloader(old_source), data, _options(key, pays=pays, accept_old=True))
    repeated = mirror(eager_downloader(old_source), data, _options(key, pays=pays))

    assert pointer.current_name(data) == accepted.generation == repeated.generation != newest


def test_a_rollback_is_followed_if_it_is_signed_again(source: Path, data: Path, key: Path) -> None:
    first = pointer.current_name(source)
    publish(source, LATER_COMPANIES)
    signature.sign(source, key)
    _mirror(source, data, _options(key))
    publication.rollback(source)

    with pytest.raises(SyncError, match="a rollback must be signed again"):
        _mirror(source, data, _options(key))
    signature.sign(source, key)

    assert _mirror(source, data, _options(key)).generation == first


def test_an_expired_generation_is_refused_before_its_shards_are_fetched(
    source: Path, data: Path, key: Path
) -> None:
    memory = _snapshot(source)

    with pytest.raises(SyncError, match="expired on"):
        mirror(eager_downloader(memory), data, _options(key, days=7.01))
    assert not [path for path, _ in memory.requests if path.endswith(".shard")]
    assert _mirror(source, data, _options(key, days=6.9)).has_published


def test_a_mirror_of_an_expired_generation_fails_without_accept_old(
    source: Path, data: Path, key: Path
) -> None:
    _mirror(source, data, _options(key))

    with pytest.raises(SyncError, match="sign it again where it was built"):
        _mirror(source, data, _options(key, days=8))
    assert not _mirror(source, data, _options(key, days=8, accept_old=True)).has_published
    signature.sign(source, key, valid_days=30)

    assert not _mirror(source, data, _options(key, days=8)).has_published


def test_a_renewed_signature_reaches_mirrors_of_mirrors(
    source: Path, data: Path, key: Path, tmp_path: Path
) -> None:
    _mirror(source, data, MirrorOptions())
    signature.sign(source, key, valid_days=30)
    _mirror(source, data, MirrorOptions())

    assert _mirror(data, tmp_path / "b", _options(key, days=20)).has_published


def _set_values(**values: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that replaces these values of a document."""
    return lambda document: {**document, **values}


@pytest.mark.parametrize(
    "change",
    [
        lambda document: {name: value for name, value in document.items() if name not in ("sequence", "expires")},
        _set_values(sequence=1 << 62), _set_values(sequence=0), _set_values(sequence=True), _set_values(sequence="9"),
        _set_values(expires="2999-01-01T00:00:00+00:00"), _set_values(expires="2999-01-01T00:00:00"),
        _set_values(expires=None), _set_values(expires="9" * 99),
    ],
)  # fmt: skip
def test_the_sequence_number_and_the_expiry_cannot_be_changed_or_removed(
    source: Path, data: Path, key: Path, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    memory = _snapshot(source)
    path = signature.path_of(str(pointer.current_name(source)))
    memory.files[path] = orjson.dumps(change(orjson.loads(memory.files[path])))

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager_downloader(memory), data, _options(key))


def test_the_older_form_is_accepted_until_a_sequence_number_was_seen(
    source: Path, data: Path, key: Path
) -> None:
    _sign_in_older_form(source, key)
    old = _snapshot(source)

    assert mirror(eager_downloader(old), data, _options(key)).undated
    signature.sign(source, key)
    assert not _mirror(source, data, _options(key)).undated
    with pytest.raises(SyncError, match="sequence number 0"):
        mirror(eager_downloader(old), data, _options(key))


def test_sequence_numbers_grow_with_each_signature_and_are_stored_by_key(
    source: Path, data: Path, key: Path
) -> None:
    numbers = [signature.sign(source, key).sequence for _ in range(3)]
    _mirror(source, data, _options(key))
    signature.keygen(key.with_name("other"))
    signature.sign(source, key.with_name("other"))
    _mirror(source, data, _options(key.with_name("other")))

    assert numbers == sorted(set(numbers))
    highest = orjson.loads((data / "signatures" / "highest.json").read_bytes())
    key_bytes = signature.public_key(key.with_name("key.pub")).public_bytes_raw()
    assert len(highest) == 2
    assert highest[sha256(key_bytes).hexdigest()] == [numbers[-1], pointer.current_name(source)]


def test_every_generation_is_refused_if_the_record_of_sequence_numbers_is_damaged(
    source: Path, data: Path, key: Path
) -> None:
    _mirror(source, data, _options(key))
    (data / "signatures" / "highest.json").write_bytes(b'{"a": 1')

    with pytest.raises(SyncError, match="remove it to accept"):
        _mirror(source, data, _options(key))


def test_sync_refuses_an_old_generation_and_takes_it_with_accept_old(
    source: Path, data: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`old` keeps the first signature; the source is then signed a second time."""
    command = ["sync", str(source), str(data), "--public-key", f"{key}.pub"]
    old = source.with_name("old")
    _mirror(source, old, MirrorOptions())
    assert main(["sign", str(source), "--key", str(key), "--valid-days", "1"]) == 0
    assert main(command) == 0
    sync_old = [*command[:1], str(old), *command[2:]]

    assert main(sync_old) == 1
    output = capsys.readouterr()
    assert main([*sync_old, "--accept-old"]) == 0
    _sign_in_older_form(old, key)
    assert main([*sync_old, "--accept-old"]) == 0
    warnings = capsys.readouterr().err

    assert "valid until" in output.out
    assert output.err.startswith("shards: generation ")
    assert output.err.count("\n") == 1
    assert "has no sequence number and no expiry" in warnings
    with pytest.raises(SystemExit) as end:
        main(["sync", str(old), str(data), "--accept-old"])
    assert end.value.code == 2
