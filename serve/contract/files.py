"""The name of an exported file: its scope and its day, for people who keep many. Pure."""

import re
import unicodedata
from datetime import date
from typing import Final
from urllib.parse import quote

from serve.contract import seed_tables
from shards.query import Query

# Countries that a name lists, and characters of a sector or of a searched text.
_NAMED: Final = 5
_LONGEST: Final = 40
_NOT_IN_A_NAME: Final = re.compile(r"[\W_]+")


def file_name(query: Query, day: date, ending: str) -> str:
    """The countries, if they are few, the sector, if it is one, the searched text, and the day.

    >>> file_name(Query(pays=("FR",), secteurs=("56",)), date(2026, 11, 22), ".xlsx")
    'societes-FR-restauration-2026-11-22.xlsx'
    >>> file_name(Query(q="Żabka & C°"), date(2026, 11, 22), ".xlsx")
    'societes-europe-żabka-c-2026-11-22.xlsx'
    """
    few = 0 < len(query.pays) <= _NAMED
    parts = ["societes", *(query.pays if few else ("europe",))]
    if query.ids is not None:
        parts.append("liste")
    if len(query.secteurs) == 1:
        parts.append(_shorten(_slugs()[query.secteurs[0]]))
    if query.q and (text := _shorten(_NOT_IN_A_NAME.sub("-", query.q.lower()).strip("-"))):
        parts.append(text)
    return "-".join([*parts, f"{day:%Y-%m-%d}"]) + ending


def list_name(name: str, day: date, ending: str) -> str:
    """The name of the file of a list, after the name that its owner gave it.

    >>> list_name("Clients Żabka 2026", date(2026, 11, 22), ".csv"), list_name("?", date(2026, 11, 22), ".csv")
    ('clients-żabka-2026-2026-11-22.csv', 'liste-2026-11-22.csv')
    """
    text = _shorten(_NOT_IN_A_NAME.sub("-", name.lower()).strip("-"))
    return f"{text or 'liste'}-{day:%Y-%m-%d}{ending}"


def attachment(name: str) -> str:
    """The value of Content-Disposition: the name in ASCII, and in full (RFC 6266, RFC 8187).

    >>> attachment("lefèvre.xlsx")
    'attachment; filename="lefevre.xlsx"; filename*=UTF-8\\'\\'lef%C3%A8vre.xlsx'
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return f"attachment; filename=\"{letters}\"; filename*=UTF-8''{quote(name, safe='')}"


def _shorten(text: str) -> str:
    """`text` cut at a hyphen, if it is long."""
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST + 1].rpartition("-")[0] or text[:_LONGEST]


def _slugs() -> dict[str, str]:
    return {row["nace_division"]: row["slug"] for row in seed_tables.rows("secteurs.csv")}
