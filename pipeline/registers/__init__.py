"""Registers: one module per source, from published files to the canonical columns.

Read `register` (the interface), `source_file` (published CSV files), `entity` (one row, one
company), then `ee`, the shortest source. `uk_accounts` reads filings through `filing`,
`frc_taxonomy` and `statement`.

To add a register of companies:

1. Write `registers/<source>.py` with a `FileLayout` per kind of file: every published column is
   either used, or ignored with its reason. A column in neither list stops an import.
2. Map the columns in an `Entity`: one Polars expression per canonical column
   (`pipeline.canonical.COMPANIES`), and the reasons to drop or to note a row.
3. Define `read(files, work) -> RegisterRows` and `REGISTER = Register(source, table, read)`, and
   add it to REGISTERS below, which is the only list of sources.
4. Put an excerpt, as published, under `seeds/raw/<iso2>/` with its origin and licence in
   `seeds/README.md`, and hold it to rows written by hand in `tests/pipeline/registers/`.

A reason that a command prints needs its English words in `pipeline.console`. A source of statement
lines differs in `table="comptes"` and in its own `read`.
"""

from typing import Final

from pipeline.registers import ee, uk_accounts, uk_basic
from pipeline.registers.register import Register

REGISTERS: Final[dict[str, Register]] = {
    register.source: register for register in (uk_basic.REGISTER, uk_accounts.REGISTER, ee.REGISTER)
}
