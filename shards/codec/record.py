"""The stored form of one company: JSON in three pieces, the second with the contact fields (FORMAT.md §6).

The server sends a record without decoding it. Only the four contact fields depend on the rights of the caller (§2.1).
These fields are consecutive, so a record is head, contacts and tail. The contacts are sent unchanged, or replaced by
four nulls.

Code that needs the values of a company or of its statements decodes them here: a file may be damaged, and a wrong text
raises CorruptError.
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

# The fields of `Societe`, each present in every record: in the order of §2.1 (contract C6 says 38; the table has 40),
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
# The values of `etat`: the statements that contain lines (contract E5).
ETATS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")
# The fields that only a caller with the right to contacts receives (§2.1).
CONTACTS: Final = ("site_web", "domaine", "email", "telephone")

_LINE: Final = frozenset(LINE)  # for comparisons of keys
_LENGTHS: Final = struct.Struct("<II")  # the bytes of head and of contacts; the rest is the tail
# Where contacts and tail begin. No value of a company contains these bytes, because quotes in values are escaped.
_CONTACTS: Final = f',"{CONTACTS[0]}":'.encode()
_TAIL: Final = f',"{FIELDS[FIELDS.index(CONTACTS[-1]) + 1]}":'.encode()
# The contact fields as four nulls, without the braces of an object.
NO_CONTACTS: Final = orjson.dumps(dict.fromkeys(CONTACTS))[1:-1]


def encode(company: Mapping[str, Any]) -> bytes:
    """The stored bytes of `company`; a missing field is null.

    >>> encode({"iso2": "EE", "id": "1", "nom": "Ä"})[8:37].decode()
    '{"iso2":"EE","id":"1","nom":"'
    """
    return encode_json(orjson.dumps({field: company.get(field) for field in FIELDS}))


def encode_json(company_json: bytes) -> bytes:
    """The stored bytes of a company, given its JSON object with all FIELDS in their order."""
    tail = company_json.rindex(_TAIL)
    contacts = company_json.rindex(_CONTACTS, 0, tail) + 1  # the head ends with the comma
    return _LENGTHS.pack(contacts, tail - contacts) + company_json


def decode(stored: bytes, *, coordonnees: bool) -> bytes:
    """The JSON object of a company, UTF-8; without the right `coordonnees` its contact fields are null.

    Raises:
        CorruptError: the bytes are fewer than the stored lengths say.

    >>> decode(encode({"email": "a@b.ee"}), coordonnees=False).count(b"a@b.ee")
    0
    """
    if len(stored) < _LENGTHS.size:
        raise _corrupt_error("it ends before its text")
    head, contacts = _LENGTHS.unpack_from(stored)
    start = _LENGTHS.size + head
    end = start + contacts
    if end > len(stored):
        raise _corrupt_error("its pieces are longer than the record")
    if coordonnees:
        return stored[_LENGTHS.size :]
    return stored[_LENGTHS.size : start] + NO_CONTACTS + stored[end:]


def parse(text: bytes) -> Any:
    """The value of a stored JSON text.

    Raises:
        CorruptError: the text is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _corrupt_error(str(error)) from error


def companies(rows: bytes) -> list[dict[str, Any]]:
    """Parse the JSON objects of companies, separated by commas (as `search.records` returns them).

    >>> companies(decode(encode({"nom": "Ä"}), coordonnees=True))[0]["nom"]
    'Ä'

    Raises:
        CorruptError: the text is not JSON, or a company has other fields than FIELDS.
    """
    values = parse(b"[%b]" % rows)
    for value in values:
        if not isinstance(value, dict) or tuple(value) != FIELDS:
            raise _corrupt_error("its fields are not those of a company")
    return values  # type: ignore[no-any-return]


def company(row: bytes) -> dict[str, Any]:
    """Parse the JSON object of one company, with the same checks as in `companies`."""
    values = companies(row)
    if len(values) != 1:
        raise _corrupt_error(f"it has {len(values)} companies")
    return values[0]


def lines(stored: bytes | None) -> list[dict[str, Any]]:
    """The statement lines of a company; empty if the company has no statements.

    Raises:
        CorruptError: the text is not a JSON list, or a line lacks a key of LINE.
    """
    values = parse(stored or b"[]")
    if not isinstance(values, list):
        raise _corrupt_error("it has no statement lines")
    for value in values:
        if not isinstance(value, dict) or not value.keys() >= _LINE:
            raise _corrupt_error("its keys are not those of a statement line")
    return values


def withheld_codes(stored: bytes) -> dict[int, list[str]]:
    """The codes of the statement lines that the build withheld, by year; empty if `stored` is empty.

    Raises:
        CorruptError: the text is not an object of lists by year.
    """
    try:
        years = parse(stored or b"{}")
        return {int(year): [str(code) for code in codes] for year, codes in years.items()}
    except (AttributeError, TypeError, ValueError):
        raise _corrupt_error("the withheld lines are not lists of codes by year") from None


def _corrupt_error(fault: str) -> CorruptError:
    """The error for a record with this fault."""
    return CorruptError(f"a record is damaged ({fault}); build or fetch the generation again")


# -- frames by number, in chunks ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunks:
    """The frames of a table.

    Attributes:
        starts: the start of each frame in its chunk; a frame ends where the next frame begins, or with the chunk.
        chunks: values of CHUNK_ROWS frames each; the last may have fewer.
    """

    starts: NDArray[np.uint32]
    chunks: Sequence[memoryview]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> memoryview:
        """The compressed frame of this number.

        Raises:
            IndexError: there is no such frame.
        """
        chunk, place = divmod(number, format.CHUNK_ROWS)
        frames = self.chunks[chunk]
        last = place == format.CHUNK_ROWS - 1 or number == len(self.starts) - 1
        end = len(frames) if last else int(self.starts[number + 1])
        return frames[int(self.starts[number]) : end]

    def first_misplaced_chunk(self) -> int | None:
        """The first chunk whose frames do not follow each other from its first byte to its last."""
        for chunk, frames in enumerate(self.chunks):
            inside = self.starts[chunk * format.CHUNK_ROWS :][: format.CHUNK_ROWS].astype(np.int64)
            if inside[0] or not (np.diff(inside, append=len(frames)) > 0).all():
                return chunk
        return None


def decompress(frame: bytes, max_size: int, decompressor: zstandard.ZstdDecompressor) -> bytes:
    """The content of a zstd frame, at most `max_size` bytes.

    The decompressor allocates the size that the frame declares, so this size is checked first.

    Raises:
        ValueError: the frame declares a greater size, or no size.
        ZstdError: the frame is damaged.
    """
    size = zstandard.frame_content_size(frame)
    if not 0 <= size <= max_size:
        raise ValueError(f"a frame of {size} bytes; the most is {max_size}")
    return bytes(decompressor.decompress(frame))
