"""Signatures with a sequence number and an expiry: a source cannot offer what is old, nor stay behind, unnoticed."""

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
from tests.shards.mirror.sources import Memory, eager
from tests.world import company, publish

FOUND = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]
LATER = [*FOUND, company("FR", "9", "Œuvre")]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    signature.keygen(tmp_path / "key")
    return tmp_path / "key"


@pytest.fixture
def source(tmp_path: Path, key: Path) -> Path:
    publish(tmp_path / "source", FOUND)
    signature.sign(tmp_path / "source", key)
    return tmp_path / "source"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def _options(key: Path, days: float = 0, **others: Any) -> MirrorOptions:
    """The options of a mirror that asks for signatures, so many days from now."""
    return MirrorOptions(
        key=signature.public_key(key.with_name(f"{key.name}.pub")),
        clock=lambda: datetime.now(UTC) + timedelta(days=days),
        **others,
    )


def _snapshot(source: Path) -> Memory:
    return Memory(
        {str(path.relative_to(source)): path.read_bytes()
         for path in source.rglob("*") if path.is_file()}
    )  # fmt: skip


def _mirror(source: Path, data: Path, options: MirrorOptions) -> MirrorOutcome:
    return mirror(eager(Folder(source)), data, options)


def _older_form(source: Path, key: Path) -> None:
    """Sign as earlier versions did: the manifest alone."""
    name = str(pointer.current_name(source))
    packed = (source / name / "manifest.json").read_bytes()
    signed = signature.private_key(key).sign(b"societes generation 1\n" + packed).hex()
    document = {"generation": name, "algorithm": "ed25519", "signature": signed}
    signature.keep(source, name, orjson.dumps(document))


@pytest.mark.parametrize("pays", [(), ("EE",)])
def test_what_was_signed_and_replaced_is_refused_when_it_is_replayed(
    source: Path, data: Path, key: Path, pays: tuple[str, ...]
) -> None:
    replayed = _snapshot(source)
    publish(source, LATER)
    signature.sign(source, key)
    newest = _mirror(source, data, _options(key, pays=pays)).generation

    with pytest.raises(SyncError, match="was seen before: the source offers what is old"):
        mirror(eager(replayed), data, _options(key, pays=pays))
    assert pointer.current_name(data) == newest
    told = mirror(eager(replayed), data, _options(key, pays=pays, accept_old=True))
    stays = mirror(eager(replayed), data, _options(key, pays=pays))

    assert pointer.current_name(data) == told.generation == stays.generation != newest


def test_a_rollback_is_followed_when_it_is_signed(source: Path, data: Path, key: Path) -> None:
    first = pointer.current_name(source)
    publish(source, LATER)
    signature.sign(source, key)
    _mirror(source, data, _options(key))
    publication.rollback(source)

    with pytest.raises(SyncError, match="a rollback must be signed again"):
        _mirror(source, data, _options(key))
    signature.sign(source, key)

    assert _mirror(source, data, _options(key)).generation == first


def test_what_has_expired_is_refused_before_a_shard_of_it(
    source: Path, data: Path, key: Path
) -> None:
    memory = _snapshot(source)

    with pytest.raises(SyncError, match="expired on"):
        mirror(eager(memory), data, _options(key, days=7.01))
    assert not [path for path, _ in memory.asked if path.endswith(".shard")]
    assert _mirror(source, data, _options(key, days=6.9)).has_published


def test_a_mirror_does_not_stay_on_what_has_expired_unless_told(
    source: Path, data: Path, key: Path
) -> None:
    _mirror(source, data, _options(key))

    with pytest.raises(SyncError, match="sign it again where it was built"):
        _mirror(source, data, _options(key, days=8))
    assert not _mirror(source, data, _options(key, days=8, accept_old=True)).has_published
    signature.sign(source, key, valid_days=30)

    assert not _mirror(source, data, _options(key, days=8)).has_published


def test_a_signature_that_is_renewed_reaches_the_mirrors_of_mirrors(
    source: Path, data: Path, key: Path, tmp_path: Path
) -> None:
    _mirror(source, data, MirrorOptions())
    signature.sign(source, key, valid_days=30)
    _mirror(source, data, MirrorOptions())

    assert _mirror(data, tmp_path / "b", _options(key, days=20)).has_published


def _with(**values: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda document: {**document, **values}


@pytest.mark.parametrize(
    "change",
    [
        lambda document: {k: v for k, v in document.items() if k not in ("sequence", "expires")},
        _with(sequence=1 << 62), _with(sequence=0), _with(sequence=True), _with(sequence="9"),
        _with(expires="2999-01-01T00:00:00+00:00"), _with(expires="2999-01-01T00:00:00"),
        _with(expires=None), _with(expires="9" * 99),
    ],
)  # fmt: skip
def test_a_number_and_an_expiry_cannot_be_changed_or_left_out(
    source: Path, data: Path, key: Path, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    memory = _snapshot(source)
    path = signature.path_of(str(pointer.current_name(source)))
    memory.files[path] = orjson.dumps(change(orjson.loads(memory.files[path])))

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager(memory), data, _options(key))


def test_the_older_form_is_read_until_a_number_has_been_seen(
    source: Path, data: Path, key: Path
) -> None:
    _older_form(source, key)
    old = _snapshot(source)

    assert mirror(eager(old), data, _options(key)).undated
    signature.sign(source, key)
    assert not _mirror(source, data, _options(key)).undated
    with pytest.raises(SyncError, match="sequence number 0"):
        mirror(eager(old), data, _options(key))


def test_numbers_grow_with_each_signature_and_are_kept_by_key(
    source: Path, data: Path, key: Path
) -> None:
    numbers = [signature.sign(source, key).sequence for _ in range(3)]
    _mirror(source, data, _options(key))
    signature.keygen(key.with_name("other"))
    signature.sign(source, key.with_name("other"))
    _mirror(source, data, _options(key.with_name("other")))

    assert numbers == sorted(set(numbers))
    seen = orjson.loads((data / "signatures" / "highest.json").read_bytes())
    raw = signature.public_key(key.with_name("key.pub")).public_bytes_raw()
    assert len(seen) == 2
    assert seen[sha256(raw).hexdigest()] == [numbers[-1], pointer.current_name(source)]


def test_a_record_that_is_damaged_admits_nothing(source: Path, data: Path, key: Path) -> None:
    _mirror(source, data, _options(key))
    (data / "signatures" / "highest.json").write_bytes(b'{"a": 1')

    with pytest.raises(SyncError, match="remove it to begin anew"):
        _mirror(source, data, _options(key))


def test_the_command_says_what_is_old_and_takes_it_when_told(
    source: Path, data: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["sync", str(source), str(data), "--public-key", f"{key}.pub"]
    old = source.with_name("old")
    _mirror(source, old, MirrorOptions())
    assert main(["sign", str(source), "--key", str(key), "--valid-days", "1"]) == 0
    assert main(command) == 0
    back = [*command[:1], str(old), *command[2:]]

    assert main(back) == 1
    said = capsys.readouterr()
    assert main([*back, "--accept-old"]) == 0
    _older_form(old, key)
    assert main([*back, "--accept-old"]) == 0
    warned = capsys.readouterr().err

    assert "valid until" in said.out
    assert said.err.startswith("shards: generation ")
    assert said.err.count("\n") == 1
    assert "has no sequence number and no expiry" in warned
    with pytest.raises(SystemExit) as wrong:
        main(["sync", str(old), str(data), "--accept-old"])
    assert wrong.value.code == 2
