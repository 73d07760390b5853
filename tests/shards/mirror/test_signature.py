"""Signatures: a generation without a valid one is refused before any of its data is fetched."""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from shards.errors import GenerationError
from shards.generations import generation_files, pointer
from shards.mirror import signature
from shards.mirror.mirror import MirrorOptions, mirror
from shards.mirror.source import SyncError
from shards.mirror.source_kinds import Folder
from tests.proof.tools import need
from tests.shards.mirror.sources import Memory, eager
from tests.world import company, publish

FOUND = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    publish(tmp_path / "source", FOUND)
    return tmp_path / "source"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    signature.keygen(tmp_path / "key")
    return tmp_path / "key"


def _wish(key: Path) -> MirrorOptions:
    return MirrorOptions(key=signature.public_key(key.with_name(f"{key.name}.pub")))


def _in_memory(source: Path) -> Memory:
    return Memory(
        {str(path.relative_to(source)): path.read_bytes()
         for path in source.rglob("*") if path.is_file()}
    )  # fmt: skip


def test_what_is_signed_with_the_key_is_mirrored_with_its_signature(
    source: Path, key: Path, tmp_path: Path
) -> None:
    name = signature.sign(source, key).generation

    outcome = mirror(eager(Folder(source)), tmp_path / "a", _wish(key))
    again = mirror(eager(Folder(tmp_path / "a")), tmp_path / "b", _wish(key))

    assert outcome.generation == again.generation == name


def test_a_mirror_has_a_signature_that_came_later(source: Path, key: Path, tmp_path: Path) -> None:
    data = tmp_path / "a"
    mirror(eager(Folder(source)), data, MirrorOptions())
    name = signature.sign(source, key).generation

    assert not mirror(eager(Folder(source)), data, MirrorOptions()).has_published
    assert mirror(eager(Folder(data)), tmp_path / "b", _wish(key)).generation == name


def test_a_part_of_what_is_signed_is_mirrored(source: Path, key: Path, tmp_path: Path) -> None:
    signature.sign(source, key)
    wish = MirrorOptions(("EE",), _wish(key).key)

    first = mirror(eager(Folder(source)), tmp_path / "a", wish)
    assert not mirror(eager(Folder(source)), tmp_path / "a", wish).has_published
    manifest = generation_files.read_manifest(tmp_path / "a" / first.generation)
    assert list(manifest.counts) == ["EE"]


def test_what_is_not_signed_is_refused_before_a_file_of_it(
    source: Path, key: Path, tmp_path: Path
) -> None:
    memory = _in_memory(source)

    with pytest.raises(SyncError, match=r"is not signed, so --public-key refuses it"):
        mirror(eager(memory), tmp_path / "a", _wish(key))

    assert [path.split("/")[-1] for path, _ in memory.asked] == [
        "CURRENT", "manifest.json", f"{pointer.current_name(source)}.json",
    ]  # fmt: skip
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("already", [False, True])
def test_the_signature_of_another_key_is_refused(
    source: Path, key: Path, tmp_path: Path, already: bool
) -> None:
    signature.keygen(tmp_path / "other")
    signature.sign(source, tmp_path / "other")
    if already:  # it was mirrored when nobody asked for a signature
        mirror(eager(Folder(source)), tmp_path / "a", MirrorOptions())

    with pytest.raises(SyncError, match=r"is not signed with the key of --public-key"):
        mirror(eager(Folder(source)), tmp_path / "a", _wish(key))


def test_the_signature_of_another_generation_is_refused(
    source: Path, key: Path, tmp_path: Path
) -> None:
    before = signature.sign(source, key).generation
    after = publish(source, [*FOUND, company("FR", "9", "Œuvre")])
    signed = orjson.loads((source / signature.path_of(before)).read_bytes())
    (source / signature.path_of(after)).write_bytes(orjson.dumps(signed | {"generation": after}))

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager(Folder(source)), tmp_path / "a", _wish(key))


@pytest.mark.parametrize(
    "signed",
    [b"", b"{}", b"[]", b'{"algorithm": "none", "signature": ""}', b'{"algorithm": "ed25519"}',
     b'{"algorithm": "ed25519", "signature": "zz"}', b'{"algorithm": "ed25519", "signature": 7}'],
)  # fmt: skip
def test_a_signature_that_is_none_is_refused(
    source: Path, key: Path, tmp_path: Path, signed: bytes
) -> None:
    memory = _in_memory(source)
    memory.files[signature.path_of(str(pointer.current_name(source)))] = signed

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager(memory), tmp_path / "a", _wish(key))


def test_signatures_go_with_their_generations(source: Path, key: Path) -> None:
    names = []
    for number in range(4):
        names.append(publish(source, [*FOUND, company("FR", f"{number}", "Ç")]))
        signature.sign(source, key)

    kept = {path.stem for path in (source / "signatures").iterdir()}
    assert kept == set(names[-2:])


def test_a_private_key_is_for_its_owner_and_never_overwritten(tmp_path: Path, key: Path) -> None:
    before = key.read_bytes()

    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SyncError, match="never overwritten"):
        signature.keygen(key)
    assert key.read_bytes() == before


def test_keys_are_those_of_openssl(source: Path, tmp_path: Path) -> None:
    openssl, key = need("openssl", "openssl"), tmp_path / "theirs"
    for arguments in (
        ["genpkey", "-algorithm", "ed25519", "-out", key],
        ["pkey", "-in", key, "-pubout", "-out", f"{key}.pub"],
    ):
        subprocess.run([openssl, *map(str, arguments)], check=True, capture_output=True)

    name = signature.sign(source, key).generation

    assert mirror(eager(Folder(source)), tmp_path / "a", _wish(key)).generation == name


def test_openssl_checks_a_signature(source: Path, key: Path, tmp_path: Path) -> None:
    openssl, name = need("openssl", "openssl"), signature.sign(source, key).generation
    signed = orjson.loads((source / signature.path_of(name)).read_bytes())
    (tmp_path / "sig").write_bytes(bytes.fromhex(signed["signature"]))
    digest = sha256((source / name / "manifest.json").read_bytes()).hexdigest()
    (tmp_path / "message").write_text(
        f"societes publication 1\ngeneration {name}\nsha256 {digest}\n"
        f"sequence {signed['sequence']}\nexpires {signed['expires']}\n"
    )

    done = subprocess.run(
        [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", f"{key}.pub", "-rawin",
         "-in", tmp_path / "message", "-sigfile", tmp_path / "sig"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_is_no_key_is_named(source: Path, key: Path, tmp_path: Path) -> None:
    shutil.copy(Path(__file__), tmp_path / "x")
    with pytest.raises(SyncError, match="is no public key in PEM"):
        signature.public_key(tmp_path / "x")
    with pytest.raises(SyncError, match="is no public key in PEM"):
        signature.public_key(key)
    with pytest.raises(SyncError, match="is no private key in PEM"):
        signature.sign(source, tmp_path / "key.pub")
    with pytest.raises(SyncError, match="absent"):
        signature.sign(source, tmp_path / "absent")


def test_a_key_of_another_kind_is_refused(source: Path, tmp_path: Path) -> None:
    openssl, key = need("openssl", "openssl"), tmp_path / "rsa"
    subprocess.run(
        [openssl, "genpkey", "-algorithm", "x25519", "-out", key], check=True, capture_output=True
    )
    with pytest.raises(SyncError, match="a key of another kind"):
        signature.sign(source, key)


def test_there_must_be_something_to_sign(tmp_path: Path, key: Path) -> None:
    with pytest.raises(GenerationError, match="nothing published to sign"):
        signature.sign(tmp_path / "empty", key)
