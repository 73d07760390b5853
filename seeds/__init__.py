"""The reference tables, as data: countries, sectors, plans, rates, words.

A new country, rate or plan is a new row of a table and needs no new code. README.md describes every
table with its origin and licence; `spec/` has the specification that code and documents cite;
`raw/` has excerpts of register files. An installed package has the tables, and two things that the programs share:
`VERSION` and `settings` (the readers of TOML files and of whole numbers).
"""

from pathlib import Path
from typing import Final

VERSION: Final = "1.0.0"
"""The version of the program and of the tables that come with it (Semantic Versioning)."""

TABLES: Final = Path(__file__).resolve().parent
"""The folder of the tables, `plans.csv` and the others."""
