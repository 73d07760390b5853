"""Everything that the API declares once: error codes, errors, parameters, objects of answers, tables of `seeds/`.

Start at `error_codes` and `errors`, then `parameters` and `objects/`. Parsers, routes and documents take their names,
limits and texts from here, so that no document can promise what the code does not keep.
"""

from typing import Final

VERSION: Final = "1.1.0"  # §9, X: of the API, not of this program
