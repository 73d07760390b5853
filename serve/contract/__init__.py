"""Everything that the API declares once: fields, errors, parameters, objects of answers, tables of `seeds/`.

Start at `tables`, `company_fields` and `errors`, then `parameters`, `objects/` and `operation`. A text is a `Text`, in
both languages. Parsers, routes and documents take their names, limits and texts from here, so that no document can
promise what the code does not keep.
"""

from typing import Final

VERSION: Final = "1.1.0"  # §9, X: of the API, not of this program
