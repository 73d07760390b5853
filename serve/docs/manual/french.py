"""French for the English sentences of the OpenAPI document, by the sentence (french.csv).

A sentence that is not in the table, since it is new or was changed, is shown in English and marked as such: a
translation never says something else than the description.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("french.csv")


@cache
def sentences() -> Mapping[str, str]:
    """The French sentences by the English ones."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["en"]: row["fr"] for row in csv.DictReader(file)}
