"""Registers: one TOML file per register of companies, and one reader for all of them.

Read `ee.toml`, a short one, then `declaration` (the language), `declaration_reader`, `entity`
(one row, one company) and `source_file` (published CSV, Parquet, JSON and XML). `register` is the
interface of a source. `uk_accounts` reads filings through `filing`, `frc_taxonomy` and `statement`.

To add a register of companies:

1. Write `registers/<source>.toml` in the language of `declaration`: every published column or key
   is either used, or ignored with its reason. One in neither list stops an import.
2. Put an excerpt, as published, under `seeds/raw/<iso2>/` with its origin and licence in
   `seeds/README.md`, and hold it to rows written by hand in `tests/pipeline/registers/`.
3. Add a row to `seeds/sources.csv`: address, cadence, licence, attribution.

Nothing else: REGISTERS below is made of the folder. A source of statement lines is a module with a
`Register` of `table="comptes"` and its own `read`.
"""

from pathlib import Path
from typing import Final

from pipeline.registers import declaration_reader, uk_accounts
from pipeline.registers.register import Register

FOLDER: Final = Path(__file__).parent
_DECLARED: Final = [declaration_reader.register(path) for path in sorted(FOLDER.glob("*.toml"))]

REGISTERS: Final[dict[str, Register]] = {
    register.source: register for register in (*_DECLARED, uk_accounts.REGISTER)
}
