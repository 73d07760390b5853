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
from tests.shards.mirror.sources import MemorySource, eager_downloader
from tests.world import company, publish

COMPANIES = [company("EE", "1", "Ännchen OÜ"), company("UK", "1", "'A' Rated & Co")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a published generation."""
    publish(tmp_path / "source", COMPANIES)
    return tmp_path / "source"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The path of a new private key."""
    signature.keygen(tmp_path / "key")
    return tmp_path / "key"


def _options(key: Path) -> MirrorOptions:
    """The options of a mirror that requires signatures."""
    return MirrorOptions(key=signature.public_key(key.with_name(f"{key.name}.pub")))


def _memory_source(source: Path) -> MemorySource:
    """The files of the source in memory."""
    return MemorySource(
        {str(path.relative_to(source)): path.read_bytes()
         for path in source.rglob("*") if path.is_file()}
    )  # fmt: skip


def test_a_signed_generation_is_mirrored_with_its_signature(
    source: Path, key: Path, tmp_path: Path
) -> None:
    name = signature.sign(source, key).generation

    outcome = mirror(eager_downloader(Folder(source)), tmp_path / "a", _options(key))
    mirror_of_mirror = mirror(
        eager_downloader(Folder(tmp_path / "a")), tmp_path / "b", _options(key)
    )

    assert outcome.generation == mirror_of_mirror.generation == name


def test_a_mirror_fetches_a_signature_that_was_added_later(
    source: Path, key: Path, tmp_path: Path
) -> None:
    data = tmp_path / "a"
    mirror(eager_downloader(Folder(source)), data, MirrorOptions())
    name = signature.sign(source, key).generation

    assert not mirror(eager_downloader(Folder(source)), data, MirrorOptions()).has_published
    assert mirror(eager_downloader(Folder(data)), tmp_path / "b", _options(key)).generation == name


def test_some_countries_of_a_signed_generation_are_mirrored(
    source: Path, key: Path, tmp_path: Path
) -> None:
    signature.sign(source, key)
    options = MirrorOptions(("EE",), _options(key).key)

    first = mirror(eager_downloader(Folder(source)), tmp_path / "a", options)
    assert not mirror(eager_downloader(Folder(source)), tmp_path / "a", options).has_published
    manifest = generation_files.read_manifest(tmp_path / "a" / first.generation)
    assert list(manifest.counts) == ["EE"]


def test_an_unsigned_generation_is_refused_before_its_files_are_fetched(
    source: Path, key: Path, tmp_path: Path
) -> None:
    memory = _memory_source(source)

    with pytest.raises(SyncError, match=r"is not signed, so --public-key refuses it"):
        mirror(eager_downloader(memory), tmp_path / "a", _options(key))

    assert [path.split("/")[-1] for path, _ in memory.requests] == [
        "CURRENT", "manifest.json", f"{pointer.current_name(source)}.json",
    ]  # fmt: skip
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("is_mirrored", [False, True])
def test_the_signature_of_another_key_is_refused(
    source: Path, key: Path, tmp_path: Path, is_mirrored: bool
) -> None:
    signature.keygen(tmp_path / "other")
    signature.sign(source, tmp_path / "other")
    if is_mirrored:  # without a required signature
        mirror(eager_downloader(Folder(source)), tmp_path / "a", MirrorOptions())

    with pytest.raises(SyncError, match=r"is not signed with the key of --public-key"):
        mirror(eager_downloader(Folder(source)), tmp_path / "a", _options(key))


def test_the_signature_of_another_generation_is_refused(
    source: Path, key: Path, tmp_path: Path
) -> None:
    before = signature.sign(source, key).generation
    after = publish(source, [*COMPANIES, company("FR", "9", "Œuvre")])
    signed = orjson.loads((source / signature.path_of(before)).read_bytes())
    (source / signature.path_of(after)).write_bytes(orjson.dumps(signed | {"generation": after}))

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager_downloader(Folder(source)), tmp_path / "a", _options(key))


@pytest.mark.parametrize(
    "signed",
    [b"", b"{}", b"[]", b'{"algorithm": "none", "signature": ""}', b'{"algorithm": "ed25519"}',
     b'{"algorithm": "ed25519", "signature": "zz"}', b'{"algorithm": "ed25519", "signature": 7}'],
)  # fmt: skip
def test_an_invalid_signature_is_refused(
    source: Path, key: Path, tmp_path: Path, signed: bytes
) -> None:
    memory = _memory_source(source)
    memory.files[signature.path_of(str(pointer.current_name(source)))] = signed

    with pytest.raises(SyncError, match="is not signed with"):
        mirror(eager_downloader(memory), tmp_path / "a", _options(key))


def test_signatures_are_removed_with_their_generations(source: Path, key: Path) -> None:
    names = []
    for number in range(4):
        names.append(publish(source, [*COMPANIES, company("FR", f"{number}", "Ç")]))
        signature.sign(source, key)

    stored = {path.stem for path in (source / "signatures").iterdir()}
    assert stored == set(names[-2:])  # of the two generations that are kept


def test_a_private_key_is_readable_by_its_owner_and_not_overwritten(
    tmp_path: Path, key: Path
) -> None:
    before = key.read_bytes()

    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SyncError, match="a key is not overwritten"):
        signature.keygen(key)
    assert key.read_bytes() == before


def test_a_key_pair_of_openssl_is_accepted(source: Path, tmp_path: Path) -> None:
    openssl, key = need("openssl", "openssl"), tmp_path / "theirs"
    for arguments in (
        ["genpkey", "-algorithm", "ed25519", "-out", key],
        ["pkey", "-in", key, "-pubout", "-out", f"{key}.pub"],
    ):
        subprocess.run([openssl, *map(str, arguments)], check=True, capture_output=True)

    name = signature.sign(source, key).generation

    assert (
        mirror(eager_downloader(Folder(source)), tmp_path / "a", _options(key)).generation == name
    )


def test_openssl_verifies_a_signature(source: Path, key: Path, tmp_path: Path) -> None:
    openssl, name = need("openssl", "openssl"), signature.sign(source, key).generation
    signed = orjson.loads((source / signature.path_of(name)).read_bytes())
    (tmp_path / "sig").write_bytes(bytes.fromhex(signed["signature"]))
    digest = sha256((source / name / "manifest.json").read_bytes()).hexdigest()
    (tmp_path / "message").write_text(
        f"societes publication 1\ngeneration {name}\nsha256 {digest}\n"
        f"sequence {signed['sequence']}\nexpires {signed['expires']}\n"
    )

    result = subprocess.run(
        [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", f"{key}.pub", "-rawin",
         "-in", tmp_path / "message", "-sigfile", tmp_path / "sig"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_a_file_that_is_not_a_key_is_refused(source: Path, key: Path, tmp_path: Path) -> None:
    shutil.copy(Path(__file__), tmp_path / "x")
    with pytest.raises(SyncError, match="is not a public key in PEM"):
        signature.public_key(tmp_path / "x")
    with pytest.raises(SyncError, match="is not a public key in PEM"):
        signature.public_key(key)
    with pytest.raises(SyncError, match="is not a private key in PEM"):
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


def test_signing_without_a_published_generation_is_an_error(tmp_path: Path, key: Path) -> None:
    with pytest.raises(GenerationError, match="nothing published to sign"):
        signature.sign(tmp_path / "empty", key)
