"""The words that callers may send for countries and sectors, as the documents list them.

They are read from the tables in `seeds/` that the build copies into every generation, so that there
is something to say before any generation is published. What a request is checked against is the
generation's own: serve/names.py.
"""

import csv
from collections.abc import Mapping
from functools import cache
from typing import Final

from quota.plans import SEEDS
from shards.reference import SPELLINGS

# The parameters by which the words are sent, each with its table and the columns of its words.
_TABLES: Final = {"pays": ("pays.csv", ("iso2",)), "secteur": ("secteurs.csv", ("slug", "secteur"))}


@cache
def words() -> Mapping[str, tuple[str, ...]]:
    """`pays`: the codes, aliases last; `secteur`: the slugs, then the French labels."""
    found = {name: _column(*table) for name, table in _TABLES.items()}
    found["pays"] += tuple(SPELLINGS)
    return found


def _column(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    with (SEEDS / table).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return tuple(row[column] for column in columns for row in rows)
