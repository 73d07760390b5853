"""French for the English texts of the OpenAPI document, by the text or by its sentences.

The texts of objects have theirs beside them (serve/contract/objects); the others are in french.csv.

The tables of the contract have their own French: the fields of a company, the meanings of the error codes.

A sentence that is not in the table, since it is new or was changed, leaves its text English, marked as such: a
translation never says something else than the description. A test holds the table to the whole document.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from serve.contract import operation, parameters, seed_tables
from serve.contract.error_codes import CODES
from serve.contract.objects import components
from serve.contract.prices import fill_prices
from serve.contract.tables import read_rows

FILE: Final = Path(__file__).with_name("french.csv")

# A sentence ends before a capital or a quoted name.
_BETWEEN: Final = re.compile(r"(?<=\.) (?=[A-Z`])")
# Sentences that serve/guests/docs/openapi makes of values.
_MADE: Final = (
    (
        re.compile(r"Today (`[^.]+`); others may come\."),
        r"Aujourd’hui \1 ; d’autres peuvent venir.",
    ),
    (re.compile(r"By default (`[^`]+`)\."), r"Par défaut \1."),
)
# A status by its name, and what each of its codes means.
_STATUS: Final = re.compile(r"([A-Z][A-Za-z -]+)\. (`\w+`: .+)\.")
_CODE: Final = re.compile(r"(`\w+`): (.+)")
_NEXT_CODE: Final = re.compile(r"; (?=`\w+`: )")


@cache
def sentences() -> Mapping[str, str]:
    """The French texts by the English ones, those of the contract included."""
    fields = [field.definition for field in seed_tables.fields()]
    return {
        **{fill_prices(row["en"]): fill_prices(row["fr"]) for row in read_rows(FILE)},
        # As in the other texts of the pages, an apostrophe is a typographic one.
        **{f"{said['en']}.": f"{said['fr']}.".replace("'", "’") for said in fields},
        **{code.meaning.en: code.meaning.fr for code in CODES.values()},
        **{
            row["en"]: row["fr"]
            for name, row in parameters.texts().items()
            if not name.startswith(parameters.TOOL)
        },
        **{
            fill_prices(english): fill_prices(french)
            for english, french in components.french().items()
        },
        **operation.texts(),
    }


@cache
def in_french(english: str) -> str | None:
    """The French of a text; None where a sentence of it has none.

    >>> in_french("Name of the file."), in_french("Never said before.")
    ('Nom du fichier.', None)
    >>> in_french("Name of the file. Today `a`; others may come.")
    'Nom du fichier. Aujourd’hui `a` ; d’autres peuvent venir.'
    """
    if english in sentences():
        return sentences()[english]
    for made, french in _MADE:
        if found := made.fullmatch(english):
            return found.expand(french)
    if status := _STATUS.fullmatch(english):
        return _status(*status.groups())
    *before, last = _BETWEEN.split(english)
    if not before:
        return None
    parts = in_french(english[: -len(last) - 1]), in_french(last)
    return f"{parts[0]} {parts[1]}" if all(parts) else None


def _status(name: str, codes: str) -> str | None:
    """`Not Found. `code`: meaning; …`; the name of a status (RFC 9110) stays."""
    told = []
    for one in _NEXT_CODE.split(codes):
        found = _CODE.fullmatch(one)
        meaning = sentences().get(found[2]) if found else None
        if not found or not meaning:
            return None
        told.append(f"{found[1]} : {meaning}")
    return f"{name}. {' ; '.join(told)}."
