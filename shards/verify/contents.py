"""The columns of a shard, decoded from its records: the input of its writer."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import codes, record, sort_keys
from shards.codec.codes import UNKNOWN, DistinctValues
from shards.codec.strings import END, Texts
from shards.errors import CorruptError
from shards.query import STATES
from shards.reader.shard import Shard
from shards.writing.name_index import FormerNames
from shards.writing.writer import Columns

# Rows per batch, to limit the number of Python objects.
BATCH: Final = 4_096
# The fields of the text columns.
_TEXT_FIELDS: Final = {
    "forme": "forme", "nace": "nace_code", "ville": "ville", "code_postal": "code_postal",
    "tranche": "tranche_effectif",
}  # fmt: skip
# The fields that the rate of total assets depends on.
_RATE_FIELDS: Final = ("devise", "unite_mult", "exercice_actif")


@dataclass(frozen=True, slots=True)
class Contents:
    """All companies of a shard.

    Attributes:
        columns: the input of the writer. Share capital and total assets in euros are read from indexes of the shard,
            because records do not have them.
        actif: total assets as published; null is NaN.
        rates: the currency, the unit and the year of total assets.
    """

    columns: Columns
    actif: NDArray[np.float64]
    rates: DistinctValues


def batches(count: int) -> Iterator[range]:
    """The rows 0 … count - 1 in batches."""
    for start in range(0, count, BATCH):
        yield range(start, min(start + BATCH, count))


def read(shard: Shard) -> Contents:
    """Decode all records of `shard` into the columns from which the writer made it, to write its tables again.

    Capital and total assets in euros are not in the records, so they are read from the tables.

    Raises:
        CorruptError: names the first record that is damaged.
    """
    ids, noms, former = bytearray(), bytearray(), bytearray()
    former_rows, etat, site_web = array("I"), array("B"), array("B")
    effectif, dates, score = array("i"), array("i"), array("h")
    ca_eur, actif = array("d"), array("d")
    numbers: list[tuple[int, str]] = []
    texts = {name: _NumberedValues() for name in _TEXT_FIELDS}
    rates = _NumberedValues()
    for row, company in _decode_companies(shard):
        ids += company["id"].encode() + END
        noms += company["nom"].encode() + END
        for name in company["noms_anterieurs"] or ():
            former += name.encode() + END
            former_rows.append(row)
        numbers += [(row, company[name]) for name in codes.ALIASES if company[name] is not None]
        etat.append(STATES.index(company["etat"] or STATES[UNKNOWN]))
        site_web.append(company["site_web"] is not None)
        effectif.append(_none_to_null(company["effectif"], format.EFFECTIF_NULL))
        dates.append(sort_keys.date_key(company["date_creation"]))
        score.append(company["score"])
        ca_eur.append(_none_to_null(company["ca_eur"], nan))
        actif.append(_none_to_null(company["total_actif_last"], nan))
        for name, field in _TEXT_FIELDS.items():
            texts[name].append(company[field])
        rates.append(", ".join(str(company[field]) for field in _RATE_FIELDS))
    distinct = {name: column.distinct() for name, column in texts.items()}
    all_rows = np.arange(shard.rows, dtype=np.uint32)
    columns = Columns(
        ids=_split_texts(ids),
        noms=_split_texts(noms),
        former=FormerNames(_split_texts(former), np.asarray(former_rows)),
        cells=[(c.secteur, c.sous_secteur, c.stop - c.start) for c in shard.layout.cells],
        ca_eur=np.asarray(ca_eur),
        effectif=np.asarray(effectif),
        dates=np.asarray(dates),
        capital_eur=-shard.keys("capital_desc", all_rows),
        score=np.asarray(score),
        site_web=np.asarray(site_web, bool),
        etat=np.asarray(etat),
        tranche=distinct.pop("tranche"),
        texts=distinct,
        actif_eur=codes.amounts(shard.codes("actif"), shard.code_array("actif.amounts", "<f8")),
        numbers=numbers,
    )
    return Contents(columns, np.asarray(actif), rates.distinct())


class _NumberedValues:
    """A text column whose distinct values are numbered in the order of their first rows."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {}
        self._rows = array("I")

    def append(self, value: str | None) -> None:
        """Add the value of the next row."""
        self._rows.append(self._numbers.setdefault(value, len(self._numbers)))

    def distinct(self) -> DistinctValues:
        """The distinct values, and the number of the value of each row."""
        return DistinctValues(list(self._numbers), np.asarray(self._rows))


def _decode_companies(shard: Shard) -> Iterator[tuple[int, dict[str, Any]]]:
    """All rows with their companies, decoded from the records."""
    shard.file.expect_scans(frames=True)
    for rows in batches(shard.rows):
        for row, text in zip(rows, shard.records(rows, coordonnees=True), strict=True):
            try:
                company = record.company(text)
            except CorruptError as error:
                raise CorruptError(
                    f"{shard.path}: row {row} has no record of a company; build or fetch the generation again"
                ) from error
            if company["iso2"] != shard.iso2:
                raise CorruptError(
                    f"{shard.path}: row {row} is of {company['iso2']}; build or fetch the generation again"
                )
            yield row, company


def _none_to_null(value: float | None, null: float) -> Any:
    """The value, or `null` (the value that stands for null in a column) for None."""
    return null if value is None else value


def _split_texts(ended: bytearray) -> Texts:
    """The texts in `ended`, where an END follows each text."""
    data = bytes(ended)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == END[0]) + 1
    return Texts(data, np.append(0, ends).astype(np.uint32))
