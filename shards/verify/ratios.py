"""Verification of the ratios of the last year against the statements (FORMAT.md §9, invariant 5).

Amounts in euros are not compared: the table of rates may have been revised since the build.
"""

from collections.abc import Iterator
from math import isclose, isnan
from typing import Final

import numpy as np

from shards import format
from shards.codec import record
from shards.ratios import accounts
from shards.ratios.last_year import LastYearRatios
from shards.ratios.ratio_table import ratios, stored_codes
from shards.reader.shard import Shard

_TOLERANCE: Final = 1e-9


def faults(shard: Shard) -> Iterator[str]:
    """Messages about ratios that are not those of the statements of their row."""
    rows = shard.statement_rows.tolist()
    columns = {code: shard.ratio(code) for code in stored_codes()}
    years = shard.ratio_years
    counts = {code: len(values) for code, values in columns.items()}
    for name, count in (counts | {format.YEARS.decode(): len(years)}).items():
        if count != len(rows):
            yield f"ratio {name} has {count} values for {len(rows)} rows with statements"
            return
    for name, order in LastYearRatios(columns).orders().items():
        if not np.array_equal(shard.file.array(format.RATIO, name, format.U4), order):
            yield f"the {name} of ratios are not those of their values"
    compared = [code for code in columns if ratios()[code].unite != "EUR"]
    for place, row in enumerate(rows):
        year, expected = accounts.last_year(record.lines(shard.comptes(row)))
        if year != years[place]:
            yield f"row {row} has ratios of {years[place]}, its last year is {year}"
        for code in compared:
            if not _are_alike(float(columns[code][place]), expected[code]):
                yield f"ratio {code} of row {row} is not that of its statements"


def _are_alike(value: float, other: float) -> bool:
    return (isnan(value) and isnan(other)) or isclose(
        value, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
    )
