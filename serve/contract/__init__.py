"""The declarations of the API: features, operations, parameters, objects of answers, errors and texts.

Start at `feature` (a feature with its operations, and the product of all features), then `parameters`, `declaration`
(an object and its JSON Schema), `answers` (objects of several answers), `record_answers` (a record) and `errors`. A
`text` is in French and English. Parsers, routes and documents read the same names, limits and texts here.

The price of a route (D1, X0) follows from its kind and its `credits` in `operations.py` of its feature. The prices are
in `seed_tables`, which reads `seeds/`; texts that name a price are in `texts.csv` and the templates.

`reasons` writes reasons and formulas in words, `notation` numbers and dates. `activities` finds NACE classes by words.
`company_fields` has the fields of a company; `files` has the formats, columns and names of files, and guards cells;
`statement_table` is the table of accounts. `secret_mask` masks keys in errors and in the log. `tables/` has the texts.
"""

from typing import Final

VERSION: Final = "1.1.0"  # the version of the API (§9, X), not of this program
