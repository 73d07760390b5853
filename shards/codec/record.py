"""The stored form of one company: ready JSON in three pieces, with the contact fields apart (FORMAT.md §6).

The server sends a record without decoding it. Only the four contact fields depend on the rights of the caller (§2.1).
They are consecutive in the order of the fields, so a record is head, contacts and tail, and the contacts are either
sent as they are or replaced by four nulls.

Who needs the values of a company, or of its statements, decodes them here: a file may be damaged, and bytes that unpack
to another text are a CorruptError.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.errors import CorruptError

# Every field of `Societe`, all always present: in the order of §2.1 (contract C6, which counts 38; the table has 40),
# then the further keys (extensions X1, X6, X9; the French words for `forme` and `statut`).
FIELDS: Final = (
    "iso2", "id", "nom", "forme", "statut", "activite", "ville", "code_postal", "region",
    "adresse", "date_creation", "effectif", "tranche_effectif", "capital_social",
    "capital_devise", "ca_eur", "ca_last", "ca_year", "ca_devise", "ca_mult",
    "total_actif_last", "exercice_actif", "devise", "unite_mult", "n_exercices",
    "exercice_min", "exercice_max", "secteur", "grand_secteur", "sous_secteur", "nace_code",
    "nace_libelle", "description", "site_web", "domaine", "email", "telephone", "est_cotee",
    "url_registre", "score", "etat", "lei", "tva", "date_source", "noms_anterieurs",
    "nace_secondaires", "forme_fr", "statut_fr",
)  # fmt: skip
# The keys of a statement line (contract E5).
LINE: Final = ("etat", "code", "libelle", "valeur", "devise", "exercice", "ordre")
# The statements that a line may stand in (contract E5).
ETATS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")
CONTACTS: Final = ("site_web", "domaine", "email", "telephone")

_LINE: Final = frozenset(LINE)
_LENGTHS: Final = struct.Struct("<II")  # of head and contacts; the rest is the tail
# The beginning of contacts and tail. No value of a company contains these bytes, because its quotes are escaped.
_CONTACTS: Final = f',"{CONTACTS[0]}":'.encode()
_TAIL: Final = f',"{FIELDS[FIELDS.index(CONTACTS[-1]) + 1]}":'.encode()
NO_CONTACTS: Final = orjson.dumps(dict.fromkeys(CONTACTS))[1:-1]


def encode(company: Mapping[str, Any]) -> bytes:
    """The stored bytes of `company`; a missing field is null.

    >>> encode({"iso2": "EE", "id": "1", "nom": "Ä"})[8:37].decode()
    '{"iso2":"EE","id":"1","nom":"'
    """
    return encode_json(orjson.dumps({field: company.get(field) for field in FIELDS}))


def encode_json(whole: bytes) -> bytes:
    """The stored bytes of a company, given its JSON object with all FIELDS in their order."""
    tail = whole.rindex(_TAIL)
    contacts = whole.rindex(_CONTACTS, 0, tail) + 1  # the head ends with the comma
    return _LENGTHS.pack(contacts, tail - contacts) + whole


def decode(stored: bytes, *, coordonnees: bool) -> bytes:
    """The JSON object of a company, UTF-8; without the right `coordonnees` its contact fields are null.

    Raises:
        CorruptError: the bytes are shorter than they say.

    >>> decode(encode({"email": "a@b.ee"}), coordonnees=False).count(b"a@b.ee")
    0
    """
    if len(stored) < _LENGTHS.size:
        raise _corrupt_error("it ends before its text")
    head, contacts = _LENGTHS.unpack_from(stored)
    start = _LENGTHS.size + head
    end = start + contacts
    if end > len(stored):
        raise _corrupt_error("its pieces are longer than it")
    if coordonnees:
        return stored[_LENGTHS.size :]
    return stored[_LENGTHS.size : start] + NO_CONTACTS + stored[end:]


def parse(text: bytes) -> Any:
    """The value of a stored JSON text.

    Raises:
        CorruptError: it is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _corrupt_error(str(error)) from error


def companies(rows: bytes) -> list[dict[str, Any]]:
    """Companies as `search.records` joins them, by commas.

    >>> companies(decode(encode({"nom": "Ä"}), coordonnees=True))[0]["nom"]
    'Ä'

    Raises:
        CorruptError: they are no JSON, or have other fields than FIELDS.
    """
    found = parse(b"[%b]" % rows)
    for one in found:
        if not isinstance(one, dict) or tuple(one) != FIELDS:
            raise _corrupt_error("its fields are not those of a company")
    return found  # type: ignore[no-any-return]


def company(row: bytes) -> dict[str, Any]:
    """One company, as `companies` does."""
    found = companies(row)
    if len(found) != 1:
        raise _corrupt_error(f"it has {len(found)} companies")
    return found[0]


def lines(stored: bytes | None) -> list[dict[str, Any]]:
    """The statement lines of a company; none of one that has no statements.

    Raises:
        CorruptError: they are no JSON, or lack a key of LINE.
    """
    found = parse(stored or b"[]")
    if not isinstance(found, list):
        raise _corrupt_error("it has no statement lines")
    for one in found:
        if not isinstance(one, dict) or not one.keys() >= _LINE:
            raise _corrupt_error("its keys are not those of a statement line")
    return found


def withheld_codes(stored: bytes) -> dict[int, list[str]]:
    """The codes of the statement lines that the build withheld, by year; `stored` is empty if there are none.

    Raises:
        CorruptError: it is no such object.
    """
    try:
        found = parse(stored or b"{}")
        return {int(year): [str(code) for code in codes] for year, codes in found.items()}
    except (AttributeError, TypeError, ValueError):
        raise _corrupt_error("what was withheld is no list of codes by year") from None


def _corrupt_error(what: str) -> CorruptError:
    return CorruptError(f"a record is damaged ({what}); build or fetch the generation again")


# -- frames by number: so many are one value ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunks:
    """The frames of a table.

    Attributes:
        starts: where each frame begins in its chunk; it ends where the next one begins, or with the chunk.
        chunks: the frames of CHUNK_ROWS numbers each, the last chunk excepted.
    """

    starts: NDArray[np.uint32]
    chunks: Sequence[memoryview]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> memoryview:
        """A frame.

        Raises:
            IndexError: there is no such frame.
        """
        chunk, place = divmod(number, format.CHUNK_ROWS)
        held = self.chunks[chunk]
        last = place == format.CHUNK_ROWS - 1 or number == len(self.starts) - 1
        end = len(held) if last else int(self.starts[number + 1])
        return held[int(self.starts[number]) : end]

    def out_of_order(self) -> int | None:
        """The first chunk whose frames do not follow each other from its first byte to its last."""
        for chunk, held in enumerate(self.chunks):
            inside = self.starts[chunk * format.CHUNK_ROWS :][: format.CHUNK_ROWS].astype(np.int64)
            if inside[0] or not (np.diff(inside, append=len(held)) > 0).all():
                return chunk
        return None


def decompress(frame: bytes, most: int, decompressor: zstandard.ZstdDecompressor) -> bytes:
    """The content of a zstd frame, which has at most `most` bytes.

    The decompressor takes the memory that a frame claims, so the claim is compared first.

    Raises:
        ValueError: the frame claims more, or does not say.
        ZstdError: it is damaged.
    """
    size = zstandard.frame_content_size(frame)
    if not 0 <= size <= most:
        raise ValueError(f"a frame of {size} bytes, and {most} are the most")
    return bytes(decompressor.decompress(frame))
