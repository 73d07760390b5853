"""Published files for the tests of registers: made-up filings, and rows as a register reads them."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipeline.registers import REGISTERS
from pipeline.registers.register import RegisterRows


def read(source: str, files: Sequence[Path], work: Path) -> RegisterRows:
    return REGISTERS[source].read(files, work)


def rows(reading: RegisterRows, ids: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    kept = reading.kept.filter(pl.col("id").is_in(list(ids))).sort("id")
    return kept.select(columns).collect()


def xbrl(*days: str, **values: str) -> str:
    """A small filing in the old taxonomy: the same values at each of the days."""
    contexts = "".join(
        f'<context id="c{n}"><entity><identifier scheme="s">Ltd</identifier></entity>'
        f"<period><instant>{day}</instant></period></context>"
        for n, day in enumerate(days)
    )
    facts = "".join(
        f'<pt:{name} contextRef="c{n}" unitRef="GBP" decimals="0">{value}</pt:{name}>'
        for n in range(len(days))
        for name, value in values.items()
    )
    return (
        '<?xml version="1.0"?><xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:pt="pt"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f'{contexts}<unit id="GBP"><measure>iso4217:GBP</measure></unit>{facts}</xbrl>'
    )
