"""The prices in credits (§4.5, X0, X11), and the texts that name them."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from serve.contract import seed_tables

# A record with statements, once a calendar month for the same company (§4.5, X0).
RECORD_CREDITS: Final = 5

_PLACE: Final = re.compile(r"\{prix\.(\w+)\}")


@cache
def analysis_credits() -> Mapping[str, int]:
    """The credits of an analysis by module."""
    return {row["module"]: int(row["credits"]) for row in seed_tables.rows("analyses.csv")}


def fill_prices(text: str) -> str:
    """A text with its prices: `{prix.fiche}`, and `{prix.…}` of each module of analyses.

    >>> fill_prices("{prix.fiche} credits, {base}")
    '5 credits, {base}'
    """
    prices = {"fiche": RECORD_CREDITS, **analysis_credits()}
    return _PLACE.sub(lambda place: str(prices[place[1]]), text)
