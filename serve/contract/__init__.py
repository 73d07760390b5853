"""Everything that the API declares once: fields, errors, parameters, objects of answers, tables of `seeds/`.

Start at `tables`, `company_fields` and `errors`, then `parameters`, `objects/` and `operation`. A text is a `Text`, in
both languages. Parsers, routes and documents take their names, limits and texts from here, so that no document can
promise what the code does not keep.

What a route costs (D1, X0) is its kind and `credits` in the `operations.py` of its feature, with the figures of
`prices` and `limits`. `reasons` words why a figure is null or a candidate is one, `notation` numbers and dates,
`activities` finds classes of NACE by words, `export_tables` has the columns of files, `seed_tables` reads `seeds/`.
`Text` is in `text`; `feature` has the product and its features.
`secret_mask` masks keys in errors and in the log.
"""

from typing import Final

VERSION: Final = "1.1.0"  # §9, X: of the API, not of this program
