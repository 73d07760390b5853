"""Registers: one TOML file per register of companies, and one reader for all of them.

Read `ee.toml`, a short file, then `toml/`: the language and its reader. The reader uses `packing` (files and zips),
`csv_rows` (CSV rows with a checked number of fields) and `record_stream` (records of JSON and XML). `file_set` refuses
incomplete editions and reads the dates in file names. `unexpected_formats` refuses files in formats that no register
publishes. `register` is the interface of a source. `company_identifiers` finds the headers, totals and trailers among
the rows. `accounts/` has the chart of accounts, and the readers of accounts that are published as documents.

To add a register of companies:

1. Write `registers/<source>.toml` in the language of `toml/declaration`: each published
   column or key is either used, or ignored with a reason. Any other column or key stops an import.
2. Put an excerpt, as published, under `seeds/raw/<iso2>/` with its origin and licence in
   `seeds/README.md`, and compare it with rows written by hand in `tests/pipeline/registers/`.
3. Add a row to `seeds/sources.csv`: address, cadence, licence, attribution. A row in `seeds/extraits.csv` adds the
   excerpt to the demonstration.

The dictionary REGISTERS below is built from the folder. Filed accounts that are published as tables are
declared in a TOML file too, with `[statements]`, and their elements have rows in `seeds/elements.csv`. Filed accounts
that are published as documents need rows in `seeds/elements.csv` and a module of `accounts/` that reads one document.
`lei_relationships` reads who consolidates whom (GLEIF, level 2).
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

FOLDER: Final = Path(__file__).parent  # of the TOML files
# The registers that TOML files declare, then the sources of filed accounts that are documents.
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

# Every source, by its name.
REGISTERS: Final[dict[str, Register]] = {
    register.source: register for register in (*_DECLARED, *_FILED, lei_relationships.REGISTER)
}
