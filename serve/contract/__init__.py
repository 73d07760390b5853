"""Everything that the API declares once: features, operations, parameters, objects of answers, errors, texts.

Start at `feature` (a feature with its operations, and the product of all), then `parameters`, `declaration` (an object
and its schema), `answers` (objects that several answers have), `company_answers` and `errors`. A `text` is in both
languages. Parsers, routes and documents take their names, limits and texts from here, so that no document can promise
what the code does not keep.

What a route costs (D1, X0) is its kind and `credits` in the `operations.py` of its feature, with the prices of
`seed_tables`, which reads `seeds/`; texts that name a price are in `texts.csv` and the templates. `reasons` words why a
figure is null or a candidate is one, `notation` numbers and dates, `activities` finds classes of NACE by words.
`company_fields` has the fields of a company, `files` formats, columns, names and guarded cells of files,
`statement_table` the table of accounts. `secret_mask` masks keys in errors and in the log. `tables/` has the texts.
"""

from typing import Final

VERSION: Final = "1.1.0"  # §9, X: of the API, not of this program
