"""All companies of a shard, decoded into columns, for the comparison with its indexes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import codes, record, sort_keys, strings
from shards.codec.codes import COMPARED, UNKNOWN, DistinctValues
from shards.codec.record import FIELDS
from shards.codec.strings import Texts
from shards.query import STATES
from shards.reader.shard import Shard
from shards.writing.name_index import FormerNames

# Companies that are decoded in one batch, to bound the number of Python objects.
BATCH: Final = 4_096
# The fields of text columns that have another name.
_FIELDS: Final = {"nace": "nace_code", "tranche": "tranche_effectif"}


@dataclass(frozen=True, slots=True)
class Contents:
    """The columns of a shard according to its records, one entry per row; nulls as in `writer.Columns`.

    Attributes:
        faults: messages about records that are malformed by themselves.
    """

    ids: NDArray[np.bytes_]
    noms: Texts
    former: FormerNames
    ca_eur: NDArray[np.float64]
    effectif: NDArray[np.int32]
    dates: NDArray[np.int32]
    score: NDArray[np.int16]
    site_web: NDArray[np.bool_]
    etat: NDArray[np.uint8]
    texts: Mapping[str, DistinctValues]
    actif: NDArray[np.float64]
    tranche: DistinctValues
    rates: DistinctValues
    numbers: Sequence[tuple[int, str]]
    faults: Sequence[str]


def batches(count: int) -> Iterator[range]:
    """The rows 0 … count - 1 in batches."""
    for start in range(0, count, BATCH):
        yield range(start, min(start + BATCH, count))


def read(shard: Shard) -> Contents:
    """Decode all records of `shard`."""
    ids: list[bytes] = []
    former: list[int] = []
    noms, former_noms, faults, values, numbers = [], [strings.pack(())], [], [], []
    texts = {name: _DistinctValues() for name in (*COMPARED, "tranche", "rate")}
    shard.file.expect_scans(frames=True)
    for rows in batches(shard.rows):
        companies = [record.parse(company) for company in shard.records(rows, coordonnees=True)]
        ids += [company["id"].encode() for company in companies]
        noms.append(strings.pack(company["nom"] for company in companies))
        renamed = [
            (row, company["noms_anterieurs"] or ())
            for row, company in zip(rows, companies, strict=True)
        ]
        former += [row for row, names in renamed for _ in names]
        former_noms.append(strings.pack(name for _, names in renamed for name in names))
        values.append(_values(companies))
        numbers += [
            (row, company[field])
            for row, company in zip(rows, companies, strict=True)
            for field in codes.ALIASES
            if company[field] is not None
        ]
        faults += list(_faults(shard.iso2, rows, companies))
        for name, numbered in texts.items():
            numbered.add(
                _rate(company) if name == "rate" else company[_FIELDS.get(name, name)]
                for company in companies
            )
    ca_eur, effectif, dates, score, site_web, etat, actif = (
        np.concatenate(parts) for parts in zip(_values([]), *values, strict=True)
    )
    distinct = {name: numbered.to_column() for name, numbered in texts.items()}
    tranche, rates = distinct.pop("tranche"), distinct.pop("rate")
    return Contents(
        np.array(ids, dtype=bytes),
        _join(noms),
        FormerNames(_join(former_noms), np.array(former, dtype=np.uint32)),
        ca_eur,
        effectif,
        dates,
        score,
        site_web,
        etat,
        distinct,
        actif,
        tranche,
        rates,
        numbers,
        faults,
    )


class _DistinctValues:
    """The distinct values of a column, numbered as they come."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {}
        self._parts: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)]

    def add(self, values: Iterable[str | None]) -> None:
        """Add the values of further rows."""
        known = self._numbers
        numbers = [known.setdefault(value, len(known)) for value in values]
        self._parts.append(np.array(numbers, np.uint32))

    def to_column(self) -> DistinctValues:
        """The column."""
        return DistinctValues(list(self._numbers), np.concatenate(self._parts))


def _rate(company: dict[str, Any]) -> str:
    """What the rate of the total assets of a company depends on."""
    parts = (company["devise"], company["unite_mult"], company["exercice_actif"])
    return f"{parts[0]} × {parts[1]}, {parts[2]}"


def _values(companies: Sequence[dict[str, Any]]) -> tuple[NDArray[Any], ...]:
    null = format.EFFECTIF_NULL
    return (
        np.array([company["ca_eur"] for company in companies], dtype=np.float64),
        np.array(
            [null if c["effectif"] is None else c["effectif"] for c in companies], dtype=np.int32
        ),
        np.array([sort_keys.date_key(c["date_creation"]) for c in companies], dtype=np.int32),
        np.array([company["score"] for company in companies], dtype=np.int16),
        np.array([company["site_web"] is not None for company in companies], dtype=bool),
        np.array([STATES.index(c["etat"] or STATES[UNKNOWN]) for c in companies], dtype=np.uint8),
        np.array([company["total_actif_last"] for company in companies], dtype=np.float64),
    )


def _faults(iso2: str, rows: range, companies: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row, company in zip(rows, companies, strict=True):
        if company["iso2"] != iso2:
            yield f"row {row} is of {company['iso2']}"
        if tuple(company) != FIELDS:
            yield f"row {row} does not have the fields of the specification in their order"


def _join(parts: Sequence[Texts]) -> Texts:
    lengths = [np.diff(part.starts) for part in parts]
    starts = np.concatenate([np.zeros(1, dtype=np.uint32), *lengths]).cumsum(dtype=np.uint32)
    return Texts(b"".join(bytes(part.data) for part in parts), starts)
