"""Registers: one TOML file per register of companies, and one reader for all of them.

Read `ee.toml`, a short one, then `toml/` (the language and its reader), which uses `packing` (files
and zips), `csv_rows` (rows that have all their fields) and `record_stream` (records of JSON and XML).
`file_set` refuses files that are not the whole of an edition, and reads the dates in their names; `foreign_forms`
refuses files that no register publishes.
`register` is the interface of a source. `company_identifiers` tells companies from headers, totals and trailers.
`accounts/` has the chart of accounts, and the readers of accounts that are published as documents.

To add a register of companies:

1. Write `registers/<source>.toml` in the language of `toml/declaration`: every published
   column or key is either used, or ignored with its reason. One in neither list stops an import.
2. Put an excerpt, as published, under `seeds/raw/<iso2>/` with its origin and licence in
   `seeds/README.md`, and hold it to rows written by hand in `tests/pipeline/registers/`.
3. Add a row to `seeds/sources.csv`: address, cadence, licence, attribution.

Nothing else: REGISTERS below is made of the folder. Filed accounts that are tables are declared too, with
`[statements]`, and their elements have rows in `seeds/elements.csv`. Those that are documents need such rows and a
module of `accounts/`, which reads one document. `lei_relationships` reads who consolidates whom (GLEIF, level 2).
"""

from pathlib import Path
from typing import Final

from pipeline.registers import lei_relationships
from pipeline.registers.accounts import (
    be_nbb,
    dk_comptes,
    fi_comptes,
    fr_comptes,
    lu_comptes,
    no_regnskap,
    se_comptes,
    sk_ruz,
    uk_accounts,
)
from pipeline.registers.register import Register
from pipeline.registers.toml import declaration_reader

FOLDER: Final = Path(__file__).parent
_DECLARED: Final = [declaration_reader.register(path) for path in sorted(FOLDER.glob("*.toml"))]

_FILED: Final = [
    module.REGISTER
    for module in (
        be_nbb,
        dk_comptes,
        fi_comptes,
        fr_comptes,
        lu_comptes,
        no_regnskap,
        se_comptes,
        sk_ruz,
        uk_accounts,
    )
]

REGISTERS: Final[dict[str, Register]] = {
    register.source: register for register in (*_DECLARED, *_FILED, lei_relationships.REGISTER)
}
