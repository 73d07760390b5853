"""Verification of the columns of codes against the records (FORMAT.md §9, invariants 2 and 5)."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import bands, codes
from shards.reader.shard import Shard
from shards.verify.contents import Contents
from shards.writing import code_columns

# Half a cent, and what floats lose on it.
_ROUNDED: Final = 0.00501


def faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Messages about columns that are not those of the records."""
    listed = shard.code_array("actif.amounts", "<f8")
    stored = shard.codes("actif")
    euros = codes.amounts(stored, listed)
    if not np.array_equal(codes.amount_codes(euros, codes.listed_amounts(euros)), stored):
        yield "codes of total assets are no amounts"
        return
    yield from _amount_faults(decoded, euros)
    expected = code_columns.tables(
        decoded.etat,
        shard.statement_rows,
        decoded.texts,
        euros,
        bands.headcount_codes(decoded.effectif, decoded.tranche),
        {tri: shard.steps(tri) for tri in bands.BANDED},
        shard.layout.cells,
    )
    for table, arrays in ((format.COLUMN, expected.column), (format.CODE, expected.code)):
        found = dict(shard.file.items(table))
        for name, array in arrays.items():
            if bytes(array) != found.get(name.encode()):
                yield f"{table.decode()} {name} is not that of the records"


def _amount_faults(decoded: Contents, euros: NDArray[np.float64]) -> Iterator[str]:
    """Check that total assets in euros are the published ones at one rate, by currency, unit and year."""
    known = ~np.isnan(euros)
    for group, about in enumerate(decoded.rates.values):
        rows = np.flatnonzero(decoded.rates.numbers == group)
        published = decoded.actif[rows]
        there = known[rows]
        if (there & np.isnan(published)).any():
            yield f"total assets of a company with {about} that publishes none"
        there &= ~np.isnan(published)
        if not there.any():
            continue
        if (~there & ~np.isnan(published)).any():
            yield f"total assets with {about} have an amount in euros at some companies only"
        published, found = published[there], euros[rows][there]
        greatest = int(np.argmax(np.abs(published)))
        rate = found[greatest] / published[greatest] if published[greatest] else 0.0
        error = _ROUNDED * (1 + np.abs(published) / max(1.0, abs(published[greatest])))
        if (np.abs(found - rate * published) > error + 1e-9 * np.abs(found)).any():
            yield f"total assets with {about} are not converted at one rate"
