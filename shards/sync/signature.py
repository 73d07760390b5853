"""Signatures of generations: Ed25519 over the manifest (RFC 8032).

    DATA/signatures/<generation>.json   {"generation": …, "algorithm": "ed25519", "signature": …}

The manifest has the digest of every file, so a signature of the manifest covers all files. The signature is stored
beside the generation, not in it, because the name of a generation must not depend on the signer. It proves who made the
generation, not that it is the newest one: a source may go on publishing an old one. Keys are PEM, as
`openssl genpkey -algorithm ed25519` makes them. `cryptography` is an extra: `pip install 'societes[sign]'`.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from shards.errors import GenerationError
from shards.generations import atomic_files, generation_files, pointer
from shards.generations.generation_files import MANIFEST
from shards.sync.errors import SyncError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FOLDER: Final = "signatures"
PUBLIC: Final = ".pub"
MOST_BYTES: Final = 1 << 12
_ALGORITHM: Final = "ed25519"

# Precedes the manifest in the signed bytes, so that the signature is valid for nothing but a manifest.
_DOMAIN: Final = b"societes generation 1\n"


def path_of(generation: str) -> str:
    """The path of the signature of a generation, relative to DATA."""
    return f"{FOLDER}/{generation}.json"


def keygen(key: Path) -> Path:
    """Write a new private key, readable by its owner only, and its public key; return the path of the latter.

    Raises:
        SyncError: one of the files exists, or `cryptography` is not installed.
    """
    _installed()
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    private = made.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    public = made.public_key().public_bytes(
        forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
    )
    beside = key.with_name(key.name + PUBLIC)
    for path, content, mode in ((key, private, 0o600), (beside, public, 0o644)):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError as error:
            raise SyncError(f"{path} is there already; a key is never overwritten") from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return beside


def sign(data: Path, key: Path) -> str:
    """Sign the published generation of `data`; return its name.

    Raises:
        ShardError: nothing is published, or the key is unusable.
    """
    private = private_key(key)
    generation = pointer.current(data)
    if generation is None:
        raise GenerationError(f"{data} has nothing published to sign; `python -m pipeline build`")
    generation_files.read_manifest(data / generation)
    packed = (data / generation / MANIFEST).read_bytes()
    document = {
        "generation": generation,
        "algorithm": _ALGORITHM,
        "signature": private.sign(_DOMAIN + packed).hex(),
    }
    keep(data, generation, orjson.dumps(document) + b"\n")
    return generation


def check(
    public: "Ed25519PublicKey", generation: str, manifest: bytes, signed: bytes | None
) -> None:
    """Check the signature of a manifest.

    Args:
        signed: the signature document, None if there is none.

    Raises:
        SyncError: `signed` is no signature of these bytes with the private key of `public`.
    """
    from cryptography.exceptions import InvalidSignature

    if signed is None:
        raise SyncError(
            f"generation {generation} is not signed, so --public-key refuses it; "
            "`python -m shards sign` signs it where it was built"
        )

    try:
        document = orjson.loads(signed)
        if document["algorithm"] != _ALGORITHM:
            raise ValueError(f"its algorithm is {document['algorithm']!r}")
        public.verify(bytes.fromhex(document["signature"]), _DOMAIN + manifest)
    except (InvalidSignature, KeyError, TypeError, ValueError) as error:
        raise SyncError(
            f"generation {generation} is not signed with the key of --public-key"
            f"{f' ({error})' if str(error) else ''}; it is refused"
        ) from error


def keep(data: Path, generation: str, signed: bytes) -> None:
    """Store the signature of a generation in `data`, and remove those of generations that are not kept."""
    (data / FOLDER).mkdir(exist_ok=True)
    atomic_files.write(data / path_of(generation), signed)
    current = pointer.read(data)
    wanted = {generation, *(current.kept if current else ())}
    for path in (data / FOLDER).glob("*.json"):
        if path.stem not in wanted:
            path.unlink()


def public_key(path: Path) -> "Ed25519PublicKey":
    """Read a public key.

    Raises:
        SyncError: the file is no Ed25519 public key, or `cryptography` is not installed.
    """
    _installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise SyncError(f"{path} is no public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise SyncError(f"{path} is a key of another kind; `python -m shards keygen` makes one")
    return key


def private_key(path: Path) -> "Ed25519PrivateKey":
    """The private key in the file `path`.

    Raises:
        SyncError: it is none that signs generations, or `cryptography` is not installed.
    """
    _installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise SyncError(f"{path} is no private key in PEM: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SyncError(f"{path} is a key of another kind; `python -m shards keygen` makes one")
    return key


def _installed() -> None:
    try:
        import cryptography  # noqa: F401 - only to see whether the extra is installed
    except ImportError as error:
        raise SyncError(
            "signatures need cryptography, which is not installed; pip install 'societes[sign]'"
        ) from error
