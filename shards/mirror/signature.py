"""Signatures of generations: Ed25519 (RFC 8032) over a statement with a sequence number and an expiry.

    DATA/signatures/<generation>.json   {"generation": …, "sha256": …, "sequence": …, "expires": …, "signature": …}
    DATA/signatures/highest.json        at a mirror: per public key, the last statement that was accepted

The statement has the digest of the manifest, which has the digests of all files. The signature is stored outside the
folder of the generation, because the name of a generation must not depend on the signer.

The sequence number grows with each signature, also when the same or an older generation is signed again. A mirror
stores the highest number and refuses lower ones, so an old signature cannot be replayed, and a rollback has to be
signed. The expiry limits the time during which a source may offer an old generation unnoticed. These are the two rules
of the timestamp role of TUF (theupdateframework.github.io/specification). Keys are PEM, as from
`openssl genpkey -algorithm ed25519`. `cryptography` is an extra: `pip install 'societes[sign]'`.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from shards.errors import GenerationError
from shards.generations import atomic_files, generation_files, pointer
from shards.generations.generation_files import MANIFEST
from shards.mirror.source import SyncError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FOLDER: Final = "signatures"
HIGHEST: Final = "highest.json"
# The suffix of the file of a public key. The file of the private key has this path without the suffix.
PUBLIC: Final = ".pub"
# The most bytes of a signature document.
MOST_BYTES: Final = 1 << 12
# The days for which a signature is valid by default.
VALID_DAYS: Final = 7
# The most days for which a signature can be valid.
MOST_DAYS: Final = 3_650
_ALGORITHM: Final = "ed25519"
_SEQUENCE_LIMIT: Final = 1 << 63  # every sequence number is smaller

# The beginning of the signed bytes, so that no signature of another document with the same key is valid here.
_DOMAIN: Final = "societes publication 1\n"
# The beginning in the older form, in which the manifest follows, without a sequence number and an expiry.
_UNDATED_DOMAIN: Final = b"societes generation 1\n"


@dataclass(frozen=True, slots=True)
class SignedStatement:
    """The statement of a signature.

    Attributes:
        sequence: 0 for a signature of the older form, without number and expiry.
        expires: None in the older form.
    """

    generation: str
    sequence: int = 0
    expires: datetime | None = None

    def signed_bytes(self, manifest: bytes) -> bytes:
        """The signed bytes for a generation with this manifest."""
        if self.expires is None:
            return _UNDATED_DOMAIN + manifest
        return (
            f"{_DOMAIN}generation {self.generation}\nsha256 {sha256(manifest).hexdigest()}\n"
            f"sequence {self.sequence}\nexpires {self.expires.isoformat()}\n"
        ).encode()


def path_of(generation: str) -> str:
    """The path of the signature of a generation, relative to DATA."""
    return f"{FOLDER}/{generation}.json"


def keygen(key: Path) -> Path:
    """Write a new private key, readable by its owner only, and its public key; return the path of the public key.

    Raises:
        SyncError: one of the files exists, or `cryptography` is not installed.
    """
    _check_installed()
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pair = Ed25519PrivateKey.generate()
    private = pair.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    public = pair.public_key().public_bytes(
        forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
    )
    public_path = key.with_name(key.name + PUBLIC)
    for path, content, mode in ((key, private, 0o600), (public_path, public, 0o644)):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError as error:
            raise SyncError(
                f"{path} exists already, and a key is not overwritten; give another path"
            ) from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    return public_path


def sign(data: Path, key: Path, valid_days: int = VALID_DAYS) -> SignedStatement:
    """Sign the published generation of `data` for `valid_days` days; return the statement.

    The sequence number is the time in seconds, or the last number + 1 if that is more. So no state is needed that
    could be lost with DATA.

    Raises:
        ShardError: nothing is published, or the key is unusable.
    """
    private = private_key(key)
    generation = pointer.current_name(data)
    if generation is None:
        raise GenerationError(f"{data} has nothing published to sign; `python -m pipeline build`")
    generation_files.read_manifest(data / generation)
    manifest = (data / generation / MANIFEST).read_bytes()
    now = datetime.now(UTC).replace(microsecond=0)
    last_sequence = max((_sequence_in(path) for path in (data / FOLDER).glob("*.json")), default=0)
    statement = SignedStatement(
        generation, max(last_sequence + 1, int(now.timestamp())), now + timedelta(days=valid_days)
    )
    document = {
        "generation": generation,
        "sha256": sha256(manifest).hexdigest(),
        "sequence": statement.sequence,
        "expires": statement.expires,
        "algorithm": _ALGORITHM,
        "signature": private.sign(statement.signed_bytes(manifest)).hex(),
    }
    store(data, generation, orjson.dumps(document) + b"\n")
    return statement


def check(
    public: "Ed25519PublicKey", generation: str, manifest: bytes, signed: bytes | None
) -> SignedStatement:
    """Check the signature of a generation, and return its statement. `admit` checks its number and expiry.

    Args:
        signed: the signature document; None if the source has none.

    Raises:
        SyncError: `signed` is not a signature of this manifest with the private key of `public`.
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
        statement = _parse_statement(generation, document)
        public.verify(bytes.fromhex(document["signature"]), statement.signed_bytes(manifest))
    except (InvalidSignature, KeyError, TypeError, ValueError) as error:
        raise SyncError(
            f"generation {generation} is not signed with the key of --public-key"
            f"{f' ({error})' if str(error) else ''}; it is refused: give the public key of the host "
            "that signs, or have it signed there (`python -m shards sign`)"
        ) from error
    return statement


def admit(
    data: Path,
    public: "Ed25519PublicKey",
    statement: SignedStatement,
    now: datetime,
    *,
    accept_old: bool,
) -> None:
    """Compare a checked statement with the last one that `data` accepted from this key, and record it.

    Args:
        accept_old: accept and record the statement, whatever its number and expiry.

    Raises:
        SyncError: the statement is older than the last accepted one, or has expired.
    """
    path = data / FOLDER / HIGHEST
    highest = _highest_sequences(path)
    key_name = _fingerprint(public)
    last_sequence, last_generation = highest.get(key_name, (0, statement.generation))
    if not accept_old:
        _check_order(statement, last_sequence, last_generation)
        _check_expiry(statement, now)
    if (last_sequence, last_generation) != (
        statement.sequence,
        statement.generation,
    ) and statement.expires:
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {**highest, key_name: (statement.sequence, statement.generation)}
        atomic_files.write(path, orjson.dumps(document) + b"\n")


def store(data: Path, generation: str, signed: bytes) -> None:
    """Store the signature of a generation in `data`, and remove the signatures of generations that are gone."""
    (data / FOLDER).mkdir(exist_ok=True)
    atomic_files.write(data / path_of(generation), signed)
    current = pointer.read(data)
    remaining = {generation, *(current.generations if current else ())}
    for path in (data / FOLDER).glob("*.json"):
        if path.stem not in remaining and path.name != HIGHEST:
            path.unlink()


def read_stored(data: Path, generation: str) -> bytes | None:
    """The signature document of a generation in `data`, unchecked; None if there is none."""
    try:
        return (data / path_of(generation)).read_bytes()
    except FileNotFoundError:
        return None


def _parse_statement(generation: str, document: dict[str, Any]) -> SignedStatement:
    """The statement of a document, whose types are checked.

    Raises:
        KeyError, TypeError, ValueError: it is not a signature document.
    """
    if "sequence" not in document:
        return SignedStatement(generation)
    sequence, expires = document["sequence"], datetime.fromisoformat(document["expires"])
    if type(sequence) is not int or not 0 < sequence < _SEQUENCE_LIMIT:
        raise ValueError(f"its sequence number is {sequence!r}")
    if expires.utcoffset() is None:
        raise ValueError(f"its expiry {document['expires']} has no offset from UTC")
    return SignedStatement(generation, sequence, expires)


def _check_order(statement: SignedStatement, last_sequence: int, last_generation: str) -> None:
    """Raise SyncError if the statement is older than the last accepted statement."""
    if statement.sequence > last_sequence or (statement.sequence, statement.generation) == (
        last_sequence,
        last_generation,
    ):
        return
    raise SyncError(
        f"generation {statement.generation} is signed with the sequence number {statement.sequence}, and "
        f"{last_sequence} (generation {last_generation}) was seen before: the source offers an older signature; "
        "a rollback must be signed again where it was built (`python -m shards sign`), or accepted here "
        "(--accept-old)"
    )


def _check_expiry(statement: SignedStatement, now: datetime) -> None:
    """Raise SyncError if the statement has expired."""
    if statement.expires is None or now < statement.expires:
        return
    raise SyncError(
        f"the signature of generation {statement.generation} expired on {statement.expires.isoformat()} "
        f"and here it is {now.isoformat(timespec='seconds')}; sign it again where it was built "
        "(`python -m shards sign`), or accept it here (--accept-old)"
    )


def _highest_sequences(path: Path) -> dict[str, tuple[int, str]]:
    """The last number and generation by public key.

    Raises:
        SyncError: the file is damaged; an empty result would admit old generations.
    """
    try:
        document = orjson.loads(path.read_bytes())
        return {str(key): (int(number), str(name)) for key, (number, name) in document.items()}
    except FileNotFoundError:
        return {}
    except (AttributeError, TypeError, ValueError) as error:
        raise SyncError(
            f"{path} cannot be understood ({error}), so older signatures cannot be recognised; "
            "remove it to accept the generation that the source offers now"
        ) from error


def _sequence_in(path: Path) -> int:
    """The sequence number in a signature document of this host, 0 if it has none."""
    try:
        number = orjson.loads(path.read_bytes())["sequence"]
    except (OSError, KeyError, TypeError, ValueError):
        return 0
    return number if type(number) is int else 0


def _fingerprint(public: "Ed25519PublicKey") -> str:
    """The SHA-256 of a public key, in hexadecimal."""
    return sha256(public.public_bytes_raw()).hexdigest()


def public_key(path: Path) -> "Ed25519PublicKey":
    """Read a public key.

    Raises:
        SyncError: the file is not an Ed25519 public key, or `cryptography` is not installed.
    """
    _check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise SyncError(
            f"{path} is not a public key in PEM ({error}); give the .pub file of `python -m shards keygen`"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise SyncError(f"{path} is a key of another kind; `python -m shards keygen` makes one")
    return key


def private_key(path: Path) -> "Ed25519PrivateKey":
    """Read a private key.

    Raises:
        SyncError: the file is not an Ed25519 private key, or `cryptography` is not installed.
    """
    _check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise SyncError(
            f"{path} is not a private key in PEM ({error}); give the file of `python -m shards keygen`"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SyncError(f"{path} is a key of another kind; `python -m shards keygen` makes one")
    return key


def _check_installed() -> None:
    """Raise SyncError if `cryptography` is not installed."""
    try:
        import cryptography  # noqa: F401 - only to see whether the extra is installed
    except ImportError as error:
        raise SyncError(
            "signatures need cryptography, which is not installed; pip install 'societes[sign]'"
        ) from error
