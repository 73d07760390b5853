"""The tables of the contract, and what reads a table of texts anywhere in the server.

`fields.csv` has the fields of a company, `error_codes.csv` the codes of errors, `errors.csv` their messages and
`refusals.csv` why something that was sent cannot be used, `motifs.csv` and `raisons.csv` the reasons in answers,
`parameters.csv` the texts of parameters that several features have. The texts of one feature are in `texts.csv` of its
folder. A table is CSV in UTF-8 with a line of column names; it is read once, when its module is imported or first used.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from serve.contract.text import Text

TABLES: Final = Path(__file__).parent
_SERVE: Final = TABLES.parents[1]


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table by column."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_texts(path: Path) -> Mapping[str, Text]:
    """The texts of a table with the columns `name`, `fr` and `en`, by name."""
    return {row["name"]: Text(row["fr"], row["en"]) for row in read_rows(path)}


@cache
def feature_texts() -> Mapping[tuple[str, str], Text]:
    """The texts in the folders of features and surfaces, by their thing and its part: `("listCountries", "summary")`.

    Their tables have the columns `of`, `part`, `fr` and `en`.
    """
    return {
        (row["of"], row["part"]): Text(row["fr"], row["en"])
        for table in sorted(_SERVE.glob("*/*/texts.csv"))
        for row in read_rows(table)
    }
